"""Gradients by `onnx-amp differentiate` of the cases made from public fault reports.

Every case must pass but those of cases/known_gradient_failures.txt, which gives a reason for each;
one of them that passes is a failure too, so that the list stays true.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_cases import read_known_failures
from tool import SOURCE_DIR, onnx_amp

CASES = SOURCE_DIR / "test" / "cases"
KNOWN_FAILURES = read_known_failures(CASES / "known_gradient_failures.txt")
RECORDS = json.loads((CASES / "grad" / "grad_cases.json").read_text())["cases"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is wrong with each case by name, None if nothing is."""
    report = tmp_path_factory.mktemp("gradients") / "report.json"
    command = [str(onnx_amp().path), "differentiate", "{in}", "-o", "{out}", "--loss", "{loss}"]
    checker = [sys.executable, CASES / "check_grad.py", "--json", report]
    done = subprocess.run(
        [*checker, shlex.join([*command, "--wrt", "{wrt}"])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), f"check_grad.py ended with {done.returncode}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.mark.parametrize("name", [record["name"] for record in RECORDS])
def test_case(name: str, results: dict[str, Any]) -> None:
    problem = results[name]
    if name not in KNOWN_FAILURES:
        assert not problem, problem
        return
    assert problem, f"passes now; take it from the known failures ({KNOWN_FAILURES[name]})"
    pytest.xfail(KNOWN_FAILURES[name])


def test_known_failures_are_cases() -> None:
    assert not KNOWN_FAILURES.keys() - {record["name"] for record in RECORDS}


def test_lists_and_repeated_options(tmp_path: Path) -> None:
    source = CASES / "grad" / "broadcast_both_ways.onnx"
    record = next(record for record in RECORDS if record["name"] == source.stem)
    common = ("differentiate", source, "--loss", record["loss"])
    onnx_amp().run(*common, "-o", tmp_path / "list.onnx", "--wrt", ",".join(record["wrt"]))
    repeated = [word for name in record["wrt"] for word in ("--wrt", name)]
    onnx_amp().run(*common, "-o", tmp_path / "repeated.onnx", *repeated)
    assert (tmp_path / "list.onnx").read_bytes() == (tmp_path / "repeated.onnx").read_bytes()


def test_external_data_is_kept_or_taken_in(tmp_path: Path) -> None:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.arange(4096, dtype=np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["x", "w"], ["y"]),
            helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4096])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(
        model, tmp_path / "in.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    run = onnx_amp().run
    arguments = ("differentiate", tmp_path / "in.onnx", "--loss", "loss", "--wrt", "w", "--durable")
    run(*arguments, "-o", tmp_path / "kept.onnx").expect_success()
    kept = onnx.load(tmp_path / "kept.onnx", load_external_data=False)
    assert {entry.value for entry in kept.graph.initializer[0].external_data} >= {"w.bin"}
    inline = tmp_path / "inline.onnx"
    run(*arguments, "-o", inline, "--external-data", "inline").expect_success()
    taken = onnx.load(inline, load_external_data=False).graph.initializer[0]
    assert (numpy_helper.to_array(taken) == weights).all()
    # What the model reads is never replaced.
    error = run(*arguments, "-o", tmp_path / "w.bin").expect_error("w.bin")
    assert (tmp_path / "w.bin").stat().st_size == weights.nbytes, error
    (tmp_path / "w.bin").rename(tmp_path / "elsewhere")
    (tmp_path / "w.bin").symlink_to(tmp_path / "elsewhere")
    run(*arguments, "-o", tmp_path / "linked.onnx").expect_error("w.bin")
    run(*arguments, "-o", tmp_path / "linked.onnx", "--allow-links").expect_success()
