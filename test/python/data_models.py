"""Small models and data for what runs models: --calibrate, --tolerance, diff, advise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser

HEADER = '<ir_version: 10, opset_import: ["" : 20]>\n'


def parsed(text: str, header: str = HEADER) -> onnx.ModelProto:
    return onnx.parser.parse_model(header + text)


def save(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def save_data(path: Path, **arrays: np.ndarray) -> Path:
    """One sample."""
    np.savez(path, allow_pickle=True, **arrays)
    return path


def random_chain(seed: int, length: int = 8, size: int = 16) -> onnx.ModelProto:
    """MatMul, Add, Relu and the like in a row, with weights of very different magnitude."""
    rng = np.random.default_rng(seed)
    nodes, initializers = [], []
    value = "x"
    for i in range(length):
        kind = rng.choice(["MatMul", "Mul", "Add", "Relu", "Transpose", "Concat"])
        name = f"v{i}"
        if kind in ("Relu", "Transpose"):
            nodes.append(onnx.helper.make_node(kind, [value], [name], f"n{i}"))
        elif kind == "Concat":
            nodes.append(
                onnx.helper.make_node("Concat", [value, value], [f"c{i}"], f"n{i}", axis=0)
            )
            nodes.append(
                onnx.helper.make_node("Split", [f"c{i}"], [name, f"r{i}"], f"s{i}", num_outputs=2)
            )
        else:
            scale = 10.0 ** rng.uniform(-2, 3)
            weight = (rng.standard_normal((size, size)) * scale).astype(np.float32)
            initializers.append(onnx.numpy_helper.from_array(weight, f"w{i}"))
            nodes.append(onnx.helper.make_node(kind, [value, f"w{i}"], [name], f"n{i}"))
        value = name
    # What is large comes back into a range where errors can be told.
    nodes.append(onnx.helper.make_node("LayerNormalization", [value, "gamma"], ["y"], "last"))
    initializers.append(onnx.numpy_helper.from_array(np.ones(size, np.float32), "gamma"))
    shape = [size, size]
    graph = onnx.helper.make_graph(
        nodes,
        "chain",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)],
        initializers,
    )
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10
    )
