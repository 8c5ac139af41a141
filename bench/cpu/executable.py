"""Models compiled by onnx-amp, as the rows of `tools/dev bench cpu` time them."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

UNITS = {"bytes": 1, "byte": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
#: Commands that hold others, whose times theirs have in them.
REGIONS = ("if", "loop", "scan")


class ToolError(Exception):
    """What a tool said before it failed."""


def call(*command: object) -> str:
    """Runs a tool; what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ToolError(lines[-1] if lines else f"exit code {done.returncode}")
    return done.stdout + done.stderr


@dataclass
class Command:
    """What a command of an executable takes in a step."""

    name: str = ""
    node: str = ""
    count: int = 0
    seconds: float = 0.0
    bytes: int = 0
    flops: int = 0


class Executable:
    """A compiled model with inputs, run by amp-run with so many threads."""

    def __init__(
        self,
        tools: Path,
        model: Path,
        inputs: Mapping[str, Any],
        threads: int,
        *options: str,
    ) -> None:
        self.path = model.with_suffix(".ampx")
        call(tools / "onnx-amp", "compile", model, "-o", self.path, "--quiet", *options)
        arrays = model.with_suffix(".in.npz")
        np.savez(arrays, **inputs)
        self.command: list[object] = [tools / "amp-run", self.path, "--threads", threads]
        if inputs:
            self.command += ["--inputs", arrays]
        self.describing = [tools / "amp-run", self.path, "--describe"]

    def time(self, steps: int) -> float:
        """The median time of a step in seconds."""
        text = call(*self.command, "--repeat", max(steps, 2))
        found = re.search(r"median ([0-9.]+) ms", text)
        if not found:
            raise ToolError(f"amp-run prints no median: {text}")
        return float(found[1]) / 1000

    def contestant(self) -> Callable[[float], float]:
        """For results.in_turn."""
        step = self.time(2)
        return lambda seconds: self.time(round(seconds / step))

    def output(self, name: str) -> np.ndarray:
        """What the first step gives."""
        results = self.path.with_suffix(".out.npz")
        call(*self.command, "--outputs", results)
        with np.load(results) as file:
            found: np.ndarray = file[name]
        return found

    def profile(self, steps: int) -> list[Command]:
        """A step's commands, those that take most first; all with one kernel are one. Of each command the
        fastest of the steps counts: what else the machine does only adds."""
        trace = self.path.with_suffix(".json")
        call(*self.command, "--repeat", steps, "--profile", trace)
        events: defaultdict[tuple[object, ...], list[dict[str, Any]]] = defaultdict(list)
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["name"] not in REGIONS:
                arguments = event["args"]
                events[event["name"], *arguments.values()].append(event)
        found: defaultdict[str, Command] = defaultdict(Command)
        for same in events.values():
            # Commands that run in the first step only are no part of the others.
            for number in range(len(same) // steps):
                times = [event["dur"] for event in same[number :: len(same) // steps]]
                arguments = same[0]["args"]
                command = found[same[0]["name"]]
                command.name, command.count = same[0]["name"], command.count + 1
                command.node = command.node or arguments["node"]
                command.seconds += min(times) * 1e-6
                command.bytes += arguments["bytes_read"] + arguments["bytes_written"]
                command.flops += arguments.get("flops", 0)
        return sorted(found.values(), key=lambda command: -command.seconds)

    def memory(self) -> dict[str, float]:
        """Bytes of the states, of the outputs and of the arena."""
        text = call(*self.describing)
        sizes = {}
        for what in ("memory of states", "memory of outputs", "arena"):
            found = re.search(rf"^{what}: ([0-9.]+) (\w+)", text, re.MULTILINE)
            sizes[what] = float(found[1]) * UNITS[found[2]] if found else 0.0
        return sizes
