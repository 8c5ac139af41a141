"""Random models with what users of other converters have reported to go wrong, a generator for each kind of fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ELEMENTS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(np.bool_): BOOL}


@dataclass
class Fault:
    """A model, inputs that show the fault, and how far from float32 the outputs may be (max|d| / max|reference|)."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    tolerance: dict[str, float] = field(default_factory=lambda: {"fp16": 0.01, "bf16": 0.08})


class Graph:
    """Collects the parts of a model; constants are initializers or nodes, as drawn."""

    def __init__(self, draw: st.DrawFn, opset: int = 17) -> None:
        self.draw, self.opset = draw, opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.outputs: list[tuple[str, int, int]] = []
        self.rng = np.random.default_rng(draw(st.integers(0, 1000)))

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node with one output and returns its name; some nodes have no name."""
        number = len(self.nodes)
        name = f"{op}_{number}" if self.draw(st.booleans()) else ""
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{number}"], name, **attributes))
        return f"v{number}"

    def constant(self, value: Any, kind: type = np.float32) -> str:
        """A constant."""
        array: np.ndarray = np.asarray(value, kind)
        if self.draw(st.booleans()):
            return self("Constant", value=numpy_helper.from_array(array))
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int, scale: float = 0.3) -> str:
        """A constant of random numbers."""
        return self.constant(self.rng.normal(0, scale, shape))

    def input(self, name: str, value: Any, kind: type = np.float32) -> str:
        """An input of the model, with the value to run it with."""
        self.inputs[name] = np.asarray(value, kind)
        return name

    def output(self, name: str, element: int = FLOAT, rank: int = 2) -> None:
        """An output of the model."""
        self.outputs.append((self("Identity", name), element, rank))

    def fault(self, **tolerance: float) -> Fault:
        """The whole model. Outputs declare their rank."""
        graph = helper.make_graph(
            self.nodes,
            "fault",
            [
                helper.make_tensor_value_info(name, ELEMENTS[value.dtype], value.shape)
                for name, value in self.inputs.items()
            ],
            [
                helper.make_tensor_value_info(name, element, [None] * rank)
                for name, element, rank in self.outputs
            ],
            self.initializers,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8
        )
        return Fault(model, self.inputs, tolerance) if tolerance else Fault(model, self.inputs)


EXACT = {"fp16": 0.0, "bf16": 0.0}


@st.composite
def masks(draw: st.DrawFn) -> Fault:
    """Attention with a finite mask, as large as they come; a row may be masked as a whole."""
    g = Graph(draw)
    rows, columns, width = 3, 5, 4
    x = g.input("x", g.rng.normal(0, 1, (rows, width)))
    q, k = g("MatMul", x, g.weight(width, width)), g.weight(width, columns)
    scores = g("MatMul", q, k)
    if draw(st.booleans()):
        scores = g("Div", scores, g.constant(draw(st.sampled_from([2.0, 8.0]))))
    lowest = draw(st.sampled_from([-3.4028234663852886e38, -3.4e38, -1e30, -1e9, -1e8]))
    seen = g.rng.random((rows, columns)) < 0.6
    seen[:, 0] = True
    if draw(st.booleans()):
        seen[draw(st.integers(0, rows - 1))] = False
    form = draw(st.sampled_from(["constant", "where", "where-input", "product", "integer"]))
    if form == "constant":
        masked = g("Add", scores, g.constant(np.where(seen, 0, lowest)))
    elif form == "where":
        masked = g("Where", g.constant(seen, np.bool_), scores, g.constant(lowest))
    elif form == "where-input":
        masked = g("Where", g.input("m", seen, np.bool_), scores, g.constant(lowest))
    else:
        mask = g.input("m", seen, np.float32 if form == "product" else np.int64)
        mask = g("Cast", mask, to=FLOAT)
        hidden = g("Sub", g.constant(1.0), mask)
        masked = g("Add", scores, g("Mul", hidden, g.constant(lowest)))
    if draw(st.booleans()):
        masked = g("Max", masked, g.constant(lowest))
    weights = g("Softmax", masked, axis=-1)
    g.output(g("MatMul", weights, g.weight(columns, width)))
    return g.fault()


@st.composite
def numbers_in_floats(draw: st.DrawFn) -> Fault:
    """Indices that are made, or arrive, as floats, up to more than float16 or bfloat16 can count."""
    g = Graph(draw)
    size = draw(st.sampled_from([300, 2100, 5000]))
    # A table of its own numbers: off by one shows.
    table = g.constant(np.arange(size)[:, None] % 100 * 0.01)
    start = size - 8
    source = draw(st.sampled_from(["input", "cumsum", "range", "arithmetic"]))
    if source == "input":
        ids = g.input("ids", np.arange(start, size))
    elif source == "cumsum":
        steps = np.ones(8)
        steps[0] = start
        ids = g("CumSum", g.input("steps", steps), g.constant(0, np.int64))
    elif source == "range":
        ids = g("Range", g.constant(float(start)), g.constant(float(size)), g.constant(1.0))
    else:
        half = g.input("half", np.arange(start, size) / 2)
        ids = g("Floor", g("Mul", half, g.constant(2.0)))
    for _ in range(draw(st.integers(0, 2))):
        op = draw(st.sampled_from(["Identity", "Abs", "Relu", "Reshape", "Clip", "Add"]))
        if op == "Reshape":
            ids = g("Reshape", ids, g.constant([8], np.int64))
        elif op == "Clip":
            ids = g("Clip", ids, g.constant(0.0), g.constant(float(size - 1)))
        elif op == "Add":
            ids = g("Add", ids, g.constant(0.0))
        else:
            ids = g(op, ids)
    found = g("Gather", table, g("Cast", ids, to=INT64))
    # A matrix product beside it draws everything to the low format.
    g.output(found)
    g.output(g("MatMul", found, g.weight(1, 4)))
    return g.fault()


@st.composite
def angles(draw: st.DrawFn) -> Fault:
    """Rotary positions: products of large positions and frequencies go to Sin and Cos."""
    g = Graph(draw)
    length, width, first = 6, 8, draw(st.sampled_from([0, 200, 3000]))
    positions = np.arange(first, first + length)
    if draw(st.booleans()):
        place = g.input("positions", positions)
    else:
        place = g("Cast", g.input("positions", positions, np.int64), to=FLOAT)
    frequency = g.constant((10000.0 ** -(np.arange(width // 2) / (width // 2)))[None])
    column = g("Unsqueeze", place, g.constant([1], np.int64))
    angle = g(draw(st.sampled_from(["Mul", "MatMul"])), column, frequency)
    angle = g("Concat", angle, angle, axis=-1)
    if draw(st.booleans()):
        angle = g("Identity", angle)
    x = g("MatMul", g.input("x", g.rng.normal(0, 1, (length, width))), g.weight(width, width))
    turned = g("Add", g("Mul", x, g("Cos", angle)), g("Mul", g("Neg", x), g("Sin", angle)))
    g.output(g("MatMul", turned, g.weight(width, 2)))
    return g.fault(fp16=0.02, bf16=0.1)


@st.composite
def shapes_in_floats(draw: st.DrawFn) -> Fault:
    """Sizes that are computed in floats: those of upsampling and of padding to a multiple."""
    g = Graph(draw)
    size = draw(st.sampled_from([7, 259, 2051, 4099]))
    x = g.input("x", g.rng.normal(0, 1, (1, size)))
    y = g("MatMul", g("Reshape", x, g.constant([size, 1], np.int64)), g.weight(1, 1))
    count = g("Cast", g("Shape", y, start=0, end=1), to=FLOAT)
    form = draw(st.sampled_from(["double", "multiple", "half"]))
    if form == "double":
        wanted = g("Mul", count, g.constant([2.0]))
    elif form == "multiple":
        part = g.constant([4.0])
        wanted = g("Mul", g(draw(st.sampled_from(["Ceil", "Floor"])), g("Div", count, part)), part)
    else:
        wanted = g("Floor", g("Sub", g("Mul", count, g.constant([0.5])), g.constant([0.0])))
    if draw(st.booleans()):
        wanted = g("Max", wanted, g.constant([1.0]))
    length = g("Cast", wanted, to=INT64)
    zeros = g("Expand", g.constant([[0.0]]), g("Concat", length, g.constant([1], np.int64), axis=0))
    g.output(g("Concat", y, zeros, axis=0))
    g.output(length, INT64, rank=1)
    return g.fault()


@st.composite
def epsilons(draw: st.DrawFn) -> Fault:
    """Norms with a small constant that keeps them from 0; a row of zeros, and a tiny one."""
    g = Graph(draw)
    width = 4
    data = g.rng.normal(0, 1, (4, width))
    data[draw(st.integers(0, 3))] = 0
    data[draw(st.integers(0, 3))] *= draw(st.sampled_from([1.0, 1e-2, 1e-3]))
    x = g("MatMul", g.input("x", data), g.constant(np.eye(width)))
    epsilon = g.constant(draw(st.sampled_from([1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12])))
    form = draw(st.sampled_from(["l2", "max", "variance", "mean"]))
    if form == "l2":
        norm = g(
            "Sqrt", g("Add", g("ReduceSum", g("Mul", x, x), g.constant([1], np.int64)), epsilon)
        )
    elif form == "max":
        norm = g("Max", g("ReduceL2", x, axes=[1]), epsilon)
    elif form == "variance":
        centred = g("Sub", x, g("ReduceMean", x, axes=[1]))
        variance = g("ReduceMean", g("Mul", centred, centred), axes=[1])
        norm = g("Sqrt", g("Add", variance, epsilon))
        x = centred
    else:
        norm = g("Add", g("ReduceMean", g("Abs", x), axes=[1]), epsilon)
    g.output(g("MatMul", g("Div", x, norm), g.weight(width, 2)))
    return g.fault(fp16=0.02, bf16=0.1)


@st.composite
def large_variances(draw: st.DrawFn) -> Fault:
    """Batch normalisation of values in the thousands, whose variances float16 does not have, or of
    values that differ little from a large mean."""
    g = Graph(draw, draw(st.sampled_from([12, 14, 17])))
    channels, scale = 3, draw(st.sampled_from([1.0, 100.0, 1000.0, 4000.0]))
    offset = draw(st.sampled_from([0.1, 4.0, 15.0, 40.0, 500.0])) * scale
    mean = g.rng.choice([-1, 1], channels) * g.rng.uniform(0.5, 1, channels) * offset
    x = g.input("x", g.rng.normal(0, 1, (1, channels, 6, 6)))
    weight = g.weight(channels, channels, 3, 3, scale=scale / 5)
    if draw(st.booleans()):
        y = g("Conv", x, weight, g.constant(mean))
    else:
        y = g("Add", g("Conv", x, weight), g.constant(mean[:, None, None]))
    if draw(st.booleans()):
        y = g("LeakyRelu", y, alpha=1.0)
    y = g(
        "BatchNormalization",
        y,
        g.constant(g.rng.uniform(0.5, 1, channels)),
        g.constant(g.rng.normal(0, 0.1, channels)),
        g.constant(mean),
        g.constant(g.rng.uniform(0.5, 2, channels) * scale**2),
    )
    y = g(draw(st.sampled_from(["Relu", "Sigmoid", "Identity"])), y)
    g.output(g("Conv", y, g.weight(2, channels, 1, 1)), rank=4)
    return g.fault()


@st.composite
def shared_weights(draw: st.DrawFn) -> Fault:
    """One table that low, float32 and kept nodes read: embedding and output, on both sides of an If."""
    g = Graph(draw)
    table = "table"
    g.initializers.append(
        numpy_helper.from_array(g.rng.normal(0, 0.3, (64, 128)).astype(np.float32), table)
    )
    found = g("Gather", table, g.input("ids", [1, 5, 63], np.int64))
    y = g("MatMul", found, g("Transpose", table, perm=[1, 0]))
    g.output(y)
    for op in draw(
        st.lists(st.sampled_from(["Softmax", "ReduceSum", "Exp", "MatMul"]), max_size=3)
    ):
        if op == "MatMul":
            g.output(g("MatMul", g.weight(2, 64), table))
        elif op == "Softmax":
            g.output(g("Softmax", table, axis=-1))
        else:
            g.output(g(op, table) if op == "Exp" else g(op, table, g.constant([1], np.int64)))
    if draw(st.booleans()):
        condition = g.input("c", True, np.bool_)
        branches = {}
        for side, op in (
            ("then_branch", "MatMul"),
            ("else_branch", draw(st.sampled_from(["MatMul", "Mul"]))),
        ):
            operands = ["rows", table] if op == "MatMul" else [table, table]
            inner = helper.make_node(op, operands, [f"{side}_y"])
            branches[side] = helper.make_graph(
                [inner], side, [], [helper.make_tensor_value_info(f"{side}_y", FLOAT, [None, None])]
            )
        g.initializers.append(
            numpy_helper.from_array(g.rng.normal(0, 0.1, (64, 64)).astype(np.float32), "rows")
        )
        g.output(g("If", condition, **branches))
    return g.fault()


@st.composite
def own_rounding(draw: st.DrawFn) -> Fault:
    """The model's own casts to 16 bits and back are someone's rounding: the result is what it was."""
    g = Graph(draw)
    x = g.input("x", g.rng.normal(0, 100, (4, 4)) + 0.001)
    low = draw(st.sampled_from([TensorProto.FLOAT16, TensorProto.BFLOAT16]))
    y = g("Softmax", x, axis=-1) if draw(st.booleans()) else g("Exp", g("Mul", x, g.constant(0.01)))
    y = g("Cast", g("Cast", y, to=low), to=FLOAT)
    for _ in range(draw(st.integers(0, 2))):
        y = g("Transpose", y, perm=[1, 0])
    g.output(g("Softmax", y, axis=-1) if draw(st.booleans()) else y)
    return g.fault(**EXACT)


KINDS: dict[str, Callable[[], st.SearchStrategy[Fault]]] = {
    "masks": masks,
    "numbers_in_floats": numbers_in_floats,
    "angles": angles,
    "shapes_in_floats": shapes_in_floats,
    "epsilons": epsilons,
    "large_variances": large_variances,
    "shared_weights": shared_weights,
    "own_rounding": own_rounding,
}
