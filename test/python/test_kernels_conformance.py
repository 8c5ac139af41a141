"""Kernels of the runtime's library against ONNX's own node tests.

Every single-node model whose operator has a kernel runs, with the tolerances of ONNX's backend runner: equal bits where
data only moves. What cannot be compared is listed here, with the reason.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from kernel_process import KernelError, KernelProcess, kernel_name
from onnx import TensorProto

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("AMP_RUN_KERNEL", ROOT / "build/release/test/unit/run-kernel"))

# ONNX: "may not produce the same values in different implementations".
RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
# The compiler makes these inputs or types of others.
LOWERED = {"CastLike": "cast", "Scatter": "scatter_elements", "Upsample": "resize"}
MOVES_DATA = set(
    [
        "BitCast",
        "Cast",
        "CastLike",
        "CenterCropPad",
        "Compress",
        "Concat",
        "ConstantOfShape",
        "DepthToSpace",
        "Expand",
        "EyeLike",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "NonZero",
        "OneHot",
        "Pad",
        "Reshape",
        "ReverseSequence",
        "Scatter",
        "Shape",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "TensorScatter",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unique",
        "Unsqueeze",
        "Where",
        "ArgMax",
        "ArgMin",
        "StringConcat",
        "StringSplit",
        "StringNormalizer",
        "RegexFullMatch",
        "Equal",
        "Greater",
        "Less",
        "GreaterOrEqual",
        "LessOrEqual",
        "And",
        "Or",
        "Xor",
        "Not",
        "IsInf",
        "IsNaN",
    ]
)


def as_array(value: object) -> object:
    """NumPy's form of a tensor; tests of types that NumPy lacks have ONNX's own."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def is_lowered_attention(node: onnx.NodeProto) -> bool:
    """Attention with a past or with scores as outputs is other nodes to the compiler, whose tests run it."""
    return node.op_type == "Attention" and (len(node.output) > 1 or any(node.input[4:6]))


@functools.cache
def node_tests() -> list:
    """All of ONNX's single-node tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        tests = load_model_tests(kind="node")
    return [
        test
        for test in tests
        if test.model
        and len(test.model.graph.node) == 1
        and not is_lowered_attention(test.model.graph.node[0])
        and not test.name.endswith("_expanded")
        and all(
            value.type.WhichOneof("value") == "tensor_type"
            for value in [*test.model.graph.input, *test.model.graph.output]
        )
    ]


def attributes_of(node: onnx.NodeProto) -> dict:
    """The attributes that a kernel reads."""
    attributes = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, list) and value and isinstance(value[0], bytes):
            value = [text.decode() for text in value]
        if not isinstance(value, (onnx.TensorProto, onnx.GraphProto)):
            attributes[attribute.name] = value
    return attributes


def arguments_of(test: Any, arrays: list) -> tuple[list, list[int], dict]:
    """Inputs by position, types of outputs, attributes."""
    graph = test.model.graph
    node = graph.node[0]
    names = [value.name for value in graph.input]
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values = {**constants, **dict(zip(names, arrays, strict=False))}
    inputs = [values[name] if name else None for name in node.input]
    types = {value.name: value.type.tensor_type.elem_type for value in graph.output}
    outputs = [types.get(name, TensorProto.UNDEFINED) for name in node.output]
    attributes = attributes_of(node)
    if node.op_type == "Attention":
        inputs = [*inputs[:4], *inputs[6:]]
    if node.op_type == "CastLike":
        inputs = inputs[:1]
    if node.op_type == "Upsample":
        inputs = [inputs[0], None, inputs[1]]
        attributes |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if node.op_type == "DFT" and test.model.opset_import[0].version < 20:
        inputs = [*[*inputs, None][:2], np.array(attributes.pop("axis", 1))]
    if node.op_type == "ConstantOfShape":
        tensors = [a.t for a in node.attribute if a.name == "value"]
        inputs += [onnx.numpy_helper.to_array(tensor) for tensor in tensors]
    return inputs, outputs, attributes


def check_equal(expected: object, got: np.ndarray, test: Any, exact: bool) -> None:
    """The comparison of onnx.backend.test.runner."""
    assert isinstance(expected, np.ndarray) or np.isscalar(expected)
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    if expected.dtype.kind in "OUS":
        texts = [x.decode() if isinstance(x, bytes) else str(x) for x in expected.ravel()]
        assert texts == list(got.ravel())
        return
    assert got.dtype == expected.dtype
    is_builtin = expected.dtype.isbuiltin == 1
    if not is_builtin:  # ml_dtypes' own types
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    if exact and got.dtype.kind in "fc":
        np.testing.assert_array_equal(
            np.signbit(got.real) & (got == got), np.signbit(expected.real) & (got == got)
        )
    if exact:
        np.testing.assert_array_equal(got, expected)
    else:
        rtol = test.rtol if is_builtin else max(test.rtol, 1e-2)
        # DFT's expected values have rounding errors of float32 in place of zeros.
        atol = 1e-6 if test.model.graph.node[0].op_type == "DFT" else test.atol
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


@pytest.fixture(scope="module")
def kernels() -> Iterator[KernelProcess]:
    """One process for all cases."""
    process = KernelProcess(PROGRAM)
    yield process
    assert process.close() == 0


def is_random(test: Any) -> bool:
    """Whether results are not to be compared: with ratio 0 Dropout drops nothing."""
    operator = test.model.graph.node[0].op_type
    drops = test.name.startswith("test_training_dropout") and "zero_ratio" not in test.name
    return operator in RANDOM or drops


def kernel_of(test: Any) -> str:
    """The name of the kernel that a test is about."""
    operator = test.model.graph.node[0].op_type
    return LOWERED.get(operator, kernel_name(operator))


def test_node_tests(kernels: KernelProcess, capsys: pytest.CaptureFixture) -> None:
    """Runs them all and says what failed."""
    counts: Counter = Counter()
    passed_operators: set[str] = set()
    failures: list[str] = []
    missing: Counter = Counter()
    for test in node_tests():
        operator = test.model.graph.node[0].op_type
        try:
            for arrays, expected in test.data_sets:
                inputs, types, attributes = arguments_of(
                    test, [as_array(array) for array in arrays]
                )
                got = kernels.run(kernel_of(test), inputs, types, attributes)
                wanted = [array for array, kind in zip(got, types, strict=True) if kind]
                for want, array in zip(expected, wanted, strict=True):
                    if not is_random(test):
                        check_equal(as_array(want), array, test, operator in MOVES_DATA)
                    else:
                        assert array.shape == want.shape
            counts["passed"] += 1
            passed_operators.add(operator)
        except KernelError as error:
            if str(error).startswith("no kernel"):
                missing[operator] += 1
            else:
                failures.append(f"{test.name}: {error}")
        except RuntimeError as error:
            pytest.fail(f"{test.name}: {error}")
        except Exception as error:
            failures.append(f"{test.name}: {type(error).__name__} {str(error)[:300]}")
    with capsys.disabled():
        print(
            f"\n{counts['passed']} node tests of {len(passed_operators)} operators pass, {len(failures)} fail"
        )
        print("without a kernel:", ", ".join(f"{name} {n}" for name, n in sorted(missing.items())))
        for failure in failures:
            print("FAIL", failure)
    assert not failures
