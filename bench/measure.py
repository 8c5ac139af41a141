"""Runs whole processes and measures them: wall time, peak memory, peak anonymous memory.

The parent process must stay small: a child's peak memory begins with its parent's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_POLL_SECONDS = 0.001


@dataclass
class Run:
    """One process. `seconds` is None when it was stopped at the time limit."""

    seconds: float | None
    returncode: int
    peak_bytes: int
    anonymous_bytes: int = 0
    message: str = ""


@dataclass
class Series:
    """The runs of one command; medians of what they took."""

    runs: list[Run] = field(default_factory=list)

    @property
    def problem(self) -> str | None:
        """Why there is no time, or None."""
        if not self.runs:
            return "not run"
        for run in self.runs:
            if run.seconds is None:
                return run.message
            if run.returncode != 0:
                return f"{exit_text(run.returncode)}: {run.message}"
        return None

    @property
    def seconds(self) -> float | None:
        """Median wall time in seconds; None when a run failed or was stopped."""
        if self.problem:
            return None
        return statistics.median(run.seconds for run in self.runs if run.seconds is not None)

    @property
    def peak_bytes(self) -> int:
        """Largest resident memory of any run."""
        return max((run.peak_bytes for run in self.runs), default=0)

    @property
    def anonymous_bytes(self) -> int:
        """Largest anonymous memory of the runs in which it was watched."""
        return max((run.anonymous_bytes for run in self.runs), default=0)


def exit_text(returncode: int) -> str:
    """An exit code, or the signal that ended the process."""
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit code {returncode}"


def run(command: Sequence[str | Path], limit: float, watch_memory: bool = False) -> Run:
    """Runs a command to its end or to the time limit in seconds.

    Watching the anonymous memory takes some processor time of the same machine: times that are
    compared come from runs without it.
    """
    arguments = [str(word) for word in command]
    os.sync()  # what earlier runs wrote is not this one's burden
    start = time.perf_counter()
    with subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            process.kill()

        timer = threading.Timer(limit, stop)
        timer.daemon = True
        timer.start()
        peak = [0]
        watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
        if watch_memory:
            watcher.start()
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    if watch_memory:
        watcher.join()
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    message = f"stopped after {limit:.0f} s" if stopped.is_set() else (lines or [""])[-1][:160]
    return Run(
        None if stopped.is_set() else seconds,
        process.returncode,
        usage.ru_maxrss * 1024,
        peak[0],
        message,
    )


def _watch(pid: int, peak: list[int]) -> None:
    """Follows RssAnon until the process is gone."""
    status = Path(f"/proc/{pid}/status")
    with contextlib.suppress(OSError):
        while True:
            for line in status.read_text().splitlines():
                if line.startswith("RssAnon:"):
                    peak[0] = max(peak[0], int(line.split()[1]) * 1024)
                    break
            else:  # a zombie has no memory
                return
            time.sleep(_POLL_SECONDS)


def interleaved(
    commands: dict[str, Sequence[str | Path]],
    outputs: Path,
    rounds: int,
    limit: float,
    once: Sequence[str] = (),
) -> dict[str, Series]:
    """Runs the commands in turn, `rounds` times, and once more to watch the memory.

    What is in the folder `outputs` is removed before each run. The commands named in `once` take
    long: they run once, memory watched.
    """
    series = {name: Series() for name in commands}
    for turn in range(rounds + 1):
        watch = turn == rounds
        for name, command in commands.items():
            slow = name in once
            if series[name].problem not in (None, "not run") or (slow and not watch):
                continue
            for path in outputs.iterdir():
                path.unlink()
            done = run(command, limit, watch_memory=watch)
            if watch and not slow and series[name].runs:
                # Watched runs give memory, not time.
                series[name].runs[-1].anonymous_bytes = done.anonymous_bytes
                series[name].runs[-1].peak_bytes = max(
                    series[name].runs[-1].peak_bytes, done.peak_bytes
                )
            else:
                series[name].runs.append(done)
    for path in outputs.iterdir():
        path.unlink()
    return series
