"""The benchmark and the demo measure what they say, and see what is wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import demo
import numpy as np
import onnx
import onnx.parser
import pytest
import rivals
from comparison import Comparison
from measure import Run, Series, interleaved, run
from running import checker_problem, size_on_disk
from synthetic import write_chain, write_weights
from tool import SOURCE_DIR

MB = 1_000_000
NAIVE_CONVERTER = SOURCE_DIR / "test" / "python" / "naive_converter.py"
MODEL = SOURCE_DIR / "test" / "models" / "if_cond_dynamo20.onnx"


# ---- measuring


def test_time_and_memory() -> None:
    code = "import time; block = b'x' * 200_000_000; time.sleep(0.3)"
    done = run([sys.executable, "-c", code], 60, watch_memory=True)
    assert done.returncode == 0
    assert done.seconds is not None
    assert 0.3 < done.seconds < 30
    assert 200 * MB < done.anonymous_bytes < 300 * MB
    assert done.peak_bytes >= done.anonymous_bytes


def test_a_failure_has_no_time() -> None:
    done = run(["sh", "-c", "echo first >&2; echo why >&2; exit 3"], 60)
    assert (done.returncode, done.message) == (3, "why")
    series = Series([Run(1.0, 0, 0), done])
    assert series.seconds is None
    assert series.problem == "exit code 3: why"
    assert Series([run(["sh", "-c", "kill -SEGV $$"], 60)]).problem == "killed by SIGSEGV: "


def test_a_time_limit() -> None:
    series = Series([run(["sleep", "60"], 0.2)])
    assert series.seconds is None
    assert series.problem == "stopped after 0 s"


def test_interleaved(tmp_path: Path) -> None:
    log = tmp_path / "log"
    outputs = tmp_path / "out"
    outputs.mkdir()
    script = f'echo "$0 $(ls {outputs})" >> {log}; touch {outputs}/left'
    commands = {name: ["sh", "-c", script, name] for name in ("a", "b", "slow")}
    series = interleaved(commands, outputs, rounds=2, limit=60, once=["slow"])
    assert log.read_text().split() == ["a", "b", "a", "b", "a", "b", "slow"]
    assert [len(series[name].runs) for name in commands] == [2, 2, 1]
    assert list(outputs.iterdir()) == []


# ---- models


def test_chain(tmp_path: Path) -> None:
    write_chain(tmp_path / "chain.onnx", 50)
    assert checker_problem(tmp_path / "chain.onnx") is None
    assert len(onnx.load(tmp_path / "chain.onnx").graph.node) == 50


@pytest.mark.parametrize("external", [None, "weights.data"])
def test_weights(external: str | None, tmp_path: Path) -> None:
    path = tmp_path / "weights.onnx"
    write_weights(path, 2 * MB, external, width=256)
    assert checker_problem(path) is None
    model = onnx.load(path)
    assert len(model.graph.initializer) == 8
    assert 2 * MB < size_on_disk(path) < 2.2 * MB
    first, second = (onnx.numpy_helper.to_array(model.graph.initializer[n]) for n in (0, 1))
    assert np.isfinite(first).all()
    assert not np.array_equal(first, second)


# ---- goals


def make_comparison(tmp_path: Path) -> Comparison:
    options = argparse.Namespace(rounds=1, limit=60, no_rivals=True, models=[])
    return Comparison(options, tmp_path)


def series_of(**seconds: float) -> dict[str, Series]:
    names = {"copy": "cp", "ours": "onnx-amp"}
    return {names.get(name, name): Series([Run(value, 0, 0)]) for name, value in seconds.items()}


@pytest.mark.parametrize(
    ("size", "series", "met"),
    [
        (5 * MB, series_of(copy=0.01, ours=9.0), []),
        (50 * MB, series_of(copy=0.1, ours=0.26), [True]),
        (50 * MB, series_of(copy=0.1, ours=0.27), [False]),
        (50 * MB, series_of(copy=0.1, ours=0.2, rival=1.0, other=2.0), [True, True]),
        (50 * MB, series_of(copy=0.1, ours=0.2, rival=0.9, other=2.0), [True, False]),
        (500 * MB, series_of(copy=0.1, ours=0.2, rival=5.0), [True, True]),
        (500 * MB, series_of(copy=0.1, ours=0.2, rival=4.9), [True, False]),
    ],
)
def test_goals(size: int, series: dict[str, Series], met: list[bool], tmp_path: Path) -> None:
    judged = make_comparison(tmp_path)
    judged.judge("model", size, series, {})
    assert [line[0] for line in judged.goals.lines] == met


def test_a_failing_tool_misses_its_goal(tmp_path: Path) -> None:
    judged = make_comparison(tmp_path)
    series = series_of(copy=0.1)
    series["onnx-amp"] = Series([Run(0.1, 1, 0, message="no")])
    judged.judge("model", 50 * MB, series, {})
    assert judged.goals.lines == [(False, "model: exit code 1: no")]
    assert Comparison.cell(series["onnx-amp"], series["onnx-amp"]).strip() == "-"


def test_a_rival_that_is_not_installed_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = rivals.Rival("some tool", "no-such-package", ("fp16",), lambda *_: None)
    monkeypatch.setattr(rivals, "RIVALS", (missing,))
    assert rivals.installed() == []
    assert rivals.versions() == ["some tool: not installed (no-such-package), not measured"]


@pytest.mark.parametrize("rival", rivals.installed(), ids=lambda rival: rival.name)
def test_rivals_run(rival: rivals.Rival, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    done = run(rival.command(MODEL, target, "fp16"), 120)
    assert done.returncode == 0, done.message
    types = {tensor.data_type for tensor in onnx.load(target).graph.initializer}
    assert onnx.TensorProto.FLOAT16 in types


# ---- the demo


def test_the_image_is_dark_letters_on_white() -> None:
    image = demo.draw(demo.TEXT)
    assert image.shape[:3] == (1, 3, 48)
    assert image.min() < -0.9
    assert image[..., 0].min() == image.max() == 1.0


def test_decoding() -> None:
    best = [0, 1, 1, 0, 1, 2, 0, 3]
    probabilities = np.eye(4, dtype=np.float32)[best][None]
    assert demo.read_text(probabilities, ["", "a", "b", " "]) == "aab "


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("", "does not read the text"),  # the model at hand does not read
        ("overflow", "not close to float32"),
        ("unsorted", "not valid"),
        ("crash", "does not convert"),
        ("copy", "has no fp16 weights"),
    ],
)
def test_the_demo_sees(fault: str, status: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    weights = ", ".join(str(number % 7 / 8) for number in range(16))
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1, 3, 4] x) => (float[1, 3, 4] y)
        <float[4, 4] w = {{{weights}}}> {{ a = MatMul (x, w)  y = Softmax (a) }}"""
    )
    onnx.save(model, source)
    inputs = {"x": np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 3, 4)}
    reference = demo.run_in_onnxruntime(source, inputs)
    row = demo.Row("tool", "fp16", path=target)
    command = [sys.executable, NAIVE_CONVERTER, "--fault", fault, "convert", source, "-o", target]
    demo.convert(row, ["cp", source, target] if fault == "copy" else command)
    demo.judge(row, reference, inputs, ["", *"abc"])
    assert row.status.startswith(status), row.status
