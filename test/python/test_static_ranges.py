"""What random graphs give in ONNX Runtime lies within the bounds that are proved before they run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from tool import Tool, amp_translate, build_dir, is_full

#: Float operators of one operand.
UNARY = [
    *("Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu"),
    *("HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "LogSoftmax", "Mish", "Neg"),
    *("Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus"),
    *("Softsign", "Sqrt", "Tanh"),
]
BINARY = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Sum"]
REDUCTIONS = ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"]
OTHERS = ["Clip", "Where", "Gather", "Pad", "Square", "Half", "Integer", "Trilu", "LayerNorm"]
NUMBERS = [0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 6.0, -3.25, 1e-3, 1e4, -1e6, 3e38]


class Graph:
    """Grows node by node; every value has two rows and is of float32."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name


def grow(draw: st.DrawFn, graph: Graph, values: list[str]) -> str:
    """Adds one operator, on values that are there."""
    x = draw(st.sampled_from(values))
    number = st.sampled_from(NUMBERS)
    op = draw(st.sampled_from([*UNARY, *BINARY * 3, *REDUCTIONS, *OTHERS]))
    if op in UNARY:
        return graph(op, x)
    if op in BINARY:
        other = draw(st.sampled_from([*values, "number", "row"]))
        if other == "number":
            other = graph.constant(draw(number))
        elif other == "row":
            other = graph.constant([draw(number) for _ in range(3)])
        # A row widens what was reduced.
        return graph(op, *draw(st.permutations([x, other])))
    if op in REDUCTIONS:
        axes = graph.constant([1], np.int64)
        return graph("Add", graph(op, x, axes), graph.constant([[0.0] * 3] * 2))
    if op == "Clip":
        bounds = sorted([draw(number), draw(number)])
        return graph(op, x, *(graph.constant(bound) for bound in bounds))
    if op == "Where":
        return graph(op, "truth", x, draw(st.sampled_from(values)))
    if op == "Gather":
        return graph(op, x, graph.constant([1, 0], np.int64), axis=0)
    if op == "Pad":
        widths, value = graph.constant([0, 0, 0, 1], np.int64), graph.constant(draw(number))
        ends = [graph.constant([i], np.int64) for i in (1, 4, 1)]
        return graph("Slice", graph(op, x, widths, value), *ends)
    if op == "Square":
        return graph("Mul", x, x)
    if op == "LayerNorm":
        scale = graph.constant([draw(number) for _ in range(3)])
        return graph("LayerNormalization", x, scale, axis=-1)
    if op == "Trilu":
        return graph(op, x)
    low = (
        TensorProto.FLOAT16
        if op == "Half"
        else draw(st.sampled_from([TensorProto.INT64, TensorProto.BOOL]))
    )
    return graph("Cast", graph("Cast", x, to=low), to=TensorProto.FLOAT)


@st.composite
def models(draw: st.DrawFn) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model all of whose values are outputs, and inputs for it."""
    graph = Graph()
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    inputs = {
        "x": rng.normal(0, draw(st.sampled_from([0.1, 3.0, 1e5])), (2, 3)).astype(np.float32),
        "pixels": rng.integers(0, 256, (2, 3), np.uint8),
        "truth": rng.random((2, 3)) < 0.5,
    }
    values = [
        "x",
        graph("Cast", "pixels", to=TensorProto.FLOAT),
        graph("Cast", "truth", to=TensorProto.FLOAT),
    ]
    for _ in range(draw(st.integers(2, 14))):
        values.append(grow(draw, graph, values))
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [2, 3])
        for name, value in inputs.items()
    ]
    outputs = [onnx.ValueInfoProto(name=node.output[0]) for node in graph.nodes]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "random", infos, outputs, graph.initializers),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    return inferred, inputs


def static_ranges(model: onnx.ModelProto) -> dict[str, tuple[float, float]]:
    """The bounds by name of value; those that are not there can be anything."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model.onnx"
        onnx.save(model, source)
        imported = amp_translate().run("--onnx-to-mlir", source).expect_success().stdout
        tool = Tool(build_dir() / "bin" / "amp-test-ranges")
        printed = tool.run(
            "--test-static-ranges", "-", "-o", "/dev/null", stdin=imported
        ).expect_success()
    found = {}
    for line in printed.stdout.decode().splitlines():
        name, bounds = line.split(" [")
        low, high = bounds.split("]")[0].split(", ")
        found[name] = (float(low), float(high))
    return found


def run_all(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All values, by operators that are not fused."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in model.graph.output]
    return dict(zip(names, session.run(names, inputs), strict=True))


def test_values_lie_within_static_ranges(request: pytest.FixtureRequest) -> None:
    bounded = 0

    @settings(
        max_examples=1500 if is_full(request.config) else 60,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=models())
    def run(case: tuple[onnx.ModelProto, dict[str, np.ndarray]]) -> None:
        nonlocal bounded
        model, inputs = case
        ranges = static_ranges(model)
        for name, value in run_all(model, inputs).items():
            if name not in ranges or value.dtype != np.float32:
                continue
            bounded += 1
            low, high = ranges[name]
            known = value[~np.isnan(value)].astype(np.float64)
            # A chain of operations adds up what each rounds by.
            slack = 1e-4 * max([abs(end) for end in (low, high) if np.isfinite(end)], default=0)
            assert np.all(known >= low - slack), f"{name}: {known.min()} is below {low}"
            assert np.all(known <= high + slack), f"{name}: {known.max()} is above {high}"

    run()
    assert bounded > 100
