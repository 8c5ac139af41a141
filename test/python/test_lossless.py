"""Import and export give the same model back, as a protobuf message, field by field.

Every model is a test of its own, so that the counts are honest; the tools run in parallel behind them.
CI runs `convert --dtype none` on every distinct model and the ways through MLIR on one model of each operator;
`--full` runs every way on every model, the corpus and data beyond 2 GB.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import model_sources
import onnx
import pytest
from lossless import differences, file_differences, value_differences
from model_sources import ModelFile
from synthetic import write_weights
from tool import amp_translate, is_full, onnx_amp

MIB = 1 << 20


def through_convert(model: Path, work: Path) -> Path:
    """Import and export in one process."""
    target = work / "out.onnx"
    onnx_amp().run(
        "convert", "--dtype", "none", "--quiet", model, "-o", target, timeout=600
    ).expect_success()
    return target


def through_bytecode(model: Path, work: Path) -> Path:
    """Import, MLIR bytecode, export."""
    return _through_mlir(model, work / "model.mlirbc", "--emit-bytecode")


def through_text(model: Path, work: Path) -> Path:
    """Import, printed MLIR, export."""
    return _through_mlir(model, work / "model.mlir")


def _through_mlir(model: Path, between: Path, *options: str) -> Path:
    translate, target = amp_translate(), between.with_name("out.onnx")
    translate.run("--onnx-to-mlir", *options, model, "-o", between, timeout=600).expect_success()
    folder = [f"--external-data-folder={model.parent}"] if has_external_data(model) else []
    translate.run("--mlir-to-onnx", *folder, between, "-o", target, timeout=600).expect_success()
    return target


WAYS: dict[str, Callable[[Path, Path], Path]] = {
    "convert": through_convert,
    "bytecode": through_bytecode,
    "text": through_text,
}


def has_external_data(model: Path) -> bool:
    """Whether a data file lies beside the model."""
    return any(
        model.with_name(model.stem + ending).exists()
        for ending in (".data", ".onnx.data", ".onnx_data")
    )


def round_trip(way: str, model: Path) -> list[str]:
    """Differences after one way; models with external data are written beside a copy of them."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if has_external_data(model):
            for path in model.parent.glob(model.stem + ".*"):
                shutil.copy(path, work)
            model = work / model.name
        return file_differences(model, WAYS[way](model, work))


def one_per_operator(models: list[ModelFile]) -> list[ModelFile]:
    """The first model that has an operator, for every operator."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for model in models:
        graph = onnx.load(model.path, load_external_data=False).graph
        operators = {(node.domain, node.op_type) for node in graph.node}
        if not operators <= seen:
            kept.append(model)
        seen |= operators
    return kept


def selected(full: bool) -> Iterator[tuple[str, ModelFile]]:
    """The ways and models of the tier."""
    tests = model_sources.distinct(model_sources.onnx_package() + model_sources.debian_testdata())
    cases = model_sources.cases()
    corpus = [model for model in model_sources.corpus() if full or model.size <= MIB]
    for model in tests + cases + corpus:
        yield "convert", model
    for model in (tests if full else one_per_operator(tests)) + cases + corpus:
        yield "bytecode", model
        if model.size <= (16 * MIB if full else MIB):
            yield "text", model


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per way and model."""
    if {"way", "model"} <= set(metafunc.fixturenames):
        pairs = list(selected(is_full(metafunc.config)))
        metafunc.parametrize(
            ("way", "model"),
            [pytest.param(way, model, id=f"{way}:{model.label}") for way, model in pairs],
        )


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest) -> Iterator[dict[tuple[str, Path], Future[list[str]]]]:
    """Round trips of all selected tests, begun together."""
    pool = ThreadPoolExecutor(os.cpu_count())
    futures: dict[tuple[str, Path], Future[list[str]]] = {}
    for item in request.session.items:
        arguments = getattr(getattr(item, "callspec", None), "params", {})
        if getattr(item, "originalname", "") == "test_round_trip":
            key = (arguments["way"], arguments["model"].path)
            # Large models one at a time, on demand: they would fill the memory together.
            if arguments["model"].size <= 16 * MIB:
                futures[key] = pool.submit(round_trip, *key)
    yield futures
    pool.shutdown(cancel_futures=True)


