"""Models made into training steps, and steps run by ONNX Runtime with their state fed back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tool import build_dir

#: Behind the passes of a step.
FINISH = ("--amp-to-onnx", "--onnx-infer-types")


def convert(model: onnx.ModelProto, *passes: str) -> onnx.ModelProto:
    """The model after these passes of amp-opt, which the checker must accept."""
    bin_dir = build_dir() / "bin"
    commands: list[list[str | Path]] = [
        [bin_dir / "amp-translate", "--onnx-to-mlir", "-"],
        [bin_dir / "amp-opt", "-", *passes],
        [bin_dir / "amp-translate", "--mlir-to-onnx", "-"],
    ]
    data = model.SerializeToString()
    for command in commands:
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[:1000]
        data = done.stdout
    result = onnx.load_from_string(data)
    onnx.checker.check_model(result, full_check=True)
    return result


def state_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """State inputs, and the outputs that are their next values."""
    text = next(item.value for item in model.metadata_props if item.key == "amp.state")
    return {pair["input"]: pair["output"] for pair in json.loads(text)}


def initial_state(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The defaults of state inputs."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {name: values[name] for name in state_pairs(model)}


def with_float32_state(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same step with casts around its bfloat16 state, which ONNX Runtime's Python API does not
    give as arrays: they change no value."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    names = [*state_pairs(model), *state_pairs(model).values()]
    for value in [*graph.input, *graph.output]:
        element = value.type.tensor_type
        if value.name not in names or element.elem_type != TensorProto.BFLOAT16:
            continue
        inner = f"{value.name}/bfloat16"
        is_input = value.name in state_pairs(model)
        for node in graph.node:
            for list_of_names in (node.input, node.output):
                for i, name in enumerate(list_of_names):
                    if name == value.name:
                        list_of_names[i] = inner
        element.elem_type = TensorProto.FLOAT
        if is_input:
            graph.node.insert(
                0, helper.make_node("Cast", [value.name], [inner], to=TensorProto.BFLOAT16)
            )
            tensor = next(tensor for tensor in graph.initializer if tensor.name == value.name)
            wide = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(wide, value.name))
        else:
            graph.node.append(helper.make_node("Cast", [inner], [value.name], to=TensorProto.FLOAT))
    return result


class Run:
    """A session, and the state that it is fed back."""

    def __init__(self, model: onnx.ModelProto, **state: Any) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.pairs = state_pairs(model)
        self.state = initial_state(model)
        for name, value in state.items():
            self.state[name] = np.asarray(value, self.state[name].dtype)

    def step(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """One step; its outputs."""
        results = self.session.run(None, {**feeds, **self.state})
        found = dict(zip(self.outputs, results, strict=True))
        self.state = {name: found[output] for name, output in self.pairs.items()}
        return found
