"""Training steps made by the passes, and run by ONNX Runtime, which is fed its state back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from stateful import StatefulSession, run_passes
from training import GOLDEN, RECORDS


def make_step(model: onnx.ModelProto | Path, *passes: str) -> onnx.ModelProto:
    """The model behind passes, `name` or `name=options`, as standard ONNX."""
    passes = ("onnx-infer-types", *passes, "amp-to-onnx", "onnx-infer-types")
    step = run_passes(model, *(f"--{each}" for each in passes))
    assert {entry.domain for entry in step.opset_import} == {""}
    return step


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
    return make_step(
        GOLDEN / f"{model}.onnx",
        "amp-make-parameters=loss=loss",
        *([*casts, "onnx-merge-casts"] if low else []),
        "amp-differentiate=loss=loss",
        f"amp-attach-optimizer=optimizer={optimizer} {options} settings={','.join(names)}",
    )


class TrainingStep(StatefulSession):
    """A step whose state may be shared with another model's: the names that both have are those of one value."""

    def __init__(self, model: onnx.ModelProto, state: dict[str, np.ndarray] | None = None) -> None:
        shared = {} if state is None else state
        for tensor in model.graph.initializer:
            shared.setdefault(tensor.name, numpy_helper.to_array(tensor))
        super().__init__(model, state=shared)

    def advance(self, following: dict[str, np.ndarray]) -> None:
        """In place, for all that share it."""
        self.state.update(following)
