"""Eager placement gives every node of a graph the type that PyTorch's dispatcher gives it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from autocast_graphs import COUNT, golden, graph, model
from onnx import TensorProto
from tool import onnx_amp

NAMES = {TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16"}
SHARDS = 10


def computed_in(path: Path, count: int) -> list[str]:
    """Per node the type of what it computes: behind a cast at the interface it has another name."""
    converted = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True)
    types = {value.name: value.type.tensor_type.elem_type for value in converted.graph.value_info}
    types.update({value.name: value.type.tensor_type.elem_type for value in converted.graph.output})
    outputs = {node.name: node.output[0] for node in converted.graph.node if node.op_type != "Cast"}
    return [NAMES[types[outputs[str(number)]]] for number in range(1, count + 1)]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_types_are_those_of_pytorch(tmp_path: Path, shard: int) -> None:
    amp, expected = onnx_amp(), golden()
    for seed in range(shard, COUNT, SHARDS):
        nodes = graph(seed)
        onnx.save(model(nodes), tmp_path / "in.onnx")
        amp.convert(
            tmp_path / "in.onnx", tmp_path / "out.onnx", "--policy", "torch", "--placement", "eager"
        )
        assert computed_in(tmp_path / "out.onnx", len(nodes)) == expected[str(seed)], (seed, nodes)


def test_both_types_are_there() -> None:
    """Where low and float32 values meet, there is something to get wrong."""
    mixed = [types for types in golden().values() if len(set(types)) == 2]
    assert len(golden()) == COUNT
    assert len(mixed) > COUNT / 2
