"""Logarithms of probabilities: what is left of 1 - p in float16 must not decide whether a loss is finite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from running import checker_problem, run_strictly
from tool import Tool, onnx_amp

ROWS, COLUMNS = 4, 8


@pytest.fixture(scope="module")
def amp() -> Tool:
    """The driver."""
    return onnx_amp()


@st.composite
def losses(draw: st.DrawFn) -> onnx.ModelProto:
    """Scores of a matrix product, probabilities of them, and a sum of logarithms, by a path with other readers."""
    nodes: list[onnx.NodeProto] = []
    constants = {"one": 1.0, "half": 0.5, "two": 2.0}

    def add(op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [name], f"n{len(nodes)}", **attributes))
        return name

    scores = add("MatMul", "x", "w")
    p = add("Sigmoid", scores) if draw(st.booleans()) else add("Softmax", scores, axis=-1)
    for _ in range(draw(st.integers(0, 2))):
        p = draw(
            st.sampled_from(
                [lambda v: add("Transpose", v, perm=[1, 0]), lambda v: add("Identity", v)]
            )
        )(p)
    q = add("Sub", "one", p)
    if draw(st.booleans()):  # with something that keeps the logarithm from 0
        constants["tiny"] = 1e-6
        q = add("Add", q, "tiny")
    terms = [add("Log", q)]
    if draw(st.booleans()):  # focal: another reader of 1 - p
        terms[0] = add("Mul", terms[0], add("Pow", q, "two"))
    if draw(st.booleans()):  # and one of p in a matrix product
        terms.append(add("MatMul", add("Transpose", p, perm=[1, 0]), q))
    outputs = [add("ReduceMean", term, keepdims=0) for term in terms]
    weights = np.full((COLUMNS, COLUMNS), draw(st.sampled_from([0.5, 1.0, 1.5])), np.float32)
    np.fill_diagonal(weights, 0.1)
    initializers = [onnx.numpy_helper.from_array(weights, "w")]
    initializers += [
        onnx.numpy_helper.from_array(np.array(number, np.float32), name)
        for name, number in constants.items()
    ]
    graph = helper.make_graph(
        nodes,
        "loss",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, COLUMNS])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in outputs],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("placement", ["eager", "optimal"])
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(model=losses())
def test_losses_stay_finite(
    amp: Tool,
    tmp_path_factory: pytest.TempPathFactory,
    dtype: str,
    placement: str,
    model: onnx.ModelProto,
) -> None:
    folder: Path = tmp_path_factory.mktemp("loss")
    source, target = folder / "model.onnx", folder / "low.onnx"
    onnx.save(model, source)
    amp.convert(source, target, "--dtype", dtype, "--placement", placement)
    assert checker_problem(target) is None
    # Scores up to 10: 1 - sigmoid(10) is 4.5e-5, below half an ulp of 1 in float16.
    x = np.linspace(0.2, 1.0, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    expected, _ = run_strictly(model, {"x": x})
    found, _ = run_strictly(onnx.load(target), {"x": x})
    for name, value in expected.items():
        if np.isfinite(value).all():
            assert np.isfinite(found[name]).all(), name
