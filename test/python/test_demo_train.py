"""`tools/dev demo train` finds what is wrong, and nothing where nothing is."""

from __future__ import annotations

import dataclasses

import demo_train
import numpy as np
import pytest
from training import Digits, golden, golden_accuracy


def test_an_overflow_skips_one_step() -> None:
    said, problem = demo_train.overflow("mlp", Digits.load())
    assert problem is None, problem
    assert said.endswith("skipped 1")


def test_a_result_is_judged() -> None:
    losses = golden("mlp", "adamw", "fp32")
    right = golden_accuracy("mlp", "adamw", "fp32")
    result = demo_train.Result("mlp", "fp32", losses, right, 0)
    assert result.problem() is None
    for change, word in (
        ({"losses": losses + 3e-5}, "losses differ"),
        ({"losses": np.where(losses == losses[7], np.nan, losses)}, "not finite"),
        ({"accuracy": right - 0.011}, "accuracy"),
        ({"dtype": "bf16", "losses": losses + 0.01}, "first loss"),
    ):
        assert word in str(dataclasses.replace(result, **change).problem())


@pytest.mark.full
def test_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo_train.main() == 0, capsys.readouterr().err
