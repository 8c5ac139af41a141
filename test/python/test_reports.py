"""Explanations, reports in files and drawings, of names that nobody would give."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import SOURCE_DIR, Tool, onnx_amp

SVG = "{http://www.w3.org/2000/svg}"

#: Bytes of a node's name, and what a drawing shows of it.
NAMES = {
    "quotes": (b'it\'s "quoted"', 'it\'s "quoted"'),
    "markup": (b"<b>&amp;</b> {a|b}", "<b>&amp;</b> {a|b}"),
    "backslashes": (rb"a\nb\N\G\\", r"a\nb\N\G\\"),
    "lines": (b"first\nsecond\r\tthird\x1b[2J\x00", r"first\nsecond\r\tthird\x1b[2J\x00"),
    "not utf-8": (b"\xff\xfe\xc3", r"\xff\xfe\xc3"),
    "letters": ("größe 日本".encode(), "größe 日本"),
    "reordered": ("a\u202eb".encode(), r"a\u{202e}b"),
    "megabyte": (b"n" * (1 << 20), None),
}


def chain(names: list[str], width: int = 4) -> onnx.ModelProto:
    """MatMul and Softmax in turn, one node for each name."""
    nodes = []
    value = "x"
    for index, name in enumerate(names):
        output = "y" if index == len(names) - 1 else f"v{index}"
        inputs = [value, "w"] if index % 2 == 0 else [value]
        operator = "MatMul" if index % 2 == 0 else "Softmax"
        nodes.append(helper.make_node(operator, inputs, [output], name=name))
        value = output
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, width]) for n in "xy"]
    weight = numpy_helper.from_array(np.eye(width, dtype=np.float32), "w")
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], [weight])
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def write_with_name(path: Path, name: bytes) -> None:
    """A model with a node of this name, which need not be text."""
    model = chain(["~" * len(name)]).SerializeToString()
    path.write_bytes(model.replace(b"~" * len(name), name, 1))


@pytest.fixture(scope="module")
def amp() -> Tool:
    return onnx_amp()


def drawn_texts(path: Path) -> list[str]:
    """All that a drawing shows."""
    return [text.text or "" for text in ElementTree.parse(path).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_drawings_and_reports(amp: Tool, name: str, tmp_path: Path) -> None:
    raw, shown = NAMES[name]
    write_with_name(tmp_path / "in.onnx", raw)
    outputs = [tmp_path / f"out.{kind}" for kind in ("dot", "svg", "json")]
    options = zip(("--dot", "--svg", "--report"), outputs, strict=True)
    arguments = [word for pair in options for word in pair]
    result = amp.run(
        "convert", "--explain", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", *arguments
    ).expect_success()
    assert "\x1b" not in result.stdout.decode()
    assert len(result.stdout.splitlines()[0]) < 1000
    texts = drawn_texts(outputs[1])
    # Graphviz writes spaces that do not break.
    assert any("MatMul" in text for text in texts)
    if shown is not None:
        assert shown in [text.replace("\xa0", " ") for text in texts]
    report = json.loads(outputs[2].read_bytes())
    assert report["explain"][0]["operator"] == "MatMul"
    if name != "not utf-8":
        assert report["explain"][0]["node"] == raw.decode()
    # Whatever reads the language sees one graph.
    dot = shutil.which("dot")
    assert dot is not None
    again = subprocess.run([dot, "-Tsvg", outputs[0]], capture_output=True, check=True)
    assert again.stdout == outputs[1].read_bytes()


def test_a_report_is_what_json_prints(amp: Tool, tmp_path: Path) -> None:
    onnx.save(chain(["first", "soft"]), tmp_path / "in.onnx")
    target, report = tmp_path / "out.onnx", tmp_path / "report.json"
    command = ["convert", tmp_path / "in.onnx", "-o", target, "--report", report]
    text = amp.run(*command).expect_success().stdout.decode()
    assert "nodes     2: 1 low, 1 float32" in text
    written = json.loads(report.read_text())
    printed = json.loads(amp.run(*command, "--json", "--explain").expect_success().stdout)
    for record in (written, printed):
        for key in ("seconds", "phases"):
            record.pop(key)
    assert written == printed
    # Asked for alone, the report does not change what is printed.
    printed = json.loads(amp.run(*command, "--json").expect_success().stdout)
    assert "explain" not in printed
    assert amp.run(*command, "--quiet").expect_success().stdout == b""
    first, soft = written["explain"]
    assert (first["casts_in"], first["casts_out"], first["saved_bytes"]) == (1, 1, 2 * (16 + 8 + 8))
    assert (soft["casts_in"], soft["casts_out"], soft["saved_bytes"]) == (1, 0, 0)


def test_all_outputs_or_none(amp: Tool, tmp_path: Path) -> None:
    """A report that can't be written in the end takes the model with it."""
    onnx.save(chain(["first", "soft"]), tmp_path / "in.onnx")
    target = tmp_path / "out.onnx"
    target.write_text("as it was")
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    error = amp.run("convert", tmp_path / "in.onnx", "-o", target, "--report", full)
    error.expect_error("full")
    assert target.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "in.onnx", "out.onnx"]


