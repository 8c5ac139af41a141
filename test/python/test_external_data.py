"""External data: kept, inlined, split, never damaged, never left half written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from lossless import file_differences, value_differences
from onnx import TensorProto, helper, numpy_helper
from running import checker_problem, relative_error, run_in_onnxruntime, size_on_disk
from synthetic import write_weights
from tool import Tool, onnx_amp

X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def sample() -> onnx.ModelProto:
    """Three products; the third weight is small."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.normal(0, 0.1, (64, 64)).astype(np.float32), name)
        for name in ("u", "v")
    ] + [numpy_helper.from_array(rng.normal(0, 0.1, (64, 2)).astype(np.float32), "w")]
    nodes = [
        helper.make_node("MatMul", ["x", "u"], ["a"], name="first"),
        helper.make_node("MatMul", ["a", "v"], ["b"], name="second"),
        helper.make_node("MatMul", ["b", "w"], ["y"], name="third"),
    ]
    graph = helper.make_graph(
        nodes,
        "external",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two weights in in.data, one in the model."""
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / "in.onnx"
    onnx.save(sample(), path, save_as_external_data=True, location="in.data", size_threshold=1024)
    return path


@pytest.fixture
def inline(tmp_path: Path) -> Path:
    """The same model in one file."""
    path = tmp_path / "inline.onnx"
    onnx.save(sample(), path)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder / "out.onnx"


def locations(path: Path) -> set[str]:
    """Data files that a model names."""
    model = onnx.load(path, load_external_data=False)
    return {
        entry.value
        for tensor in model.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("dtype", ["none", "fp16"])
def test_inline(amp: Tool, model: Path, out: Path, dtype: str) -> None:
    before = snapshot(model.parent)
    options = ("--dtype", dtype, "--external-data", "inline")
    amp.run("convert", *options, model, "-o", out).expect_success()
    assert files_in(out.parent) == {"out.onnx"}
    assert not locations(out)
    assert snapshot(model.parent) == before
    check_result(dtype, model, out)


@pytest.mark.parametrize("dtype", ["none", "fp16"])
@pytest.mark.parametrize("from_inline", [True, False])
def test_file(
    amp: Tool, model: Path, inline: Path, out: Path, dtype: str, from_inline: bool
) -> None:
    source = inline if from_inline else model
    before = snapshot(source.parent)
    options = ("--dtype", dtype, "--external-data=file")
    amp.run("convert", *options, source, "-o", out).expect_success()
    (data,) = locations(out)
    assert files_in(out.parent) == {"out.onnx", data}
    assert data.startswith("out.onnx"), "the data file is named after the model"
    assert snapshot(source.parent) == before
    check_result(dtype, source, out)
    assert out.stat().st_size < 4096


@pytest.mark.parametrize("dtype", ["none", "fp16"])
@pytest.mark.parametrize("mode", ["auto", "keep"])
def test_kept_beside_the_input(amp: Tool, model: Path, dtype: str, mode: str) -> None:
    """In the input's folder unchanged weights can stay where they are; the input is never damaged."""
    before = snapshot(model.parent)
    target = model.with_name("converted.onnx")
    options = ("--dtype", dtype, "--external-data", mode)
    amp.run("convert", *options, model, "-o", target).expect_success()
    after = snapshot(model.parent)
    assert {name: after[name] for name in before} == before
    if dtype == "none":
        assert not file_differences(model, target)
        assert after.keys() - before.keys() == {"converted.onnx"}
    check_result(dtype, model, target)


@pytest.mark.parametrize("dtype", ["none", "fp16"])
@pytest.mark.parametrize("mode", ["auto", "keep"])
def test_kept_in_another_folder(amp: Tool, model: Path, out: Path, dtype: str, mode: str) -> None:
    before = snapshot(model.parent)
    options = ("--dtype", dtype, "--external-data", mode)
    amp.run("convert", *options, model, "-o", out).expect_success()
    assert snapshot(model.parent) == before
    assert files_in(out.parent) == {"out.onnx", *locations(out)}
    if mode == "keep":
        assert locations(out), "the data was external and stays so"
    check_result(dtype, model, out)


def test_a_small_model_stays_in_one_file(amp: Tool, inline: Path, out: Path) -> None:
    for mode in ("auto", "keep"):
        amp.run("convert", inline, "-o", out, "--external-data", mode).expect_success()
        assert files_in(out.parent) == {"out.onnx"}


@pytest.mark.parametrize("mode", ["keep", "inline", "file"])
def test_every_way_gives_the_same_weights(amp: Tool, model: Path, out: Path, mode: str) -> None:
    expected = out.with_name("expected.onnx")
    amp.run("convert", model, "-o", expected, "--external-data", "inline").expect_success()
    amp.run("convert", model, "-o", out, "--external-data", mode).expect_success()
    assert not value_differences(expected, out)


@pytest.mark.parametrize("dtype", ["none", "fp16"])
def test_onto_itself(amp: Tool, model: Path, out: Path, dtype: str) -> None:
    """The input's data must be whole as long as a model names it."""
    options = ("--dtype", dtype, "--external-data", "keep")
    amp.run("convert", *options, model, "-o", out).expect_success()
    result = amp.run("convert", *options, model, "-o", model)
    if result.returncode == 0:
        assert not value_differences(out, model)
    else:
        result.expect_error("in.data")
    assert checker_problem(model) is None


def test_the_data_of_the_input_is_no_output(amp: Tool, model: Path) -> None:
    before = snapshot(model.parent)
    result = amp.run("convert", model, "-o", model.with_name("in.data"))
    result.expect_error("in.data")
    assert snapshot(model.parent) == before


def test_a_data_file_of_the_same_name_is_not_lost(amp: Tool, inline: Path, out: Path) -> None:
    """A second conversion replaces its own files, and nothing but these."""
    amp.run("convert", inline, "-o", out, "--external-data", "file").expect_success()
    first = snapshot(out.parent)
    amp.run("convert", inline, "-o", out, "--external-data", "file").expect_success()
    assert snapshot(out.parent) == first
    other = out.with_name("other.onnx")
    amp.run("convert", inline, "-o", other, "--external-data", "file").expect_success()
    after = snapshot(out.parent)
    assert {name: after[name] for name in first} == first


@pytest.mark.parametrize("mode", ["inline", "file", "keep"])
def test_deterministic_and_idempotent(amp: Tool, model: Path, out: Path, mode: str) -> None:
    options = ("--external-data", mode)
    amp.run("convert", model, "-o", out, *options).expect_success()
    for number, source in enumerate((model, out)):
        folder = out.parent.with_name(f"again{number}")
        folder.mkdir()
        amp.run("convert", source, "-o", folder / "out.onnx", *options).expect_success()
        assert snapshot(folder) == snapshot(out.parent)


def test_relative_paths(amp: Tool, model: Path, out: Path) -> None:
    """The folder of the model, not the current one, is where its data is."""
    amp.run("convert", model, "-o", out, "--external-data", "inline").expect_success()
    for cwd, name in (
        (model.parent, "in.onnx"),
        (model.parent, "./in.onnx"),
        (model.parent.parent, "in/in.onnx"),
        (model.parent.parent, "in/../in/in.onnx"),
    ):
        target = out.with_name("again.onnx")
        options = ("--external-data", "inline")
        amp.run("convert", name, "-o", target, *options, cwd=cwd).expect_success()
        assert target.read_bytes() == out.read_bytes()


def test_standard_output_holds_everything(amp: Tool, model: Path) -> None:
    result = amp.run("convert", "--dtype", "none", model, "-o", "-").expect_success()
    written = onnx.ModelProto.FromString(result.stdout)
    assert not any(tensor.external_data for tensor in written.graph.initializer)


def test_half_of_the_size(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out, "--external-data", "file").expect_success()
    assert size_on_disk(out) < 0.55 * size_on_disk(model)


@pytest.mark.parametrize("mode", ["keep", "inline", "file"])
@pytest.mark.parametrize("kept", [(), ("first",), ("first", "second", "third")])
@pytest.mark.parametrize("beside", [True, False])
def test_reported_sizes(
    amp: Tool, model: Path, out: Path, mode: str, kept: tuple[str, ...], beside: bool
) -> None:
    """Data that stays where it was counts as well, next to what is written anew."""
    target = model.with_name("out.onnx") if beside else out
    options = [word for name in kept for word in ("--keep-node", name)]
    summary = amp.convert(model, target, "--external-data", mode, *options)
    source_data, low = model.with_name("in.data").stat().st_size, len(kept) < 3
    assert summary.record["external_bytes"]["before"] == source_data
    assert summary.record["bytes"]["before"] == model.stat().st_size + source_data
    external = {
        tensor.name: sum(
            int(entry.value) for entry in tensor.external_data if entry.key == "length"
        )
        for tensor in onnx.load(target, load_external_data=False).graph.initializer
    }
    # What is written is aligned, what stays is counted by tensors.
    data = target.with_name("out.onnx.data")
    written = data.stat().st_size if data.exists() else 0
    stays = 0
    if "in.data" in locations(target):
        assert beside
        stays = sum(external.values()) if not written else external["u"]
    record = summary.record["external_bytes"]
    assert record["after"] == written + stays
    assert bool(stays) == (beside and mode == "keep" and "first" in kept)
    assert bool(written) == (mode == "file" or (mode == "keep" and (low or not beside)))
    assert summary.record["bytes"]["after"] == target.stat().st_size + written + stays


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["none", "fp16"])
def test_beyond_two_gigabytes(amp: Tool, dtype: str) -> None:
    """Above 2 GB `auto` splits; below, after the conversion, it need not."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in" / "large.onnx"
        target = Path(folder) / "out" / "large.onnx"
        source.parent.mkdir()
        target.parent.mkdir()
        write_weights(source, 2600 << 20, external="large.data")
        amp.run("convert", "--dtype", dtype, source, "-o", target, timeout=600).expect_success()
        assert checker_problem(target) is None
        if dtype == "none":
            assert locations(target)
            assert not value_differences(source, target)
        else:
            assert size_on_disk(target) < 0.51 * size_on_disk(source)


@pytest.mark.full
def test_one_file_beyond_two_gigabytes(amp: Tool) -> None:
    """Protobuf cannot read such a file, we can; `auto` takes the data out of it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "large.onnx"
        expected = Path(folder) / "external.onnx"
        target = Path(folder) / "out.onnx"
        write_weights(source, 2600 << 20)
        amp.run("convert", "--dtype", "none", source, "-o", target, timeout=600).expect_success()
        source.unlink()
        write_weights(expected, 2600 << 20, external="external.data")
        assert locations(target) == {"out.onnx.data"}
        assert not value_differences(expected, target)


