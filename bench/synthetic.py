"""Models made to measure: long graphs, and files that are almost all weights.

    python synthetic.py chain NODES OUT.onnx
    python synthetic.py weights BYTES OUT.onnx [EXTERNAL_DATA_NAME]

Weights are streamed to the file, so that a model of any size costs little memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Field numbers of onnx.proto, for the parts that are written without protobuf.
_MODEL_GRAPH = 7
_GRAPH_INITIALIZER = 5
_TENSOR_RAW_DATA = 9
_LENGTH_DELIMITED = 2


def write_chain(path: Path, nodes: int, width: int = 64, weights: int = 16) -> None:
    """A chain of MatMul, Add, Relu and Softmax over a few shared weights: `nodes` nodes in all."""
    rng = np.random.default_rng(nodes)
    pattern = ("MatMul", "Add", "Relu", "Add", "Tanh", "MatMul", "Add", "Softmax")
    made = []
    previous = "x"
    for index in range(nodes):
        operator = pattern[index % len(pattern)]
        output = "y" if index == nodes - 1 else f"v{index}"
        inputs = [previous]
        if operator == "MatMul":
            inputs.append(f"w{index % weights}")
        elif operator == "Add":
            inputs.append(f"b{index % weights}")
        made.append(helper.make_node(operator, inputs, [output], name=f"{operator}_{index}"))
        previous = output
    initializers = []
    for index in range(weights):
        matrix = rng.normal(0, width**-0.5, (width, width)).astype(np.float32)
        initializers.append(numpy_helper.from_array(matrix, f"w{index}"))
        bias = rng.normal(0, 0.1, (width,)).astype(np.float32)
        initializers.append(numpy_helper.from_array(bias, f"b{index}"))
    model = _model(made, width, initializers)
    path.write_bytes(model.SerializeToString())


def write_weights(path: Path, size: int, external: str | None = None, width: int = 4096) -> None:
    """A chain of MatMuls of `width` whose weights take about `size` bytes.

    With `external`, the weights go to a file of that name beside the model, which must lie in the
    same folder; without, they are in the model, whose size protobuf limits to 2 GiB.
    """
    each = width * width * 4
    count = max(1, round(size / each))
    names = ["x", *(f"v{index}" for index in range(count - 1)), "y"]
    nodes = [
        helper.make_node(
            "MatMul", [names[index], f"w{index}"], [names[index + 1]], name=f"MatMul_{index}"
        )
        for index in range(count)
    ]
    headers = [
        TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[width, width])
        for index in range(count)
    ]
    blocks = _random_blocks(width)
    if external is not None:
        with (path.parent / external).open("wb") as file:
            for index, header in enumerate(headers):
                header.data_location = TensorProto.EXTERNAL
                for key, value in (
                    ("location", external),
                    ("offset", str(index * each)),
                    ("length", str(each)),
                ):
                    header.external_data.add(key=key, value=value)
                file.write(next(blocks))
        path.write_bytes(_model(nodes, width, headers).SerializeToString())
        return
    model = _model(nodes, width, [])
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    prefixes = []
    for header in headers:
        start = header.SerializeToString() + _key(_TENSOR_RAW_DATA) + _varint(each)
        prefixes.append(_key(_GRAPH_INITIALIZER) + _varint(len(start) + each) + start)
    length = len(graph) + sum(map(len, prefixes)) + count * each
    with path.open("wb") as file:
        file.write(model.SerializeToString() + _key(_MODEL_GRAPH) + _varint(length) + graph)
        for prefix in prefixes:
            file.write(prefix)
            file.write(next(blocks))


def _model(nodes: list[onnx.NodeProto], width: int, weights: list[TensorProto]) -> onnx.ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width]) for name in "xy"]
    graph = helper.make_graph(nodes, "synthetic", values[:1], values[1:], weights)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="synthetic"
    )


def _random_blocks(width: int) -> Iterator[bytes]:
    """Weights without end: one random matrix, rotated a little for each."""
    values = np.random.default_rng(0).standard_normal(width * width, dtype=np.float32)
    values *= np.float32(width**-0.5)
    while True:
        values = np.roll(values, 4099)
        yield values.tobytes()


def _key(field: int) -> bytes:
    return _varint(field << 3 | _LENGTH_DELIMITED)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def main(arguments: list[str]) -> int:
    """Entry of the command line."""
    kind, amount, target, *rest = arguments
    if kind == "chain":
        write_chain(Path(target), int(amount))
    else:
        write_weights(Path(target), int(amount), rest[0] if rest else None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
