"""The CPU runtime beside ONNX Runtime, PyTorch and the memory's bandwidth: `tools/dev bench cpu`.

    tools/dev bench cpu                                     the whole table (an hour)
    tools/dev bench cpu --only training --models gpt2 --quick
    tools/dev bench cpu --only training --models resnet18 --profile

Rows are inference, inference-fp16 and inference-bf16 (models of AMP_CORPUS), training (float32, and 16 bits),
memory, bandwidth, optimizer, size and load. All contestants run in turn, in this process or in
their own, with as many threads; ratios are medians of the rounds' ratios of medians. A line says whether
its goal is met.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from cpu import bandwidth, corpus_rows, startup
from cpu.results import Result, Settings

BENCH = Path(__file__).resolve().parent
LOWS = ("none", "fp16", "bf16")
ROWS = {
    "inference": "inference beside ONNX Runtime, float32",
    "inference-fp16": "inference beside ONNX Runtime, float16",
    "inference-bf16": "inference in bfloat16 beside our float32",
    "training": "training steps beside the faster of PyTorch's",
    "memory": "planned memory of a training step beside PyTorch's peak",
    "bandwidth": "elementwise operations and reductions: share of a copy's bandwidth",
    "optimizer": "AdamW, unscaling and clipping beside PyTorch",
    "size": "size of the runtime library",
    "load": "time to load an executable",
}
NEED_TORCH = ("training", "memory", "optimizer")
NEED_CORPUS = ("inference", "inference-fp16", "inference-bf16")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tools/dev bench cpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument(
        "--models", nargs="*", default=[], help="only these, of inference or training"
    )
    parser.add_argument("--dtypes", nargs="*", default=list(LOWS), choices=LOWS, help="of training")
    parser.add_argument(
        "--quick", action="store_true", help="a glance: one short round, no torch.compile"
    )
    parser.add_argument(
        "--profile", action="store_true", help="what takes the time of training steps"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a contestant in a round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="folder for the files (default: temporary)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a goal is missed")
    options = parser.parse_args()
    for row in options.only or ():
        if row not in ROWS:
            parser.error(f"unknown row '{row}', expected one of {', '.join(ROWS)}")
    if options.quick:
        options.rounds, options.seconds = 1, 0.3
    return options


def obstacle(row: str) -> str | None:
    """Why a row cannot be measured here."""
    if row in NEED_TORCH and find_spec("torch") is None:
        return "not measured: needs PyTorch"
    if row in NEED_CORPUS and not os.environ.get("AMP_CORPUS"):
        return "not measured: AMP_CORPUS is unset"
    if row in NEED_CORPUS[:2] and not corpus_rows.INFERENCE.exists():
        return f"not measured: {corpus_rows.INFERENCE} is not there"
    return None


def results_of(row: str, settings: Settings, options: argparse.Namespace) -> Iterator[Result]:
    """A row's lines."""
    lows = tuple(low for low in LOWS if low in options.dtypes)
    plain: dict[str, Callable[[Settings], Iterator[Result]]] = {
        "bandwidth": bandwidth.report,
        "size": startup.size,
        "load": startup.load,
    }
    of_corpus: dict[str, Callable[[Settings, list[str]], Iterator[Result]]] = {
        "inference": corpus_rows.inference,
        "inference-fp16": corpus_rows.inference_fp16,
        "inference-bf16": corpus_rows.inference_bf16,
    }
    if row in plain:
        yield from plain[row](settings)
    elif row in of_corpus:
        yield from of_corpus[row](settings, options.models)
    elif row == "optimizer":
        from cpu import optimizer

        yield from optimizer.report(settings)
    elif row == "memory":
        from cpu import memory

        yield from memory.report(settings, options.models, lows)
    else:
        from cpu import training

        if options.profile:
            yield from training.profiles(settings, options.models, lows)
        else:
            yield from training.report(settings, options.models, lows)


def main() -> int:
    """Entry of the command line."""
    options = parse_options()
    build = Path(os.environ.get("AMP_BUILD_DIR") or BENCH.parent / "build" / "release")
    if not (build / "bin" / "amp-run").exists():
        sys.exit(f"bench: error: {build} has not been built")
    print(f"{platform.machine()}, {os.cpu_count()} processors, {options.threads} threads")
    found: list[Result] = []
    for row in options.only or ROWS:
        print(f"\n{ROWS[row]}")
        reason = obstacle(row)
        if reason:
            print(f"  {reason}")
            continue
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            settings = Settings(
                build / "bin",
                Path(folder),
                options.threads,
                options.rounds,
                options.seconds,
                options.quick,
            )
            for result in results_of(row, settings, options):
                print(f"  {result}", flush=True)
                found.append(result)
    if options.json:
        records = [{**asdict(result), "met": result.met} for result in found]
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    missed = sum(result.met is False for result in found)
    print(f"\n{sum(result.met is True for result in found)} met, {missed} missed")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