def test_round_trip(
    way: str, model: ModelFile, outcomes: dict[tuple[str, Path], Future[list[str]]]
) -> None:
    key = (way, model.path)
    found = outcomes[key].result() if key in outcomes else round_trip(*key)
    assert not found, "\n".join(found)


@pytest.mark.full
@pytest.mark.parametrize("way", ["convert", "bytecode"])
def test_beyond_two_gigabytes(way: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "large.onnx"
        write_weights(model, 2500 * MIB, external="large.onnx.data")
        out = WAYS[way](model, Path(folder))
        found = file_differences(model, out)
    assert not found, "\n".join(found)


def test_external_data_by_value_in_another_folder(tmp_path: Path) -> None:
    source = model_sources.SOURCE_DIR / "test" / "cases" / "models" / "external_data_small.onnx"
    target = tmp_path / "elsewhere" / "out.onnx"
    target.parent.mkdir()
    onnx_amp().run("convert", "--dtype", "none", "--quiet", source, "-o", target).expect_success()
    found = value_differences(source, target)
    assert not found, "\n".join(found)


# ---- the judge itself


def _sample() -> onnx.ModelProto:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y) '
        "<float[2] w = {1.0, 2.0}> { a = Relu(x) y = Elu<alpha = 0.5>(a) }"
    )
    model.graph.doc_string = "d"
    return model


def _set_nan(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].raw_data = b"\x01\x00\xc0\x7f" * 2


FAULTS: dict[str, Callable[[onnx.ModelProto], object]] = {
    "field lost": lambda m: m.graph.ClearField("doc_string"),
    "presence of a default lost": lambda m: setattr(m, "model_version", 0),
    "value changed": lambda m: setattr(m.graph.node[1].attribute[0], "f", 0.25),
    "order changed": lambda m: m.graph.node.reverse(),
    "element added": lambda m: m.graph.node[0].input.append(""),
    "name changed": lambda m: setattr(m.graph.node[0], "name", "n"),
    "dimension lost": lambda m: (
        m.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    ),
    "data moved": _set_nan,
    "metadata added": lambda m: m.metadata_props.add(key="k", value="v"),
    "unknown field added": lambda m: m.graph.node[0].MergeFromString(b"\xf8\x7f\x05"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_judge_sees(fault: str) -> None:
    changed = _sample()
    FAULTS[fault](changed)
    assert differences(_sample(), changed)
    assert differences(changed, _sample())


def test_the_judge_compares_nan_by_bits_and_unknown_fields_in_order() -> None:
    one, other = _sample(), _sample()
    for model in (one, other):
        model.graph.node[1].attribute[0].f = float("nan")
    assert not differences(one, other)
    one.MergeFromString(b"\xf8\x7f\x05\xf0\x7f\x01\xf8\x7f\x06")
    other.MergeFromString(b"\xf0\x7f\x01\xf8\x7f\x05\xf8\x7f\x06")
    assert not differences(one, other), "the order across fields does not count"
    changed = _sample()
    changed.graph.node[1].attribute[0].f = float("nan")
    changed.MergeFromString(b"\xf0\x7f\x01\xf8\x7f\x06\xf8\x7f\x05")
    assert differences(one, changed) == [
        "model: unknown field 2047 is [(0, 6), (0, 5)], expected [(0, 5), (0, 6)]"
    ]


def test_the_judge_follows_external_data(tmp_path: Path) -> None:
    source = model_sources.SOURCE_DIR / "test" / "cases" / "models" / "external_data_small.onnx"
    model = onnx.load(source)
    onnx.save(model, tmp_path / "inline.onnx")
    assert not value_differences(source, tmp_path / "inline.onnx")
    assert file_differences(source, tmp_path / "inline.onnx")
    data = bytearray(model.graph.initializer[0].raw_data)
    data[-1] ^= 1
    model.graph.initializer[0].raw_data = bytes(data)
    onnx.save(model, tmp_path / "changed.onnx")
    name = model.graph.initializer[0].name
    assert value_differences(source, tmp_path / "changed.onnx") == [
        f"data of tensor '{name}' differs"
    ]
