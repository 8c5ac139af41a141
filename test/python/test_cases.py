"""The cases made from public fault reports: `check_cases.py` judges, this counts.

Every case must pass but those of cases/known_failures.txt, which gives a reason for each; one of
them that passes is a failure too, so that the list stays true.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tool import SOURCE_DIR, is_full, onnx_amp

PLACEMENTS = ("optimal", "eager")
CASES = SOURCE_DIR / "test" / "cases"
NAIVE_CONVERTER = Path(__file__).with_name("naive_converter.py")


def read_known_failures(path: Path) -> dict[str, str]:
    """Names and reasons, a line each: `name: reason`; lines with # are comments."""
    known = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, colon, reason = line.partition(":")
            assert colon and reason.strip(), f"{path.name}: no reason given in '{line}'"
            known[name.strip()] = reason.strip()
    return known


KNOWN_FAILURES = read_known_failures(CASES / "known_failures.txt")
RECORDS = json.loads((CASES / "cases.json").read_text())["cases"]


def run_cases(command: str, names: list[str], report: Path) -> dict[str, Any]:
    """The results of check_cases.py by name: `passed` and `checks`."""
    checker = [sys.executable, CASES / "check_cases.py", "--large", "--json", report, command]
    done = subprocess.run([*checker, "--only", *names], capture_output=True, text=True, check=False)
    assert report.exists(), f"check_cases.py ended with {done.returncode}: {done.stderr[-2000:]}"
    results: dict[str, Any] = json.loads(report.read_text())
    return results


def complaint(name: str, result: dict[str, Any], known: dict[str, str]) -> str | None:
    """What is not as expected of a case, or None."""
    if result["passed"]:
        return (
            f"passes now; take it from the known failures ({known[name]})"
            if name in known
            else None
        )
    if name in known:
        return None
    return "; ".join(
        f"{check}: {detail}" for check, passed, detail in result["checks"] if not passed
    )


@pytest.fixture(scope="session")
def results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Results of the selected cases, by `placement/name`."""
    parameters = [
        getattr(getattr(item, "callspec", None), "params", {}) for item in request.session.items
    ]
    names_of_cases = {record["name"] for record in RECORDS}
    large = {record["name"] for record in RECORDS if record["large"]}
    wanted = [
        (each["placement"], each["name"])
        for each in parameters
        if "placement" in each
        and each.get("name") in names_of_cases
        and (is_full(request.config) or each["name"] not in large)
    ]
    convert = [str(onnx_amp().path), "convert", "{in}", "-o", "{out}", "{opts}"]
    folder = tmp_path_factory.mktemp("cases")
    # As many at once as there are processors; each shard starts its own interpreter.
    jobs = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for placement in PLACEMENTS:
            names = [name for each, name in wanted if each == placement]
            command = shlex.join([*convert, "--placement", placement])
            for start in range(os.cpu_count() or 1):
                if shard := names[start :: os.cpu_count()]:
                    report = folder / f"{placement}{start}.json"
                    jobs[placement, start] = pool.submit(run_cases, command, shard, report)
    return {
        f"{placement}/{name}": result
        for (placement, _), job in jobs.items()
        for name, result in job.result().items()
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(record["name"], marks=[pytest.mark.full] if record["large"] else [])
        for record in RECORDS
    ],
)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_case(placement: str, name: str, results: dict[str, Any]) -> None:
    problem = complaint(name, results[f"{placement}/{name}"], KNOWN_FAILURES)
    assert not problem, problem
    if name in KNOWN_FAILURES:
        pytest.xfail(KNOWN_FAILURES[name])


def test_known_failures_are_cases() -> None:
    assert set(KNOWN_FAILURES) <= {record["name"] for record in RECORDS}


# ---- the judge itself


@pytest.mark.parametrize(
    ("fault", "passed"), [("", True), ("wrong", False), ("unsorted", False), ("crash", False)]
)
def test_the_judge_sees(fault: str, passed: bool, tmp_path: Path) -> None:
    name = "output_also_consumed"
    command = shlex.join([sys.executable, str(NAIVE_CONVERTER), "--fault", fault, "convert"])
    result = run_cases(f"{command} {{in}} -o {{out}} {{opts}}", [name], tmp_path / "report")[name]
    assert result["passed"] == passed, result["checks"]
    assert (complaint(name, result, {}) is None) == passed
    assert (complaint(name, result, {name: "known"}) is None) != passed
