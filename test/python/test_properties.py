"""Random small graphs: the result is valid, close, says no more casts than it has, and is final."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper, numpy_helper
from running import checker_problem, relative_error, run_in_onnxruntime, run_strictly
from tool import Tool, onnx_amp

TOLERANCE = {"fp16": 0.01, "bf16": 0.08}
#: Values are kept below this by a Tanh, so that errors measure rounding and not growth.
LARGEST = 8.0
OPSETS = (17, 20, 22, 23)
WEIGHTS = 3


class Builder:
    """Grows a graph of [2, 4] tensors; knows a bound of every value."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.bounds: dict[str, float] = {"x": 1.0, "z": 1.0}
        rng = np.random.default_rng(0)
        self.initializers = [
            numpy_helper.from_array(rng.uniform(-0.5, 0.5, (4, 4)).astype(np.float32), f"w{n}")
            for n in range(WEIGHTS)
        ]
        self.constants: dict[str, np.ndarray] = {}

    def node(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Adds a node with one output, whose name it returns; every third node has no name."""
        number = len(self.nodes)
        name = "" if number % 3 == 0 else f"{operator}_{number}"
        output = f"t{number}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=name, **attributes))
        return output

    def constant(self, value: object, kind: type) -> str:
        """A constant, now as an initializer, now as a node."""
        array: np.ndarray = np.asarray(value, kind)
        if len(self.nodes) % 2:
            name = f"c{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(array, name))
            return name
        return self.node("Constant", [], value=numpy_helper.from_array(array))

    def keep(self, name: str, bound: float) -> None:
        """Makes a value available to later nodes."""
        if bound > LARGEST:
            name, bound = self.node("Tanh", [name]), 1.0
        self.bounds[name] = bound


Step = Callable[[Builder, str, str, str], tuple[str, float]]


def unary(operator: str, bound: float | None = None, **attributes: Any) -> Step:
    def step(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
        return graph.node(operator, [a], **attributes), bound or graph.bounds[a]

    return step


def matmul(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    return graph.node("MatMul", [a, w]), 2 * graph.bounds[a]


def gemm(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    bias = graph.constant([0.1, -0.2, 0.3, 0.4], np.float32)
    return graph.node("Gemm", [a, w, bias], transB=1), 2 * graph.bounds[a] + 1


def add(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    return graph.node("Add", [a, b]), graph.bounds[a] + graph.bounds[b]


def multiply(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    return graph.node("Mul", [a, b]), graph.bounds[a] * graph.bounds[b]


def exponential(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    return graph.node("Exp", [graph.node("Tanh", [a])]), 3.0


def normalization(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    scale = graph.constant(np.ones(4), np.float32)
    return graph.node("LayerNormalization", [a, scale], epsilon=0.1), 2.0


def concat_slice(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    joined = graph.node("Concat", [a, b], axis=1)
    start, end = graph.constant([2], np.int64), graph.constant([6], np.int64)
    axes = graph.constant([1], np.int64)
    bound = max(graph.bounds[a], graph.bounds[b])
    return graph.node("Slice", [joined, start, end, axes]), bound


def transposes(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    return graph.node("Transpose", [graph.node("Transpose", [a])]), graph.bounds[a]


def reshapes(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    flat = graph.node("Reshape", [a, graph.constant([8], np.int64)])
    return graph.node("Reshape", [flat, graph.node("Shape", [a])]), graph.bounds[a]


def select(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    larger = graph.node("Greater", [a, b])
    return graph.node("Where", [larger, a, b]), max(graph.bounds[a], graph.bounds[b])


def clip(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    return graph.node("Clip", [a, "", graph.constant(0.5, np.float32)]), graph.bounds[a]


def user_rounding(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    low = graph.node("Cast", [a], to=TensorProto.FLOAT16)
    return graph.node("Cast", [low], to=TensorProto.FLOAT), graph.bounds[a]


def reduction(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    if graph.opset < 18:
        mean = graph.node("ReduceMean", [a], axes=[1], keepdims=1)
    else:
        mean = graph.node("ReduceMean", [a, graph.constant([1], np.int64)], keepdims=1)
    return graph.node("Add", [mean, b]), graph.bounds[a] + graph.bounds[b]


def branches(graph: Builder, a: str, b: str, w: str) -> tuple[str, float]:
    number = len(graph.nodes)
    bodies = {}
    for side, node in (
        ("then_branch", helper.make_node("MatMul", [a, w], [f"s{number}"], name=f"then_{number}")),
        ("else_branch", helper.make_node("Tanh", [b], [f"s{number}"], name=f"else_{number}")),
    ):
        value = helper.make_tensor_value_info(f"s{number}", TensorProto.FLOAT, [2, 4])
        bodies[side] = helper.make_graph([node], f"{side}_{number}", [], [value])
    return graph.node("If", ["c"], **bodies), max(2 * graph.bounds[a], 1.0)


STEPS: tuple[Step, ...] = (
    *(matmul, matmul, gemm, add, multiply, exponential, normalization, concat_slice, transposes),
    *(reshapes, select, clip, user_rounding, reduction, branches),
    *(unary("Relu"), unary("Sigmoid", 1.0), unary("Tanh", 1.0), unary("Softmax", 1.0, axis=-1)),
    *(unary("Identity"), unary("Neg"), unary("Abs"), unary("Dropout")),
)


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    """A graph of up to a dozen steps, each over values made before."""
    graph = Builder(draw(st.sampled_from(OPSETS)))
    for _ in range(draw(st.integers(1, 12))):
        step = draw(st.sampled_from(STEPS))
        a, b = (draw(st.sampled_from(list(graph.bounds))) for _ in range(2))
        weight = f"w{draw(st.integers(0, WEIGHTS - 1))}"
        graph.keep(*step(graph, a, b, weight))
    made = [name for name in graph.bounds if name not in ("x", "z")]
    chosen = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in chosen]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xz"]
    inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    body = helper.make_graph(graph.nodes, "random", inputs, outputs, graph.initializers)
    opsets = [helper.make_opsetid("", graph.opset)]
    return helper.make_model(body, opset_imports=opsets, ir_version=8)


def check(model: onnx.ModelProto, condition: bool, dtype: str, amp: Tool) -> None:
    """The properties of one conversion."""
    rng = np.random.default_rng(1)
    inputs = {name: rng.uniform(-1, 1, (2, 4)).astype(np.float32) for name in "xz"}
    inputs["c"] = np.array(condition)
    with tempfile.TemporaryDirectory() as name:
        original, out, again = (Path(name) / f"{stem}.onnx" for stem in ("in", "out", "again"))
        onnx.save(model, original)
        summary = amp.convert(original, out, "--dtype", dtype)
        assert checker_problem(out) is None
        reference = run_in_onnxruntime(original, inputs)
        converted = onnx.load(out)
        assert relative_error(reference, run_strictly(converted, inputs)[0]) < TOLERANCE[dtype]
        if dtype == "fp16":
            assert relative_error(reference, run_in_onnxruntime(out, inputs)) < TOLERANCE[dtype]
        products = sum(node.op_type in ("MatMul", "Gemm") for node in model.graph.node)
        assert summary.lowered >= products
        amp.convert(out, again, "--dtype", dtype)
        assert again.read_bytes() == out.read_bytes(), "converting again changes something"


EVERYTHING = list(HealthCheck)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=EVERYTHING)
@given(model=models(), condition=st.booleans())
def test_random_graphs(dtype: str, model: onnx.ModelProto, condition: bool) -> None:
    check(model, condition, dtype, onnx_amp())


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@settings(max_examples=1000, deadline=None, suppress_health_check=EVERYTHING)
@given(model=models(), condition=st.booleans())
def test_many_random_graphs(dtype: str, model: onnx.ModelProto, condition: bool) -> None:
    check(model, condition, dtype, onnx_amp())
