"""Compares onnx-amp with `cp` and with the other converters, and with what was aimed at."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rivals
from measure import Series, interleaved

BENCH = Path(__file__).resolve().parent
MB = 1e6
LARGE_BYTES = 10 * MB
HUGE_BYTES = 100 * MB
CP_FACTOR, CP_SECONDS = 2.0, 0.06
TIMES_FASTER_LARGE, TIMES_FASTER_HUGE = 5.0, 25.0
LOSSLESS_CP_FACTOR, LOSSLESS_ANONYMOUS = 1.3, 0.10
IMPORT_SECONDS, IMPORT_BYTES = 2.0, 1e9


@dataclass
class Goals:
    """What was aimed at, and what came out."""

    lines: list[tuple[bool, str]] = field(default_factory=list)

    def add(self, met: bool, text: str) -> None:
        """Notes one goal."""
        self.lines.append((met, text))

    def __str__(self) -> str:
        return "\n".join(f"  {'met   ' if met else 'MISSED'}  {text}" for met, text in self.lines)


class Comparison:
    """One run of the benchmark with its options; `work` is an empty folder."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options = options
        build = Path(os.environ.get("AMP_BUILD_DIR") or BENCH.parent / "build" / "release")
        self.tool = build / "bin" / "onnx-amp"
        self.outputs = work / "out"
        self.outputs.mkdir()
        self.inputs = work / "in"
        self.inputs.mkdir()
        self.rivals = rivals.installed()
        self.goals = Goals()
        self.record: list[dict[str, object]] = []

    def commands(self, source: Path, dtype: str = "fp16") -> dict[str, Sequence[str | Path]]:
        """The command lines of one table row: cp, ours, the rivals."""
        target = self.outputs / "out.onnx"
        ours: list[str | Path] = [
            self.tool,
            "convert",
            "--quiet",
            "--dtype",
            dtype,
            source,
            "-o",
            target,
        ]
        found: dict[str, Sequence[str | Path]] = {"cp": ["cp", source, target], "onnx-amp": ours}
        if dtype != "none" and not self.options.no_rivals:
            for rival in self.rivals:
                found[rival.name] = rival.command(source, target, dtype)
        return found

    def measure(self, source: Path, dtype: str = "fp16") -> dict[str, Series]:
        """Runs a row."""
        commands = self.commands(source, dtype)
        slow = [name for name in commands if name not in ("cp", "onnx-amp")]
        rounds, limit = self.options.rounds, self.options.limit
        once = slow if source.stat().st_size >= LARGE_BYTES else ()
        series = interleaved(commands, self.outputs, rounds, limit, once)
        self.record.append(
            {
                "model": source.stem,
                "bytes": source.stat().st_size,
                "dtype": dtype,
                "tools": {
                    name: {
                        "seconds": item.seconds,
                        "peak_bytes": item.peak_bytes,
                        "anonymous_bytes": item.anonymous_bytes,
                        "problem": item.problem,
                    }
                    for name, item in series.items()
                },
            }
        )
        return series

    def make(self, name: str, *arguments: str) -> Path:
        """A synthetic model; made by another process, so that this one stays small."""
        path = self.inputs / f"{name}.onnx"
        command = [sys.executable, str(BENCH / "synthetic.py"), *arguments, str(path)]
        subprocess.run(command, check=True)
        return path

    # ---- the parts

    def corpus(self) -> None:
        """Real models above 10 MB."""
        root = os.environ.get("AMP_CORPUS")
        if not root:
            print("AMP_CORPUS is unset: no real models are measured")
            return
        models = sorted(Path(root).glob("*.onnx"), key=lambda path: path.stat().st_size)
        chosen = [
            path
            for path in models
            if (path.stem in self.options.models)
            or (not self.options.models and path.stat().st_size >= LARGE_BYTES)
        ]
        if not chosen:
            print(f"no model of AMP_CORPUS={root} is measured (whole models above 10 MB are)")
        self.table("real models to fp16", chosen)

    def synthetic(self) -> None:
        """Long chains."""
        self.table(
            "synthetic chains to fp16",
            [self.make(f"chain_{nodes}", "chain", str(nodes)) for nodes in (2_000, 100_000)],
        )

    def table(self, title: str, models: list[Path]) -> None:
        """Rows of times, ratios and memory."""
        if not models:
            return
        print(f"\n{title}: seconds (times as long as onnx-amp), peak memory in MB")
        names = ["cp", "onnx-amp", *(r.name for r in self.rivals if not self.options.no_rivals)]
        print(f"{'model':32} {'MB':>6}  " + "  ".join(f"{name:>26}" for name in names))
        ratios: dict[str, list[float]] = {}
        for model in models:
            path = model
            if model.parent != self.inputs:  # beside the outputs: the same file system
                path = self.inputs / model.name
                shutil.copyfile(model, path)
            series = self.measure(path)
            cells = [self.cell(series[name], series["onnx-amp"]) for name in names]
            size = path.stat().st_size
            print(f"{model.stem:32} {size / MB:6.1f}  " + "  ".join(cells), flush=True)
            for name, item in series.items():
                if item.problem:
                    print(f"    {name}: {item.problem}")
            self.judge(model.stem, size, series, ratios)
            path.unlink()
        for name, values in ratios.items():
            middle = sorted(values)[len(values) // 2]
            print(f"median: {name} takes {middle:.1f} times as long as cp")

    @staticmethod
    def cell(item: Series, ours: Series) -> str:
        """One cell: time, ratio, memory."""
        if item.seconds is None:
            return f"{'-':>26}"
        ratio = f"({item.seconds / ours.seconds:.2f}x)" if ours.seconds else ""
        return f"{item.seconds:9.3f} {ratio:>9} {item.peak_bytes / MB:6.0f}"

    def judge(
        self, name: str, size: int, series: dict[str, Series], ratios: dict[str, list[float]]
    ) -> None:
        """Compares a row with the goals."""
        copy, ours = series["cp"].seconds, series["onnx-amp"].seconds
        if ours is None or copy is None:
            self.goals.add(False, f"{name}: {series['onnx-amp'].problem or series['cp'].problem}")
            return
        for tool, item in series.items():
            if item.seconds is not None and tool != "cp":
                ratios.setdefault(tool, []).append(item.seconds / copy)
        if size < LARGE_BYTES:
            return
        allowed = CP_FACTOR * copy + CP_SECONDS
        self.goals.add(
            ours <= allowed, f"{name}: {ours:.3f} s, allowed {allowed:.3f} s (2 x cp + 60 ms)"
        )
        times = [
            item.seconds
            for tool, item in series.items()
            if tool not in ("cp", "onnx-amp") and item.seconds is not None
        ]
        if times:
            wanted = TIMES_FASTER_HUGE if size >= HUGE_BYTES else TIMES_FASTER_LARGE
            factor = min(times) / ours
            self.goals.add(
                factor >= wanted,
                f"{name}: {factor:.1f} times as fast as the fastest rival, wanted {wanted:.0f}",
            )

    def lossless(self) -> None:
        """Import and export of 1 GB."""
        model = self.make("weights_1gb", "weights", "1000000000")
        series = self.measure(model, "none")
        copy, ours = series["cp"], series["onnx-amp"]
        print(f"\nimport and export of {model.stat().st_size / MB:.0f} MB (--dtype none)")
        self.print_rows(series)
        if not copy.seconds or not ours.seconds:
            self.goals.add(False, f"lossless: {ours.problem or copy.problem}")
            return
        ratio = ours.seconds / copy.seconds
        share = ours.anonymous_bytes / model.stat().st_size
        self.goals.add(ratio <= LOSSLESS_CP_FACTOR, f"1 GB: {ratio:.2f} x cp, allowed 1.3")
        self.goals.add(
            share <= LOSSLESS_ANONYMOUS, f"1 GB: RssAnon {share:.1%} of the file, allowed 10%"
        )
        model.unlink()

    def imports(self) -> None:
        """Import and export of 100,000 nodes."""
        model = self.make("chain_100000", "chain", "100000")
        series = self.measure(model, "none")
        ours = series["onnx-amp"]
        print("\nimport and export of 100,000 nodes (--dtype none)")
        self.print_rows(series)
        if not ours.seconds:
            self.goals.add(False, f"100,000 nodes: {ours.problem}")
            return
        self.goals.add(
            ours.seconds <= IMPORT_SECONDS, f"100,000 nodes: {ours.seconds:.2f} s, allowed 2 s"
        )
        self.goals.add(
            ours.peak_bytes <= IMPORT_BYTES,
            f"100,000 nodes: {ours.peak_bytes / MB:.0f} MB at the peak, allowed 1000",
        )

    def autocast(self) -> None:
        """What conversions are worth; a model at a time."""
        import autocast
        import corpus

        print("\nconversions to fp16, and placements by other converters' lists")
        for model in corpus.all_models():
            if self.options.models and model.name not in self.options.models:
                continue
            with tempfile.TemporaryDirectory(dir=self.outputs) as folder:
                bench = autocast.Bench(self.tool, model, Path(folder), self.options.limit)
                record, problems = autocast.report(bench)
            self.record.append(record)
            self.goals.add(not problems, f"{model.name}: no placement moves fewer bytes than ours")

    def train(self) -> None:
        """Training steps."""
        import training_steps

        self.record += training_steps.report(self.goals, self.tool, self.options.rounds)

    @staticmethod
    def print_rows(series: dict[str, Series]) -> None:
        """A row per tool."""
        for name, item in series.items():
            if item.seconds is None:
                print(f"    {name:10} {item.problem}")
            else:
                print(
                    f"    {name:10} {item.seconds:7.3f} s, peak {item.peak_bytes / MB:6.0f} MB, "
                    f"RssAnon {item.anonymous_bytes / MB:6.0f} MB"
                )
