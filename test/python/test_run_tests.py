"""The counts that `tools/dev test` ends with: whatever goes wrong with a runner is a failure, never silence."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "tools" / "run_tests.py"
SPEC = importlib.util.spec_from_file_location("run_tests", PATH)
assert SPEC and SPEC.loader
run_tests = importlib.util.module_from_spec(SPEC)
sys.modules["run_tests"] = run_tests
SPEC.loader.exec_module(run_tests)

JUNIT = """<testsuites><testsuite>
  <testcase classname="a" name="good"/>
  <testcase classname="a" name="bad"><failure>why</failure></testcase>
  <testcase classname="a" name="broken"><error>why</error></testcase>
  <testcase classname="a" name="later"><skipped/></testcase>
</testsuite></testsuites>"""

GOOGLETEST = json.dumps(
    {
        "testsuites": [
            {
                "name": "A",
                "testsuite": [
                    {"name": "good", "status": "RUN", "result": "COMPLETED"},
                    {"name": "bad", "status": "RUN", "failures": [{"failure": "why"}]},
                    {"name": "later", "status": "RUN", "result": "SKIPPED"},
                    {"name": "DISABLED_x", "status": "NOTRUN", "result": "SUPPRESSED"},
                ],
            }
        ]
    }
)


def count(text: str | None, counter: Callable[[Path], object] | None, code: int = 0) -> str:
    """What a runner counts for that writes `text` as its report and ends with `code`."""
    write = f"Path(r'{{report}}').write_text({text!r});" if text is not None else ""
    program = f"from pathlib import Path; {write} raise SystemExit({code})"
    return str(run_tests.run("runner", [sys.executable, "-c", program], counter))


def test_reports_are_counted() -> None:
    assert count(JUNIT, run_tests.count_junit, 1) == "1 passed, 2 failed, 1 skipped"
    assert count(GOOGLETEST, run_tests.count_googletest, 1) == "1 passed, 1 failed, 2 skipped"


def test_a_check_without_report_counts_by_its_exit_code() -> None:
    assert count(None, None) == "1 passed, 0 failed"
    assert count(None, None, 3) == "0 passed, 1 failed"
    assert str(run_tests.run("absent", ["/nonexistent/runner"])) == "0 passed, 1 failed"


@pytest.mark.parametrize("counter", [run_tests.count_junit, run_tests.count_googletest])
@pytest.mark.parametrize("text", [None, "", "<testsuites><testcase", '{"testsuites": [{}]}', "[]"])
def test_a_runner_without_a_whole_report_has_failed(
    counter: Callable[[Path], object], text: str | None
) -> None:
    assert count(text, counter) == "0 passed, 1 failed"


def test_a_runner_that_runs_nothing_has_failed() -> None:
    assert count("<testsuites/>", run_tests.count_junit) == "0 passed, 1 failed"
    assert count('{"testsuites": []}', run_tests.count_googletest) == "0 passed, 1 failed"


def test_a_runner_that_ends_badly_has_failed() -> None:
    report = '<testsuites><testcase name="good"/></testsuites>'
    assert count(report, run_tests.count_junit, 1) == "1 passed, 1 failed"
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    crashed = run_tests.run("crash", [sys.executable, "-c", crash], run_tests.count_junit)
    assert str(crashed) == "0 passed, 1 failed"
