"""Forward models with a loss, whose layers repeat: what recomputation is shown on.

Run as a program, it prints how much memory a run of a model takes in ONNX Runtime, in bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class GraphMaker:
    """Collects nodes, named after their outputs, and parameters."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.parameters: list[str] = []
        self.random = np.random.default_rng(0)

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def parameter(self, name: str, *shape: int) -> str:
        self.parameters.append(name)
        values = self.random.normal(size=shape) / np.sqrt(shape[0])
        return self.constant(name, values.astype(np.float32))

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", [x, self.parameter(f"{name}.w", rows, columns)], f"{name}.m")
        return self.node("Add", [product, self.parameter(f"{name}.b", columns)], name)

    def model(self, inputs: dict[str, tuple[int, Sequence[int | str]]]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "forward",
            [helper.make_tensor_value_info(name, *of) for name, of in inputs.items()],
            [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
            self.initializers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.checker.check_model(model, full_check=True)
        return model


def chain(layers: int, batch: int | str, width: int) -> tuple[onnx.ModelProto, list[str]]:
    """Linear layers with tanh between them, and the names of the parameters."""
    maker = GraphMaker()
    x = "x"
    for i in range(layers):
        x = maker.node("Tanh", [maker.linear(x, f"l{i}", width, width)], f"act{i}")
    maker.node("ReduceMean", [maker.node("Mul", [x, x], "square")], "loss", keepdims=0)
    return maker.model({"x": (TensorProto.FLOAT, [batch, width])}), maker.parameters


def transformer(
    layers: int, batch: int, length: int, width: int, heads: int, vocabulary: int
) -> tuple[onnx.ModelProto, list[str]]:
    """A decoder like GPT-2, and the names of the parameters."""
    maker = GraphMaker()
    size = width // heads
    split = maker.constant("split", np.array([0, 0, heads, size], np.int64))
    join = maker.constant("join", np.array([0, 0, width], np.int64))
    scale = maker.constant("scale", np.array(1 / np.sqrt(size), np.float32))
    mask = maker.constant("mask", np.triu(np.full((length, length), -1e9, np.float32), 1))

    def normalized(x: str, name: str) -> str:
        affine = [maker.parameter(f"{name}.g", width), maker.parameter(f"{name}.b", width)]
        return maker.node("LayerNormalization", [x, *affine], name, axis=-1)

    def head(x: str, name: str, order: list[int]) -> str:
        parts = maker.node("Reshape", [maker.linear(x, name, width, width), split], f"{name}.s")
        return maker.node("Transpose", [parts], f"{name}.t", perm=order)

    token = maker.node("Gather", [maker.parameter("wte", vocabulary, width), "ids"], "token")
    x = maker.node("Add", [token, maker.parameter("wpe", length, width)], "embedding")
    for i in range(layers):
        y = normalized(x, f"l{i}.n1")
        query = head(y, f"l{i}.q", [0, 2, 1, 3])
        key = head(y, f"l{i}.k", [0, 2, 3, 1])
        value = head(y, f"l{i}.v", [0, 2, 1, 3])
        scores = maker.node("MatMul", [query, key], f"l{i}.qk")
        scores = maker.node("Mul", [scores, scale], f"l{i}.scaled")
        scores = maker.node("Add", [scores, mask], f"l{i}.masked")
        weights = maker.node("Softmax", [scores], f"l{i}.weights", axis=-1)
        y = maker.node("MatMul", [weights, value], f"l{i}.heads")
        y = maker.node("Transpose", [y], f"l{i}.heads.t", perm=[0, 2, 1, 3])
        y = maker.node("Reshape", [y, join], f"l{i}.joined")
        x = maker.node("Add", [x, maker.linear(y, f"l{i}.o", width, width)], f"l{i}.x1")
        y = maker.linear(normalized(x, f"l{i}.n2"), f"l{i}.up", width, 4 * width)
        y = maker.linear(maker.node("Gelu", [y], f"l{i}.gelu"), f"l{i}.down", 4 * width, width)
        x = maker.node("Add", [x, y], f"l{i}.x2")
    x = normalized(x, "last")
    logits = maker.node("MatMul", [x, maker.parameter("head", width, vocabulary)], "scores")
    logits = maker.node("Transpose", [logits], "logits", perm=[0, 2, 1])
    maker.node("SoftmaxCrossEntropyLoss", [logits, "labels"], "loss")
    tokens = (TensorProto.INT64, [batch, length])
    return maker.model({"ids": tokens, "labels": tokens}), maker.parameters


def inputs_of(model: onnx.ModelProto, **sizes: int) -> dict[str, np.ndarray]:
    """Random inputs; integers are indices of less than 64."""
    random = np.random.default_rng(1)
    given = {tensor.name for tensor in model.graph.initializer}
    arrays = {}
    for value in model.graph.input:
        if value.name in given:
            continue
        of = value.type.tensor_type
        shape = [sizes.get(dim.dim_param, dim.dim_value) for dim in of.shape.dim]
        if of.elem_type == TensorProto.INT64:
            arrays[value.name] = random.integers(0, 64, size=shape)
        else:
            arrays[value.name] = random.normal(size=shape).astype(np.float32)
    return arrays


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise ValueError(key)


def measure(path: Path, order: str) -> int:
    """The most memory that a run takes beyond what is there before it."""
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.execution_order = getattr(onnxruntime.ExecutionOrder, order)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = inputs_of(onnx.load(path))
    session.run(None, inputs)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS:")
    outputs = session.run(None, inputs)
    peak = _status("VmHWM:") - before
    return peak - sum(output.nbytes for output in outputs)


if __name__ == "__main__":
    print(measure(Path(sys.argv[1]), sys.argv[2]))
