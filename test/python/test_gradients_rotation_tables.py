"""Gradients of RotaryEmbedding's tables, and of attention with what only newer opsets have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from finite_differences import Node, problems
from gradients import differentiate
from onnx import helper
from test_gradients_normalization import attention, floats, rotate, rotate_3d
from tool import onnx_amp

IDS = np.array([[0, 2, 4], [1, 1, 3]])
#: One row of a table is for several tokens, some rows for none.
TABLES = [
    Node(
        "RotaryEmbedding", rotate(False, 4), [floats(2, 2, 3, 4), floats(5, 2), floats(5, 2), IDS]
    ),
    Node(
        "RotaryEmbedding",
        rotate(True, 4),
        [floats(2, 2, 3, 6), floats(2, 3, 2), floats(2, 3, 2)],
        {"interleaved": 1, "rotary_embedding_dim": 4},
    ),
    Node(
        "RotaryEmbedding",
        rotate_3d(2),
        [floats(2, 3, 8), floats(2, 3, 2), floats(2, 3, 2)],
        {"num_heads": 2},
    ),
    Node(
        "RotaryEmbedding",
        rotate(True, 4),
        [floats(2, 2, 3, 4), floats(5, 2), floats(5, 2), IDS],
        {"interleaved": 1},
        fixed=(0, 1),
    ),
]


@pytest.mark.parametrize("shapes", ["sizes", "rank"])
@pytest.mark.parametrize("opset", [23, 24])
def test_tables(shapes: str, opset: int, tmp_path: Path) -> None:
    assert not problems(TABLES, tmp_path, shapes=shapes, opset=opset)


def test_tables_in_half_precision(tmp_path: Path) -> None:
    """Sums are float32, and rounded once."""
    assert not problems(TABLES, tmp_path, dtype=np.float16, opset=23, tolerance=2e-3)


def test_tables_of_unknown_rank(tmp_path: Path) -> None:
    graph = onnx.parser.parse_graph(
        "g (float x, float[1, 2, 1] c, float[1, 2, 1] s) => (float loss) "
        "{ y = RotaryEmbedding (x, c, s) loss = ReduceSum <keepdims = 0> (y) }"
    )
    graph.input[0].type.tensor_type.ClearField("shape")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    with pytest.raises(AssertionError, match="where the rank of input 0 is not known"):
        differentiate(model, ["loss"], ["c"], tmp_path)


def test_attention_of_opset_24(tmp_path: Path) -> None:
    """By the function that ONNX has for it there."""
    size = (2, 2, 3, 4)
    nodes = [
        Node("Attention", attention(causal=True), [floats(*size) for _ in "qkv"], {"is_causal": 1}),
        Node("Attention", attention(), [*(floats(*size) for _ in "qkv"), floats(3, 3)]),
        Node(
            "Attention",
            attention(softcap=2.0),
            [floats(2, 4, 3, 4), floats(2, 2, 3, 4), floats(2, 2, 3, 4)],
            {"softcap": 2.0},
        ),
    ]
    assert not problems(nodes, tmp_path, opset=24)


def test_what_is_padded_has_no_gradient(tmp_path: Path) -> None:
    """nonpad_kv_seqlen says how many keys and values of each example count."""

    def padded(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, *others: np.ndarray | None
    ) -> np.ndarray:
        lengths = others[-1]
        assert lengths is not None
        mask = np.where(np.arange(k.shape[2]) < lengths[:, None, None, None], 0.0, -np.inf)
        return np.asarray(attention()(q, k, v, mask))

    inputs = [floats(2, 2, 3, 4) for _ in "qkv"]
    node = Node("Attention", padded, [*inputs, None, None, None, np.array([2, 3])])
    assert not problems([node], tmp_path, opset=24)


SEQUENCES = {
    "split": (
        "{ s = SplitToSequence <axis = 0> (x) ['join'] y = ConcatFromSequence <axis = 0> (s) "
        "loss = ReduceSum <keepdims = 0> (y) }",
        "'join' (ConcatFromSequence",
    ),
    "at": (
        "{ s = SequenceConstruct (x, x) i = Constant <value_int = 1> () ['take'] y = SequenceAt (s, i) "
        "loss = ReduceSum <keepdims = 0> (y) }",
        "'take' (SequenceAt",
    ),
    "map": (
        "{ s = SequenceConstruct (x, x) t = SequenceMap <body = b (float[4, 3] e) => "
        "(float[4, 3] o) { o = Exp (e) }> (s) ['join'] y = ConcatFromSequence <axis = 0> (t) "
        "loss = ReduceSum <keepdims = 0> (y) }",
        "'join' (ConcatFromSequence",
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_have_no_gradient(name: str, tmp_path: Path) -> None:
    """One line that names the node."""
    body, node = SEQUENCES[name]
    body = body.replace("['", '["').replace("']", '"]')
    graph = onnx.parser.parse_graph(f"g (float[4, 3] x) => (float loss) {body}")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    source, target = tmp_path / "model.onnx", tmp_path / "gradient.onnx"
    onnx.save(model, source)
    command = ("differentiate", source, "-o", target, "--loss", "loss", "--wrt", "x")
    onnx_amp().run(*command).expect_error(node, "has no gradient rule here")
    assert not target.exists()
