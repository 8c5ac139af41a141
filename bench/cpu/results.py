"""What the rows of `tools/dev bench cpu` find."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What all rows are told. `seconds` is how long each contestant runs in a round."""

    tools: Path
    work: Path
    threads: int = 2
    rounds: int = 5
    seconds: float = 1.0
    quick: bool = False


@dataclass
class Result:
    """A line of the table: a number beside its goal, `ratio` <= `goal`, or >= with `at_least`."""

    row: str
    case: str
    ratio: float | None = None
    goal: float | None = None
    at_least: bool = False
    unit: str = "x"
    text: str = ""
    #: What was measured, by who: seconds of each round, or bytes.
    measured: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""

    @property
    def met(self) -> bool | None:
        """None where nothing was aimed at or measured."""
        if self.problem:
            return False
        if self.goal is None or self.ratio is None:
            return None
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    def __str__(self) -> str:
        if self.problem:
            return f"{'FAILED':6} {self.case:34} {self.problem}"
        word = {None: "", True: "met", False: "MISSED"}[self.met]
        value = "" if self.ratio is None else f"{self.ratio:8.3g} {self.unit}"
        sign = ">=" if self.at_least else "<="
        goal = "" if self.goal is None else f"{sign} {self.goal:g}"
        return f"{word:6} {self.case:34} {value:10} {goal:8} {self.text}"


def times_of(function: Callable[[], object], seconds: float, least: int) -> list[float]:
    """The time of each call, of as many as `seconds` allow, `least` at least."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return times


def median_of(function: Callable[[], object], seconds: float, least: int = 2) -> float:
    """The median time of such calls."""
    return statistics.median(times_of(function, seconds, least))


def least_times(runs: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Of short calls that take turns, one at a time, the least time of each."""
    best = dict.fromkeys(runs, float("inf"))

    def take_turns() -> None:
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)

    times_of(take_turns, seconds, least=3)
    return best


def in_turn(
    contestants: Mapping[str, Callable[[float], float]], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Runs them by turns, so that what else the machine does meets them all. Each is called with
    the seconds that it has in a round, and gives its median time."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            found[name].append(contestant(seconds))
    return found


def ratio_of(ours: list[float], *theirs: list[float]) -> float:
    """The median of the rounds' ratios to the one whose median is the least."""
    fastest = min(theirs, key=statistics.median)
    return statistics.median(a / b for a, b in zip(ours, fastest, strict=True))


def milliseconds(times: Mapping[str, list[float]]) -> str:
    """Medians, as a line."""
    return ", ".join(
        f"{name} {1e3 * statistics.median(each):.4g} ms" for name, each in times.items()
    )


def has_cpu_flag(name: str) -> bool:
    """Whether the CPU has such instructions, as Linux calls them."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return name in line.split()
    return False
