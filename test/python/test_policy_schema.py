"""docs/policy.schema.json, for editors, says what the parser of policy files says, as far as a schema can."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tool import SOURCE_DIR, Tool, onnx_amp

SCHEMA = json.loads((SOURCE_DIR / "docs/policy.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PRESETS = sorted((SOURCE_DIR / "lib/Policy/presets").glob("*.yaml"))
EXAMPLES = re.findall(
    r"```yaml\n(.*?)```", (SOURCE_DIR / "docs/policy-format.md").read_text(), re.DOTALL
)

ACCEPTED = [
    "{}",
    "{extends: torch, categories: {allow: [{base: deny}], keep: [{base: [allow, ban], operators: []}]}}",
    "{extends: torch, categories: {allow: [{base: follow, operators: Exp, reason: why}]}}",
    "categories: {allow: [Add@7, Mul@7+, Sub@7-12, 'com.x-y:A_b@1']}",
    "{no_pull: Less, pin: {Pow: 1, Resize@11+: [1, 2], Add: []}, flush: {Conv: 2}}",
    "rules: []",
    "rules: [{nodes: [a.*, b], when: {constant: 0, elements: {0: 12, 1: 4+}}, no_pull: false}]",
    "rules: [{operators: Where, out_of_range: clamp, underflow: keep, pin: 0, flush: [1]}]",
    "{low: tf32, keep_io_types: false}",
    "keep_io_types: {inputs: a.*, outputs: [b, c]}",
    "rules: [{outputs: a, scopes: [b, c], low: bf16, island: true}]",
    "rules: [{when: {shape: {0: [4, any, 8+]}, absmax: {0: 1e4+, 1: 1..2, 2: 3}}, category: keep}]",
    "rules: [{when: {reduction: 1024+, low: [fp16, bf16], attributes: {axis: [0, 1], mode: x}}, island: false}]",
]

REJECTED = [
    "[]",
    "text",
    "extends: [torch]",
    "lwo: fp16",
    "low: fp8",
    "low:",
    "out_of_range: clip",
    "underflow: {}",
    "categories: [Add]",
    "categories: {alow: [Add]}",
    "categories: {allow: MatMul}",
    "categories: {allow: [[MatMul]]}",
    "categories: {allow: ['Mat Mul']}",
    "categories: {allow: ['MatMul@']}",
    "categories: {allow: ['MatMul@9-']}",
    "categories: {allow: [':MatMul']}",
    "categories: {allow: [{reason: why}]}",
    "categories: {allow: [{operators: [Exp], because: why}]}",
    "categories: {allow: [{operators: [Exp], reason: [a]}]}",
    "categories: {allow: [{base: dney}]}",
    "categories: {allow: [{base: {deny: 1}}]}",
    "no_pull: {}",
    "pin: [Resize]",
    "pin: {Resize: [roi]}",
    "pin: {Resize: [-1]}",
    "pin: {Resize: 65536}",
    "pin: {'Re size': [1]}",
    "flush: {Conv: {2: 2}}",
    "rules: {}",
    "rules: [MatMul]",
    "rules: [{operator: MatMul, category: keep}]",
    "rules: [{operators: MatMul}]",
    "rules: [{operators: [], category: keep}]",
    "rules: [{nodes: [], category: keep}]",
    "rules: [{nodes: [{}], category: keep}]",
    "rules: [{nodes: a, category: keeep}]",
    "rules: [{nodes: a, no_pull: 1}]",
    "rules: [{nodes: a, category: keep, reason: {}}]",
    "rules: [{when: [constant], category: keep}]",
    "rules: [{when: {constnt: 0}, category: keep}]",
    "rules: [{when: {constant: x}, category: keep}]",
    "rules: [{when: {elements: 12}, category: keep}]",
    "rules: [{when: {elements: {x: 12}}, category: keep}]",
    "rules: [{when: {elements: {0: many}}, category: keep}]",
    "keep_io_types: some",
    "keep_io_types: {input: x}",
    "keep_io_types: {inputs: []}",
    "rules: [{scopes: [], category: keep}]",
    "rules: [{outputs: {}, category: keep}]",
    "rules: [{nodes: a, low: fp32}]",
    "rules: [{nodes: a, island: 1}]",
    "rules: [{when: {shape: {0: 4}}, category: keep}]",
    "rules: [{when: {shape: {0: [x]}}, category: keep}]",
    "rules: [{when: {absmax: {0: many}}, category: keep}]",
    "rules: [{when: {reduction: long}, category: keep}]",
    "rules: [{when: {attributes: [axis]}, category: keep}]",
    "rules: [{when: {low: fp8}, category: keep}]",
]


@pytest.fixture(scope="module")
def amp() -> Tool:
    return onnx_amp()


def with_text_keys(value: Any) -> Any:
    """The value with all keys as texts, which is how a schema and an editor see them."""
    if isinstance(value, dict):
        return {str(key): with_text_keys(item) for key, item in value.items()}
    return [with_text_keys(item) for item in value] if isinstance(value, list) else value


def fits_schema(text: str) -> bool:
    return VALIDATOR.is_valid(with_text_keys(yaml.safe_load(text)))


def is_policy(amp: Tool, path: Path) -> bool:
    return amp.run("policy", "check", path).returncode == 0


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_presets(preset: Path) -> None:
    VALIDATOR.validate(with_text_keys(yaml.safe_load(preset.read_text())))


def test_documented_examples() -> None:
    assert len(EXAMPLES) >= 5
    for text in EXAMPLES:
        VALIDATOR.validate(with_text_keys(yaml.safe_load(text)))


def test_the_parser_accepts_the_same(amp: Tool, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    for text in ACCEPTED:
        path.write_text(text)
        assert fits_schema(text), text
        assert is_policy(amp, path), text


def test_the_parser_rejects_the_same(amp: Tool, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    for text in REJECTED:
        path.write_text(text)
        assert not fits_schema(text), text
        assert not is_policy(amp, path), text


# A text with a fault, and where in the schema the names are that the parser offers instead.
NAMES = [
    ("zzzzzzzz: 1", ("properties",)),
    ("categories: {zzzzzzzz: []}", ("properties", "categories", "properties")),
    ("rules: [{zzzzzzzz: 1}]", ("$defs", "rule", "properties")),
    ("rules: [{when: {zzzzzzzz: 1}}]", ("$defs", "rule", "properties", "when", "properties")),
    (
        "categories: {allow: [{zzzzzzzz: 1}]}",
        ("$defs", "categoryItems", "items", "oneOf", 1, "properties"),
    ),
    ("rules: [{category: zzzzzzzz}]", ("$defs", "category", "enum")),
    ("low: zzzzzzzz", ("$defs", "low", "enum")),
    ("out_of_range: zzzzzzzz", ("$defs", "outOfRange", "enum")),
    ("underflow: zzzzzzzz", ("$defs", "underflow", "enum")),
]


@pytest.mark.parametrize(("text", "where"), NAMES, ids=lambda value: str(value))
def test_names(amp: Tool, tmp_path: Path, text: str, where: tuple[str | int, ...]) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    error = amp.run("policy", "check", path).expect_error("expected one of")
    offered = error.partition("expected one of ")[2].partition(", got")[0].strip()
    names: Any = SCHEMA
    for key in where:
        names = names[key]
    assert sorted(offered.split(", ")) == sorted(names)
