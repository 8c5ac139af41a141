"""advise: the recommendation follows from the evidence, and the command that it names works."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from data_models import parsed, save, save_data
from tool import Tool, onnx_amp


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def products(
    weights: list[np.ndarray], header: str = '<ir_version: 10, opset_import: ["" : 20]>\n'
) -> onnx.ModelProto:
    """Products in a row."""
    size = weights[0].shape[0]
    nodes = " ".join(f"[n{i}] v{i + 1} = MatMul (v{i}, w{i})" for i in range(len(weights)))
    model = parsed(
        f"g (float[{size}, {size}] v0) => (float[{size}, {size}] v{len(weights)}) {{ {nodes} }}",
        header,
    )
    for i, weight in enumerate(weights):
        model.graph.initializer.append(onnx.numpy_helper.from_array(weight, f"w{i}"))
    return model


def advise(
    amp: Tool, model: onnx.ModelProto, folder: Path, x: np.ndarray, *options: str
) -> dict[str, Any]:
    source = save(model, folder / "a model.onnx")
    data = save_data(folder / "data.npz", v0=x)
    result = amp.run("advise", source, "--data", data, "--json", *options).expect_success()
    advice: dict[str, Any] = json.loads(result.stdout)
    advice["by_format"] = {each["format"]: each for each in advice["formats"]}
    return advice


def run_command(amp: Tool, advice: dict[str, Any]) -> dict[str, Any]:
    """What the recommended command says."""
    words = shlex.split(advice["command"])
    assert words[:2] == ["onnx-amp", "convert"]
    report: dict[str, Any] = json.loads(amp.run(*words[1:], "--json").expect_success().stdout)
    return report


RNG = np.random.default_rng(0)
ORTHOGONAL = [np.linalg.qr(RNG.standard_normal((64, 64)))[0].astype(np.float32) for _ in range(3)]
X = RNG.standard_normal((64, 64)).astype(np.float32)


def test_fp16_where_it_is_precise(amp: Tool, tmp_path: Path) -> None:
    advice = advise(amp, products(ORTHOGONAL), tmp_path, X)
    formats = advice["by_format"]
    assert "--dtype fp16" in advice["command"]
    assert "more precise" in advice["why"]
    errors = [formats[name]["error"]["relative"] for name in ("TF32", "fp16", "bf16")]
    assert 0 < errors[0] < 2e-3 and 0 < errors[1] < 2e-3 < errors[2]
    assert advice["tensor_core_share"] == 1
    assert formats["fp16"]["weight_bytes"] * 2 == advice["weight_bytes"]
    assert formats["fp16"]["speedup_bound"] > 1.1 and formats["TF32"]["speedup_bound"] == 1
    report = run_command(amp, advice)
    assert report["nodes"]["lowered"] == 3


def test_bf16_where_the_weights_are(amp: Tool, tmp_path: Path) -> None:
    weights = [w.astype(ml_dtypes.bfloat16).astype(np.float32) for w in ORTHOGONAL]
    advice = advise(amp, products(weights), tmp_path, X, "--tolerance", "0.05")
    assert advice["history"] == {
        "weights": 3 * 64 * 64,
        "bfloat16": 3 * 64 * 64,
        "float16": 3 * 64 * 64,
    }
    assert "--dtype bf16" in advice["command"] and "trained in bf16" in advice["why"]
    # Not if it is not precise enough.
    advice = advise(amp, products(weights), tmp_path, X, "--tolerance", "0.002")
    assert "--dtype fp16" in advice["command"]


def test_calibrated_where_values_overflow(amp: Tool, tmp_path: Path) -> None:
    weights = [ORTHOGONAL[0] * 6e4, ORTHOGONAL[1] * 1e-4, ORTHOGONAL[2]]
    advice = advise(amp, products(weights), tmp_path, X)
    formats = advice["by_format"]
    assert formats["fp16"]["overflows"] == ["v1"]
    assert formats["fp16"]["error"]["nonfinite"] > 0 and not formats["fp16"]["accepted"]
    assert formats["fp16 calibrated"]["accepted"]
    assert "--calibrate" in advice["command"]
    assert run_command(amp, advice)["nodes"]["lowered"] == 1


def test_underflow(amp: Tool, tmp_path: Path) -> None:
    weights = [ORTHOGONAL[0] * 1e-5, ORTHOGONAL[1] * 1e-5, ORTHOGONAL[2] * 1e3]
    advice = advise(amp, products(weights), tmp_path, X)
    assert advice["by_format"]["fp16"]["underflows"] == ["v2"]
    assert advice["by_format"]["bf16"]["underflows"] == []


def test_a_search_where_nothing_else_is_left(amp: Tool, tmp_path: Path) -> None:
    advice = advise(amp, products(ORTHOGONAL), tmp_path, X, "--tolerance", "0.0005")
    assert "--tolerance 0.0005 --data" in advice["command"]
    report = run_command(amp, advice)
    assert report["search"]["error"] <= 0.0005


def test_no_conversion_where_nothing_can_be_low(amp: Tool, tmp_path: Path) -> None:
    model = parsed("g (float[4, 4] v0) => (float[4, 4] y) { y = Softmax (v0) }")
    advice = advise(amp, model, tmp_path, X[:4, :4])
    assert advice["command"] == "" and "stay in float32" in advice["why"]


def test_bf16_that_a_later_opset_has(amp: Tool, tmp_path: Path) -> None:
    model = products(ORTHOGONAL, '<ir_version: 7, opset_import: ["" : 12]>\n')
    by_format = advise(amp, model, tmp_path, X)["by_format"]
    assert by_format["bf16"]["lowered_nodes"] == by_format["fp16"]["lowered_nodes"] > 0


def test_bf16_that_no_opset_has(amp: Tool, tmp_path: Path) -> None:
    # What a Resize that shrinks was at opset 10 it is not at any later one.
    model = products(ORTHOGONAL, '<ir_version: 7, opset_import: ["" : 10]>\n')
    model.graph.node.extend(
        [
            onnx.helper.make_node("Unsqueeze", ["v0"], ["image"], axes=[0, 1]),
            onnx.helper.make_node("Resize", ["image", "scales"], ["resized"]),
        ]
    )
    scales = onnx.numpy_helper.from_array(np.array([1, 1, 0.5, 0.5], np.float32), "scales")
    model.graph.initializer.append(scales)
    advice = advise(amp, model, tmp_path, X)
    assert advice["by_format"]["bf16"]["lowered_nodes"] == 0
    assert "--dtype fp16" in advice["command"]
    text = amp.run(
        "advise", tmp_path / "a model.onnx", "--data", tmp_path / "data.npz"
    ).stdout.decode()
    assert "lack bf16 at every opset that the model can be raised to" in text


def test_delicate_parts(amp: Tool, tmp_path: Path) -> None:
    model = parsed(
        """g (float[4, 4] v0) => (float d, int64[2, 4] i) <int64[1] k = {2}> {
          [det] d = Det (v0)
          [top] v, i = TopK <axis = 0> (v0, k)
        }"""
    )
    advice = advise(amp, model, tmp_path, X[:4, :4])
    assert advice["delicate"] == [
        {"what": "linear algebra", "nodes": ["det"]},
        {"what": "choosing among results", "nodes": ["top"]},
    ]


def test_subgraphs_are_not_counted(amp: Tool, tmp_path: Path) -> None:
    model = parsed(
        """g (float[4, 4] v0) => (float[4, 4] y) <bool c = {1}, float[4, 4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}> {
          y = If (c) <
            then_branch = t () => (float[4, 4] a) { a = MatMul (v0, w) },
            else_branch = e () => (float[4, 4] b) { b = MatMul (w, v0) }
          >
        }"""
    )
    advice = advise(amp, model, tmp_path, X[:4, :4])
    assert advice["nodes_inside"] == 2 and advice["nodes"] == 3
    assert advice["by_format"]["fp16"]["speedup_bound"] is None
    assert "--dtype fp16" in advice["command"]  # for the weights
    text = amp.run(
        "advise", tmp_path / "a model.onnx", "--data", tmp_path / "data.npz"
    ).stdout.decode()
    assert "2 of 3 nodes are in subgraphs and functions, and not counted" in text


def test_a_policy(amp: Tool, tmp_path: Path) -> None:
    policy = tmp_path / "my policy.yaml"
    policy.write_text("extends: inference\nrules:\n  - nodes: n0\n    category: keep\n")
    advice = advise(amp, products(ORTHOGONAL), tmp_path, X, "--policy", str(policy))
    assert advice["by_format"]["fp16"]["lowered_nodes"] == 2
    assert f"--policy '{policy}' --dtype" in advice["command"]
    assert run_command(amp, advice)["nodes"]["lowered"] == 2
    source, data = tmp_path / "a model.onnx", tmp_path / "data.npz"
    amp.run("advise", source, "--data", data, "--policy", "none").expect_error("none", code=2)
    policy.write_text("extends: none\n")
    amp.run("advise", source, "--data", data, "--policy", policy).expect_error("my policy.yaml")


#: Inputs, attributes, shape of the result and additions and multiplications, by operator.
ATTENTION: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "groups": (
        "Attention",
        {"q": (2, 4, 3, 8), "k": (2, 2, 5, 8), "v": (2, 2, 5, 6)},
        {},
        2 * 2 * 4 * 3 * 5 * (8 + 6),
    ),
    "flat": (
        "Attention",
        {"q": (2, 3, 32), "k": (2, 5, 16), "v": (2, 5, 16)},
        {"q_num_heads": 4, "kv_num_heads": 2},
        2 * 2 * 4 * 3 * 5 * (8 + 8),
    ),
    "several heads": (
        "com.microsoft:MultiHeadAttention",
        {"q": (2, 3, 32), "k": (2, 5, 32), "v": (2, 5, 16)},
        {"num_heads": 4},
        2 * 2 * 3 * 5 * (32 + 16),
    ),
    "past": (
        "com.microsoft:MultiHeadAttention",
        {
            **{"q": (2, 3, 32), "k": (2, 3, 32), "v": (2, 3, 32), "": None, " ": None, "  ": None},
            **{"pk": (2, 4, 7, 8), "pv": (2, 4, 7, 8)},
        },
        {"num_heads": 4},
        2 * 2 * 3 * (3 + 7) * (32 + 32),
    ),
    "projected": (
        "com.microsoft:Attention",
        {"q": (2, 3, 16), "w": (16, 48), "b": (48,)},
        {"num_heads": 2},
        2 * 2 * 3 * (16 * 48 + 3 * (16 + 16)),
    ),
}


@pytest.mark.parametrize("kind", ATTENTION)
def test_attention_counts(amp: Tool, tmp_path: Path, kind: str) -> None:
    name, inputs, attributes, work = ATTENTION[kind]
    domain, _, operator = name.rpartition(":")
    given = {key: shape for key, shape in inputs.items() if shape}
    names = [key.strip() for key in inputs]  # "" where one is left out
    node = onnx.helper.make_node(operator, names, ["o"], domain=domain, **attributes)
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [
            onnx.helper.make_tensor_value_info(k, onnx.TensorProto.FLOAT, v)
            for k, v in given.items()
        ],
        [onnx.helper.make_tensor_value_info("o", onnx.TensorProto.FLOAT, None)],
    )
    opsets = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=11)
    source = save(model, tmp_path / "model.onnx")
    arrays = {k: RNG.standard_normal(v).astype(np.float32) for k, v in given.items()}
    data = save_data(tmp_path / "data.npz", **arrays)
    result = amp.run("advise", source, "--data", data, "--json").expect_success()
    advice = json.loads(result.stdout)
    assert advice["operations"] == work
    assert advice["tensor_core_share"] == 1
