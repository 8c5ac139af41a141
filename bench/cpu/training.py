"""Training steps beside PyTorch: float32, and 16 bits beside autocast and our own float32."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from cpu.executable import Executable, ToolError, call
from cpu.models import CASES, Case, Step, make
from cpu.results import Result, Settings, has_cpu_flag, in_turn, median_of, milliseconds, ratio_of

#: Of PyTorch's faster time in float32; of our own float32; of autocast's with and without 16 bits in hardware.
F32_GOAL, OWN_GOAL, LOW_GOAL, EMULATED_GOAL = 0.8, 1.1, 0.8, 0.1
#: Largest relative difference of first losses.
SAME_LOSS = {"none": 1e-4, "fp16": 5e-3, "bf16": 2e-2}
#: A step that takes longer than so many seconds is timed once.
LONG = 5.0


def make_step(settings: Settings, case: Case, low: str, folder: Path) -> Executable:
    """Our step."""
    forward, options, inputs = case.export(folder)
    target = folder / f"{low}.onnx"
    command = [settings.tools / "onnx-amp", "train-graph", forward, "-o", target, *options]
    command += ["--optimizer=adamw", "--lr=1e-3", "--weight-decay=0.01", f"--dtype={low}"]
    call(*command, "--quiet")
    return Executable(settings.tools, target, inputs, settings.threads)


def timed_torch(step: Step) -> tuple[float, Callable[[float], float]]:
    """The first loss and PyTorch's contestant; what is long is timed once, for all rounds."""
    loss = float(step())
    begin = time.perf_counter()
    step()
    second = time.perf_counter() - begin
    if second > LONG:
        return loss, lambda seconds: second
    return loss, lambda seconds: median_of(step, seconds)


def contest(
    settings: Settings, case: Case, folder: Path, lows: tuple[str, ...]
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Times of all that run the case, by turns; and the first losses."""
    contestants, losses = {}, {}
    for low in lows:
        executable = make_step(settings, case, low, folder)
        losses[f"onnx-amp {low}"] = float(executable.output("loss"))
        contestants[f"onnx-amp {low}"] = executable.contestant()
        for who in ("eager",) if settings.quick else ("eager", "compiled"):
            step = Step(case, "" if low == "none" else low, compiled=who == "compiled")
            losses[f"{who} {low}"], contestants[f"{who} {low}"] = timed_torch(step)
    return in_turn(contestants, settings.rounds, settings.seconds), losses


def judge(
    case: str, times: dict[str, list[float]], losses: dict[str, float], lows: tuple[str, ...]
) -> Iterator[Result]:
    """The lines of a case."""
    for low in lows:
        ours = times[f"onnx-amp {low}"]
        theirs = {
            name.split()[0]: each
            for name, each in times.items()
            if name.endswith(f" {low}") and not name.startswith("onnx-amp")
        }
        one, other = losses[f"onnx-amp {low}"], losses[f"eager {low}"]
        if not abs(one - other) <= SAME_LOSS[low] * abs(other):
            problem = f"first loss {one:.6f} in {low}, PyTorch's is {other:.6f}"
            yield Result("training", case, problem=problem)
            continue
        named = {"onnx-amp": ours, **theirs}
        text = milliseconds(named)
        ratio = ratio_of(ours, *theirs.values())
        if low == "none":
            yield Result("training", f"{case} f32", ratio, F32_GOAL, text=text, measured=named)
            continue
        goal = LOW_GOAL if has_cpu_flag("avx512_bf16") else EMULATED_GOAL
        yield Result("training-16", f"{case} {low}", ratio, goal, text=text, measured=named)
        if "onnx-amp none" in times:
            own = ratio_of(ours, times["onnx-amp none"])
            yield Result("training-16", f"{case} {low} / our f32", own, OWN_GOAL)


def report(settings: Settings, models: list[str], lows: tuple[str, ...]) -> Iterator[Result]:
    """All lines."""
    torch.set_num_threads(settings.threads)
    for name in models or CASES:
        case = make(name)
        folder = settings.work / name
        folder.mkdir(exist_ok=True)
        try:
            times, losses = contest(settings, case, folder, lows)
        except ToolError as error:
            yield Result("training", case.name, problem=str(error))
            continue
        yield from judge(case.name, times, losses, lows)


def profiles(settings: Settings, models: list[str], lows: tuple[str, ...]) -> Iterator[Result]:
    """What takes the time of our steps, instead of a contest."""
    for name in models or CASES:
        case = make(name)
        folder = settings.work / name
        folder.mkdir(exist_ok=True)
        for low in lows:
            label = f"{case.name} {'f32' if low == 'none' else low}"
            try:
                executable = make_step(settings, case, low, folder)
                step = executable.time(3)
                lines = "".join(f"\n      {line}" for line in shares(executable, step))
                yield Result("training", label, text=f"step {1e3 * step:.4g} ms{lines}")
            except ToolError as error:
                yield Result("training", label, problem=str(error))


def shares(executable: Executable, step: float, most: int = 12) -> Iterator[str]:
    """Lines that say what takes the time of a step of so many seconds."""
    commands = executable.profile(min(20, max(3, round(3 / step))))
    total = sum(command.seconds for command in commands)
    for command in commands[:most]:
        share = command.seconds / total
        rates = f"{command.bytes / command.seconds / 1e9:7.2f} GB/s"
        if command.flops:
            rates += f" {command.flops / command.seconds / 1e9:7.1f} GFLOP/s"
        milli = 1e3 * command.seconds
        yield f"{milli:9.3f} ms {share:6.1%} {command.count:4} {command.name:22} {rates}  {command.node}"
    rest = sum(command.seconds for command in commands[most:])
    yield f"{1e3 * rest:9.3f} ms {rest / total:6.1%}       {len(commands[most:])} others"
