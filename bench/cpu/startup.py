"""Size of the runtime library, and the time that a big executable takes to load."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cpu.executable import ToolError, call
from cpu.results import Result, Settings
from measure import interleaved

BENCH = Path(__file__).resolve().parents[1]
SIZE_GOAL, LOAD_GOAL = 3.0, 20.0
#: What an application links, and what that needs.
LIBRARY, NEEDED = "AMPRuntime", ("AMPKernels", "AMPExecutableFormat", "AMPMemoryPlan", "AMPWire")
EXECUTABLE_BYTES = 500_000_000


def size(settings: Settings) -> Iterator[Result]:
    """The library as a shared one, with all that it needs but the system's."""
    folder, target = settings.tools.parent / "lib", settings.work / "libAMPRuntime.so"
    command: list[object] = ["clang++-22", "-shared", "-fuse-ld=lld", "-s", "-o", target]
    command += ["-Wl,--gc-sections", "-Wl,--whole-archive", folder / f"lib{LIBRARY}.a"]
    command += ["-Wl,--no-whole-archive", *(folder / f"lib{name}.a" for name in NEEDED)]
    try:
        call(*command, "-lprotobuf-lite")
    except ToolError as error:
        yield Result("size", "runtime library", problem=str(error))
        return
    found = target.stat().st_size / 1e6
    yield Result("size", "runtime library, stripped", found, SIZE_GOAL, unit="MB")


def load(settings: Settings) -> Iterator[Result]:
    """A whole process that loads and prints what it has loaded, beside one that loads nothing."""
    source = settings.work / "weights.onnx"
    target = source.with_suffix(".ampx")
    script = [
        sys.executable,
        str(BENCH / "synthetic.py"),
        "weights",
        str(EXECUTABLE_BYTES),
        str(source),
    ]
    subprocess.run(script, check=True)
    try:
        call(settings.tools / "onnx-amp", "compile", source, "-o", target, "--quiet")
    except ToolError as error:
        yield Result("load", "executable of 500 MB", problem=str(error))
        return
    source.unlink()
    run = settings.tools / "amp-run"
    outputs = settings.work / "outputs"
    outputs.mkdir(exist_ok=True)
    commands = {"load": [run, target, "--describe"], "nothing": [run, "--help"]}
    series = interleaved(commands, outputs, max(settings.rounds, 5), 60)
    loaded, nothing = series["load"], series["nothing"]
    if loaded.seconds is None or nothing.seconds is None:
        yield Result("load", "executable of 500 MB", problem=loaded.problem or str(nothing.problem))
        return
    text = f"with the process, which takes {1e3 * nothing.seconds:.1f} ms without; "
    text += f"{loaded.anonymous_bytes / 1e6:.1f} MB of memory of its own"
    label = f"executable of {target.stat().st_size / 1e6:.0f} MB"
    yield Result("load", label, 1e3 * loaded.seconds, LOAD_GOAL, unit="ms", text=text)
