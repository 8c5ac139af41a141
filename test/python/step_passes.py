"""Training steps made by the passes, and run by ONNX Runtime, which is fed its state back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from tool import build_dir
from training import GOLDEN, RECORDS


def run_passes(model: onnx.ModelProto | Path, *passes: str) -> onnx.ModelProto:
    """The model behind passes, `name` or `name=options`, as standard ONNX."""
    data = model.read_bytes() if isinstance(model, Path) else model.SerializeToString()
    bin_dir = build_dir() / "bin"
    passes = ("onnx-infer-types", *passes, "amp-to-onnx", "onnx-infer-types")
    commands: list[list[str | Path]] = [
        [bin_dir / "amp-translate", "--onnx-to-mlir", "-"],
        [bin_dir / "amp-opt", "-", *(f"--{each}" for each in passes)],
        [bin_dir / "amp-translate", "--mlir-to-onnx", "-"],
    ]
    for command in commands:
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[:2000]
        data = done.stdout
    step = onnx.load_from_string(data)
    onnx.checker.check_model(step, full_check=True)
    assert {entry.domain for entry in step.opset_import} == {""}
    return step


def run(command: list[str | Path], data: bytes) -> bytes:
    """What a tool writes to standard output."""
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    return done.stdout


def settings_of(record: dict[str, Any]) -> tuple[str, list[str]]:
    """The options of amp-attach-optimizer for an optimizer of PyTorch's."""
    values = {"momentum": record.get("momentum"), "eps": record.get("eps")}
    values["beta1"], values["beta2"] = record.get("betas", (None, None))
    names = [f"{name}={value}" for name, value in values.items() if value is not None]
    return f"lr={record['lr']} weight-decay={record['weight_decay']}", names


def make_golden_step(model: str, optimizer: str, low: str) -> onnx.ModelProto:
    """A golden model's step by passes; `low` is empty for float32."""
    options, names = settings_of(RECORDS["optimizers"][model][optimizer])
    casts = [f"amp-autocast=policy=training low={low} placement=eager", "amp-to-onnx"]
    return run_passes(
        GOLDEN / f"{model}.onnx",
        "amp-make-parameters=loss=loss",
        *([*casts, "onnx-merge-casts"] if low else []),
        "amp-differentiate=loss=loss",
        f"amp-attach-optimizer=optimizer={optimizer} {options} settings={','.join(names)}",
    )


def metadata(model: onnx.ModelProto, key: str) -> Any:
    """A value of the model's metadata, which is JSON."""
    return next(json.loads(item.value) for item in model.metadata_props if item.key == key)


class TrainingStep:
    """A session. `state` is fed to it, and is what it gives from then on."""

    def __init__(self, model: onnx.ModelProto, state: dict[str, np.ndarray] | None = None) -> None:
        """With `state`, another model's, the names that it has are those of one value."""
        self.pairs = {pair["input"]: pair["output"] for pair in metadata(model, "amp.state")}
        self.state = {} if state is None else state
        for tensor in model.graph.initializer:
            self.state.setdefault(tensor.name, numpy_helper.to_array(tensor))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {each.name for each in self.session.get_inputs()}
        # Initializers that are inputs, too.
        self.inputs |= {each.name for each in model.graph.input}
        self.outputs = [each.name for each in self.session.get_outputs()]

    def run(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """One call; returns the outputs."""
        arrays = {**self.state, **{name: np.asarray(value) for name, value in feeds.items()}}
        arrays = {name: value for name, value in arrays.items() if name in self.inputs}
        found = dict(zip(self.outputs, self.session.run(None, arrays), strict=True))
        for name, output in self.pairs.items():
            self.state[name] = found[output]
        return found
