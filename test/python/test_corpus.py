"""Conversions of real models are valid, close, deterministic, idempotent, and low where they should.

Without AMP_CORPUS only the small models of test/models are judged; with it, CI judges what is below
16 MB and `--full` everything, beside the rivals that are installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import corpus
import numpy as np
import onnx
import pytest
from corpus import DTYPES, PLACEMENTS, CorpusModel, Judge, Verdict
from onnx import TensorProto, helper, numpy_helper
from tool import SOURCE_DIR, Tool, is_full

SMALL = 16 << 20
NAIVE_CONVERTER = Path(__file__).with_name("naive_converter.py")


def selected(full: bool) -> list[CorpusModel]:
    """The models of the tier."""
    models = {model.name: model for model in corpus.models_in(SOURCE_DIR / "test" / "models")}
    if os.environ.get("AMP_CORPUS"):
        for model in corpus.all_models():
            if full or model.path.stat().st_size <= SMALL:
                models[model.name] = model
    return list(models.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per model and format."""
    if "corpus_model" in metafunc.fixturenames:
        models = selected(is_full(metafunc.config))
        metafunc.parametrize("corpus_model", models, ids=lambda model: model.name)


@pytest.fixture(scope="session")
def verdicts(request: pytest.FixtureRequest) -> Iterator[dict[tuple[str, str, str], Verdict]]:
    """What was judged, by model, placement and format; printed as a table at the end."""
    found: dict[tuple[str, str, str], Verdict] = {}
    yield found
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print("\n" + corpus.table(list(found.values())))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_model(
    corpus_model: CorpusModel,
    placement: str,
    dtype: str,
    verdicts: dict[tuple[str, str, str], Verdict],
    request: pytest.FixtureRequest,
) -> None:
    if (corpus_model.name, placement, dtype) not in verdicts:
        # Eager placement is held to PyTorch, not to what other converters make low.
        rivals = is_full(request.config) and placement == "optimal"
        for verdict in corpus.judge_in_process(corpus_model, DTYPES, rivals, placement):
            verdicts[verdict.name, placement, verdict.dtype] = verdict
    assert not verdicts[corpus_model.name, placement, dtype].problems


def test_the_corpus_is_there() -> None:
    if not os.environ.get("AMP_CORPUS"):
        pytest.skip("AMP_CORPUS is unset: only the models of test/models are judged")
    assert corpus.all_models()


# ---- the judge itself


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> CorpusModel:
    """Two layers with weights, and an input."""
    folder = tmp_path_factory.mktemp("sample")
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.normal(0, 0.1, (32, 32)).astype(np.float32), name)
        for name in ("w", "v")
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 32]) for name in "xy"]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("MatMul", ["b", "v"], ["y"], name="second"),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "sample", values[:1], values[1:], weights),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, folder / "sample.onnx")
    np.savez(folder / "sample.input.npz", x=rng.normal(size=(2, 32)).astype(np.float32))
    return CorpusModel("sample", folder / "sample.onnx", folder / "sample.input.npz", 0.01)


def judge_naive(
    sample: CorpusModel, folder: Path, dtype: str, fault: str = "", rivals: bool = False
) -> Verdict:
    """The verdict on the naive converter."""
    tool = Tool(Path(sys.executable), str(NAIVE_CONVERTER), "--fault", fault)
    return Judge(sample, tool).judge(dtype, folder, rivals)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_judge_passes_what_is_right(sample: CorpusModel, dtype: str, tmp_path: Path) -> None:
    verdict = judge_naive(sample, tmp_path, dtype, rivals=True)
    assert verdict.passed, verdict.problems
    assert verdict.lowered == 2
    assert verdict.low_bytes == 2 * 2 * 32 * 32
    assert verdict.error is None or 0 < verdict.error < 0.01
    if dtype == "fp16":
        assert verdict.rivals["onnxconverter-common"] == verdict.best_rival == 4096


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("crash", "convert"),
        ("dated", "deterministic"),
        ("grown", "idempotent"),
        ("unsorted", "checker"),
        ("renamed", "interface"),
        ("wrong", "close"),
        ("wrong", "strict"),
        ("overflow", "close"),
        ("silent", "allow"),
        ("light", "weights"),
    ],
)
def test_the_judge_sees(sample: CorpusModel, fault: str, check: str, tmp_path: Path) -> None:
    verdict = judge_naive(sample, tmp_path, "fp16", fault, rivals=check == "weights")
    assert check in verdict.problems, verdict.problems


def test_rivals_are_judged_once(
    sample: CorpusModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMP_CACHE_DIR", str(tmp_path))
    judge = Judge(sample, Tool(Path(sys.executable)))
    first = corpus.rival_weight_bytes(judge, "fp16", tmp_path)
    assert first["onnxconverter-common"] == 4096
    for path in (tmp_path / "rivals").iterdir():
        path.write_text('"as it was kept"')
    again = corpus.rival_weight_bytes(judge, "fp16", tmp_path)
    assert again["onnxconverter-common"] == "as it was kept"


def test_the_judge_outlives_a_crash(sample: CorpusModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMP_BUILD_DIR", "/nonexistent")
    monkeypatch.delenv("AMP_CORPUS", raising=False)
    found = corpus.judge_in_process(sample, DTYPES, rivals=False)
    assert [verdict.dtype for verdict in found] == list(DTYPES)
    assert all("judge" in verdict.problems for verdict in found)
