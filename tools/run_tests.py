"""Runs every check and test on a finished build and adds up what they say.

The last line of output is `N passed, N failed` with `, N skipped` where something was. A runner that crashes, writes
no report, or runs nothing is a failure: silence is never success.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Count:
    """How many tests passed and were skipped, and the names of those that failed."""

    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)

    def add(self, other: Count) -> None:
        """Adds what another run counted."""
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed

    def __str__(self) -> str:
        text = f"{self.passed} passed, {len(self.failed)} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def count_junit(report: Path) -> Count:
    """Counts a JUnit XML report, which lit and pytest write."""
    count = Count()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '')} {case.get('name', '')}".strip()
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed.append(name)
        elif case.find("skipped") is not None:
            count.skipped += 1
        else:
            count.passed += 1
    return count


def count_googletest(report: Path) -> Count:
    """Counts a GoogleTest JSON report."""
    count = Count()
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                count.failed.append(f"{suite['name']}.{case['name']}")
            elif case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                count.skipped += 1
            else:
                count.passed += 1
    return count


def run(
    title: str,
    command: Sequence[str | Path],
    counter: Callable[[Path], Count] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Count:
    """Runs a command, in which {report} stands for the file that `counter` reads; without one the exit code counts."""
    print(f"== {title}", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        arguments = [str(word).replace("{report}", str(report)) for word in command]
        try:
            code = subprocess.run(
                arguments,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                check=False,
            ).returncode
        except OSError as error:
            print(error)
            code = -1
        count = read_report(title, code, report, counter)
    print(f"== {title}: {count} ({time.monotonic() - start:.0f} s)", flush=True)
    return count


def read_report(
    title: str, code: int, report: Path, counter: Callable[[Path], Count] | None
) -> Count:
    """What a run that ended with `code` counts for."""
    if counter is None:
        return Count(passed=1) if code == 0 else Count(failed=[f"{title} (exit code {code})"])
    try:
        count = counter(report)
    except (OSError, ValueError, LookupError, TypeError, ElementTree.ParseError) as error:
        return Count(failed=[f"{title} (exit code {code}, no report: {error})"])
    if count.passed + count.skipped + len(count.failed) == 0:
        count.failed.append(f"{title} (exit code {code}, ran no test)")
    elif code != 0 and not count.failed:
        count.failed.append(f"{title} (exit code {code}, though no test failed)")
    return count


def lint() -> Count:
    """Formatting, lint and types of what is written by hand."""
    count = run("format", [ROOT / "tools/dev", "format", "--check"])
    count.add(run("ruff", ["ruff", "check", "--quiet"]))
    count.add(run("mypy", ["mypy", "--no-error-summary"]))
    scripts = [ROOT / "tools/dev", ROOT / ".ci/run", *sorted(ROOT.glob("tools/setup/*.sh"))]
    scripts += sorted(ROOT.glob("bench/*.sh"))
    count.add(run("shellcheck", ["shellcheck", *scripts]))
    return count


def lit_and_unit_tests(build: Path) -> Count:
    """The lit tests and the GoogleTest programs of one build tree."""
    try:
        suites = json.loads((build / "test/suites.json").read_text())
    except (OSError, ValueError) as error:
        return Count(failed=[f"{build.name}: {error}"])
    lit = [sys.executable, suites["lit"], "-sv", "--xunit-xml-output={report}", build / "test"]
    count = run(f"lit {build.name}", lit, count_junit)
    for program in suites["unit"]:
        command = [program, "--gtest_brief=1", "--gtest_output=json:{report}"]
        title = f"{Path(program).name} {build.name}"
        count.add(run(title, command, count_googletest))
    return count


def python_tests(build: Path, *options: str) -> Count:
    """The pytest tests of one build tree."""
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml={report}", *options]
    return run(f"pytest {build.name}", command, count_junit, {"AMP_BUILD_DIR": str(build)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the long tests and the sanitizers too")
    full = parser.parse_args().full

    release, asan = ROOT / "build/release", ROOT / "build/asan"
    count = lint()
    count.add(lit_and_unit_tests(release))
    count.add(python_tests(release, *(["--full"] if full else [])))
    if full:
        count.add(lit_and_unit_tests(asan))
        count.add(python_tests(asan))

    for name in count.failed:
        print(f"failed: {name}")
    print(count)
    return 1 if count.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        print("0 passed, 1 failed")
        sys.exit(1)