def test_reports_replace_no_input(amp: Tool, tmp_path: Path) -> None:
    source = SOURCE_DIR / "test" / "cases" / "models" / "external_data_small.onnx"
    data = [
        entry.value
        for tensor in onnx.load(source, load_external_data=False).graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    ]
    for name in {source.name, *data}:
        shutil.copyfile(source.parent / name, tmp_path / name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in {source.name, *data}:
        for option in ("--report", "--dot"):
            amp.run(
                "convert",
                tmp_path / source.name,
                "-o",
                tmp_path / "out.onnx",
                option,
                tmp_path / name,
            ).expect_error(name)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# ---- large graphs


def block_lines(path: Path) -> list[str]:
    """The blocks of a drawing."""
    return [
        line
        for line in path.read_text().splitlines()
        if line.startswith("  b") and "label" in line and "->" not in line
    ]


def test_scopes_become_blocks(amp: Tool, tmp_path: Path) -> None:
    names = [
        f"/encoder/layer.{layer}/{part}/{kind}_{index}"
        for layer in range(40)
        for part in ("attention", "mlp")
        for index in range(5)
        for kind in ("MatMul", "Softmax")
    ]
    onnx.save(chain(names), tmp_path / "in.onnx")
    dot = tmp_path / "out.dot"
    amp.run("convert", tmp_path / "in.onnx", "-o", tmp_path / "o", "--dot", dot).expect_success()
    blocks = block_lines(dot)
    assert len(blocks) == 80
    assert "encoder/layer.0/attention\\n10 nodes, 5 of 10 low" in blocks[0]
    lines = [line for line in dot.read_text().splitlines() if "->" in line]
    assert len(lines) == 79
    assert all('label="1 cast"' in line for line in lines)
    # More scopes than blocks: the layers stay closed.
    names = [f"/encoder/layer.{n // 8}/part.{n % 8}/{n}" for n in range(1600)]
    onnx.save(chain(names), tmp_path / "in.onnx")
    amp.run("convert", tmp_path / "in.onnx", "-o", tmp_path / "o", "--dot", dot).expect_success()
    assert 200 <= len(block_lines(dot)) <= 300


@pytest.mark.parametrize("count", [301, 5000])
def test_nodes_without_scopes_become_blocks(amp: Tool, count: int, tmp_path: Path) -> None:
    onnx.save(chain([""] * count), tmp_path / "in.onnx")
    arguments = ["--dot", tmp_path / "out.dot", "--svg", tmp_path / "out.svg"]
    command = ["convert", "--quiet", tmp_path / "in.onnx", "-o", tmp_path / "o", *arguments]
    amp.run(*command).expect_success()
    blocks = block_lines(tmp_path / "out.dot")
    assert 30 <= len(blocks) <= 300
    assert sum(int(line.split("\\n")[1].split()[0]) for line in blocks) == count
    assert len(drawn_texts(tmp_path / "out.svg")) >= 2 * len(blocks)


def test_namespaces_become_blocks(amp: Tool, tmp_path: Path) -> None:
    model = chain([f"node_{index}" for index in range(400)])
    for index, node in enumerate(model.graph.node):
        scope = f": Model/layer.{index // 10}: torch.nn.Linear/op_{index}: aten.op"
        node.metadata_props.add(key="namespace", value=scope)
    onnx.save(model, tmp_path / "in.onnx")
    dot = tmp_path / "out.dot"
    amp.run("convert", tmp_path / "in.onnx", "-o", tmp_path / "o", "--dot", dot).expect_success()
    blocks = block_lines(dot)
    assert len(blocks) == 40
    assert '"layer.0\\n10 nodes' in blocks[0]


# ---- inspect without data


def test_inspect_without_external_data(amp: Tool, tmp_path: Path) -> None:
    source = SOURCE_DIR / "test" / "cases" / "models" / "external_data_small.onnx"
    shutil.copyfile(source, tmp_path / "in.onnx")
    here = json.loads(amp.run("inspect", "--json", source).expect_success().stdout)
    gone = json.loads(amp.run("inspect", "--json", tmp_path / "in.onnx").expect_success().stdout)
    assert not any(entry.pop("missing") for entry in here["external_data"])
    assert all(entry.pop("missing") for entry in gone["external_data"])
    assert {**here, "path": ""} == {**gone, "path": ""}
    text = amp.run("inspect", tmp_path / "in.onnx").expect_success().stdout.decode()
    assert text.count(", missing") == len(gone["external_data"]) > 0
    amp.run("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx").expect_error(
        "no such file"
    )
