"""onnx-infer-types against ONNX's own shape inference: no dimension less, none that differs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
from lossless import differences
from model_sources import ModelFile, cases, corpus, distinct, onnx_package
from odd_nodes import odd_model
from tool import amp_opt, amp_translate

#: None: not known, of a dimension and of a shape.
Shape = list[int | None] | None

OUTPUTS = re.compile(r"onnx\.outputs = (\[[^\]]*\])")
TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)[^,>]*(?:, #onnx\.dims<[^>]*>)?>")
OPEN, CLOSE = "(<[{", ")>]}"


def split_types(text: str) -> list[str]:
    """`a, b<c, d>` -> [`a`, `b<c, d>`]."""
    parts, depth, begin = [], 0, 0
    for index, letter in enumerate(text):
        if letter in OPEN:
            depth += 1
        elif letter in CLOSE:
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:index].strip())
            begin = index + 1
    return [*parts, text[begin:].strip()]


def parse_shape(text: str) -> Shape:
    match = TENSOR.fullmatch(text)
    if match is None:
        return None
    return [int(size) if size != "?" else None for size in match[1].split("x")[:-1]]


def our_shapes(text: str) -> dict[str, Shape]:
    """The shapes of the main graph's values, by name, of a printed module."""
    shapes: dict[str, Shape] = {}
    for line in text.splitlines():
        names = OUTPUTS.search(line)
        if not line.startswith("    %") or names is None or " -> " not in line:
            continue
        types = line.rpartition(" -> ")[2].partition(" {")[0]
        if types.startswith("(") and types.endswith(")"):
            types = types[1:-1]
        kinds, present = split_types(types), json.loads(names[1])
        # An output without a name has a result only where all outputs have.
        if len(kinds) != len(present):
            present = [name for name in present if name]
        for name, kind in zip(present, kinds, strict=True):
            if name:
                shapes[name] = parse_shape(kind)
    return shapes


def onnx_shapes(model: onnx.ModelProto) -> dict[str, list[int | None]]:
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    shapes: dict[str, list[int | None]] = {}
    for info in inferred.graph.value_info:
        tensor = info.type.tensor_type
        if tensor.HasField("shape"):
            shapes[info.name] = [
                dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim
            ]
    return shapes


#: Printing is slow; what is bigger has the same operators.
LARGEST = 4 << 20


def models() -> list[ModelFile]:
    """Models of several nodes: of onnx's, one in eight of the functions that it expands."""
    expanded = [model for model in onnx_package() if model.name.endswith("_expanded")]
    found = distinct([*cases(), *corpus(), *expanded[::8]])
    return [model for model in found if model.size <= LARGEST]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.label)
def test_knows_what_onnx_knows(model: ModelFile, tmp_path: Path) -> None:
    stripped = onnx.load(model.path)
    del stripped.graph.value_info[:]
    source, target = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(stripped, source)
    imported = amp_translate().run("--onnx-to-mlir", source).expect_success()
    inferred = amp_opt().run("--onnx-infer-types", "-", stdin=imported.stdout).expect_success()

    ours = our_shapes(inferred.stdout.decode())
    results = {output.name for output in stripped.graph.output}
    for name, shape in onnx_shapes(stripped).items():
        if name in results or name not in ours:
            continue
        mine = ours[name]
        assert mine is not None, name
        assert len(mine) == len(shape), (name, mine, shape)
        for size, theirs in zip(mine, shape, strict=True):
            assert theirs is None or theirs < 0 or size == theirs, (name, mine, shape)

    amp_translate().run("--mlir-to-onnx", "-", "-o", target, stdin=inferred.stdout).expect_success()
    assert differences(stripped, onnx.load(target)) == []


@pytest.mark.parametrize("opset", [7, 11, 13, 18, 21, onnx.defs.onnx_opset_version()])
def test_survives_what_makes_no_sense(opset: int, tmp_path: Path) -> None:
    """ONNX's inference functions divide by zero, read beyond the end or ask for all of memory, if
    attributes ask for it: none of that may reach them."""
    source, module = tmp_path / "odd.onnx", tmp_path / "odd.mlirbc"
    onnx.save(odd_model(opset, seed=opset, each=20), source)
    amp_translate().run("--onnx-to-mlir", "--emit-bytecode", source, "-o", module).expect_success()
    amp_opt().run("--onnx-infer-types", module, "-o", tmp_path / "out.mlir").expect_success()
