"""Errors are one line that says what, where and what to do; they leave no output behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.parser
import pytest
from lossless import differences
from onnx import TensorProto, helper
from tool import Result, Tool, amp_translate, onnx_amp

HEADER = '<ir_version: 10, opset_import: ["" : 20]>\n'
MODEL = HEADER + "g (float[2, 4] x) => (float[2, 4] y) { [first] y = Relu (x) }"


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def convert(amp: Tool, model: onnx.ModelProto | bytes, folder: Path, *options: str) -> Result:
    """Converts what may be wrong; there must be no output and nothing else left when it fails."""
    source, target = folder / "in.onnx", folder / "out" / "out.onnx"
    source.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    target.parent.mkdir()
    result = amp.run("convert", *options, source, "-o", target)
    if result.returncode != 0:
        assert list(target.parent.iterdir()) == [], "an output is left behind"
        assert result.stdout == b""
    return result


# ---- wrong models


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEADER + text)


def cyclic() -> onnx.ModelProto:
    return parsed(
        "g (float[2] x) => (float[2] y) { [round] a = Add (x, b) [trip] b = Relu (a) y = Neg (b) }"
    )


def unknown_element_type() -> onnx.ModelProto:
    model = parsed("g (float[2] x) => (float[2] y) { y = Relu (x) }")
    model.graph.input[0].type.tensor_type.elem_type = 99
    return model


def data_too_short() -> onnx.ModelProto:
    model = parsed("g (float[2] x) => (float[2] y) { y = Add (x, w) }")
    model.graph.initializer.append(
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], raw_data=b"1234")
    )
    return model


def size_overflows() -> onnx.ModelProto:
    model = parsed("g (float[2] x) => (float[2] y) { y = Add (x, w) }")
    model.graph.initializer.append(
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 62, 4], raw_data=b"")
    )
    return model


def negative_dimension() -> onnx.ModelProto:
    model = size_overflows()
    model.graph.initializer[0].dims[0] = -1
    return model


def deep(levels: int) -> bytes:
    """An If within an If within …, written from the inside out: protobuf does not go that deep."""

    def tagged(number: int, body: bytes) -> bytes:
        length, size = len(body), bytearray()
        while length > 0x7F:
            size.append(length & 0x7F | 0x80)
            length >>= 7
        size.append(length)
        return bytes([number << 3 | 2, *size]) + body

    graph = b""
    for _ in range(levels):
        attribute = tagged(1, b"then_branch") + tagged(6, graph) + b"\xa0\x01\x05"
        graph = tagged(1, tagged(4, b"If") + tagged(5, attribute))
    return b"\x08\x0a" + tagged(7, graph) + tagged(8, tagged(1, b"") + b"\x10\x14")


def with_ir_version(version: int) -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    model.ir_version = version
    return model


def without_opset() -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    model.ClearField("opset_import")
    return model


def far_opset() -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    model.opset_import[0].version = 1000
    return model


def recursive_function() -> onnx.ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
        g (float[2] x) => (float[2] y) { y = local.again (x) }
        <domain: "local", opset_import: ["" : 20, "local" : 1]>
        again (p) => (r) { r = local.again (p) }"""
    )


WRONG_MODELS: dict[str, tuple[Callable[[], onnx.ModelProto | bytes], tuple[str, ...]]] = {
    "empty file": (lambda: b"", ()),
    "text": (lambda: b"this is not a model\n" * 10, ()),
    "zeros": (lambda: b"\0" * 4096, ()),
    "IR version from the future": (lambda: with_ir_version(1000), ("1000",)),
    "no IR version": (lambda: with_ir_version(0), ("ir_version",)),
    "no operator set": (without_opset, ("opset",)),
    "operator set from the future": (far_opset, ("1000",)),
    "too many inputs": (
        lambda: parsed("g (float[2] x) => (float[2] y) { [first] y = Relu (x, x) }"),
        ("first", "Relu", "20"),
    ),
    "too few inputs": (
        lambda: parsed("g (float[2] x) => (float[2] y) { [first] y = Add (x) }"),
        ("first", "Add", "20"),
    ),
    "a required attribute is missing": (
        lambda: parsed("g (float[2] x) => (float[2] y) { [turn] y = Cast (x) }"),
        ("turn", "Cast", "to", "20"),
    ),
    "an attribute that the operator has not": (
        lambda: parsed("g (float[2] x) => (float[2] y) { [first] y = Relu <alpha = 1.0> (x) }"),
        ("first", "Relu", "alpha", "20"),
    ),
    "an attribute of the wrong kind": (
        lambda: parsed('g (float[2] x) => (float[2] y) { [turn] y = Cast <to = "float"> (x) }'),
        ("turn", "Cast", "to", "20"),
    ),
    "an element type that the operator does not take": (
        lambda: parsed("g (int64[2] x) => (int64[2] y) { [sharp] y = Softmax (x) }"),
        ("sharp", "Softmax", "20"),
    ),
    "an unknown element type": (unknown_element_type, ("99", "x")),
    "a cyclic graph": (cyclic, ()),
    "a name defined twice": (
        lambda: parsed("g (float[2] x) => (float[2] y) { y = Relu (x) [again] y = Neg (x) }"),
        ("again", "y"),
    ),
    "an undefined name": (
        lambda: parsed("g (float[2] x) => (float[2] y) { [first] y = Add (x, nowhere) }"),
        ("first", "nowhere"),
    ),
    "an undefined output": (
        lambda: parsed("g (float[2] x) => (float[2] nowhere) { y = Relu (x) }"),
        ("nowhere",),
    ),
    "less data than the shape needs": (data_too_short, ("w",)),
    "a size that overflows": (size_overflows, ("w",)),
    "a negative dimension": (negative_dimension, ("w", "-1")),
    "a recursive function": (recursive_function, ("again",)),
    "10,000 levels": (lambda: deep(10_000), ()),
    "100 levels": (lambda: deep(100), ()),
}


