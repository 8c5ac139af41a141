"""Planned memory of a training step beside PyTorch's peak of allocated bytes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from cpu.executable import ToolError
from cpu.models import CASES, Step, make
from cpu.results import Result, Settings
from cpu.training import make_step

GOAL = 0.7


def report(settings: Settings, models: list[str], lows: tuple[str, ...]) -> Iterator[Result]:
    """A line for each model and format."""
    torch.set_num_threads(settings.threads)
    for name in models or CASES:
        case = make(name)
        folder = settings.work / name
        folder.mkdir(exist_ok=True)
        for low in lows:
            label = f"{case.name} {'f32' if low == 'none' else low}"
            try:
                sizes = make_step(settings, case, low, folder).memory()
            except ToolError as error:
                yield Result("memory", label, problem=str(error))
                continue
            ours = sum(sizes.values())
            theirs = Step(case, "" if low == "none" else low).peak_bytes()
            text = f"onnx-amp {ours / 1e6:.4g} MB ({sizes['arena'] / 1e6:.4g} of them arena), "
            text += f"PyTorch {theirs / 1e6:.4g} MB"
            measured = {"onnx-amp": [ours], "PyTorch": [float(theirs)]}
            yield Result("memory", label, ours / theirs, GOAL, text=text, measured=measured)
