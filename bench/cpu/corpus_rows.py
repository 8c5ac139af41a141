"""Inference of corpus models beside ONNX Runtime: which models, with which inputs; inference.py times.

Batch 8 is the inputs of batch 1 eight times, where the model's first dimension is dynamic in all inputs.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cpu.executable import Executable, ToolError, call
from cpu.results import Result, Settings, in_turn, milliseconds, ratio_of

INFERENCE = Path(__file__).parent / "inference.py"
MEAN_GOAL, WORST_GOAL, BOUND_GOAL = 1.0, 1.3, 0.5
#: Models whose time is that of reading weights at batch 1.
BOUND = "gpt2_small"
BATCH = 8


def corpus(models: list[str]) -> list[Path]:
    """The models that are measured: all without names."""
    root = os.environ.get("AMP_CORPUS")
    found = sorted(Path(root).glob("*.onnx")) if root else []
    return [path for path in found if not models or path.stem in models]


def inputs_of(model: Path) -> dict[str, np.ndarray]:
    """A model's inputs in the corpus."""
    with np.load(model.with_suffix(".input.npz")) as file:
        return {name: file[name] for name in file.files}


def link(model: Path, folder: Path) -> Path:
    """The model and its inputs in a folder."""
    target = folder / model.name
    for path in (model, model.with_suffix(".input.npz")):
        link = folder / path.name
        if not link.exists():
            link.symlink_to(path.resolve())
    return target


def at_batch(model: Path, folder: Path) -> Path | None:
    """The model with inputs of batch 8; None where some input's first dimension is fixed."""
    graph = onnx.load(model, load_external_data=False).graph
    known = {one.name for one in graph.initializer}
    dims = {
        value.name: value.type.tensor_type.shape.dim
        for value in graph.input
        if value.name not in known
    }
    inputs = inputs_of(model)
    names = {dim[0].dim_param if dim else "" for name, dim in dims.items() if name in inputs}
    if len(names) != 1 or "" in names or any(len(one) != 1 for one in inputs.values()):
        return None
    target = folder / model.name
    target.symlink_to(model.resolve())
    many: dict[str, Any] = {name: np.repeat(array, BATCH, axis=0) for name, array in inputs.items()}
    np.savez(target.with_suffix(".input.npz"), **many)
    return target


def converted(settings: Settings, model: Path, low: str, folder: Path) -> Path:
    """The model in 16 bits, with the inputs that it had."""
    target = folder / model.name
    tool = settings.tools / "onnx-amp"
    call(tool, "convert", model, "-o", target, "--dtype", low, "--allow-links", "--quiet")
    inputs = target.with_suffix(".input.npz")
    if not inputs.exists():
        inputs.symlink_to(model.with_suffix(".input.npz").resolve())
    return target


def beside_onnxruntime(settings: Settings, row: str, models: list[Path]) -> Iterator[Result]:
    """A line for each model that runs, then their mean and the worst."""
    target = settings.work / "inference.json"
    command = [sys.executable, str(INFERENCE), str(settings.tools), *map(str, models)]
    command += ["--threads", str(settings.threads), "--rounds", str(settings.rounds)]
    command += ["--seconds", str(settings.seconds), "--json", str(target)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        yield Result(row, "inference.py", problem=(done.stderr.splitlines() or ["failed"])[-1])
        return
    ratios = []
    for record in json.loads(target.read_text()):
        if record["problem"]:
            yield Result(row, record["model"], problem=record["problem"])
            continue
        times = {"onnx-amp": record["ours"], "ONNX Runtime": record["theirs"]}
        times = {name: [one / 1e3 for one in each] for name, each in times.items()}
        ratio = ratio_of(*times.values())
        ratios.append(ratio)
        bound = row.endswith("fp16") and record["model"].startswith(BOUND)
        goal = BOUND_GOAL if bound else WORST_GOAL if row == "inference" else None
        text = milliseconds(times)
        yield Result(row, record["model"], ratio, goal, text=text, measured=times)
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        yield Result(row, f"geometric mean of {len(ratios)}", mean, MEAN_GOAL)
        yield Result(row, "the worst", max(ratios), WORST_GOAL if row == "inference" else None)


def inference(settings: Settings, models: list[str]) -> Iterator[Result]:
    """In float32, batch 1 and 8."""
    folders = [settings.work / name for name in ("batch1", "batch8")]
    for folder in folders:
        folder.mkdir()
    found = corpus(models)
    links = [link(model, folders[0]) for model in found]
    many = [at_batch(model, folders[1]) for model in found]
    yield from beside_onnxruntime(settings, "inference", links)
    eight = [model for model in many if model]
    if eight:
        yield from beside_onnxruntime(settings, "inference, batch 8", eight)


def inference_fp16(settings: Settings, models: list[str]) -> Iterator[Result]:
    """In float16, both on our model."""
    folder = settings.work / "fp16"
    folder.mkdir()
    low = []
    for model in corpus(models):
        try:
            low.append(converted(settings, model, "fp16", folder))
        except ToolError as error:
            yield Result("inference-fp16", model.stem, problem=str(error))
    if low:
        yield from beside_onnxruntime(settings, "inference-fp16", low)


def inference_bf16(settings: Settings, models: list[str]) -> Iterator[Result]:
    """In bfloat16 beside our own float32."""
    folder = settings.work / "bf16"
    folder.mkdir()
    ratios = []
    for model in corpus(models):
        inputs = inputs_of(model)
        try:
            contestants = {}
            for name, path in (
                ("float32", link(model, settings.work)),
                ("bfloat16", converted(settings, model, "bf16", folder)),
            ):
                executable = Executable(
                    settings.tools, path, inputs, settings.threads, "--allow-links"
                )
                contestants[name] = executable.contestant()
            times = in_turn(contestants, settings.rounds, settings.seconds)
        except ToolError as error:
            yield Result("inference-bf16", model.stem, problem=str(error))
            continue
        ratios.append(ratio_of(times["bfloat16"], times["float32"]))
        text = milliseconds(times)
        yield Result("inference-bf16", model.stem, ratios[-1], text=text, measured=times)
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        yield Result("inference-bf16", f"geometric mean of {len(ratios)}", mean, MEAN_GOAL)
