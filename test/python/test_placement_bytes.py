"""With another converter's lists as the policy, optimal placement moves no more bytes than its result,
and no more than eager placement's.

Without AMP_CORPUS these are the small models of test/models; with it, and `--full`, all.
"""

from __future__ import annotations

import os
from pathlib import Path

import autocast
import corpus
import onnx
import onnx.parser
import pytest
from autocast import Bench, Outcome, Placements
from corpus import CorpusModel
from tool import SOURCE_DIR, is_full, onnx_amp


def selected(full: bool) -> list[CorpusModel]:
    """The models of the tier."""
    models = {model.name: model for model in corpus.models_in(SOURCE_DIR / "test" / "models")}
    if full and os.environ.get("AMP_CORPUS"):
        models |= {model.name: model for model in corpus.all_models()}
    return list(models.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per model."""
    if "corpus_model" in metafunc.fixturenames:
        models = selected(is_full(metafunc.config))
        metafunc.parametrize("corpus_model", models, ids=lambda model: model.name)


def test_no_placement_moves_fewer_bytes(corpus_model: CorpusModel, tmp_path: Path) -> None:
    placements = Bench(onnx_amp().path, corpus_model, tmp_path).placements()
    assert placements, "no other converter is installed"
    problems = [
        f"{placed.rival.tool}: {problem}" for placed in placements for problem in placed.problems()
    ]
    assert not problems


# ---- what is counted


MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
g (float[N, 4] x) => (float[N, 4] y)
<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{
    a = MatMul (x, w)
    b = Cast <to = 10> (a)
    same = Cast <to = 10> (b)
    c = Relu (same)
    y = Cast <to = 1> (c)
}
"""


def test_moved_bytes(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    # N is 8: 32 elements; the product reads 32 + 16 and writes 32, Relu moves 64 in float16, the
    # cast from float16 to float16 nothing.
    casts = 2 * 32 * 6
    assert autocast.moved_bytes(onnx_amp().path, path) == (80 * 4 + 64 * 2 + casts, casts)
    model = onnx.load(path)
    assert autocast.float_casts(model) == 3
    assert autocast.float_weight_bytes(model) == 64


def test_sizes_are_those_of_the_source(tmp_path: Path) -> None:
    source = onnx.shape_inference.infer_shapes(onnx.parser.parse_model(MODEL.replace("N", "3")))
    onnx.save(source, tmp_path / "source.onnx")
    assert not autocast.restore_sizes(source, tmp_path / "source.onnx")
    damaged = onnx.load(tmp_path / "source.onnx")
    for value in damaged.graph.value_info:
        value.type.tensor_type.shape.dim[0].dim_value = 0
    assert autocast.restore_sizes(damaged, tmp_path / "source.onnx")
    assert damaged == source


def outcome(tool: str, moved: int, **fields: float) -> Outcome:
    values = {"seconds": 1.0, "error": 0.001, **fields}
    return Outcome(tool, moved=moved, **values)


@pytest.mark.parametrize(
    ("moved", "count"), [((10, 10, 10), 0), ((9, 10, 11), 1), ((12, 10, 9), 1), ((8, 10, 9), 2)]
)
def test_placements_see(moved: tuple[int, int, int], count: int) -> None:
    placed = Placements(*map(outcome, ("rival", "optimal", "eager"), moved))
    assert len(placed.problems()) == count
    placed.rival.problem = "not valid"
    assert len(placed.problems()) == (moved[2] < moved[1])
    placed.optimal.problem = "does not convert"
    assert placed.problems() == ["optimal placement: does not convert"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"moved": 90}, ["moves fewer bytes"]),
        ({"moved": 99.9}, []),
        ({"weight_bytes": -1}, ["smaller weights"]),
        ({"seconds": 0.5}, ["takes 0.50 s"]),
        ({"error": 1e-5}, ["error 1e-05"]),
        ({"moved": 90, "error": 1.0}, []),
        ({"problem": "not valid"}, []),
    ],
)
def test_where_we_are_behind(changes: dict[str, object], said: list[str]) -> None:
    ours, other = outcome("ours", 100, error=0.02), outcome("rival", 100, error=0.02)
    for name, value in changes.items():
        setattr(other, name, value)
    ours.kept = {"Softmax deny": 3}
    found = autocast.behind(ours, other, tolerance=0.01)
    assert len(found) == len(said)
    assert all(text in line for text, line in zip(said, found, strict=True))
    assert all("3 Softmax deny" in line for line in found if "bytes" in line)
