"""Conversions stay right in every structure that a model can have: control flow, functions, sharing.

Each model is written as ONNX text, converted to both formats, run in ONNX Runtime and node by node
with every low tensor rounded, and compared with the original.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from running import checker_problem, nodes_of, relative_error, run_in_onnxruntime, run_strictly
from tool import onnx_amp

HEADER = '<ir_version: 10, opset_import: ["" : 22, "local" : 1]>\n'
W = "float[4, 4] w = {" + ", ".join(str((n * 7 % 13 - 6) / 8) for n in range(16)) + "}"
V = "float[4, 4] v = {" + ", ".join(str((n * 5 % 11 - 5) / 8) for n in range(16)) + "}"
TOLERANCE = {"fp16": 0.01, "bf16": 0.08}
NUMPY_NAMES = {"fp16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Structure:
    """A model as text, its inputs, and what must become of it.

    Nodes are given by name, or by operator where functions are inlined to run them.
    """

    text: str
    inputs: dict[str, np.ndarray]
    #: nodes that run in the low format
    low: tuple[str, ...] = ()
    #: nodes that run in float32
    high: tuple[str, ...] = ()
    #: outputs that do not change by a bit
    exact: tuple[str, ...] = ()


X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
YES, NO = np.array([True]), np.array([False])

STRUCTURES = {
    "if, both branches read outer values": Structure(
        f"""g (float[2, 4] x, bool[1] c) => (float[2, 4] y) <{W}, {V}> {{
            [before] a = MatMul (x, w)
            y = If (c) <
                then_branch = yes () => (float[2, 4] t) {{
                    [then] m = MatMul (a, v)  t = Relu (m)
                }},
                else_branch = no () => (float[2, 4] e) {{
                    [else] n = MatMul (x, v)  e = Add (n, a)
                }}>
        }}""",
        low=("before", "then"),
        inputs={"x": X, "c": YES},
    ),
    "if, the other branch": Structure(
        f"""g (float[2, 4] x, bool[1] c) => (float[2, 4] y) <{W}, {V}> {{
            [before] a = MatMul (x, w)
            y = If (c) <
                then_branch = yes () => (float[2, 4] t) {{ t = Identity (a) }},
                else_branch = no () => (float[2, 4] e) {{
                    [else] n = MatMul (x, v)  e = Add (n, a)
                }}>
        }}""",
        low=("before", "else"),
        inputs={"x": X, "c": NO},
    ),
    "if within if": Structure(
        f"""g (float[2, 4] x, bool[1] c) => (float[2, 4] y) <{W}, {V}> {{
            y = If (c) <
                then_branch = yes () => (float[2, 4] t) {{
                    t = If (c) <
                        then_branch = inner () => (float[2, 4] u) {{ [deep] u = MatMul (x, w) }},
                        else_branch = other () => (float[2, 4] o) {{ o = Exp (x) }}>
                }},
                else_branch = no () => (float[2, 4] e) {{ e = Identity (x) }}>
        }}""",
        low=("deep",),
        inputs={"x": X, "c": YES},
    ),
    "loop with carried state and scan output": Structure(
        f"""g (float[2, 4] x, int64 n, bool c) => (float[2, 4] y, float[k, 2, 4] all) <{W}> {{
            y, all = Loop (n, c, x) <
                body = step (int64 i, bool c_in, float[2, 4] s)
                    => (bool c_out, float[2, 4] s_out, float[2, 4] seen) {{
                    c_out = Identity (c_in)
                    [inside] m = MatMul (s, w)
                    s_out = Tanh (m)
                    seen = Identity (m)
                }}>
        }}""",
        low=("inside",),
        inputs={"x": X, "n": np.array(4, np.int64), "c": np.array(True)},
    ),
    "scan with state": Structure(
        f"""g (float[2, 4] x, float[5, 2, 4] xs) => (float[2, 4] y, float[5, 2, 4] ys) <{W}> {{
            y, ys = Scan (x, xs) <num_scan_inputs = 1,
                body = step (float[2, 4] s, float[2, 4] e)
                    => (float[2, 4] s_out, float[2, 4] out) {{
                    [inside] m = MatMul (e, w)
                    s_out = Add (s, m)
                    out = Softmax (m)
                }}>
        }}""",
        low=("inside",),
        inputs={"x": X, "xs": np.linspace(-1, 1, 40, dtype=np.float32).reshape(5, 2, 4)},
    ),
    "local function, called twice": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] y) <{W}> {{
            a = local.layer (x, w)
            y = local.layer (a, w)
        }}
        <domain: "local", opset_import: ["" : 22]>
        layer (p, q) => (r) {{
            half = Constant <value = float {{0.5}}> ()
            [inside] m = MatMul (p, q)
            s = Mul (m, half)
            r = Relu (s)
        }}""",
        low=("MatMul",),
        inputs={"x": X},
    ),
    "local function within a local function, in a branch": Structure(
        f"""g (float[2, 4] x, bool[1] c) => (float[2, 4] y) <{W}> {{
            y = If (c) <
                then_branch = yes () => (float[2, 4] t) {{ t = local.outer (x, w) }},
                else_branch = no () => (float[2, 4] e) {{ e = Identity (x) }}>
        }}
        <domain: "local", opset_import: ["" : 22, "local" : 1]>
        outer (p, q) => (r) {{ m = local.inner (p, q)  r = Softmax (m) }}
        <domain: "local", opset_import: ["" : 22]>
        inner (p, q) => (r) {{ r = MatMul (p, q) }}""",
        low=("MatMul",),
        inputs={"x": X, "c": YES},
    ),
    "initializer shared by low and high": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] y) <{W}> {{
            [product] a = MatMul (x, w)
            [power] b = ReduceL2 <keepdims = 1> (w)
            y = Add (a, b)
        }}""",
        low=("product",),
        high=("power",),
        inputs={"x": X},
    ),
    "initializer shared across a subgraph": Structure(
        f"""g (float[2, 4] x, bool[1] c) => (float[2, 4] y) <{W}> {{
            [outside] a = MatMul (x, w)
            y = If (c) <
                then_branch = yes () => (float[2, 4] t) {{ [inside] t = MatMul (a, w) }},
                else_branch = no () => (float[2, 4] e) {{ e = Exp (a) }}>
        }}""",
        low=("outside", "inside"),
        inputs={"x": X, "c": YES},
    ),
    "output also used inside": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] h, float[2, 4] y) <{W}, {V}> {{
            [first] h = MatMul (x, w)
            [second] y = MatMul (h, v)
        }}""",
        low=("first", "second"),
        inputs={"x": X},
    ),
    "one value is two outputs, an input is an output, so is an initializer": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z, float[2, 4] p, float[4, 4] w)
        <{W}> {{
            [first] y = MatMul (x, w)
            z = Identity (y)
            p = Identity (x)
        }}""",
        low=("first",),
        exact=("p", "w"),
        inputs={"x": X},
    ),
    "the user's rounding stays": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z) <{W}> {{
            a = Cast <to = 10> (x)
            y = Cast <to = 1> (a)
            [product] z = MatMul (y, w)
        }}""",
        low=("product",),
        exact=("y",),
        inputs={"x": X / 3},
    ),
    "the user's rounding to the other format stays": Structure(
        """g (float[2, 4] x) => (float[2, 4] y) {
            a = Cast <to = 16> (x)
            b = Cast <to = 1> (a)
            y = Sub (x, b)
        }""",
        exact=("y",),
        inputs={"x": X / 3},
    ),
    "empty optional inputs": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] y) <{W}, float top = {{0.75}}> {{
            [first] a = MatMul (x, w)
            [clip] y = Clip (a, , top)
        }}""",
        low=("first",),
        inputs={"x": X},
    ),
    "optional inputs of a recurrent layer": Structure(
        """g (float[3, 1, 4] x) => (float[3, 1, 1, 2] y, float[1, 1, 2] h) {
            w = Constant <value = float[1, 8, 4] {
                0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}> ()
            r = Constant <value = float[1, 8, 2] {
                0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}> ()
            c = Constant <value = float[1, 1, 2] {0.5, -0.5}> ()
            [recurrent] y, h = LSTM <hidden_size = 2> (x, w, r, , , , c)
        }""",
        low=("recurrent",),
        inputs={"x": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 1, 4)},
    ),
    "unused outputs and dangling nodes": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] y) <{W}> {{
            [first] a = MatMul (x, w)
            [drop] y, mask = Dropout (a)
            [dangling] d = MatMul (a, w)
        }}""",
        low=("first",),
        inputs={"x": X},
    ),
    "nothing to lower": Structure(
        """g (float[2, 4] x) => (float[2, 4] y) { y = Exp (x) }""",
        high=("Exp",),
        exact=("y",),
        inputs={"x": X},
    ),
    "integers and booleans are left alone": Structure(
        f"""g (float[2, 4] x, int64[2] i) => (float[2, 4] y, int64[2] s, bool[2, 4] b) <{W}> {{
            [first] a = MatMul (x, w)
            s = Shape (a)
            y = Gather <axis = 0> (a, i)
            zero = Constant <value = float {{0.0}}> ()
            b = Greater (x, zero)
        }}""",
        low=("first",),
        exact=("s", "b"),
        inputs={"x": X, "i": np.array([1, 0])},
    ),
    "a sequence of tensors": Structure(
        f"""g (float[2, 4] x) => (float[4, 4] y) <{W}> {{
            [first] a = MatMul (x, w)
            s = SequenceConstruct (a, x)
            y = ConcatFromSequence <axis = 0> (s)
        }}""",
        low=("first",),
        inputs={"x": X},
    ),
    "names that a converter might choose are taken": Structure(
        f"""g (float[2, 4] x) => (float[2, 4] x_cast) <{W}> {{
            x_fp16 = Identity (x)
            x_float16 = Identity (x_fp16)
            w_fp16 = MatMul (x_float16, w)
            x_cast_to_float16 = Exp (w_fp16)
            x_cast = MatMul (x_cast_to_float16, w)
        }}""",
        low=("MatMul",),
        inputs={"x": X},
    ),
}


