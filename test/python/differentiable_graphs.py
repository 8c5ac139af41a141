"""Random graphs of differentiable operators in float64: values with several users, broadcasting, operators with
several outputs, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
SIZES = (1, 2, 3, 4)
#: Values beyond this many elements are not used again.
LARGEST = 200

#: Functions of one value of any sign, of those that ONNX Runtime has in float64.
UNARY = ("Tanh", "Sigmoid", "Relu", "Abs", "Neg", "Sin", "Cos", "Identity")
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Add", "Mul")
REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"),
    *("ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp"),
)
MOVES = (
    *("Transpose", "Reshape", "Expand", "Tile", "Slice", "Gather", "Pad", "Flip", "CumSum"),
    *("Concat", "Split", "TopK", "GatherElements", "Squeeze", "Scatter"),
)


@dataclass
class Graph:
    """Nodes, and the values that they may use with their shapes."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    values: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


@dataclass
class Case:
    """A model whose last output is `loss`, what it is fed, and what is differentiated."""

    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]
    wrt: list[str]


class Builder:
    """Draws one graph."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.count = 0
        self.graph = Graph()

    # ---- choices

    def choose(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def flip(self) -> bool:
        return bool(self.draw(st.booleans()))

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, least_rank: int = 0) -> tuple[str, tuple[int, ...]]:
        """A value; one of any rank where none has enough dimensions is made to have them."""
        fitting = [value for value in self.graph.values if len(value[1]) >= least_rank]
        if fitting:
            return self.choose(fitting)
        name, shape = self.choose(self.graph.values)
        axes = list(range(least_rank - len(shape)))
        shape = (*[1] * len(axes), *shape)
        return self.node("Unsqueeze", [name, self.ints(axes)], shape), shape

    # ---- nodes

    def node(
        self, op: str, inputs: list[str], shape: tuple[int, ...] | None, **attributes: Any
    ) -> str:
        """Adds a node with one output, which later nodes may use where it has a shape."""
        output = self.name()
        self.graph.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        if shape is not None:
            self.keep(output, shape)
        return output

    def keep(self, name: str, shape: tuple[int, ...]) -> None:
        if np.prod(shape) <= LARGEST:
            self.graph.values.append((name, shape))

    def constant(self, array: np.ndarray) -> str:
        return self.node("Constant", [], None, value=numpy_helper.from_array(array))

    def ints(self, values: Sequence[int]) -> str:
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float64))

    # ---- families

    def unary(self) -> None:
        name, shape = self.pick()
        self.node(self.choose(UNARY), [name], shape)

    def positive(self) -> None:
        """Functions of what is positive."""
        name, shape = self.pick()
        square = self.node("Mul", [name, name], None)
        base = self.node("Add", [square, self.number(0.7)], shape)
        op = self.choose(["Log", "Sqrt", "Reciprocal", "Pow", "Div", "Exp"])
        if op == "Pow":
            other, other_shape = self.pick()
            bounded = self.node("Tanh", [other], None)
            result = np.broadcast_shapes(*self.broadcast((base, shape), (bounded, other_shape)))
            self.node("Pow", self.operands, result)
        elif op == "Div":
            other, other_shape = self.pick()
            result = np.broadcast_shapes(*self.broadcast((other, other_shape), (base, shape)))
            self.node("Div", self.operands, result)
        elif op == "Exp":
            bounded = self.node("Tanh", [name], None)
            self.node("Exp", [bounded], shape)
        else:
            self.node(op, [base], shape)

    def broadcast(self, *values: tuple[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Makes values broadcast with the first: others are summed where they do not. Sets `operands`; the shapes."""
        names, shapes = [values[0][0]], [values[0][1]]
        for name, shape in values[1:]:
            try:
                np.broadcast_shapes(*shapes, shape)
            except ValueError:
                name, shape = self.node("ReduceMean", [name], None, keepdims=0), ()
            names.append(name)
            shapes.append(shape)
        self.operands = names
        return shapes

    def binary(self) -> None:
        shapes = self.broadcast(self.pick(), self.pick())
        op = self.choose(BINARY)
        if self.flip():
            self.operands.reverse()
        self.node(op, self.operands, np.broadcast_shapes(*shapes))

    def variadic(self) -> None:
        shapes = self.broadcast(self.pick(), self.pick(), self.pick())
        self.node(self.choose(["Sum", "Max", "Min"]), self.operands, np.broadcast_shapes(*shapes))

    def where(self) -> None:
        shapes = self.broadcast(self.pick(), self.pick(), self.pick())
        condition = self.node("Greater", [self.operands[0], self.number(0.05)], None)
        self.node("Where", [condition, *self.operands[1:]], np.broadcast_shapes(*shapes))

    def clip(self) -> None:
        name, shape = self.pick()
        # ONNX Runtime fails to fuse a Relu and a Clip of float64.
        moved = self.node("Add", [name, self.number(0.05)], None)
        self.node("Clip", [moved, self.number(-0.6), self.number(0.8)], shape)

    def reduce(self) -> None:
        name, shape = self.pick(1)
        axes = sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
        keep = self.flip()
        result = tuple(1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes)
        given = [axis - len(shape) if self.flip() else axis for axis in axes]
        op = self.choose(REDUCTIONS)
        self.node(op, [name, self.ints(given)], result, keepdims=int(keep))

    def matmul(self) -> None:
        left, left_shape = self.pick(1)
        columns = self.choose(SIZES)
        # A weight, or another value as the right side.
        same = [v for v in self.graph.values if len(v[1]) >= 2 and v[1][-2] == left_shape[-1]]
        if same and self.flip():
            right, right_shape = self.choose(same)
        else:
            right_shape = (left_shape[-1], columns)
            right = self.parameter(right_shape)
        batch_left, batch_right = left_shape[:-2], right_shape[:-2]
        try:
            batch = np.broadcast_shapes(batch_left, batch_right)
        except ValueError:
            return
        rows = left_shape[-2:-1]
        self.node("MatMul", [left, right], (*batch, *rows, right_shape[-1]))

    def gemm(self) -> None:
        matrices = [v for v in self.graph.values if len(v[1]) == 2]
        if not matrices:
            return
        left, shape = self.choose(matrices)
        trans_a, trans_b = self.flip(), self.flip()
        rows, inner = reversed(shape) if trans_a else shape
        columns = self.choose(SIZES)
        right = self.parameter((columns, inner) if trans_b else (inner, columns))
        inputs = [left, right]
        if self.flip():
            bias = self.choose([(), (1,), (columns,), (rows, 1), (rows, columns)])
            inputs.append(self.parameter(bias))
        self.node(
            "Gemm",
            inputs,
            (rows, columns),
            transA=int(trans_a),
            transB=int(trans_b),
            alpha=self.choose([1.0, 0.5]),
            beta=self.choose([1.0, 0.25]),
        )

    def einsum(self) -> None:
        name, shape = self.pick(1)
        labels = "abcd"[: len(shape)]
        other = self.draw(st.permutations(labels))[: self.draw(st.integers(1, len(shape)))]
        sizes = dict(zip(labels, shape, strict=True))
        right = self.parameter(tuple(sizes[one] for one in other))
        kept = [one for one in labels if self.flip()]
        equation = f"{labels},{''.join(other)}->{''.join(kept)}"
        self.node("Einsum", [name, right], tuple(sizes[one] for one in kept), equation=equation)

    def softmax(self) -> None:
        name, shape = self.pick(1)
        axis = self.draw(st.integers(-len(shape), len(shape) - 1))
        self.node(self.choose(["Softmax", "LogSoftmax"]), [name], shape, axis=axis)

    def normalize(self) -> None:
        name, shape = self.pick(1)
        axis = self.draw(st.integers(0, len(shape) - 1))
        if np.prod(shape[axis:]) < 2:
            return
        inputs = [name, self.parameter(shape[axis:])]
        if self.flip():
            inputs.append(self.parameter(shape[axis:]))
        self.node("LayerNormalization", inputs, shape, axis=axis, epsilon=1e-2)

    def move(self) -> None:
        """Operators that move elements."""
        name, shape = self.pick(1)
        rank = len(shape)
        axis = self.draw(st.integers(0, rank - 1))
        op = self.choose(MOVES)
        size = shape[axis]
        if op == "Transpose":
            order = list(self.draw(st.permutations(range(rank))))
            self.node(op, [name], tuple(shape[i] for i in order), perm=order)
        elif op == "Reshape":
            self.node(op, [name, self.ints([-1])], (int(np.prod(shape)),))
        elif op == "Expand":
            ones = tuple(3 if n == 1 else n for n in shape)
            target = (2, *ones) if self.flip() else ones
            self.node(op, [name, self.ints(target)], target)
        elif op == "Tile":
            repeats = [self.choose([1, 2]) for _ in shape]
            target = tuple(n * r for n, r in zip(shape, repeats, strict=True))
            self.node(op, [name, self.ints(repeats)], target)
        elif op == "Slice":
            start = self.draw(st.integers(0, size - 1))
            length = len(range(start, size, 2))
            inputs = [self.ints([start]), self.ints([size]), self.ints([axis]), self.ints([2])]
            self.node(op, [name, *inputs], (*shape[:axis], length, *shape[axis + 1 :]))
        elif op == "Flip":
            ends = [self.ints([-1]), self.ints([-9]), self.ints([axis]), self.ints([-1])]
            self.node("Slice", [name, *ends], shape)
        elif op == "Gather":
            index = self.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=4))
            target = (*shape[:axis], len(index), *shape[axis + 1 :])
            self.node(op, [name, self.ints(index)], target, axis=axis)
        elif op == "GatherElements":
            index = np.random.default_rng(self.count).integers(0, size, shape)
            self.node(op, [name, self.constant(index)], shape, axis=axis)
        elif op == "Scatter":
            other, _ = self.pick()
            update = self.node("ReduceMean", [other], None, keepdims=0)
            one = (*shape[:axis], 1, *shape[axis + 1 :])
            updates = self.node("Expand", [update, self.ints(one)], None)
            index = self.constant(np.full(one, self.draw(st.integers(0, size - 1)), np.int64))
            how = {"reduction": "add"} if self.flip() else {}
            self.node("ScatterElements", [name, index, updates], shape, axis=axis, **how)
        elif op == "Pad":
            pads = [self.choose([0, 0, 1]) for _ in range(2 * rank)]
            target = tuple(n + pads[i] + pads[rank + i] for i, n in enumerate(shape))
            self.node(op, [name, self.ints(pads)], target)
        elif op == "CumSum":
            which = {key: int(self.flip()) for key in ("exclusive", "reverse")}
            self.node(op, [name, self.constant(np.array(axis, np.int64))], shape, **which)
        elif op == "Concat":
            others = [v for v in self.graph.values if len(v[1]) == rank]
            fit = [v for v in others if all(v[1][i] == shape[i] for i in range(rank) if i != axis)]
            parts = [(name, shape), *(self.choose(fit) for _ in range(2) if fit)]
            total = sum(part[1][axis] for part in parts)
            target = (*shape[:axis], total, *shape[axis + 1 :])
            self.node(op, [part[0] for part in parts], target, axis=axis)
        elif op == "Split" and size >= 2:
            first = self.draw(st.integers(1, size - 1))
            outputs = [self.name(), self.name()]
            sizes = self.ints([first, size - first])
            self.graph.nodes.append(helper.make_node(op, [name, sizes], outputs, axis=axis))
            for output, part in zip(outputs, (first, size - first), strict=True):
                if self.flip():
                    self.keep(output, (*shape[:axis], part, *shape[axis + 1 :]))
        elif op == "TopK":
            count = self.draw(st.integers(1, size))
            outputs = [self.name(), self.name()]
            inputs = [name, self.ints([count])]
            self.graph.nodes.append(helper.make_node(op, inputs, outputs, axis=axis))
            self.keep(outputs[0], (*shape[:axis], count, *shape[axis + 1 :]))
        elif op == "Squeeze" and size == 1:
            self.node(op, [name, self.ints([axis])], shape[:axis] + shape[axis + 1 :])

    # ---- subgraphs

    def inside(self, values: list[tuple[str, tuple[int, ...]]], size: int) -> Graph:
        """Nodes of a subgraph, which sees all values outside."""
        outside = self.graph
        self.graph = Graph(values=[*outside.values, *values, *values])
        for _ in range(size):
            self.choose([Builder.unary, Builder.binary, Builder.where, Builder.positive])(self)
        made, self.graph = self.graph, outside
        return made

    def shaped(self, graph: Graph, shape: tuple[int, ...]) -> str:
        """A value of a subgraph with this shape, made of its last one."""
        name, found = graph.values[-1]
        outside, self.graph = self.graph, graph
        if found != shape:
            mean = self.node("ReduceMean", [name], None, keepdims=0)
            name = self.node("Expand", [mean, self.ints(shape)], None)
        else:
            name = self.node("Identity", [name], None)
        self.graph = outside
        return name

    def branch(self) -> None:
        _, shape = self.pick()
        graphs: dict[str, Any] = {}
        for attribute in ("then_branch", "else_branch"):
            made = self.inside([], self.draw(st.integers(1, 3)))
            results = [self.shaped(made, shape), self.shaped(made, ())]
            infos = [
                helper.make_tensor_value_info(one, TensorProto.DOUBLE, dims)
                for one, dims in zip(results, (shape, ()), strict=True)
            ]
            graphs[attribute] = helper.make_graph(made.nodes, attribute, [], infos)
        outputs = [self.name(), self.name()]
        self.graph.nodes.append(helper.make_node("If", ["condition"], outputs, **graphs))
        self.keep(outputs[0], shape)
        if self.flip():
            self.keep(outputs[1], ())

    def loop(self) -> None:
        """A Scan over the first dimension of a value, with a state."""
        sequence, shape = self.pick(1)
        start, state = self.pick()
        names = [self.name(), self.name()]
        values = [(names[0], state), (names[1], shape[1:])]
        made = self.inside(values, self.draw(st.integers(1, 3)))
        following = self.shaped(made, state)
        # Not more than the state itself, or values grow.
        made.nodes.append(helper.make_node("Tanh", [following], [f"{following}_t"]))
        results = [f"{following}_t", self.shaped(made, shape[1:])]
        before = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, d) for n, d in values]
        after = [
            helper.make_tensor_value_info(one, TensorProto.DOUBLE, dims)
            for one, dims in zip(results, (state, shape[1:]), strict=True)
        ]
        outputs = [self.name(), self.name()]
        if self.flip():
            body = helper.make_graph(made.nodes, "body", before, after)
            self.graph.nodes.append(
                helper.make_node("Scan", [start, sequence], outputs, num_scan_inputs=1, body=body)
            )
        else:
            # The same as a Loop, which takes the slice itself.
            number, flag, goes_on = self.name(), self.name(), self.name()
            slicing = helper.make_node("Gather", [sequence, number], [names[1]])
            going = helper.make_node("Identity", [flag], [goes_on])
            scalars = [
                helper.make_tensor_value_info(number, TensorProto.INT64, []),
                helper.make_tensor_value_info(flag, TensorProto.BOOL, []),
            ]
            yielded = helper.make_tensor_value_info(goes_on, TensorProto.BOOL, [])
            body = helper.make_graph(
                [slicing, going, *made.nodes],
                "body",
                [*scalars, before[0]],
                [yielded, *after],
            )
            count = self.constant(np.array(shape[0], np.int64))
            self.graph.nodes.append(
                helper.make_node("Loop", [count, "", start], outputs, body=body)
            )
        self.keep(outputs[0], state)
        if self.flip():
            self.keep(outputs[1], shape)

    # ---- the model

    def parameter(self, shape: tuple[int, ...]) -> str:
        """A new weight, or one that is there."""
        same = [name for name, array in self.weights.items() if array.shape == shape]
        if same and self.flip():
            return self.choose(same)
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(self.random.normal(size=shape) + 0.1)
        return name

    def build(self) -> Case:
        """Everything."""
        self.random = np.random.default_rng(self.draw(st.integers(0, 1 << 16)))
        self.weights: dict[str, np.ndarray] = {}
        feeds: dict[str, np.ndarray] = {}
        for number in range(self.draw(st.integers(1, 3))):
            shape = tuple(self.draw(st.lists(st.sampled_from(SIZES), max_size=3)))
            feeds[f"x{number}"] = np.asarray(self.random.normal(size=shape))
            self.keep(f"x{number}", shape)
        families = [self.unary, self.binary, self.positive, self.reduce, self.matmul, self.move]
        families += [self.variadic, self.where, self.clip, self.gemm, self.einsum, self.softmax]
        families += [self.normalize, self.move, self.move, self.branch, self.loop]
        for _ in range(self.draw(st.integers(1, 10))):
            self.choose(families)()
        # The loss is of the last values, each weighted, and of some others.
        parts = []
        chosen = self.graph.values[-2:] + [self.pick() for _ in range(2)]
        for name, shape in chosen:
            weight = self.constant(np.asarray(self.random.uniform(0.5, 1.5, shape)))
            weighted = self.node("Mul", [self.node("Tanh", [name], None), weight], None)
            parts.append(self.node("ReduceSum", [weighted], None, keepdims=0))
        self.graph.nodes.append(helper.make_node("Sum", parts, ["loss"]))
        declared = self.choose(["sizes", "sizes", "rank", "nothing"])
        inputs = [helper.make_tensor_value_info("condition", TensorProto.BOOL, [])]
        for name, array in feeds.items():
            dims = {"sizes": array.shape, "rank": [None] * array.ndim, "nothing": None}[declared]
            inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, dims))
        graph = helper.make_graph(
            self.graph.nodes,
            "composed",
            inputs,
            [helper.make_tensor_value_info("loss", TensorProto.DOUBLE, [])],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10
        )
        feeds["condition"] = np.array(self.flip())
        wrt = [name for name, array in feeds.items() if array.dtype == np.float64]
        return Case(model, feeds, [*wrt, *self.weights])


@st.composite
def cases(draw: Any) -> Case:
    """Graphs."""
    return Builder(draw).build()
