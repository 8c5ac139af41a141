"""Gradients of single nodes equal PyTorch's in float64: test/golden/gradcheck."""

from __future__ import annotations

from pathlib import Path

import pytest
from gradients import Case, cases, problem

#: Which of equal maxima gets the gradient is decided by axes that are known.
NEEDS_CONSTANTS = {"kink_reducemax_tie_max_dim"}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_gradients(case: Case, tmp_path: Path) -> None:
    assert not problem(case, tmp_path)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.constant_inputs], ids=lambda case: case.name
)
def test_what_is_constant_may_be_an_input(case: Case, tmp_path: Path) -> None:
    if case.name in NEEDS_CONSTANTS:
        pytest.skip("which of equal maxima gets the gradient is decided by axes that are known")
    assert not problem(case, tmp_path, constants=False)
