"""Trains with ONNX Runtime's own training API; run by test_ort_training.py, with its package first.

    python run_ort_training.py TRAINING EVAL OPTIMIZER CHECKPOINT MODEL RATE [SCALE]

SCALE is the initial loss scale of a model that has one as input. Prints a JSON object.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from ort_training import batches


def training_api() -> Any:
    """The API alone: what its package imports besides wants PyTorch."""
    package = types.ModuleType("onnxruntime.training")
    package.__path__ = [str(Path(onnxruntime.__file__).parent / "training")]
    sys.modules["onnxruntime.training"] = package
    from onnxruntime.training import api

    return api


def main(
    training: str, evaluation: str, optimizer: str, checkpoint: str, model: str, *numbers: str
) -> None:
    api = training_api()
    state = api.CheckpointState.load_checkpoint(checkpoint)
    module = api.Module(training, state, evaluation)
    step = api.Optimizer(optimizer, module)
    step.set_learning_rate(float(numbers[0]))
    scaler = [np.array(float(numbers[1]), np.float32), np.array(0, np.int32)] if numbers[1:] else []
    found: dict[str, list[Any]] = {"losses": [], "scales": [], "found_inf": [], "unchanged": []}

    def parameters() -> bytes:
        return b"".join(value.data.tobytes() for _, value in state.parameters)

    for x, labels in batches(model):
        module.train()
        outputs = module(x, labels, *scaler)
        before = parameters()
        step.step()
        found["unchanged"].append(before == parameters())
        module.lazy_reset_grad()
        if scaler:
            loss, overflow, *scaler = outputs
            found["found_inf"].append(bool(overflow))
            found["scales"].append(float(scaler[0]))
        else:
            loss = outputs
        found["losses"].append(float(loss))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
