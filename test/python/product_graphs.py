"""Random graphs around products, as exporters write them: what amp-fuse-products takes, and what is nearly that."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


@dataclass
class ProductGraph:
    """Several chains of nodes, each with an output; all numbers are float16's."""

    seed: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)

    def name(self) -> str:
        """A name for one more value."""
        return f"v{len(self.nodes) + len(self.weights) + len(self.inputs)}"

    def array(self, shape: tuple[int, ...], is_input: bool) -> str:
        """An input or a weight of random numbers."""
        name = self.name()
        values = self.numbers.normal(size=shape).astype(np.float16)
        (self.inputs if is_input else self.weights)[name] = values
        return name

    def number(self, value: float, shape: tuple[int, ...] = ()) -> str:
        """A constant of one element."""
        name = self.name()
        self.weights[name] = np.full(shape, value, np.float16)
        return name

    def list(self, values: tuple[int, ...]) -> str:
        """A constant list of integers."""
        name = self.name()
        self.weights[name] = np.array(values, np.int64)
        return name

    def apply(self, op: str, *operands: str, **attributes: Any) -> str:
        """One more node."""
        name = self.name()
        self.nodes.append(helper.make_node(op, list(operands), [name], **attributes))
        return name

    def model(self, element: int, observed: bool) -> onnx.ModelProto:
        """With `observed`, every value is an output: nobody else may read it, so that nothing is one call."""
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))

        def typed(array: np.ndarray) -> np.ndarray:
            return array.astype(dtype) if array.dtype == np.float16 else array

        floats = [node.output[0] for node in self.nodes if node.op_type != "IsNaN"]
        results = floats if observed else self.outputs
        graph = helper.make_graph(
            self.nodes,
            "products",
            [
                helper.make_tensor_value_info(name, element, array.shape)
                for name, array in self.inputs.items()
            ],
            [helper.make_tensor_value_info(name, element, None) for name in results],
            [numpy_helper.from_array(typed(array), name) for name, array in self.weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 10
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)

    def feeds(self, element: int) -> dict[str, np.ndarray]:
        """The inputs in this type."""
        dtype = helper.tensor_dtype_to_np_dtype(element)
        return {name: array.astype(dtype) for name, array in self.inputs.items()}


def activation(graph: ProductGraph, value: str) -> str:
    """One of those that kernels have, as one node or several."""
    kind = graph.random.randrange(13)
    simple = ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Gelu", "HardSigmoid", "HardSwish"]
    if kind < len(simple):
        return graph.apply(simple[kind], value)
    if kind == 7:
        return graph.apply("Gelu", value, approximate="tanh")
    if kind == 8:
        return graph.apply("Clip", value, graph.number(-0.5), graph.number(1.5))
    if kind == 9:
        return graph.apply("Mul", value, graph.apply("Sigmoid", value))
    if kind == 10:
        erf = graph.apply("Erf", graph.apply("Div", value, graph.number(math.sqrt(2))))
        inner = graph.apply("Mul", value, graph.apply("Add", erf, graph.number(1)))
        return graph.apply("Mul", inner, graph.number(0.5))
    if kind == 11:
        cube = graph.apply("Pow", value, graph.number(3))
        inner = graph.apply("Add", value, graph.apply("Mul", cube, graph.number(0.044715)))
        tanh = graph.apply("Tanh", graph.apply("Mul", graph.number(math.sqrt(2 / math.pi)), inner))
        half = graph.apply("Mul", value, graph.number(0.5))
        return graph.apply("Mul", half, graph.apply("Add", graph.number(1), tanh))
    gate = graph.apply("Add", value, graph.number(3))
    gate = graph.apply("Clip", gate, graph.number(0), graph.number(6))
    return graph.apply("Div", graph.apply("Mul", value, gate), graph.number(6))


def epilogue(
    graph: ProductGraph, value: str, shape: tuple[int, ...], bias: tuple[int, ...]
) -> None:
    """What may follow a product of this shape."""
    pick = graph.random.random
    if pick() < 0.3:
        value = graph.apply(
            graph.random.choice(["Mul", "Div"]), value, graph.number(graph.random.choice([0.25, 3]))
        )
    if pick() < 0.6:
        operands = [value, graph.array(bias, pick() < 0.3)]
        if pick() < 0.5:
            operands.reverse()
        value = graph.apply("Add", *operands)
    if pick() < 0.4:
        value = graph.apply("Add", value, graph.array(shape, is_input=True))
    if pick() < 0.7:
        value = activation(graph, value)
    if pick() < 0.2:
        value = graph.apply("Neg", value)
    graph.outputs.append(value)


def operand(graph: ProductGraph, shape: tuple[int, ...], is_input: bool) -> str:
    """A tensor, or what a Transpose, or a factor, makes one of this shape."""
    rank = len(shape)
    if graph.random.random() < 0.4:
        order = [*range(rank - 2), rank - 1, rank - 2]
        source = graph.array((*shape[:-2], shape[-1], shape[-2]), is_input)
        value = graph.apply("Transpose", source, perm=order)
    else:
        value = graph.array(shape, is_input)
    if graph.random.random() < 0.2:
        value = graph.apply("Mul", value, graph.number(graph.random.choice([0.5, 1.5])))
    return value


def add_matmul(graph: ProductGraph) -> None:
    """MatMul of any rank, whose rows may be a matrix meanwhile."""
    m, k, n = (graph.random.choice([1, 3, 8, 17]) for _ in range(3))
    batch = graph.random.choice([(), (2,), (2, 3)])
    shared = graph.random.random() < 0.5
    a = operand(graph, (*batch, m, k), is_input=True)
    b = operand(graph, (k, n) if shared else (*batch, k, n), is_input=not shared)
    shape = (*batch, m, n)
    epilogue(graph, graph.apply("MatMul", a, b), shape, graph.random.choice([(n,), (1, n), (1,)]))


def add_gemm(graph: ProductGraph) -> None:
    """Gemm between Reshapes of rows."""
    m, k, n = (graph.random.choice([2, 5, 16]) for _ in range(3))
    rows = graph.apply("Reshape", graph.array((2, m, k), True), graph.list((-1, k)))
    attributes: dict[str, Any] = {"alpha": graph.random.choice([1.0, 0.5])}
    shape = (k, n)
    if graph.random.random() < 0.5:
        attributes["transB"] = 1
        shape = (n, k)
    operands = [rows, graph.array(shape, is_input=False)]
    if graph.random.random() < 0.5:
        operands.append(graph.array((n,), is_input=False))
        attributes["beta"] = graph.random.choice([1.0, 2.0])
    value = graph.apply("Gemm", *operands, **attributes)
    if graph.random.random() < 0.5:
        value = graph.apply("Reshape", value, graph.list((2, m, n)))
        epilogue(graph, value, (2, m, n), (n,))
    else:
        epilogue(graph, value, (2 * m, n), (n,))


def add_conv(graph: ProductGraph) -> None:
    """Conv or ConvTranspose, with a BatchNormalization or an affine map of channels."""
    group = graph.random.choice([1, 2])
    channels, out, size = 4, graph.random.choice([4, 6]), graph.random.choice([5, 8])
    x = graph.array((2, channels, size, size), is_input=True)
    attributes: dict[str, Any] = {"group": group, "pads": [1] * 4}
    if graph.random.random() < 0.7:
        op, weight = "Conv", (out, channels // group, 3, 3)
    else:
        op, weight = "ConvTranspose", (channels, out // group, 3, 3)
    operands = [x, graph.array(weight, is_input=False)]
    if graph.random.random() < 0.5:
        operands.append(graph.array((out,), is_input=False))
    value = graph.apply(op, *operands, **attributes)
    pick = graph.random.random()
    if pick < 0.3:
        parameters = [graph.array((out,), is_input=False) for _ in range(3)]
        variance = graph.array((out,), is_input=False)
        graph.weights[variance] = np.abs(graph.weights[variance]) + np.float16(0.5)
        value = graph.apply("BatchNormalization", value, *parameters, variance)
    elif pick < 0.6:
        value = graph.apply("Mul", value, graph.array((out, 1, 1), is_input=False))
    epilogue(graph, value, (2, out, size, size), graph.random.choice([(out, 1, 1), (1, out, 1, 1)]))


def add_attention(graph: ProductGraph) -> None:
    """Scores, a scale, a mask, weights, in heads."""
    n, heads, queries, keys, size = 2, 3, graph.random.choice([1, 5]), 7, 8
    q = graph.array((n, heads, queries, size), is_input=True)
    if graph.random.random() < 0.5:
        x = graph.array((n, keys, heads, size), is_input=True)
        k = graph.apply("Transpose", x, perm=[0, 2, 3, 1])
    else:
        x = graph.array((n, heads, keys, size), is_input=True)
        flat = graph.apply("Reshape", x, graph.list((-1, keys, size)))
        flat = graph.apply("Transpose", flat, perm=[0, 2, 1])
        k = graph.apply("Reshape", flat, graph.list((n, heads, size, keys)))
    v = graph.array((n, heads, keys, size), is_input=True)
    if graph.random.random() < 0.5:
        q = graph.apply("Mul", q, graph.number(0.6))
        k = graph.apply("Mul", k, graph.number(0.6))
    scores = graph.apply("MatMul", q, k)
    if graph.random.random() < 0.5:
        scores = graph.apply("Div", scores, graph.number(math.sqrt(size)))
    if graph.random.random() < 0.6:
        mask = graph.array(graph.random.choice([(queries, keys), (n, 1, 1, keys)]), is_input=True)
        scores = graph.apply("Add", scores, mask)
    weights = graph.apply("Softmax", scores, axis=-1)
    if graph.random.random() < 0.3:
        nan = graph.apply("IsNaN", weights)
        weights = graph.apply("Where", nan, graph.number(0), weights)
    graph.outputs.append(graph.apply("MatMul", weights, v))


def add_einsum(graph: ProductGraph) -> None:
    """Products of matrices, with their dimensions in any order."""
    sizes = {label: graph.random.choice([2, 3, 5]) for label in "abcdef"}
    batch, rows, columns, depth = "a" * graph.random.randrange(2), "bc", "de", "f"
    rows, columns = rows[: graph.random.choice([1, 2])], columns[: graph.random.choice([1, 2])]

    def shuffled(labels: str) -> str:
        return "".join(graph.random.sample(labels, len(labels)))

    left, right = shuffled(batch + rows + depth), shuffled(batch + depth + columns)
    result = shuffled(batch + rows + columns)
    operands = [
        graph.array(tuple(sizes[label] for label in labels), is_input=True)
        for labels in (left, right)
    ]
    value = graph.apply("Einsum", *operands, equation=f"{left},{right}->{result}")
    epilogue(graph, value, tuple(sizes[label] for label in result), (sizes[result[-1]],))


def random_graph(seed: int, chains: int = 12) -> ProductGraph:
    """Chains of all kinds."""
    graph = ProductGraph(seed)
    for _ in range(chains):
        graph.random.choice(KINDS)(graph)
    return graph


KINDS = (add_matmul, add_gemm, add_conv, add_attention, add_einsum)
FLOAT, FLOAT16 = TensorProto.FLOAT, TensorProto.FLOAT16
