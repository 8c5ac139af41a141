"""The check for nodes that should be low sees those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import allow_nodes
import pytest
from allow_nodes import category_of, statements_of, typed_nodes
from onnx import ModelProto, TensorProto, parser

LOW = TensorProto.FLOAT16


def model(body: str, opset: int = 17) -> ModelProto:
    """A model from ONNX text: `graph` with its header."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{body}')


def gather(rows: int, type_: str) -> ModelProto:
    """A lookup in a table of 16 columns."""
    return model(
        f"g (int64[2] i) => ({type_}[2, 16] y) <{type_}[{rows}, 16] w = "
        f"{{{', '.join(['0'] * (16 * rows))}}}> {{ y = Gather(w, i) }}"
    )


MATMUL = model("g (float[2, 2] x) => (float[2, 2] y) { y = MatMul(x, x) }")
BRANCHES = model("""g (bool c, float[2, 2] x) => (float[2, 2] y) {
  y = If (c) <
    then_branch = one () => (float[2, 2] a) { h = Cast<to = 10>(x)
                                              l = MatMul(h, h)
                                              a = Cast<to = 1>(l) },
    else_branch = other () => (float[2, 2] b) { b = MatMul(x, x) }
  >
}""")


def kept(node: str, reason: str) -> list[dict[str, Any]]:
    """What `convert --json` would say."""
    return [{"node": node, "reason": reason}]


@pytest.mark.parametrize(
    ("converted", "report", "counts"),
    [
        (MATMUL, [], (0, 0, 1)),
        (MATMUL, kept("y", "policy 'torch' line 15: MatMul is allow: matrix product"), (0, 0, 1)),
        (MATMUL, kept("other", "bfloat16 is not a type of MatMul at opset 7"), (0, 0, 1)),
        (MATMUL, kept("y", "bfloat16 is not a type of MatMul at opset 7"), (0, 1, 0)),
        (MATMUL, kept("y", "constant 'w' is out of the range of float16: absmax 1"), (0, 1, 0)),
        (MATMUL, kept("y", "policy 'p' line 3: operand 0 keeps its type"), (0, 1, 0)),
        # Branches that do not run are seen, too.
        (BRANCHES, [], (1, 0, 1)),
        # A rule of the preset: tables of 1024 elements and more.
        (gather(64, "float16"), [], (1, 0, 0)),
        (gather(64, "float"), [], (0, 0, 1)),
        (gather(63, "float"), [], (0, 0, 0)),
    ],
)
def test_allow_nodes_are_counted(
    converted: ModelProto, report: list[dict[str, Any]], counts: tuple[int, int, int]
) -> None:
    found = allow_nodes.allow_nodes(converted, "inference", LOW, report)
    assert (found.low, sum(found.kept.values()), len(found.silent)) == counts


@pytest.mark.parametrize(
    ("body", "opset", "category"),
    [
        ("y = Softmax(x)", 17, "deny"),
        ("y = Celu(x)", 17, "follow"),
        ("y = Celu(x)", 13, "deny"),
        ("y = Elu(x)", 17, "allow"),
        ("y = Elu(x)", 12, "follow"),
        ("y = Relu(x)", 17, "keep"),
        ("[special] y = Relu(x)", 17, "allow"),
    ],
)
def test_the_last_statement_holds(body: str, opset: int, category: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("""
categories:
  deny: [Softmax, Celu@12-16]
  follow:
    - reason: elsewhere
      operators: [Celu@17+, Elu]
rules:
  - {operators: Elu@17, category: allow}
  - {operators: Elu, pin: [0]}
  - {nodes: spec.*, category: allow}
""")
    text = f"g (float[2] x) => (float[2] y) {{ {body} }}"
    (node,) = typed_nodes(model(text, opset))
    assert category_of(node, statements_of(policy)) == category


def test_a_base_comes_first(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("extends: inference\ncategories: {keep: [MatMul, Gather]}\n")
    (product,) = typed_nodes(MATMUL)
    (lookup,) = typed_nodes(gather(64, "float"))
    statements = statements_of(policy)
    assert category_of(product, statements) == category_of(lookup, statements) == "keep"


def test_an_unknown_condition_is_an_error(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{operators: MatMul, when: {moon: full}, category: deny}]\n")
    (node,) = typed_nodes(MATMUL)
    with pytest.raises(ValueError, match="moon"):
        category_of(node, statements_of(policy))
