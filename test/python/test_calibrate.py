"""convert --calibrate: what leaves the low format's range on the data stays in float32."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from data_models import parsed, random_chain, save, save_data
from running import run_strictly
from test_widen import run_plainly
from tool import Tool, onnx_amp


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def is_finite(outputs: dict[str, np.ndarray]) -> bool:
    return all(np.isfinite(value).all() for value in outputs.values())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_finite_stays_finite(seed: int, amp: Tool, tmp_path: Path) -> None:
    source = save(random_chain(seed), tmp_path / "model.onnx")
    x = np.random.default_rng(seed).standard_normal((16, 16)).astype(np.float32)
    data = save_data(tmp_path / "data.npz", x=x)
    target = tmp_path / "out.onnx"
    report = amp.convert(source, target, "--calibrate", str(data))
    reference = run_plainly(source, {"x": x})
    assert is_finite(reference)
    outputs, _ = run_strictly(onnx.load(target), {"x": x})
    assert is_finite(outputs)
    # No more than it takes: whoever is kept for its range has a value beyond a half of float16's.
    absmax = {each["name"]: each["absmax"] for each in report["calibration"]["values"]}
    nodes = {node.name: node for node in onnx.load(source).graph.node}
    for kept in report["kept"]:
        if "on the calibration data" in kept["reason"]:
            node = nodes[kept["node"]]
            assert max(absmax.get(v, 0) for v in [*node.input, *node.output]) * 2 > 65504


@pytest.mark.parametrize("keep_io", ["--keep-io-types", "--no-keep-io-types"])
def test_control_flow(keep_io: str, amp: Tool, tmp_path: Path) -> None:
    # What comes out of the If is measured; the products inside are not.
    model = parsed(
        """g (bool c, float[2, 2] x) => (float[2, 2] y)
            <float[2, 2] w = {300, 1, 1, 300}, float[2, 2] v = {0.001, 0, 0, 0.001}> {
          big = If (c) <
            then_branch = t () => (float[2, 2] a) { a = MatMul (x, w) },
            else_branch = e () => (float[2, 2] b) { b = MatMul (w, x) }
          >
          y = MatMul (big, v)
        }"""
    )
    source = save(model, tmp_path / "model.onnx")
    x = np.full((2, 2), 300, np.float32)
    data = save_data(tmp_path / "data.npz", c=np.array(True), x=x)
    target = tmp_path / "out.onnx"
    report = amp.convert(source, target, "--calibrate", str(data), keep_io)
    assert report["nodes"]["lowered"] == 0
    outputs, _ = run_strictly(
        onnx.load(target),
        {
            "c": np.array(True),
            "x": x.astype(np.float32 if keep_io == "--keep-io-types" else np.float16),
        },
    )
    assert is_finite(outputs)


def test_report(amp: Tool, tmp_path: Path) -> None:
    model = parsed(
        """g (float[2, 2048] x) => (float[2, 3] y) <float[3] zero = {0, 0, 0}> {
          shape = Constant <value = int64[2] {2048, 3}> ()
          w = ConstantOfShape <value = float[1] {0.5}> (shape)
          [product] p = MatMul (x, w)
          [sum] y = Add (p, zero)
        }"""
    )
    source = save(model, tmp_path / "model.onnx")
    folder = tmp_path / "data"
    folder.mkdir()
    save_data(folder / "a.npz", x=np.ones((2, 2048), np.float32))
    save_data(folder / "b.npz", x=np.full((2, 2048), 0.25, np.float32))
    report = amp.convert(source, tmp_path / "out.onnx", "--calibrate", str(folder))["calibration"]
    assert report["samples"] == 2
    assert report["reductions"] == [{"node": "product", "operator": "MatMul", "depth": 2048}]
    values = {each["name"]: each for each in report["values"]}
    assert list(values) == ["p", "y"]
    assert values["p"] == {
        "name": "p",
        "shape": [2, 3],
        "count": 12,
        "absmax": 1024,
        "zeros": 0,
        "nan": 0,
        "infinite": 0,
        "lowest_exponent": 8,
        "histogram": [6, 0, 6],
    }
    assert [each["name"] for each in report["inputs"]] == ["x"]


def test_it_is_deterministic(amp: Tool, tmp_path: Path) -> None:
    source = save(random_chain(3), tmp_path / "model.onnx")
    data = save_data(tmp_path / "data.npz", x=np.ones((16, 16), np.float32))
    for name in ("a", "b"):
        amp.convert(source, tmp_path / f"{name}.onnx", "--calibrate", str(data))
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_an_error_leaves_no_output(amp: Tool, tmp_path: Path) -> None:
    source = save(random_chain(0), tmp_path / "model.onnx")
    data = save_data(tmp_path / "data.npz", z=np.ones(1, np.float32))
    target = tmp_path / "out.onnx"
    amp.run("convert", source, "-o", target, "--calibrate", data).expect_error(
        "model.onnx", "has 'z'"
    )
    amp.run("convert", source, "-o", target, "--calibrate", tmp_path / "none").expect_error(
        "cannot open"
    )
    assert not target.exists()


def test_values_of_float16_models_are_measured(amp: Tool, tmp_path: Path) -> None:
    # A model that is low already: its overflows are seen, as they are on a device.
    source = save(
        parsed("g (float16[2] x) => (float16[2] y) { a = Mul (x, x) y = Neg (a) }"),
        tmp_path / "model.onnx",
    )
    data = save_data(tmp_path / "data.npz", x=np.array([300, 2], np.float16))
    report = amp.convert(source, tmp_path / "out.onnx", "--calibrate", str(data))
    values = {
        each["name"]: each for each in json.loads(json.dumps(report["calibration"]["values"]))
    }
    assert values["a"]["infinite"] == 1
    assert values["a"]["absmax"] == 4


def test_interface_that_is_too_large(amp: Tool, tmp_path: Path) -> None:
    source = save(
        parsed(
            """g (float[2, 2] x, float[2, 2] z) => (float[2, 2] y, float[2, 2] s)
            <float[2, 2] w = {1000, 1, 1, 1000}, float[2, 2] v = {0.001, 0, 0, 0.001}> {
              y = MatMul (x, w)
              t = MatMul (x, v)
              s = MatMul (z, v)
            }"""
        ),
        tmp_path / "model.onnx",
    )
    x = np.full((2, 2), 1e5, np.float32)
    data = save_data(tmp_path / "data.npz", x=x, z=np.ones((2, 2), np.float32))
    target = tmp_path / "out.onnx"
    amp.convert(source, target, "--calibrate", str(data), "--no-keep-io-types")
    graph = onnx.load(target).graph
    types = {
        value.name: value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]
    }
    wide, low = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
    assert types == {"x": wide, "z": low, "y": wide, "s": low}
    outputs, _ = run_strictly(onnx.load(target), {"x": x, "z": np.ones((2, 2), np.float16)})
    assert is_finite(outputs)


NESTED = parsed(
    """g (bool c, float[2] x, int64 n) => (float[2] y, float[2] z, float[2] u, float[m, 2] stack)
        <float[1] three = {3}, bool yes = {1}> {
      y = If (c) <
        then_branch = t () => (float[2] r) {
          a = Mul (x, three)
          [loop] r, s = Loop (n, yes, a) <
            body = b (int64 i, bool go, float[2] state) => (bool go_on, float[2] next, float[2] seen) {
              go_on = Identity (go)
              next = Mul (state, three)
              seen = If (c) <
                then_branch = tt () => (float[2] deep) { deep = Add (next, x) },
                else_branch = ee () => (float[2] never) { never = Neg (next) }
              >
            }
          >
        },
        else_branch = e () => (float[2] a) { a = Neg (x) }
      >
      z = local.twice <by: float = 2.0> (x)
      w = local.twice <by: float = 5.0> (z)
      u = Identity (w)
      pair = Concat <axis = 0> (x, x)
      shape = Constant <value = int64[2] {2, 2}> ()
      rows = Reshape (pair, shape)
      stack = Scan (rows) <num_scan_inputs = 1, body = s (float[2] row) => (float[2] out) { out = Mul (row, three) }>
    }
    <domain: "local", opset_import: ["" : 20]>
    twice <by> (p) => (q) {
      factor = Constant <value_float: float = @by> ()
      q = Mul (p, factor)
    }""",
    '<ir_version: 10, opset_import: ["" : 20, "local" : 1]>\n',
)


def test_what_is_inside_is_measured(amp: Tool, tmp_path: Path) -> None:
    source = save(NESTED, tmp_path / "model.onnx")
    folder = tmp_path / "data"
    folder.mkdir()
    x = np.array([1, -4], np.float32)
    for name, c in (("a", True), ("b", False)):
        save_data(folder / f"{name}.npz", c=np.array(c), x=x, n=np.array(2))
    report = amp.convert(source, tmp_path / "out.onnx", "--calibrate", str(folder))
    inside = {
        ("/".join(each["scope"]), each["name"]): (each["absmax"], each["count"])
        for each in report["calibration"]["inside"]
    }
    assert inside == {
        ("y.then_branch", "a"): (12, 2),
        ("y.then_branch", "r"): (108, 2),
        ("y.then_branch", "s"): (112, 4),
        ("y.then_branch/r.body", "next"): (108, 4),
        ("y.then_branch/r.body", "seen"): (112, 4),
        ("y.then_branch/r.body/seen.then_branch", "deep"): (112, 4),
        ("y.else_branch", "a"): (4, 2),
        ("local::twice", "p"): (8, 8),
        ("local::twice", "factor"): (5, 4),
        ("local::twice", "q"): (40, 8),
        ("stack.body", "out"): (12, 8),
    }


def test_what_is_too_large_inside_is_float32(amp: Tool, tmp_path: Path) -> None:
    # What leaves the branch and the loop is small: only inside are values beyond the range.
    model = parsed(
        """g (bool c, float[2, 2] x, int64 n) => (float[2, 2] y, float[2, 2] z)
            <float[2, 2] w = {300, 0, 0, 300}, float[2, 2] v = {0.001, 0, 0, 0.001}, bool yes = {1}> {
          y = If (c) <
            then_branch = t () => (float[2, 2] b) { [large] a = MatMul (x, w) [small] b = MatMul (a, v) },
            else_branch = e () => (float[2, 2] d) { [other] d = MatMul (w, x) }
          >
          z = Loop (n, yes, x) <
            body = l (int64 i, bool go, float[2, 2] s) => (bool go_on, float[2, 2] r) {
              go_on = Identity (go)
              [wide] q = MatMul (s, w)
              [narrow] r = MatMul (q, v)
            }
          >
        }"""
    )
    source = save(model, tmp_path / "model.onnx")
    feeds = {"c": np.array(True), "x": np.full((2, 2), 300, np.float32), "n": np.array(2)}
    data = save_data(tmp_path / "data.npz", **feeds)
    report = amp.convert(source, tmp_path / "out.onnx", "--calibrate", str(data))
    kept = {each["node"]: each["reason"] for each in report["kept"]}
    assert "value 'a' reaches 90000 on the calibration data" in kept["large"]
    assert "value 'q' reaches 90000 on the calibration data" in kept["wide"]
    outputs, _ = run_strictly(onnx.load(tmp_path / "out.onnx"), feeds)
    assert is_finite(outputs)


def test_bfloat16_inside_is_measured(amp: Tool, tmp_path: Path) -> None:
    model = parsed(
        """g (bool c, bfloat16[2] x) => (bfloat16[2] y) {
          h = Neg (x)
          y = If (c) <
            then_branch = t () => (bfloat16[2] a) { a = Mul (h, x) },
            else_branch = e () => (bfloat16[2] b) { b = Identity (h) }
          >
        }"""
    )
    source = save(model, tmp_path / "model.onnx")
    data = save_data(tmp_path / "data.npz", c=np.array(True), x=np.array([3, 0.1], np.float32))
    report = amp.convert(source, tmp_path / "out.onnx", "--dtype", "bf16", "--calibrate", str(data))
    (entry,) = report["calibration"]["inside"]
    assert (entry["scope"], entry["name"], entry["absmax"]) == (["y.then_branch"], "a", 9)