@pytest.mark.parametrize("dtype", ["fp16", "none"])
@pytest.mark.parametrize("name", WRONG_MODELS)
def test_wrong_model(amp: Tool, name: str, dtype: str, tmp_path: Path) -> None:
    make, texts = WRONG_MODELS[name]
    result = convert(amp, make(), tmp_path, "--dtype", dtype)
    result.expect_error("in.onnx", *texts)


def test_truncated_at_any_byte(amp: Tool, tmp_path: Path) -> None:
    """What is cut is refused, unless what is left is a whole message; then it is kept as it is."""
    model = onnx.parser.parse_model(
        HEADER + "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add (x, w) }"
    )
    data = model.SerializeToString()
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    for length in range(len(data)):
        source.write_bytes(data[:length])
        result = amp.run("convert", "--dtype", "none", "--quiet", source, "-o", target)
        if result.returncode == 0:
            cut = onnx.ModelProto.FromString(data[:length])
            assert cut.graph.node, f"accepted at byte {length}"
            assert not differences(cut, onnx.load(target))
            target.unlink()
        else:
            result.expect_error("in.onnx")
            assert not target.exists()


@pytest.mark.parametrize("levels", [10, 30])
def test_some_nesting_is_no_error(amp: Tool, levels: int, tmp_path: Path) -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["deepest"])],
        "deepest",
        [],
        [helper.make_tensor_value_info("deepest", TensorProto.FLOAT, [2])],
    )
    for level in range(levels):
        name = f"r{level}"
        node = helper.make_node("If", ["c"], [name], then_branch=body, else_branch=body)
        if level > 3:  # both branches would double the file each time
            other = helper.make_graph(
                [helper.make_node("Identity", ["x"], [f"o{level}"])],
                f"other{level}",
                [],
                [helper.make_tensor_value_info(f"o{level}", TensorProto.FLOAT, [2])],
            )
            node = helper.make_node("If", ["c"], [name], then_branch=body, else_branch=other)
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        body = helper.make_graph([node], f"level{level}", [], [value])
    body.input.extend(
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ]
    )
    opsets = [helper.make_opsetid("", 20)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=10)
    convert(amp, model, tmp_path).expect_success()


@pytest.mark.parametrize("bracket", ["seq(", "y = If (x) <then_branch = g () => (float y) { "])
def test_text_that_nests_without_end(amp: Tool, bracket: str, tmp_path: Path) -> None:
    """ONNX's parser of its text form recurses."""
    source, target = tmp_path / "in.onnxtxt", tmp_path / "out.onnx"
    head = "g (" if bracket == "seq(" else "g (float[2] x) => (float[2] y) { "
    source.write_text(HEADER + head + bracket * 500_000)
    line = amp.run("convert", source, "-o", target).expect_error("in.onnxtxt", "at most 256")
    assert len(line) < 300
    assert not target.exists()


