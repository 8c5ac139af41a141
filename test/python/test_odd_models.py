"""Models that are odd and valid, or odd and wrong: converted right, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from lossless import differences
from onnx import TensorProto, helper
from running import checker_problem, relative_error, run_in_onnxruntime
from tool import Tool, onnx_amp

W = "float[4, 4] w = {" + ", ".join(str((n * 7 % 13 - 6) / 8) for n in range(16)) + "}"
X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def write(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def valid(amp: Tool, model: onnx.ModelProto, folder: Path) -> tuple[Path, Path]:
    """The model is the same after `--dtype none`, and valid in fp16; the files of both."""
    source = write(model, folder)
    same, low = folder / "same.onnx", folder / "low.onnx"
    amp.convert(source, same, "--dtype", "none")
    assert differences(model, onnx.load(same)) == []
    amp.convert(source, low)
    assert checker_problem(low) is None
    return source, low


def right(amp: Tool, model: onnx.ModelProto, inputs: dict[str, np.ndarray], folder: Path) -> None:
    """It is valid, and runs in fp16 as it does in fp32."""
    source, low = valid(amp, model, folder)
    expected, found = run_in_onnxruntime(source, inputs), run_in_onnxruntime(low, inputs)
    # Four products of float16: some units in the last place of 2^-11.
    assert relative_error(expected, found) < 0.01


def wrong(amp: Tool, model: onnx.ModelProto, folder: Path, *texts: str) -> None:
    out = folder / "out.onnx"
    amp.run("convert", write(model, folder), "-o", out).expect_error("model.onnx", *texts)
    assert not out.exists()


def local(call: str, body: str, opset: int = 18, function_opset: int = 18) -> onnx.ModelProto:
    """A model that calls one local function."""
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : {opset}, "local" : 1]>
        g (float[2, 4] x) => (float[2, 4] y) <{W}> {{
            a = MatMul (x, w)
            {call}
            y = MatMul (b, w)
        }}
        <domain: "local", opset_import: ["" : {function_opset}]>
        {body}"""
    )


def test_a_call_may_leave_arguments_away(amp: Tool, tmp_path: Path) -> None:
    body = "f (p, q) => (r) { r = Relu (p) }"
    right(amp, local("b = local.f (a)", body), {"x": X}, tmp_path)


def test_a_function_of_another_opset_that_gets_casts(amp: Tool, tmp_path: Path) -> None:
    """ONNX refuses a function with a Cast that is another one at the model's opset."""
    body = "f (p) => (r) { s = Exp (p)  r = MatMul (s, p) }"
    square = body.replace("MatMul (s, p)", "Mul (s, p)")
    model = local("b = local.f (a)", square, opset=19, function_opset=18)
    right(amp, model, {"x": X}, tmp_path)


def test_an_if_whose_result_has_no_name(amp: Tool, tmp_path: Path) -> None:
    branch = "() => (float[2, 4] {0}1, float[2, 4] {0}2) {{ {0}1 = Relu (a)  {0}2 = Neg (a) }}"
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        g (float[2, 4] x, bool c) => (float[2, 4] y) <{W}> {{
            a = MatMul (x, w)
            b, n = If (c) <then_branch = t {branch.format("t")}, else_branch = e {branch.format("e")}>
            y = MatMul (b, w)
        }}"""
    )
    # The first of two, and the last. ONNX Runtime does not run such a model.
    for unread in (0, 1):
        odd = onnx.ModelProto()
        odd.CopyFrom(model)
        names = ["b", ""] if unread else ["", "b"]
        odd.graph.node[1].output[:] = names
        valid(amp, odd, tmp_path)


def test_what_a_subgraph_leaves_open_stays_open(amp: Tool, tmp_path: Path) -> None:
    """A type without elements, or without anything, is found by inference and not written."""
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        g (float[2, 4] x, bool c) => (float[2, 4] y) <{W}> {{
            a = MatMul (x, w)
            b = If (c) <
                then_branch = t () => (float[2, 4] s) {{ s = Relu (a) }},
                else_branch = e () => (float[2, 4] u) {{ u = Neg (a) }}>
            y = MatMul (b, w)
        }}"""
    )
    then, other = (attribute.g for attribute in model.graph.node[1].attribute)
    then.output[0].type.Clear()
    other.output[0].type.Clear()
    other.output[0].type.tensor_type.SetInParent()
    source, same = write(model, tmp_path), tmp_path / "same.onnx"
    amp.convert(source, same, "--dtype", "none")
    assert differences(model, onnx.load(same)) == []
    amp.convert(source, tmp_path / "low.onnx")


def test_a_type_in_two_pieces(amp: Tool, tmp_path: Path) -> None:
    """Protobuf would merge the pieces; nobody writes such files."""
    piece = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 4]).SerializeToString()
    info = onnx.ValueInfoProto(name="x")
    info.type.ParseFromString(piece)
    graph = helper.make_graph([], "g", [], [])
    text = graph.SerializeToString()
    # ValueInfoProto with a TypeProto that has its tensor_type twice; field 11 is the inputs.
    twice = b"\x0a\x01x\x12" + bytes([2 * len(piece)]) + piece + piece
    text += b"\x5a" + bytes([len(twice)]) + twice
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    data = model.SerializeToString()
    old = graph.SerializeToString()
    data = data.replace(b"\x3a" + bytes([len(old)]) + old, b"\x3a" + bytes([len(text)]) + text)
    source = tmp_path / "model.onnx"
    source.write_bytes(data)
    amp.run("convert", source, "-o", tmp_path / "out.onnx").expect_error(
        "model.onnx", "'x'", "has its type in two pieces"
    )


@pytest.mark.parametrize(
    ("outputs", "text"), [("s", "returns 1 values, expected 2"), ("s, s, s", "returns 3 values")]
)
def test_a_branch_with_another_number_of_results(
    amp: Tool, outputs: str, text: str, tmp_path: Path
) -> None:
    declared = ", ".join(f"float[2, 4] {name}" for name in outputs.split(", "))
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        g (float[2, 4] x, bool c) => (float[2, 4] y, float[2, 4] z) {{
            [odd] y, z = If (c) <
                then_branch = t () => ({declared}) {{ s = Relu (x) }},
                else_branch = e () => (float[2, 4] u, float[2, 4] v) {{ u = Neg (x)  v = Abs (x) }}>
        }}"""
    )
    wrong(amp, model, tmp_path, "'odd'", "If", "then_branch", text)


def test_policies_that_extend_each_other_without_end(amp: Tool, tmp_path: Path) -> None:
    for index in range(40):
        (tmp_path / f"p{index}.yaml").write_text(f"extends: ./p{index + 1}.yaml\n")
    (tmp_path / "p40.yaml").write_text("extends: torch\n")
    amp.run("policy", "check", tmp_path / "p0.yaml").expect_error(
        "more than 32 policies extend each other"
    )
    amp.run("policy", "check", tmp_path / "p12.yaml").expect_success()


def test_a_very_long_name_in_a_message(amp: Tool, tmp_path: Path) -> None:
    model = helper.make_model(
        helper.make_graph([helper.make_node("Foo", ["x"] * 3, ["y"], "é" * 10_000)], "g", [], []),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )
    line = amp.run("convert", write(model, tmp_path), "-o", tmp_path / "o.onnx").expect_error()
    assert len(line) < 3000
