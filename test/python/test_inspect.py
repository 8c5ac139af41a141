"""`onnx-amp inspect` says what is in a model."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest
from tool import SOURCE_DIR, onnx_amp

MODEL = """
<ir_version: 10, opset_import: ["" : 20, "com.example" : 3], producer_name: "some exporter">
network (float[N, 4] tokens, int64[1] step, seq(float16[K]) states) => (float[N, 4] scores)
<float[4, 4] weight = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
 float16[4] bias = {1, 2, 3, 4}>
{
    a = MatMul (tokens, weight)
    b = MatMul (a, weight)
    c = Cast <to = 1> (bias)
    d = Add (b, c)
    scores = com.example.Special (d, step, states)
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def test_text(model: Path) -> None:
    text = onnx_amp().run("inspect", model).expect_success().stdout.decode()
    lines = text.splitlines()
    for name in ("tokens", "step", "states", "scores"):
        assert any(name in line for line in lines), f"{name} is not named"
    tokens = next(line for line in lines if "tokens" in line)
    assert "N" in tokens
    assert "4" in tokens
    assert any("MatMul" in line and "2" in line for line in lines)
    assert any("com.example" in line and "Special" in line for line in lines)
    for word in ("some exporter", "20", "IR", "opset", "float16"):
        assert word in text
    assert "64" in text, "bytes of float32 weights"


def test_json(model: Path) -> None:
    record = json.loads(onnx_amp().run("inspect", "--json", model).expect_success().stdout)
    assert [value["name"] for value in record["inputs"]] == ["tokens", "step", "states"]
    assert [value["name"] for value in record["outputs"]] == ["scores"]
    operators = {item["operator"]: item["count"] for item in record["operators"]}
    assert operators == {"MatMul": 2, "Cast": 1, "Add": 1, "com.example:Special": 1}
    weights = {item["type"]: item["bytes"] for item in record["weights"]}
    assert weights == {"float32": 64, "float16": 8}
    assert record["opsets"] == {"ai.onnx": 20, "com.example": 3}


def test_standard_input(model: Path) -> None:
    amp = onnx_amp()
    piped = amp.run("inspect", "-", stdin=model.read_bytes()).expect_success().stdout
    assert "tokens" in piped.decode()


def test_external_data_counts(tmp_path: Path) -> None:
    source = SOURCE_DIR / "test" / "cases" / "models" / "external_data_small.onnx"
    before = source.stat()
    text = onnx_amp().run("inspect", source).expect_success().stdout.decode()
    assert "external" in text
    assert source.stat() == before


def test_names_are_harmless(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL)
    model.producer_name = "line\nbreak\x1b[2J"
    model.graph.input[0].name = "in\x1b[31mput"
    model.graph.node[0].input[0] = "in\x1b[31mput"
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    text = onnx_amp().run("inspect", tmp_path / "model.onnx").expect_success().stdout.decode()
    assert "\x1b" not in text