def test_brackets_in_strings_and_comments_do_not_nest(amp: Tool, tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnxtxt", tmp_path / "out.onnx"
    text = "# " + "(" * 300 + "\n" + MODEL.replace("first", '"' + '\\"' + "(" * 300 + '"')
    source.write_text(text)
    amp.run("convert", source, "-o", target).expect_success()
    assert onnx.load(target).graph.node[0].name == '"' + "(" * 300


def test_a_long_chain_of_calls(amp: Tool, tmp_path: Path) -> None:
    """Time is linear, and no stack is long enough for a recursion."""
    count = 20_000
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
    functions = []
    for index in range(count):
        callee = f"f{index + 1}" if index + 1 < count else "Relu"
        domain = "local" if index + 1 < count else ""
        node = helper.make_node(callee, ["a"], ["b"], domain=domain)
        functions.append(
            helper.make_function("local", f"f{index}", ["a"], ["b"], [node], opsets[:])
        )
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    node = helper.make_node("f0", ["x"], ["y"], domain="local")
    graph = helper.make_graph([node], "chain", value[:1], value[1:])
    model = helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=10)
    convert(amp, model, tmp_path).expect_success()
    written = onnx.load(tmp_path / "out" / "out.onnx")
    assert not differences(model, written)


# ---- wrong files


def test_missing_file(amp: Tool, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    result = amp.run("convert", tmp_path / "missing.onnx", "-o", target)
    result.expect_error("missing.onnx", "no such file")
    assert not target.exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "dangling link"])
def test_not_a_file(amp: Tool, kind: str, tmp_path: Path) -> None:
    source = tmp_path / "in.onnx"
    if kind == "folder":
        source.mkdir()
    elif kind == "pipe":
        os.mkfifo(source)
    elif kind == "device":
        source = Path("/dev/zero")
    else:
        source.symlink_to(tmp_path / "nothing")
    result = amp.run("convert", source, "-o", tmp_path / "out.onnx", timeout=20)
    result.expect_error(source.name)