def load(structure: Structure) -> onnx.ModelProto:
    """The model; function names get the header that the parser wants."""
    return onnx.parser.parse_model(HEADER + structure.text)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_structure(name: str, dtype: str, tmp_path: Path) -> None:
    structure = STRUCTURES[name]
    original, out, again = (tmp_path / f"{stem}.onnx" for stem in ("original", "out", "again"))
    onnx.save(load(structure), original)
    assert checker_problem(original) is None, "the test's own model is wrong"
    amp = onnx_amp()
    summary = amp.convert(original, out, "--dtype", dtype)
    assert checker_problem(out) is None

    reference = run_in_onnxruntime(original, structure.inputs)
    converted = onnx.load(out)
    strict, trace = run_strictly(converted, structure.inputs)
    results = [strict]
    if dtype == "fp16":
        results.append(run_in_onnxruntime(out, structure.inputs))
    for result in results:
        assert relative_error(reference, result) <= TOLERANCE[dtype]
        for exact in structure.exact:
            np.testing.assert_array_equal(reference[exact], result[exact])

    reasons = {record["node"]: record["reason"] for record in summary.kept}
    for label, is_low in [(label, True) for label in structure.low] + [
        (label, False) for label in structure.high
    ]:
        runs = [node for node in trace if label in (node["name"], node["op"])]
        assert runs, f"no {label} has run"
        for node in runs:
            low = NUMPY_NAMES[dtype] in {*node["ins"], *node["outs"]}
            assert low == is_low, f"{label} runs in {node['ins']}: {reasons.get(label)}"

    amp.convert(out, again, "--dtype", dtype)
    assert again.read_bytes() == out.read_bytes(), "converting again changes something"

    before, after = onnx.load(original), converted
    assert list(before.graph.input) == list(after.graph.input)
    assert list(before.graph.output) == list(after.graph.output)
    assert _names(before) <= _names(after), "names that existed are kept"
    added = Counter(node.op_type for node in nodes_of(after))
    added.subtract(Counter(node.op_type for node in nodes_of(before)))
    assert {operator for operator, count in added.items() if count > 0} <= {"Cast"}


def _names(model: onnx.ModelProto) -> set[str]:
    """Names of nodes, and of the values of the main graph."""
    names = {node.name for node in nodes_of(model)}
    return names | {name for node in model.graph.node for name in node.output}
