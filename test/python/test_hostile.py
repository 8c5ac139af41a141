"""Damaged and hostile models: `check_hostile.py` judges, this counts. All must pass.

Against the sanitizer build (AMP_BUILD_DIR=build/asan) time is scaled and the address space is not
limited, since the sanitizer reserves terabytes of it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tool import SOURCE_DIR, build_dir, onnx_amp

HOSTILE = SOURCE_DIR / "test" / "hostile"
CHECKER = HOSTILE / "check_hostile.py"
RECORDS = json.loads((HOSTILE / "hand.json").read_text())["cases"]

#: What the sanitizer build cannot show, by format and case.
NOT_WITH_SANITIZERS = {
    ("fp16", "ext_huge_sparse"): "without a limit on the address space, 1 TiB is read to its end",
}


def is_sanitizer_build() -> bool:
    return build_dir().name == "asan"


def run_checker(command: str, ids: list[str], report: Path) -> dict[str, Any]:
    """Verdicts of check_hostile.py by case."""
    options = ["--no-as", "--time-scale", "10"] if is_sanitizer_build() else []
    pattern = "^(" + "|".join(map(re.escape, ids)) + ")$"
    done = subprocess.run(
        [sys.executable, CHECKER, "--json", report, *options, "--only", pattern, command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), f"check_hostile.py ended with {done.returncode}: {done.stderr[-2000:]}"
    return {verdict["id"]: verdict for verdict in json.loads(report.read_text())["results"]}


@pytest.fixture(scope="session")
def verdicts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Any]:
    """Verdicts by format and case of the selected tests, which run when the first one is asked for,
    as many at once as there are processors."""
    wanted: dict[str, list[str]] = {}
    for item in request.session.items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if "hostile_id" not in params or item.get_closest_marker("skip"):
            continue
        dtype, name = params["dtype"], params["hostile_id"]
        if not (is_sanitizer_build() and (dtype, name) in NOT_WITH_SANITIZERS):
            wanted.setdefault(dtype, []).append(name)
    folder = tmp_path_factory.mktemp("hostile")
    jobs = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for dtype, ids in wanted.items():
            tool = str(onnx_amp().path)
            command = shlex.join([tool, "convert", "--dtype", dtype, "{in}", "-o", "{out}"])
            for start in range(os.cpu_count() or 1):
                shard = ids[start :: os.cpu_count()]
                if shard:
                    report = folder / f"{dtype}-{start}.json"
                    jobs[dtype, start] = pool.submit(run_checker, command, shard, report)
    return {
        (dtype, name): verdict
        for (dtype, _), job in jobs.items()
        for name, verdict in job.result().items()
    }


@pytest.mark.parametrize("dtype", ["fp16", pytest.param("none", marks=pytest.mark.full)])
@pytest.mark.parametrize("hostile_id", [record["id"] for record in RECORDS])
def test_case(dtype: str, hostile_id: str, verdicts: dict[tuple[str, str], Any]) -> None:
    if (dtype, hostile_id) not in verdicts:
        pytest.skip(NOT_WITH_SANITIZERS[dtype, hostile_id])
    verdict = verdicts[dtype, hostile_id]
    if verdict["verdict"] == "skip":
        pytest.skip("; ".join(verdict["why"]) or str(verdict.get("note")))
    assert verdict["verdict"] == "pass", "; ".join(verdict["why"])


def test_the_judge_sees_its_own_faults() -> None:
    done = subprocess.run(
        [sys.executable, CHECKER, "--selftest"], capture_output=True, text=True, check=False
    )
    passed, failed = done.stdout.splitlines()[-1].split(", ")
    assert int(passed.split()[0]) >= 17, done.stdout[-2000:]
    assert failed == "0 failed"


def test_verdicts_reach_the_counts(tmp_path: Path) -> None:
    """A converter that copies passes what must be kept, and fails what must be refused."""
    verdicts = run_checker(
        "cp {in} {out}", ["trunc_mid_raw", "trunc_between_fields"], tmp_path / "r"
    )
    assert {name: verdict["verdict"] for name, verdict in verdicts.items()} == {
        "trunc_mid_raw": "fail",
        "trunc_between_fields": "pass",
    }