def test_names_in_messages_are_harmless(amp: Tool, tmp_path: Path) -> None:
    text = "line\nbreak\x1b[2J\x7f" + "long" * 1000
    model = onnx.parser.parse_model(MODEL)
    model.graph.node[0].name = text
    model.graph.node[0].input.append("x")
    line = convert(amp, model, tmp_path).expect_error("in.onnx", "Relu")
    assert line.isprintable()
    assert len(line) < 1000


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/dev/full", ""),
        ("missing/out.onnx", "no such file"),
        ("folder", "directory"),
        ("in.onnx/out.onnx", "directory"),
        ("x" * 300, "too long"),
    ],
)
def test_output_that_cannot_be_written(amp: Tool, target: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    source = tmp_path / "in.onnx"
    source.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    before = sorted(tmp_path.rglob("*"))
    result = amp.run("convert", source, "-o", tmp_path / target, cwd=tmp_path)
    line = result.expect_error()
    assert text.lower() in line.lower()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_standard_output(amp: Tool, tmp_path: Path) -> None:
    source = tmp_path / "in.onnx"
    source.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    shell = Tool(Path("/bin/sh"), "-c", '"$0" convert --quiet "$1" -o - > /dev/full')
    shell.run(str(amp.path), source).expect_error("no space left")


def test_a_failure_keeps_the_old_output(amp: Tool, tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(b"no model")
    target.write_bytes(b"precious")
    amp.run("convert", source, "-o", target).expect_error("in.onnx")
    assert target.read_bytes() == b"precious"


# ---- wrong usage


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["conver", "in.onnx", "-o", "out.onnx"], ("conver", "convert")),
        (["convert", "in.onnx", "-o", "out.onnx", "--dtpe", "fp16"], ("--dtpe", "--dtype")),
        (
            ["convert", "in.onnx", "-o", "out.onnx", "--keep-ops", "Add"],
            ("--keep-ops", "--keep-op"),
        ),
        (["convert", "in.onnx", "-o", "out.onnx", "--dtype", "fp17"], ("fp17", "fp16")),
        (["convert", "in.onnx", "-o", "out.onnx", "--dtype"], ("--dtype",)),
        (["convert", "in.onnx", "-o", "out.onnx", "--policy", "inferense"], ("inference",)),
        (["convert", "in.onnx", "-o", "out.onnx", "--external-data", "inlin"], ("inline",)),
        (["convert", "in.onnx", "-o", "out.onnx", "--keep-op", "MatMull"], ("MatMull", "MatMul")),
        (["convert", "in.onnx", "-o", "out.onnx", "--keep-node", "(("], ("((",)),
        (["convert", "in.onnx"], ("-o",)),
        (["convert", "-o", "out.onnx"], ("input",)),
        (["convert", "in.onnx", "in.onnx", "-o", "out.onnx"], ("in.onnx",)),
        (["inspect"], ("input",)),
        (["inspect", "in.onnx", "--jsn"], ("--jsn", "--json")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(
    amp: Tool, arguments: list[str], texts: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "in.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    amp.run(*arguments, cwd=tmp_path).expect_error(*texts, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["in.onnx"]


def test_no_arguments_say_how_to_use_it(amp: Tool) -> None:
    result = amp.run()
    assert result.returncode == 2
    assert "convert" in result.stderr


def test_an_unknown_policy_file(amp: Tool, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("allow: [MatMul\n")
    model = onnx.parser.parse_model(MODEL)
    convert(amp, model, tmp_path, "--policy", str(policy)).expect_error("policy.yaml")


# ---- external data


def external(folder: Path, location: str, **entries: str) -> onnx.ModelProto:
    """A model whose weight of 32 bytes is in `location`; there is weights.bin with 64 bytes."""
    model = parsed("g (float[2, 4] x) => (float[2, 4] y) { y = Add (x, w) }")
    tensor = model.graph.initializer.add(
        name="w", data_type=TensorProto.FLOAT, dims=[2, 4], data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "weights.bin").write_bytes(bytes(64))
    return model


@pytest.mark.parametrize(
    ("location", "entries"),
    [
        ("missing.bin", {}),
        ("../secret.bin", {}),
        ("sub/../../secret.bin", {}),
        ("/etc/passwd", {}),
        ("link.bin", {}),
        ("linked/secret.bin", {}),
        ("hard.bin", {}),
        ("", {}),
        (".", {}),
        ("pipe.bin", {}),
        ("weights.bin", {"offset": "40"}),
        ("weights.bin", {"offset": "64", "length": "32"}),
        ("weights.bin", {"length": "31"}),
        ("weights.bin", {"offset": "-1"}),
        ("weights.bin", {"offset": "18446744073709551615"}),
        ("weights.bin", {"offset": "0x10"}),
        ("weights.bin", {"length": "99999999999999999999999"}),
    ],
)
def test_external_data_that_is_not_right(
    amp: Tool, location: str, entries: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(b"secret! " * 8)
    (folder / "link.bin").symlink_to("weights.bin")
    (folder / "linked").symlink_to(tmp_path)
    (tmp_path / "outside.bin").write_bytes(bytes(64))
    (folder / "hard.bin").hardlink_to(tmp_path / "outside.bin")
    os.mkfifo(folder / "pipe.bin")
    line = convert(amp, external(folder, location, **entries), folder).expect_error("w")
    assert location in line or not location
    assert "secret!" not in line


def test_links_are_followed_when_allowed(amp: Tool, tmp_path: Path) -> None:
    """The caches of model hubs are made of links."""
    model = external(tmp_path, "link.bin")
    (tmp_path / "link.bin").symlink_to("weights.bin")
    line = convert(amp, model, tmp_path).expect_error("link.bin", "--allow-links")
    assert line
    (tmp_path / "out").rmdir()
    convert(amp, model, tmp_path, "--allow-links").expect_success()


# ---- the other tools


def test_translate_names_the_node(tmp_path: Path) -> None:
    model = WRONG_MODELS["too many inputs"][0]()
    assert isinstance(model, onnx.ModelProto)
    (tmp_path / "in.onnx").write_bytes(model.SerializeToString())
    result = amp_translate().run("--onnx-to-mlir", tmp_path / "in.onnx", "-o", tmp_path / "out")
    assert result.returncode == 1
    for text in ("in.onnx", "first", "Relu"):
        assert text in result.stderr
    assert not (tmp_path / "out").exists()


def test_inspect_names_the_node(amp: Tool, tmp_path: Path) -> None:
    model = WRONG_MODELS["too many inputs"][0]()
    assert isinstance(model, onnx.ModelProto)
    (tmp_path / "in.onnx").write_bytes(model.SerializeToString())
    amp.run("inspect", tmp_path / "in.onnx").expect_error("in.onnx", "first", "Relu")


def test_the_helpers_see_errors_that_are_not_right(tmp_path: Path) -> None:
    """The judge itself: each way to be wrong fails."""
    for script in (
        "echo one >&2; echo two >&2; exit 1",
        "echo in.onnx: wrong >&2; exit 3",
        "echo something >&2; exit 1",
        "echo in.onnx: wrong. >&2; exit 1",
        "exit 1",
        "exit 0",
    ):
        with pytest.raises(AssertionError):
            Tool(Path("/bin/sh"), "-c", script).run().expect_error("in.onnx")
    Tool(Path("/bin/sh"), "-c", "echo in.onnx: wrong >&2; exit 1").run().expect_error("in.onnx")
    leaves = Tool(Path("/bin/sh"), "-c", 'echo in.onnx: wrong >&2; touch "$3"; exit 1')
    with pytest.raises(AssertionError, match="left behind"):
        convert(leaves, onnx.parser.parse_model(MODEL), tmp_path)
