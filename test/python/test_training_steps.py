"""Training steps in ONNX Runtime follow PyTorch's own training: test/golden/train.

Same weights, same batches. The step comes from `onnx-amp train-graph`; ONNX Runtime runs it, and its
state is fed back as `amp.state` pairs it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from training import MODELS, RECORDS, golden, make_step, train

STEPS = 60
#: Of the loss over 60 steps, in float32. PyTorch's own float32 is off its float64 by up to 2.5e-6,
#: and ONNX Runtime adds up in another order: the README of the golden data allows 2e-5.
FLOAT32 = 2e-5


def golden_losses(model: str, optimizer: str, precision: str) -> np.ndarray:
    return golden(model, optimizer, precision)[:STEPS]


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "adagrad"])
@pytest.mark.parametrize("model", MODELS)
def test_float32_follows_pytorch(model: str, optimizer: str, tmp_path: Path) -> None:
    losses, _ = train(make_step(model, optimizer, "none", tmp_path), STEPS)
    golden = golden_losses(model, optimizer, "fp32")
    assert abs(losses[0] - golden[0]) <= 1e-6
    assert np.abs(np.array(losses) - golden).max() <= FLOAT32


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("model", MODELS)
def test_float16_follows_pytorch(model: str, optimizer: str, tmp_path: Path) -> None:
    losses, _ = train(make_step(model, optimizer, "fp16", tmp_path, "--loss-scale=none"), STEPS)
    golden = golden_losses(model, optimizer, "fp64")
    # How far PyTorch's own float16 is from float64, thrice.
    spread = RECORDS["spread"][f"{model}/{optimizer}"]["fp16_vs_fp64"]
    assert abs(losses[0] - golden[0]) <= 3 * spread["loss_step1"]
    assert np.abs(np.array(losses) - golden).max() <= 3 * spread["loss_max_60"]


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "adagrad", "adafactor", "lion"])
def test_every_optimizer_learns(optimizer: str, tmp_path: Path) -> None:
    rate = 0.01 if optimizer == "adafactor" else 1e-3
    record = RECORDS["optimizers"]["mlp"].get(optimizer, {"lr": rate, "weight_decay": 0.01})
    step = make_step("mlp", optimizer, "none", tmp_path, "--clip-norm=1.0", record=record)
    losses, state = train(step, STEPS)
    assert losses[-1] < 0.5 * losses[0]
    assert state["amp.step"] == STEPS
