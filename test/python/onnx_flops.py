"""Floating point operations of matrix products and convolutions, as PyTorch's flop counter counts them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import shape_inference
from running import graphs_of

#: Operators that are counted.
PRODUCTS = {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"}


def count_flops(model: onnx.ModelProto) -> int:
    """Of all products of a model whose shapes are known; subgraphs count once."""
    inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return sum(_count_graph(graph) for graph in graphs_of(inferred))


def _count_graph(graph: onnx.GraphProto) -> int:
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.HasField("tensor_type"):
            dims = value.type.tensor_type.shape.dim
            shapes.setdefault(value.name, [dim.dim_value for dim in dims])
    total = 0
    for node in graph.node:
        if node.op_type not in PRODUCTS or node.domain:
            continue
        used = [shapes[name] for name in [*node.input[:2], node.output[0]]]
        assert all(0 not in shape for shape in used), f"{node.name}: {used}"
        total += 2 * _products(node, used)
    return total


def _products(node: onnx.NodeProto, shapes: list[list[int]]) -> int:
    """How many multiplications a node takes."""
    left, right, output = shapes
    if node.op_type == "MatMul":
        return int(np.prod(output, dtype=np.int64)) * left[-1]
    if node.op_type == "Gemm":
        transposed = any(one.name == "transA" and one.i for one in node.attribute)
        return int(np.prod(output, dtype=np.int64)) * left[0 if transposed else 1]
    if node.op_type == "Conv":
        return int(np.prod(output, dtype=np.int64)) * int(np.prod(right[1:], dtype=np.int64))
    if node.op_type == "ConvTranspose":
        return int(np.prod(left, dtype=np.int64)) * int(np.prod(right[1:], dtype=np.int64))
    assert len(node.input) == 2, "an Einsum of two inputs is counted"
    equation = next(one.s.decode() for one in node.attribute if one.name == "equation")
    labels = equation.replace(" ", "").split("->")[0].split(",")
    sizes = dict(zip(labels[0], left, strict=True)) | dict(zip(labels[1], right, strict=True))
    return int(np.prod(list(sizes.values()), dtype=np.int64))
