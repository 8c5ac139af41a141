"""Operators of com.microsoft run in the low format, by types that are those of ONNX Runtime."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime.capi.onnxruntime_pybind11_state as runtime
import pytest
from onnx import TensorProto, helper
from tool import SOURCE_DIR, Tool, onnx_amp

TYPES = {
    "f16": "tensor(float16)",
    "bf16": "tensor(bfloat16)",
    "f32": "tensor(float)",
    "f64": "tensor(double)",
}
LINE = re.compile(r"(\w+)\((.*)\) -> \((.*)\) with (.*)")
INFERENCE, TRAINING = [
    {match[1]: match for match in map(LINE.fullmatch, part.splitlines()) if match}
    for part in (SOURCE_DIR / "lib/Dialect/ONNX/contrib.txt").read_text().split("# Training.\n")
]
# With subgraphs, of any type, or with a list of inputs: left alone.
LEFT_OUT = {"BeamSearch", "EPContext", "IsAllFinite", "WhisperBeamSearch"}


def registered() -> dict[str, Any]:
    """ONNX Runtime's schemas of com.microsoft by name."""
    return {
        schema.name: schema
        for schema in runtime.get_all_operator_schema()
        if schema.domain == "com.microsoft"
    }


def movable(schema: Any) -> dict[str, list[str]]:
    """The type variables that may be float32 or a low format, with the types that the compiler knows."""
    found = {}
    for constraint in schema.type_constraints:
        types = set(constraint.allowed_type_strs)
        if TYPES["f32"] in types and types & {TYPES["f16"], TYPES["bf16"]}:
            found[constraint.type_param_str] = [short for short in TYPES if TYPES[short] in types]
    return found


def test_every_operator_is_listed() -> None:
    wanted = {
        name
        for name, schema in registered().items()
        if any(
            parameter.typeStr in movable(schema) for parameter in (*schema.inputs, *schema.outputs)
        )
    }
    assert set(INFERENCE) == wanted - LEFT_OUT


@pytest.mark.parametrize("name", INFERENCE)
def test_types_are_those_of_onnx_runtime(name: str) -> None:
    schema = registered()[name]
    variables = movable(schema)

    def spell(parameter: Any) -> str:
        kind = {"Single": "", "Optional": "?", "Variadic": "*"}[
            str(parameter.option).rpartition(".")[2]
        ]
        return (parameter.typeStr if parameter.typeStr in variables else "-") + kind

    match = INFERENCE[name]
    assert match[2].split(", ") == [spell(parameter) for parameter in schema.inputs]
    outputs = re.sub(r"\[[^]]*\]", "", match[3])
    assert outputs.split(", ") == [spell(parameter) for parameter in schema.outputs]
    listed = dict(entry.split(": ") for entry in match[4].split("; "))
    assert {variable: types.split() for variable, types in listed.items()} == {
        variable: variables[variable] for variable in listed
    }


@pytest.fixture
def amp() -> Tool:
    """The driver."""
    return onnx_amp()


def value(name: str, shape: list[int], element: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """A tensor of the interface."""
    return helper.make_tensor_value_info(name, element, shape)


def transformer_block() -> onnx.ModelProto:
    """Fused as ONNX Runtime's optimiser leaves it: no types between the nodes."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array(rng.normal(0, 0.1, shape).astype(np.float32), name)

    def contrib(
        op: str, inputs: list[str], outputs: list[str], **attributes: Any
    ) -> onnx.NodeProto:
        return helper.make_node(op, inputs, outputs, op, domain="com.microsoft", **attributes)

    nodes = [
        contrib("Attention", ["x", "qkv", "qkv_bias"], ["attended"], num_heads=2),
        contrib(
            "SkipLayerNormalization", ["x", "attended", "gamma", "beta"], ["normed"], epsilon=1e-5
        ),
        contrib("FusedMatMul", ["normed", "up"], ["wide"], alpha=0.5),
        contrib("BiasGelu", ["wide", "up_bias"], ["active"]),
        contrib("QuickGelu", ["active"], ["again"]),
        helper.make_node("MatMul", ["again", "down"], ["out"], "down"),
    ]
    graph = helper.make_graph(
        nodes,
        "block",
        [value("x", [1, 4, 8])],
        [value("out", [1, 4, 8])],
        [
            weight("qkv", 8, 24),
            weight("qkv_bias", 24),
            weight("gamma", 8),
            weight("beta", 8),
            weight("up", 8, 16),
            weight("up_bias", 16),
            weight("down", 16, 8),
        ],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def load_error(path: Path) -> str:
    """What ONNX Runtime says of a model when it loads it; empty if it has no kernel for it or nothing to say."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return "" if "NOT_IMPLEMENTED" in str(error) else str(error)
    return ""


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("placement", ["eager", "optimal"])
def test_fused_transformer(amp: Tool, tmp_path: Path, dtype: str, placement: str) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "low.onnx"
    onnx.save(transformer_block(), source)
    summary = amp.convert(source, target, "--dtype", dtype, "--placement", placement)
    low = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}[dtype]
    model = onnx.load(target)
    weights = {
        tensor.name.removesuffix("_float16").removesuffix("_bfloat16"): tensor.data_type
        for tensor in model.graph.initializer
    }
    assert {name for name, element in weights.items() if element == low} >= {
        "qkv",
        "qkv_bias",
        "up",
        "down",
    }
    # Of SkipLayerNormalization everything stays, by the policy.
    assert weights["gamma"] == weights["beta"] == TensorProto.FLOAT
    assert load_error(target) == ""
    assert summary.lowered >= 4


def test_types_that_disagree_are_left_alone(amp: Tool, tmp_path: Path) -> None:
    """Another version of the operator, perhaps."""
    node = helper.make_node("FusedMatMul", ["x", "w"], ["y"], "product", domain="com.microsoft")
    graph = helper.make_graph(
        [node],
        "g",
        [value("x", [2, 2]), value("w", [2, 2], TensorProto.FLOAT16)],
        [value("y", [2, 2])],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    source, target = tmp_path / "model.onnx", tmp_path / "low.onnx"
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), source)
    assert amp.convert(source, target).lowered == 0
    assert onnx.load(target).graph.node == onnx.load(source).graph.node
