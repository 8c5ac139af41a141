"""Models that the tools make, and sessions of ONNX Runtime that are fed their state back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from tool import build_dir


def pipe(data: bytes, *commands: Sequence[str | Path]) -> bytes:
    """What comes out of programs of the build, of which each reads what the one before writes."""
    for program, *arguments in commands:
        command = [build_dir() / "bin" / program, *arguments]
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[:2000]
        data = done.stdout
    return data


def checked(data: bytes) -> onnx.ModelProto:
    """The model, which the checker must accept."""
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    return model


def run_passes(model: onnx.ModelProto | Path, *passes: str) -> onnx.ModelProto:
    """The model behind passes of amp-opt, which the checker must accept."""
    data = model.read_bytes() if isinstance(model, Path) else model.SerializeToString()
    return checked(
        pipe(
            data,
            ["amp-translate", "--onnx-to-mlir", "-"],
            ["amp-opt", "-", *passes],
            ["amp-translate", "--mlir-to-onnx", "-"],
        )
    )


def metadata(model: onnx.ModelProto, key: str) -> Any:
    """A value of the model's metadata, which is JSON."""
    return next(json.loads(item.value) for item in model.metadata_props if item.key == key)


def state_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """State inputs, and the outputs that are their next values."""
    return {pair["input"]: pair["output"] for pair in metadata(model, "amp.state")}


def initial_state(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The defaults of state inputs."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {name: values[name] for name in state_pairs(model) if name in values}


class StatefulSession:
    """A session, and the state that it is fed back."""

    def __init__(
        self,
        model: onnx.ModelProto,
        pairs: Mapping[str, str] | None = None,
        state: dict[str, np.ndarray] | None = None,
        *,
        threads: int = 1,
        optimize: bool = True,
    ) -> None:
        """By default pairs and state are what the model says. One thread adds sums up in one order."""
        self.pairs = dict(state_pairs(model) if pairs is None else pairs)
        self.state: dict[str, np.ndarray] = initial_state(model) if state is None else state
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        if not optimize:
            level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.graph_optimization_level = level
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {value.name for value in model.graph.input}
        self.outputs = [output.name for output in self.session.get_outputs()]

    def run(self, feeds: Mapping[str, Any] | None = None, /, **more: Any) -> dict[str, np.ndarray]:
        """One step; its outputs. What the model has no input for is left out."""
        given = {**self.state, **(feeds or {}), **more}
        arrays = {name: np.asarray(value) for name, value in given.items() if name in self.inputs}
        found = dict(zip(self.outputs, self.session.run(None, arrays), strict=True))
        self.advance({name: found[output] for name, output in self.pairs.items()})
        return found

    def advance(self, following: dict[str, np.ndarray]) -> None:
        """Makes these the state; who holds the state of before keeps it."""
        self.state = self.state | following
