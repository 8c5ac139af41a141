"""What `onnx-amp convert` takes, says and writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from lossless import differences
from onnx import TensorProto, helper, numpy_helper
from running import checker_problem, relative_error, run_in_onnxruntime
from tool import Tool, onnx_amp

MODEL = """
<ir_version: 10, opset_import: ["" : 20], producer_name: "test">
layers (float[N, 4] x, int64[1] k) => (float[N, 4] y, int64[1] j)
<float[4, 4] w = {1.0, 0.5, 0.25, 0.125, 1.0, 0.5, 0.25, 0.125,
                  1.0, 0.5, 0.25, 0.125, 1.0, 0.5, 0.25, 0.125}>
{
    [first] a = MatMul (x, w)
    [second] b = MatMul (a, w)
    [soft] y = Softmax (b)
    [count] j = Identity (k)
}
"""


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two MatMuls and a Softmax, whose name is model.onnx."""
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where results go: a folder of its own, to see all that is left there."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder / "out.onnx"


def types_of(path: Path) -> dict[str, int]:
    """Element types of all values of the main graph, by name."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True)
    graph = model.graph
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        types[value.name] = value.type.tensor_type.elem_type
    return types


def node_types(path: Path) -> dict[str, int]:
    """Element type of the first input of each named node."""
    types = types_of(path)
    return {node.name: types[node.input[0]] for node in onnx.load(path).graph.node if node.name}


# ---- formats and policies


def test_the_default_is_fp16_by_the_inference_policy(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    assert checker_problem(out) is None
    types = node_types(out)
    assert types["first"] == types["second"] == TensorProto.FLOAT16
    assert types["soft"] == TensorProto.FLOAT
    explicit = out.with_name("explicit.onnx")
    options = ("--dtype", "fp16", "--policy", "inference", "--keep-io-types")
    amp.run("convert", *options, model, "-o", explicit).expect_success()
    assert explicit.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("style", ["--dtype=bf16", "--dtype bf16"])
def test_bf16(amp: Tool, model: Path, out: Path, style: str) -> None:
    amp.run("convert", model, *style.split(), "-o", out).expect_success()
    assert checker_problem(out) is None
    assert node_types(out)["first"] == TensorProto.BFLOAT16


def test_none_changes_nothing(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", "--dtype", "none", model, "-o", out).expect_success()
    assert not differences(onnx.load(model), onnx.load(out))


# What the Softmax behind two MatMuls runs in, by preset.
SOFTMAX = {
    "accuracy": TensorProto.FLOAT,
    "apex-O1": TensorProto.FLOAT,
    "apex-O2": TensorProto.FLOAT16,
    "apex-O3": TensorProto.FLOAT16,
    "inference": TensorProto.FLOAT,
    "modelopt": TensorProto.FLOAT16,
    "onnxconverter-common": TensorProto.FLOAT16,
    "ort-transformers": TensorProto.FLOAT16,
    "performance": TensorProto.FLOAT16,
    "tensorflow": TensorProto.FLOAT16,
    "tf32": TensorProto.FLOAT,
    "tf32-conv": TensorProto.FLOAT,
    "torch": TensorProto.FLOAT,
    "torch-cpu": TensorProto.BFLOAT16,
    "training": TensorProto.FLOAT,
}


def test_softmax_is_of_all_presets(amp: Tool) -> None:
    assert amp.run("policy", "list").expect_success().stdout.decode().split() == sorted(SOFTMAX)


@pytest.mark.parametrize("preset", SOFTMAX)
def test_presets(amp: Tool, model: Path, out: Path, preset: str) -> None:
    amp.run("convert", "--policy", preset, model, "-o", out).expect_success()
    assert checker_problem(out) is None
    types = node_types(out)
    low = {
        "torch-cpu": TensorProto.BFLOAT16,
        "tf32": TensorProto.FLOAT,
        "tf32-conv": TensorProto.FLOAT,
    }.get(preset, TensorProto.FLOAT16)
    assert types["first"] == low
    assert types["soft"] == SOFTMAX[preset]


def test_interface_is_kept_unless_told_otherwise(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    before, after = onnx.load(model).graph, onnx.load(out).graph
    assert list(before.input) == list(after.input)
    assert list(before.output) == list(after.output)


def test_no_keep_io_types(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", "--no-keep-io-types", model, "-o", out).expect_success()
    assert checker_problem(out) is None
    graph = onnx.load(out).graph
    found = {
        value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)
    }
    assert found == {
        "x": TensorProto.FLOAT16,
        "k": TensorProto.INT64,
        "y": TensorProto.FLOAT16,
        "j": TensorProto.INT64,
    }
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


# ---- placement

PLACED = """
<ir_version: 10, opset_import: ["" : 20], producer_name: "test">
layers (float[N, 2] x, float[2, M] w) => (float[N, M] y, float[1, 1] z)
<float[N, 2] a, float[N, M] b, float[1, 1] c>
{
    [before] a = Relu (x)
    [product] b = MatMul (a, w)
    [soft] y = Softmax (b)
    [mean] c = ReduceMean (b)
    [end] z = Exp (c)
}
"""


@pytest.mark.parametrize(
    ("options", "low"),
    [
        ([], {"before", "product", "mean"}),
        (["--placement=optimal"], {"before", "product", "mean"}),
        # By its inputs.
        (["--placement", "eager"], {"product", "mean"}),
        # A cast of the mean moves more than the product has.
        (["--dim", "N=1", "--dim=M=1"], {"before", "product"}),
    ],
)
def test_placement(amp: Tool, tmp_path: Path, out: Path, options: list[str], low: set[str]) -> None:
    onnx.save(onnx.parser.parse_model(PLACED), tmp_path / "placed.onnx")
    amp.run("convert", *options, tmp_path / "placed.onnx", "-o", out).expect_success()
    assert checker_problem(out) is None
    types = node_types(out)
    assert {name for name, type_ in types.items() if type_ == TensorProto.FLOAT16} == low


# ---- what stays


def test_keep_op(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", "--keep-op", "MatMul", model, "-o", out).expect_success()
    assert not {TensorProto.FLOAT16, TensorProto.BFLOAT16} & set(types_of(out).values())


def test_keep_op_with_domain(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", "--keep-op", "ai.onnx:MatMul", model, "-o", out).expect_success()
    assert TensorProto.FLOAT16 not in types_of(out).values()


@pytest.mark.parametrize(
    ("expressions", "low"),
    [
        (["first"], {"second"}),
        (["fir.*"], {"second"}),
        (["irs"], {"first", "second"}),  # the whole name must match
        (["first", "second"], set()),
        (["first|second"], set()),
        ([".*"], set()),
    ],
)
def test_keep_node(
    amp: Tool, model: Path, out: Path, expressions: list[str], low: set[str]
) -> None:
    options = [word for text in expressions for word in ("--keep-node", text)]
    amp.run("convert", *options, model, "-o", out).expect_success()
    assert checker_problem(out) is None
    types = node_types(out)
    assert {name for name in ("first", "second") if types[name] == TensorProto.FLOAT16} == low


BRANCHES = """
<ir_version: 10, opset_import: ["" : 20]>
branches (float[N, 2] x, bool c, int64 n) => (float[N, 2] y, float[N, 2] z)
<float[2, 2] w = {1.0, 0.5, 0.25, 0.125}, bool true = {1}>
{
    [before] a = MatMul (x, w)
    [choose] y = If (c) <
        then_branch = yes () => (float[N, 2] t) { [inside] t = MatMul (a, w) },
        else_branch = no () => (float[N, 2] e) { [outside] e = Identity (a) }
    >
    [repeat] z = Loop (n, true, a) <
        body = step (int64 i, bool go, float[N, 2] s) => (bool on, float[N, 2] r) {
            on = Identity (go)
            [again] r = MatMul (s, w)
        }
    >
}
"""


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), set()),
        (("--keep-op", "If"), {"inside", "outside"}),
        (("--keep-op", "Loop"), {"again"}),
        (("--keep-node", "choose"), {"inside", "outside"}),
        (("--keep-node", "choose|repeat"), {"inside", "outside", "again"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_keep_what_is_in_subgraphs(
    amp: Tool, options: tuple[str, ...], kept: set[str], out: Path, tmp_path: Path
) -> None:
    source = tmp_path / "branches.onnxtxt"
    source.write_text(BRANCHES)
    summary = amp.convert(source, out, *options)
    assert checker_problem(out) is None
    reasons = {record["node"]: record["reason"] for record in summary.kept}
    owners = {"inside": "If 'choose'", "outside": "If 'choose'", "again": "Loop 'repeat'"}
    assert reasons == {name: f"inside {owners[name]}, which is kept" for name in kept}
    inputs = {"x": np.array([[1, 2], [3, 4]], np.float32), "n": np.array(2, np.int64)}
    onnx.save(onnx.parser.parse_model(BRANCHES), tmp_path / "plain.onnx")
    for choice in (True, False):
        inputs["c"] = np.array(choice)
        expected, found = (
            run_in_onnxruntime(path, inputs) for path in (tmp_path / "plain.onnx", out)
        )
        assert relative_error(expected, found) < 0.01


def test_a_weight_is_stored_in_both_formats_only_if_both_are_read(
    amp: Tool, model: Path, out: Path
) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    stored = [tensor.data_type for tensor in onnx.load(out).graph.initializer]
    assert stored == [TensorProto.FLOAT16]
    amp.run("convert", "--keep-node", "first", model, "-o", out).expect_success()
    stored = sorted(tensor.data_type for tensor in onnx.load(out).graph.initializer)
    assert stored == [TensorProto.FLOAT, TensorProto.FLOAT16]


# ---- what it says


def test_summary(amp: Tool, model: Path, out: Path) -> None:
    result = amp.run("convert", model, "-o", out).expect_success()
    text = result.stdout.decode() + result.stderr
    for word in ("low", "float32", "cast", "B"):
        assert word in text
    assert re.search(r"\d+(\.\d+)? ?m?s\b", text), f"no time in: {text}"


def test_quiet(amp: Tool, model: Path, out: Path) -> None:
    result = amp.run("convert", "--quiet", model, "-o", out).expect_success()
    assert (result.stdout, result.stderr) == (b"", "")


def test_json(amp: Tool, model: Path, out: Path) -> None:
    summary = amp.convert(model, out, "--keep-node", "second")
    assert summary.lowered == 1
    assert summary.casts == sum(node.op_type == "Cast" for node in onnx.load(out).graph.node)
    reasons = {record["node"]: record for record in summary.kept}
    assert reasons["second"]["operator"] == "MatMul"
    assert "keep" in reasons["second"]["reason"]
    assert reasons["soft"]["reason"]
    record = summary.record
    assert record["bytes"] == {"before": model.stat().st_size, "after": out.stat().st_size}
    assert record["seconds"] > 0
    assert record["dtype"] == "fp16"
    assert record["policy"] == "inference"


def test_rounding_is_measured_once(amp: Tool, out: Path, tmp_path: Path) -> None:
    """Pieces of big constants are computed twice, by several threads; they count once."""
    values = np.linspace(-70_000, 70_000, 1_000_003, dtype=np.float32)
    with np.errstate(over="ignore"):
        low = values.astype(np.float16)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "small"], ["a"]),
            helper.make_node("Where", ["c", "a", "big"], ["y"]),
        ],
        "rounded",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, values.size])],
        [
            numpy_helper.from_array(np.full((3, values.size), 1 / 3, np.float32), "small"),
            numpy_helper.from_array(values, "big"),
        ],
    )
    source = tmp_path / "big.onnx"
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), source)
    summary = amp.convert(source, out, "--policy", "torch")
    rounded = {entry["name"]: entry for entry in summary.record["rounded"]}
    assert rounded["small"]["elements"] == 3 * values.size
    assert rounded["small"]["overflowed"] == 0
    assert rounded["big"]["elements"] == values.size
    assert rounded["big"]["overflowed"] == np.isinf(low).sum()
    assert rounded["big"]["absmax"] == 70_000
    quiet = out.with_name("quiet.onnx")
    amp.run("convert", "--quiet", "--policy", "torch", source, "-o", quiet).expect_success()
    assert quiet.read_bytes() == out.read_bytes()


def test_json_goes_to_stderr_beside_a_model_on_stdout(amp: Tool, model: Path) -> None:
    result = amp.run("convert", "--json", model, "-o", "-").expect_success()
    assert onnx.ModelProto.FromString(result.stdout).graph.node
    assert json.loads(result.stderr)["nodes"]["lowered"] == 2


@pytest.mark.parametrize("arguments", [["--help"], ["convert", "--help"], ["inspect", "--help"]])
def test_help(amp: Tool, arguments: list[str]) -> None:
    result = amp.run(*arguments).expect_success()
    text = result.stdout.decode()
    words = ["convert", "inspect"] if arguments == ["--help"] else []
    if arguments[0] == "convert":
        words = [
            *("--dtype", "--policy", "--keep-io-types", "--keep-op", "--keep-node", "--quiet"),
            *("--json", "--external-data", "--durable", "fp16", "bf16", "inference"),
        ]
    for word in words:
        assert word in text


def test_no_control_characters_without_a_terminal(amp: Tool, model: Path, out: Path) -> None:
    result = amp.run("convert", model, "-o", out).expect_success()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.stderr)


# ---- where it writes


def test_standard_input_and_output(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    expected = out.read_bytes()
    given = model.read_bytes()
    assert amp.run("convert", "-", "-o", "-", stdin=given).expect_success().stdout == expected
    assert amp.run("convert", model, "-o", "-").expect_success().stdout == expected
    out.unlink()
    amp.run("convert", "-", "-o", out, stdin=given).expect_success()
    assert out.read_bytes() == expected


def test_onto_itself(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    amp.run("convert", model, "-o", model).expect_success()
    assert model.read_bytes() == out.read_bytes()


def test_durable_writes_the_same(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    durable = out.with_name("durable.onnx")
    amp.run("convert", "--durable", model, "-o", durable).expect_success()
    assert durable.read_bytes() == out.read_bytes()
    assert sorted(path.name for path in out.parent.iterdir()) == ["durable.onnx", "out.onnx"]


def test_relative_paths(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    amp.run("convert", "model.onnx", "-o", "relative.onnx", cwd=model.parent).expect_success()
    assert (model.parent / "relative.onnx").read_bytes() == out.read_bytes()


def test_an_old_output_is_replaced(amp: Tool, model: Path, out: Path) -> None:
    out.write_bytes(b"old" * 100_000)
    amp.run("convert", model, "-o", out).expect_success()
    assert checker_problem(out) is None
    assert [path.name for path in out.parent.iterdir()] == ["out.onnx"]


def test_again_and_again(amp: Tool, model: Path, out: Path) -> None:
    amp.run("convert", model, "-o", out).expect_success()
    again = out.with_name("again.onnx")
    for source in (model, out):
        amp.run("convert", source, "-o", again).expect_success()
        assert again.read_bytes() == out.read_bytes()


def test_onnx_text(amp: Tool, out: Path, tmp_path: Path) -> None:
    """ONNX text is a second input form."""
    text = tmp_path / "model.onnxtxt"
    text.write_text(MODEL)
    amp.run("convert", "--dtype", "none", text, "-o", out).expect_success()
    assert [node.op_type for node in onnx.load(out).graph.node] == [
        *("MatMul", "MatMul", "Softmax", "Identity")
    ]
