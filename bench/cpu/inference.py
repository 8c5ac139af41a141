"""Inference of models by the CPU runtime beside ONNX Runtime.

    inference.py BIN [MODEL...] [--threads N] [--rounds N] [--seconds S] [--profile] [--json FILE]

BIN is the folder with onnx-amp and amp-run. MODELs are .onnx files with a .input.npz beside them,
all of AMP_CORPUS by default. Both run by turns, as often as `--seconds` allow; ratios are medians
of the rounds' ratios of median times.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime
from results import times_of


@dataclass
class Row:
    """Milliseconds of a step, a number for each round."""

    model: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    error: float = math.nan
    problem: str = ""

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))


class Ours:
    """An executable."""

    def __init__(self, tools: Path, model: Path, inputs: Path, work: Path, threads: int) -> None:
        self.path = work / "model.ampx"
        self.results = work / "results.npz"
        self.command = [tools / "amp-run", self.path, "--inputs", inputs]
        self.command += ["--threads", str(threads), "--outputs", self.results]
        self.call(tools / "onnx-amp", "compile", model, "-o", self.path, "--quiet")

    @staticmethod
    def call(*command: object) -> str:
        """Runs a tool; raises what it said if it fails."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        return done.stdout + done.stderr

    def time(self, count: int) -> float:
        """The median time of so many steps."""
        text = self.call(*self.command, "--repeat", max(count, 2))
        found = re.search(r"median ([0-9.]+) ms", text)
        assert found, text
        return float(found[1])

    def profile(self, count: int) -> dict[str, float]:
        """Milliseconds of a step by kernel, the most first."""
        trace = self.path.with_suffix(".json")
        self.call(*self.command, "--repeat", count, "--profile", trace)
        total: defaultdict[str, float] = defaultdict(float)
        for event in json.loads(trace.read_text())["traceEvents"]:
            total[event["name"]] += event["dur"] / 1000 / count
        return dict(sorted(total.items(), key=lambda item: -item[1]))


class Theirs:
    """A session of ONNX Runtime."""

    def __init__(self, model: Path, inputs: Mapping[str, np.ndarray], threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        names = [value.name for value in self.session.get_inputs()]
        self.feeds = {name: inputs[name] for name in names if name in inputs}

    def run(self) -> dict[str, np.ndarray]:
        """What a step gives."""
        names = [value.name for value in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, self.feeds), strict=True))

    def time(self, seconds: float) -> tuple[float, int]:
        """The median time of steps, and how many there were."""
        times = times_of(lambda: self.session.run(None, self.feeds), seconds, least=3)
        return 1000 * statistics.median(times), len(times)


def largest_error(ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> float:
    """Relative to the largest element of an output."""
    worst = 0.0
    for name, expected in theirs.items():
        if ours[name].shape != expected.shape:
            raise RuntimeError(f"{name} is {ours[name].shape}, not {expected.shape}")
        if expected.size and expected.dtype.kind == "f":
            difference = np.abs(ours[name].astype(np.float64) - expected).max()
            worst = max(worst, float(difference / max(1e-9, np.abs(expected).max())))
    return worst


def measure(model: Path, arguments: argparse.Namespace, work: Path) -> Row:
    """One model's row."""
    row = Row(model.stem)
    source = model.with_suffix(".input.npz")
    with np.load(source) as file:
        inputs = {name: file[name] for name in file.files}
    theirs = Theirs(model, inputs, arguments.threads)
    try:
        ours = Ours(arguments.bin, model, source, work, arguments.threads)
        ours.time(1)
        with np.load(ours.results) as file:
            row.error = largest_error(file, theirs.run())
        for _ in range(arguments.rounds):
            milliseconds, count = theirs.time(arguments.seconds)
            row.theirs.append(milliseconds)
            row.ours.append(ours.time(count))
        if arguments.profile:
            for name, milliseconds in list(ours.profile(5).items())[:8]:
                print(f"    {milliseconds:9.3f} ms  {name}")
    except RuntimeError as error:
        row.problem = str(error)
    return row


def main() -> None:
    """Entry of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=Path)
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true", help="print what takes the time")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    models = arguments.models or sorted(Path(os.environ["AMP_CORPUS"]).glob("*.onnx"))
    rows = []
    print(f"{'model':34} {'ours ms':>9} {'ORT ms':>9} {'ratio':>6} {'error':>8}")
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(model, arguments, Path(folder))
        rows.append(row)
        if row.problem:
            print(f"{row.model:34} {row.problem[-160:]}", flush=True)
            continue
        ours, theirs = statistics.median(row.ours), statistics.median(row.theirs)
        numbers = f"{ours:9.3f} {theirs:9.3f} {row.ratio:6.2f} {row.error:8.1e}"
        print(f"{row.model:34} {numbers}", flush=True)
    ratios = [row.ratio for row in rows if not row.problem]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"geometric mean of {len(ratios)} ratios: {mean:.3f}, worst {max(ratios):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