@pytest.mark.parametrize("target", ["out.onnx", "-"])
def test_no_file_beyond_two_gigabytes(amp: Tool, tmp_path: Path, target: str) -> None:
    """Nobody could read it. The weight is a hole in a file and takes no room."""
    source = tmp_path / "in.onnx"
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 15, 1 << 15])
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="in.data")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "hole",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1 << 15])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1 << 15])],
        [weight],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), source)
    with (tmp_path / "in.data").open("wb") as file:
        file.truncate(4 << 30)
    options = ("--dtype", "none", "--external-data", "inline")
    result = amp.run("convert", *options, source, "-o", target, cwd=tmp_path)
    result.expect_error("more than the 2 GiB that protobuf can read")
    assert files_in(tmp_path) == {"in.onnx", "in.data"}


def check_result(dtype: str, source: Path, target: Path) -> None:
    """The same values for `none`; valid and close otherwise."""
    assert checker_problem(target) is None
    if dtype == "none":
        assert not value_differences(source, target)
        return
    expected, found = (run_in_onnxruntime(path, {"x": X}) for path in (source, target))
    assert relative_error(expected, found) < 0.01
    tensors = onnx.load(target, load_external_data=False).graph.initializer
    assert {tensor.data_type for tensor in tensors} == {TensorProto.FLOAT16}
