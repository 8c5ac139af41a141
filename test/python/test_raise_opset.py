"""A model that is read with a later opset means the same: ONNX Runtime computes the same from it.

The models are ONNX's node tests as they were at opset 17 and before (Debian's libonnx-testdata), with their inputs.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from model_sources import ModelFile, debian_testdata
from running import checker_problem
from tool import build_dir, is_full

OPSETS = (18, 20, 22, 24)
# What an opset on the way has changed; of everything else a part is enough for every run.
CHANGED = (
    "averagepool",
    "batchnorm",
    "clip",
    "constant_pad",
    "dropout",
    "hardmax",
    "logsoftmax",
    "reduce_",
    "softmax",
    "split",
    "squeeze",
    "gridsample",
    "unsqueeze",
    "topk",
)


def default_opset(model: onnx.ModelProto) -> int:
    """The version of ai.onnx that the model imports; 0 if it does not."""
    return max(
        (entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")),
        default=0,
    )


def models(*, full: bool) -> list[ModelFile]:
    """Those with inputs beside them."""
    found = [file for file in debian_testdata() if (file.path.parent / "test_data_set_0").is_dir()]
    if full:
        return found
    return [
        file
        for index, file in enumerate(found)
        if index % 12 == 0
        or any(file.path.parent.name.startswith(f"test_{name}") for name in CHANGED)
    ]


def load_inputs(folder: Path) -> list[Any]:
    """The tensors of a test data set, in order."""
    values = []
    for path in sorted(folder.glob("input_*.pb"), key=lambda path: int(path.stem[6:])):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        values.append(onnx.numpy_helper.to_array(tensor))
    return values


def run(path: Path, inputs: list[Any]) -> list[Any]:
    """The outputs, without optimisations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=False))))


def raise_opset(source: Path, target: Path, opset: int) -> str:
    """Writes the model at a later opset; returns the warning if that can't be."""
    tools = build_dir() / "bin"
    script = (
        '"$0/amp-translate" --onnx-to-mlir "$1" |'
        ' "$0/amp-opt" --onnx-infer-types --onnx-raise-opset=preferred-opset="$3" |'
        ' "$0/amp-translate" --mlir-to-onnx -o "$2"'
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script, tools, source, target, str(opset)],
        capture_output=True,
        text=True,
    )
    warnings = [line for line in done.stderr.splitlines() if "warning: " in line]
    assert done.returncode == 0, done.stderr
    return warnings[0].partition("warning: ")[2] if warnings else ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a model."""
    if "file" in metafunc.fixturenames:
        files = models(full=is_full(metafunc.config))
        metafunc.parametrize("file", files, ids=[file.label for file in files])


def test_means_the_same(file: ModelFile, tmp_path: Path) -> None:
    model = onnx.load(file.path)
    version = default_opset(model)
    targets = [opset for opset in OPSETS if opset > version > 0]
    if not targets or checker_problem(file.path):
        pytest.skip("not for this opset, or not valid before")
    if not all(value.type.HasField("tensor_type") for value in model.graph.input):
        pytest.skip("its inputs are no tensors")
    inputs = load_inputs(file.path.parent / "test_data_set_0")
    try:
        before = run(file.path, inputs)
    except Exception as error:
        pytest.skip(f"ONNX Runtime does not run it: {error!s:.100}")
    if any(
        node.op_type.startswith(("Random", "Bernoulli", "Multinomial")) for node in model.graph.node
    ):
        pytest.skip("random")
    for opset in targets:
        raised = tmp_path / f"{opset}.onnx"
        refusal = raise_opset(file.path, raised, opset)
        if refusal:
            assert default_opset(onnx.load(raised)) == version
            assert f"opset {opset} is out of reach for " in refusal
            continue
        assert checker_problem(raised) is None
        assert default_opset(onnx.load(raised)) == opset
        try:
            after = run(raised, inputs)
        except Exception as error:
            # Its later kernels are not all there.
            assert "NOT_IMPLEMENTED" in str(error), error
            continue
        for a, b in zip(before, after, strict=True):
            # Kernels of AveragePool add up in another order: some ulps.
            if isinstance(a, np.ndarray) and a.dtype.kind == "f":
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
            elif isinstance(a, np.ndarray):
                np.testing.assert_array_equal(a, b)


def test_the_same_from_every_opset_of_reductions(tmp_path: Path) -> None:
    """Softmax before opset 13 took all axes from one on as one row."""
    data = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (0, 1, 2, 3, -1, None):
            attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
            shapes: tuple[list[Any], ...] = ([2, 3, 4, 5], ["a", 3, "b", 5])
            for shape in shapes:
                node = onnx.helper.make_node(op, ["x"], ["y"], "softmax", **attributes)
                graph = onnx.helper.make_graph(
                    [node],
                    "g",
                    [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
                    [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)],
                )
                model = onnx.helper.make_model(
                    graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=8
                )
                source, target = tmp_path / "before.onnx", tmp_path / "after.onnx"
                onnx.save(model, source)
                assert raise_opset(source, target, 22) == ""
                assert checker_problem(target) is None
                np.testing.assert_array_equal(run(source, [data])[0], run(target, [data])[0])


def replaced_models() -> dict[str, tuple[int, onnx.NodeProto, dict[str, Any], dict[str, Any]]]:
    """Nodes that other operators took the place of.

    The opset, the node, its initializers and its inputs.
    """
    rng = np.random.default_rng(0)
    image = rng.standard_normal((1, 4, 3, 5)).astype(np.float32)
    scales = np.array([1, 1, 2, 1.5], np.float32)
    node = onnx.helper.make_node
    models = {}
    for mode in ("nearest", "linear"):
        models[f"Upsample-9 {mode}"] = (
            9,
            node("Upsample", ["x", "s"], ["y"], mode=mode),
            {"s": scales},
            {"x": image},
        )
        models[f"Resize-10 {mode}"] = (
            10,
            node("Resize", ["x", "s"], ["y"], mode=mode),
            {"s": scales},
            {"x": image},
        )
    models["Upsample-7"] = (
        7,
        node("Upsample", ["x"], ["y"], scales=scales.tolist()),
        {},
        {"x": image},
    )
    models["Scatter-9"] = (
        9,
        node("Scatter", ["x", "i", "u"], ["y"], axis=1),
        {"i": np.array([[1, 3]], np.int64)},
        {"x": image[0, 0], "u": image[0, 1, :1, :2]},
    )
    return models


@pytest.mark.parametrize("name", replaced_models())
def test_operators_that_others_replaced(name: str, tmp_path: Path) -> None:
    opset, node, initializers, inputs = replaced_models()[name]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "g",
            [
                onnx.helper.make_tensor_value_info(key, onnx.TensorProto.FLOAT, value.shape)
                for key, value in inputs.items()
            ],
            [
                onnx.helper.make_tensor_value_info(
                    "y", onnx.TensorProto.FLOAT, list("abcd")[: inputs["x"].ndim]
                )
            ],
            [onnx.numpy_helper.from_array(value, key) for key, value in initializers.items()],
        ),
        opset_imports=[onnx.helper.make_opsetid("", opset)],
        ir_version=8,
    )
    source, target = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(model, source)
    assert raise_opset(source, target, 21) == ""
    assert checker_problem(target) is None
    assert default_opset(onnx.load(target)) == 21
    arrays = list(inputs.values())
    np.testing.assert_array_equal(run(source, arrays)[0], run(target, arrays)[0])
