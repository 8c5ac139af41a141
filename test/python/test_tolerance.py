"""convert --tolerance: the search keeps few nodes, is deterministic, and goes on where it was ended."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from data_models import parsed, random_chain, save, save_data
from running import relative_error, run_strictly
from test_widen import run_plainly
from tool import Tool, onnx_amp


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


# The first product leaves float16's range, the second cancels.
DELICATE = """g (float[2, 2] x) => (float[2, 2] y)
<float[2, 2] w = {300, 1, 1, 300}, float[2, 2] v = {0.001, 0, 0, 0.001}, float[2, 2] u = {0.5, 0.25, 0.125, 1}> {
  [big] a = MatMul (x, w)
  [small] b = MatMul (a, v)
  [fine] c = MatMul (b, u)
  [fine2] d = MatMul (c, u)
  [fine3] y = MatMul (d, u)
}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(parsed(DELICATE), tmp_path / "model.onnx")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return save_data(tmp_path / "data.npz", x=np.array([[300, 1], [2, 300]], np.float32))


def test_few_nodes_are_kept(amp: Tool, model: Path, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    report = amp.convert(model, target, "--tolerance", "0.01", "--data", str(data))
    search = report["search"]
    assert search["kept"] == ["big", "small"]
    assert search["candidates"] == 5
    assert search["error"] <= search["tolerance"] == 0.01
    assert report["nodes"]["lowered"] == 3
    reasons = {each["node"]: each["reason"] for each in report["kept"]}
    assert reasons["big"] == "the search for a relative error of 0.01 on data keeps it in float32"
    assert not (tmp_path / "out.onnx.search.json").exists()


def test_nothing_is_kept_where_all_can_be_low(amp: Tool, model: Path, tmp_path: Path) -> None:
    data = save_data(tmp_path / "one.npz", x=np.ones((2, 2), np.float32))
    report = amp.convert(model, tmp_path / "out.onnx", "--tolerance", "0.01", "--data", str(data))
    assert report["search"]["kept"] == []
    assert report["search"]["probes"] == 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_result_is_within_the_tolerance(seed: int, amp: Tool, tmp_path: Path) -> None:
    source = save(random_chain(seed, length=12), tmp_path / "model.onnx")
    x = np.random.default_rng(seed).standard_normal((16, 16)).astype(np.float32)
    data = save_data(tmp_path / "data.npz", x=x)
    target = tmp_path / "out.onnx"
    report = amp.convert(source, target, "--tolerance", "0.003", "--data", str(data))
    outputs, _ = run_strictly(onnx.load(target), {"x": x})
    error = relative_error(run_plainly(source, {"x": x}), outputs)
    assert error == pytest.approx(report["search"]["error"], rel=1e-6)
    assert error <= 0.003


def test_it_goes_on_where_it_was_ended(amp: Tool, model: Path, data: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    options = ["--tolerance", "0.01", "--data", str(data)]
    whole = amp.convert(model, tmp_path / "whole.onnx", *options)["search"]
    # Ended after two probes.
    amp.convert(
        model, tmp_path / "part.onnx", *options, "--max-probes", "2", "--search-state", str(state)
    )
    ended = json.loads(state.read_text())
    assert len(ended["probes"]) >= 2
    # The ranking of the file is what counts; one of other nodes does not.
    count = whole["candidates"]
    assert sorted(ended["ranking"]) == list(range(count))
    for ranking, is_taken in (([0] * count, False), (ended["ranking"][::-1], True)):
        other = tmp_path / "other.json"
        other.write_text(json.dumps({**ended, "ranking": ranking}))
        amp.convert(model, tmp_path / "part.onnx", *options, "--search-state", str(other))
        found = json.loads(other.read_text())["ranking"]
        assert found == (ranking if is_taken else ended["ranking"])
    again = amp.convert(model, tmp_path / "again.onnx", *options, "--search-state", str(state))[
        "search"
    ]
    assert again["reused"] >= 2
    assert again["kept"] == whole["kept"]
    assert again["error"] == whole["error"]
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    # All of it is known now.
    last = amp.convert(model, tmp_path / "last.onnx", *options, "--search-state", str(state))[
        "search"
    ]
    assert last["reused"] == last["probes"] == whole["probes"]


def test_state_that_is_of_another_search(
    amp: Tool, model: Path, data: Path, tmp_path: Path
) -> None:
    state = tmp_path / "out.onnx.search.json"
    command = ("convert", model, "-o", tmp_path / "out.onnx", "--tolerance", "0.01", "--data", data)
    for text in ("garbage", "{}", '{"search": "0", "probes": {}}'):
        state.write_text(text)
        amp.run(*command).expect_error(
            "out.onnx.search.json", "is of another search", "--search-state"
        )
    state.unlink()
    state.mkdir()
    amp.run(*command).expect_error("cannot read", "out.onnx.search.json")
    amp.run(*command, "--search-state", tmp_path / "no" / "state").expect_error(
        "cannot write", "state"
    )
    assert not (tmp_path / "out.onnx").exists()


def test_data_or_options_that_changed(amp: Tool, model: Path, data: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state.json")
    options = ["--tolerance", "0.01", "--search-state", state]
    amp.convert(model, tmp_path / "out.onnx", *options, "--data", str(data))
    other = save_data(tmp_path / "other.npz", x=np.ones((2, 2), np.float32))
    command = ("convert", model, "-o", tmp_path / "out.onnx", *options)
    amp.run(*command, "--data", other).expect_error("is of another search")
    amp.run(*command, "--data", data, "--dtype", "bf16").expect_error("is of another search")
    amp.run(*command, "--data", data, "--keep-op", "MatMul").expect_error("is of another search")
    # The tolerance is not what errors depend on.
    report = amp.convert(
        model,
        tmp_path / "out.onnx",
        "--tolerance",
        "0.02",
        "--search-state",
        state,
        "--data",
        str(data),
    )
    assert report["search"]["reused"] > 0


def test_a_tolerance_that_is_out_of_reach(
    amp: Tool, model: Path, data: Path, tmp_path: Path
) -> None:
    amp.run(
        "convert",
        model,
        "-o",
        tmp_path / "out.onnx",
        "--tolerance",
        "0",
        "--data",
        data,
        "--no-keep-io-types",
    ).expect_error("no choice of nodes stays within a relative error of 0")
    assert not (tmp_path / "out.onnx").exists()
    # With the interface in float32, all of the model in float32 is exact.
    report = amp.convert(model, tmp_path / "out.onnx", "--tolerance", "0", "--data", str(data))
    assert report["search"]["error"] == 0


def test_with_calibration(amp: Tool, model: Path, data: Path, tmp_path: Path) -> None:
    report = amp.convert(
        model,
        tmp_path / "out.onnx",
        "--tolerance",
        "0.01",
        "--data",
        str(data),
        "--calibrate",
        str(data),
    )
    assert report["search"]["candidates"] == 3
    assert report["search"]["kept"] == []


def test_nodes_in_subgraphs(amp: Tool, tmp_path: Path) -> None:
    source = save(
        parsed(
            """g (bool c, float[2, 2] x) => (float[2, 2] y)
            <float[2, 2] w = {300, 1, 1, 300}, float[2, 2] v = {0.001, 0, 0, 0.001}> {
              z = If (c) <
                then_branch = t () => (float[2, 2] a) { [big] m = MatMul (x, w) [small] a = MatMul (m, v) },
                else_branch = e () => (float[2, 2] b) { [other] b = MatMul (w, x) }
              >
              [last] y = MatMul (z, v)
            }"""
        ),
        tmp_path / "model.onnx",
    )
    data = save_data(tmp_path / "data.npz", c=np.array(True), x=np.full((2, 2), 300, np.float32))
    report = amp.convert(source, tmp_path / "out.onnx", "--tolerance", "0.01", "--data", str(data))
    assert report["search"]["kept"] == ["big", "small"]
