"""Conversions side by side with other converters and with `cp`: time and memory, and their worth.

    tools/dev bench                       everything
    tools/dev bench synthetic import      some parts: corpus, synthetic, lossless, import, autocast,
                                          train
    tools/dev bench corpus --models resnet50_ts17 --rounds 5

All commands of a table run in turn as whole processes; times are medians, memory is the largest
seen. The rivals run in the same session; one that is not installed is reported as not measured.
Models come from AMP_CORPUS (the models above 10 MB) and from bench/synthetic.py. `autocast` compares
what comes out, of all models of AMP_CORPUS or test/models: casts, bytes moved, weights, error.
`train` times training steps beside ONNX Runtime training's (bench/training_steps.py).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import rivals
from comparison import Comparison
from measure import run

PARTS = ("corpus", "synthetic", "lossless", "import", "autocast", "train")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tools/dev bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each command")
    parser.add_argument("--limit", type=float, default=300, help="seconds a run may take")
    parser.add_argument("--models", nargs="*", default=[], help="only these of the corpus")
    parser.add_argument("--no-rivals", action="store_true", help="only onnx-amp and cp")
    parser.add_argument("--work", type=Path, help="folder for the files (default: temporary)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a goal is missed")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part '{unknown.pop()}', expected one of {', '.join(PARTS)}")
    return options


def main() -> int:
    """Entry of the command line."""
    options = parse_options()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        comparison = Comparison(options, Path(folder))
        if not comparison.tool.exists():
            sys.exit(f"bench: error: {comparison.tool} has not been built")
        start = run([comparison.tool, "--help"], 60)
        processors = os.cpu_count()
        print(f"{platform.machine()}, {processors} processors, Python {platform.python_version()}")
        print(f"onnx-amp: {start.seconds or 0:.3f} s to start")
        print("\n".join(rivals.versions()))
        parts: dict[str, Callable[[], None]] = {
            "corpus": comparison.corpus,
            "synthetic": comparison.synthetic,
            "lossless": comparison.lossless,
            "import": comparison.imports,
            "autocast": comparison.autocast,
            "train": comparison.train,
        }
        for name in options.parts or PARTS:
            parts[name]()
        print(f"\ngoals\n{comparison.goals}")
        if options.json:
            options.json.write_text(json.dumps(comparison.record, indent=1) + "\n")
        missed = sum(not met for met, _ in comparison.goals.lines)
        print(f"{len(comparison.goals.lines) - missed} met, {missed} missed")
        return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
