"""Gradients through If, Loop, Scan and local functions, against finite differences in float64."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from gradients import differentiate
from onnx import TensorProto, helper, parser
from running import run_in_onnxruntime
from tool import build_dir

HEADER = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>\n'


def model_of(text: str) -> onnx.ModelProto:
    """A model of opset 21."""
    model = parser.parse_model(HEADER + text)
    onnx.checker.check_model(model, full_check=True)
    return model


def check(
    model: onnx.ModelProto,
    feeds: dict[str, np.ndarray],
    folder: Path,
    wrt: list[str] | None = None,
    step: float = 1e-6,
) -> onnx.ModelProto:
    """Compares the gradients of `loss` with central differences; all is in float64."""
    names = wrt or [name for name, array in feeds.items() if array.dtype == np.float64]
    result = differentiate(model, ["loss"], names, folder)
    onnx.checker.check_model(result, full_check=True)
    found = run_in_onnxruntime(folder / "gradient.onnx", feeds)
    forward = folder / "forward.onnx"
    assert np.allclose(found["loss"], run_in_onnxruntime(forward, feeds)["loss"], rtol=1e-12)
    for name in names:
        expected = np.zeros_like(feeds[name])
        for index in np.ndindex(expected.shape):
            losses = []
            for sign in (1, -1):
                moved = dict(feeds)
                moved[name] = feeds[name].copy()
                moved[name][index] += sign * step
                losses.append(float(run_in_onnxruntime(forward, moved)["loss"]))
            expected[index] = (losses[0] - losses[1]) / (2 * step)
        gradient = found[f"{name}_grad"]
        assert gradient.shape == expected.shape, name
        scale = max(float(np.abs(expected).max(initial=0)), 1.0)
        error = np.abs(gradient - expected).max(initial=0) / scale
        assert error < 1e-7, f"{name}: {error}\n{gradient}\n{expected}"
    return result


def amp(folder: Path, *passes: str) -> None:
    """Runs passes over forward.onnx; what comes out is gradient.onnx."""
    bin_dir = build_dir() / "bin"
    text = b""
    for command in (
        [bin_dir / "amp-translate", "--onnx-to-mlir", folder / "forward.onnx"],
        [bin_dir / "amp-opt", "-", "--onnx-infer-types", *passes],
        [bin_dir / "amp-translate", "--mlir-to-onnx", "-", "-o", folder / "gradient.onnx"],
    ):
        done = subprocess.run(command, input=text, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode().splitlines()[0]
        text = done.stdout


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Random numbers, away from 0."""
    values = np.random.default_rng(seed).normal(size=shape)
    return np.asarray(values + 0.1 * np.sign(values))


IF = """
f (double[2,3] x, double[3] w, bool c) => (double loss) {
  h = Mul (x, w)
  y = If (c) <
    then_branch = a () => (double[2,3] p) { t = Tanh (h)  s = Tanh (t)  p = Mul (s, x) },
    else_branch = b () => (double[2,3] q) { q = Div (h, w) }
  >
  z = Mul (y, y)
  loss = ReduceSum <keepdims = 0> (z)
}
"""


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition: bool, tmp_path: Path) -> None:
    """Values of the branch that ran; gradients of what the other branch alone reads."""
    feeds = {"x": normal(2, 3), "w": normal(3, seed=1), "c": np.array(condition)}
    result = check(model_of(IF), feeds, tmp_path)
    ops = [node.op_type for node in result.graph.node]
    assert ops.count("If") == 2
    backward = [node for node in result.graph.node if node.op_type == "If"][1]
    names = [node.op_type for graph in backward.attribute for node in graph.g.node]
    assert "Tanh" not in names, "the forward pass is recomputed"


@pytest.mark.parametrize("condition", [True, False])
def test_if_constants_and_zero(condition: bool, tmp_path: Path) -> None:
    """Constants and initializers of branches; a branch that yields a value from outside, or one
    without a gradient; an If without a gradient in either branch."""
    text = """
    f (double[N] x, double[N] w, bool c) => (double loss) {
      y, k = If (c) <
        then_branch = a () => (double[N] p, double[N] pk) <double two = {2.0}> {
          three = Constant <value_float = 3.0> ()
          wide = CastLike (three, x)
          t = Mul (x, two)  p = Mul (t, wide)  pk = Identity (w) },
        else_branch = b () => (double[N] q, double[N] qk) {
          zero = Constant <value = double {0.0}> ()
          qk = Mul (w, zero)  q = Identity (x) }
      >
      n = If (c) <
        then_branch = a2 () => (double[N] p2) { p2 = Relu (w) },
        else_branch = b2 () => (double[N] q2) { q2 = Identity (w) }
      >
      z = Mul (y, y)
      v = Mul (k, w)
      s = Add (z, v)
      nn = Mul (n, n)
      s2 = Add (s, nn)
      loss = ReduceSum <keepdims = 0> (s2)
    }"""
    feeds = {"x": normal(4), "w": normal(4, seed=1), "c": np.array(condition)}
    check(model_of(text), feeds, tmp_path)


LOOP = """
f (double[2,3] x, double[2,3] w, int64 n, double limit) => (double loss) {
  yes = Constant <value = bool {1}> ()
  y, s = Loop (n, yes, x) <
    body = b (int64 i, bool go, double[2,3] v) => (bool more, double[2,3] u, double[2,3] out) {
      t = Mul (v, w)
      u = Tanh (t)
      f = CastLike (i, w)
      one = Constant <value = double {1.0}> ()
      k = Add (f, one)
      g = Mul (u, k)
      out = Mul (g, w)
      sum = ReduceSum <keepdims = 0> (u)
      more = Less (sum, limit)
    }
  >
  ss = Mul (s, s)
  z = Mul (y, x)
  a = ReduceSum <keepdims = 0> (z)
  c = ReduceSum <keepdims = 0> (ss)
  loss = Add (a, c)
}
"""


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("limit", [100.0, -100.0])
def test_loop(count: int, limit: float, tmp_path: Path) -> None:
    """Carried values, scan outputs, the iteration's number, an early exit."""
    feeds = {
        "x": normal(2, 3),
        "w": normal(2, 3, seed=1),
        "n": np.array(count),
        "limit": np.array(limit),
    }
    result = check(model_of(LOOP), feeds, tmp_path, ["x", "w"])
    backward = [node for node in result.graph.node if node.op_type == "Loop"][1]
    names = [node.op_type for graph in backward.attribute for node in graph.g.node]
    assert "Tanh" not in names, "the forward pass is recomputed"


def test_loop_of_no_iteration(tmp_path: Path) -> None:
    """What is carried is what it was."""
    text = """
    f (double[2] x, double[2] w, int64 n) => (double loss) {
      y = Loop (n, , x) <
        body = b (int64 i, bool go, double[2] v) => (bool go2, double[2] u) {
          go2 = Identity (go)
          u = Mul (v, w)
        }
      >
      z = Mul (y, y)
      loss = ReduceSum <keepdims = 0> (z)
    }"""
    for count in (0, 2):
        feeds = {"x": normal(2), "w": normal(2, seed=1), "n": np.array(count)}
        check(model_of(text), feeds, tmp_path)


def test_loop_shapes_change(tmp_path: Path) -> None:
    """Where only shapes are read, what is carried may grow."""
    text = """
    f (double[2] x, double[1] w, int64 n) => (double loss) {
      yes = Constant <value = bool {1}> ()
      y = Loop (n, yes, x) <
        body = b (int64 i, bool go, double[M] v) => (bool go2, double[K] u) {
          go2 = Identity (go)
          u = Add (v, w)
        }
      >
      z = Mul (y, y)
      loss = ReduceSum <keepdims = 0> (z)
    }"""
    feeds = {"x": normal(2), "w": normal(1, seed=1), "n": np.array(3)}
    check(model_of(text), feeds, tmp_path)


def test_loop_carries_what_nobody_reads(tmp_path: Path) -> None:
    """Only the last iteration's value has a gradient."""
    text = """
    f (double[2] x, double[2] w, int64 n) => (double loss) {
      yes = Constant <value = bool {1}> ()
      last, y = Loop (n, yes, x, x) <
        body = b (int64 i, bool go, double[2] p, double[2] v) => (bool go2, double[2] q, double[2] u) {
          go2 = Identity (go)
          q = Mul (v, v)
          u = Mul (v, w)
        }
      >
      z = Mul (last, y)
      loss = ReduceSum <keepdims = 0> (z)
    }"""
    feeds = {"x": normal(2), "w": normal(2, seed=1), "n": np.array(3)}
    check(model_of(text), feeds, tmp_path)


def test_nested(tmp_path: Path) -> None:
    """A Loop in an If in a Loop."""
    text = """
    f (double[3] x, double[3] w, int64 n, int64 m) => (double loss) {
      yes = Constant <value = bool {1}> ()
      y = Loop (n, yes, x) <
        body = b (int64 i, bool go, double[3] v) => (bool go2, double[3] u) {
          go2 = Identity (go)
          zero = Constant <value = int64 {0}> ()
          c = Greater (i, zero)
          t = Tanh (v)
          u = If (c) <
            then_branch = a () => (double[3] p) {
              yes2 = Constant <value = bool {1}> ()
              p = Loop (m, yes2, t) <
                body = b2 (int64 j, bool go3, double[3] v2) => (bool go4, double[3] u2) {
                  go4 = Identity (go3)
                  tw = Mul (v2, w)
                  tv = Mul (tw, t)
                  u2 = Tanh (tv)
                }
              >
            },
            else_branch = e () => (double[3] q) { s = Mul (v, w)  q = Mul (s, s) }
          >
        }
      >
      z = Mul (y, y)
      loss = ReduceSum <keepdims = 0> (z)
    }"""
    feeds = {"x": normal(3), "w": normal(3, seed=1), "n": np.array(3), "m": np.array(2)}
    check(model_of(text), feeds, tmp_path)


SCAN = """
f (double[2] h, double[SHAPE] x, double[2] w) => (double loss) {
  y, s = Scan <num_scan_inputs = 1 ATTRIBUTES,
    body = b (double[2] v, double[2] e) => (double[2] u, double[2] out) {
      t = Mul (v, w)
      a = Add (t, e)
      u = Tanh (a)
      out = Mul (u, e)
    }
  > (h, x)
  ss = Mul (s, s)
  z = Mul (y, h)
  a1 = ReduceSum <keepdims = 0> (z)
  c1 = ReduceSum <keepdims = 0> (ss)
  loss = Add (a1, c1)
}
"""


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((4, 2), ""),
        ((4, 2), ", scan_input_directions = [1]"),
        ((4, 2), ", scan_output_directions = [1]"),
        ((2, 4), ", scan_input_axes = [1], scan_output_axes = [1]"),
        (
            (2, 4),
            ", scan_input_axes = [-1], scan_input_directions = [1], scan_output_axes = [1],"
            " scan_output_directions = [1]",
        ),
    ],
)
def test_scan(shape: tuple[int, ...], attributes: str, tmp_path: Path) -> None:
    """Axes and directions."""
    text = SCAN.replace("SHAPE", ",".join(map(str, shape))).replace(" ATTRIBUTES", attributes)
    feeds = {"h": normal(2), "x": normal(*shape, seed=1), "w": normal(2, seed=2)}
    check(model_of(text), feeds, tmp_path)


CALLS = """
f (double[2,3] x, double[3] w) => (double loss) {
  a = local.outer <k = 0> (x, w)
  b = local.outer (a, w)
  loss = ReduceSum <keepdims = 0> (b)
}
<domain: "local", opset_import: ["" : 21, "local" : 1]>
outer <k: int = 1> (p, q) => (r) {
  s, t = local.inner <axis: int = @k> (p, q)
  r = Mul (s, t)
}
<domain: "local", opset_import: ["" : 21]>
inner <axis> (p, q) => (u, v) {
  u = Mul (p, q)
  axes = Constant <value_int: int = @axis> ()
  one = Constant <value_ints = [1]> ()
  list = Reshape (axes, one)
  v = ReduceSum (p, list)
}
"""


def test_local_functions(tmp_path: Path) -> None:
    """Calls within calls, with attributes that are passed on, left out, and given."""
    check(model_of(CALLS), {"x": normal(2, 3), "w": normal(3, seed=1)}, tmp_path)


def test_unrolled(tmp_path: Path) -> None:
    """A Loop has the gradients of its iterations one after the other, in float16 and float32."""
    for kind, rtol in ((TensorProto.FLOAT, 1e-6), (TensorProto.FLOAT16, 4e-3)):
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        name = {TensorProto.FLOAT: "float", TensorProto.FLOAT16: "float16"}[kind]
        loop = f"""
        f ({name}[2] x, {name}[2] w) => ({name} loss) {{
          n = Constant <value = int64 {{3}}> ()
          yes = Constant <value = bool {{1}}> ()
          y = Loop (n, yes, x) <
            body = b (int64 i, bool go, {name}[2] v) => (bool go2, {name}[2] u) {{
              go2 = Identity (go)
              t = Mul (v, w)
              u = Tanh (t)
            }}
          >
          loss = ReduceSum <keepdims = 0> (y)
        }}"""
        steps = "".join(f"t{i} = Mul (v{i}, w) v{i + 1} = Tanh (t{i})\n" for i in range(3))
        unrolled = f"""
        f ({name}[2] x, {name}[2] w) => ({name} loss) {{
          v0 = Identity (x)
          {steps}
          loss = ReduceSum <keepdims = 0> (v3)
        }}"""
        feeds = {"x": normal(2).astype(dtype), "w": normal(2, seed=1).astype(dtype)}
        found = []
        for text in (loop, unrolled):
            differentiate(model_of(text), ["loss"], ["x", "w"], tmp_path)
            found.append(run_in_onnxruntime(tmp_path / "gradient.onnx", feeds))
        for gradient in ("x_grad", "w_grad"):
            assert np.allclose(found[0][gradient], found[1][gradient], rtol=rtol), gradient


GRADIENT = """
f (double[3] x, double[3] w, double[3] h1) => (double loss, double[3] dx, double[3] ddx, double[3] at) {
  h = Mul (x, w)
  t = Mul (h, h)
  y = Mul (t, x)
  dx, dw = ai.onnx.preview.training.Gradient <xs = ["x", "w"], y = "y"> (x, w)
  ddx = ai.onnx.preview.training.Gradient <xs = ["x"], zs = ["w"], y = "dx"> (x, w)
  at = ai.onnx.preview.training.Gradient <xs = ["h"], zs = ["x"], y = "y"> (h1, x)
  loss = ReduceSum <keepdims = 0> (dw)
}
"""


def test_gradient_operator(tmp_path: Path) -> None:
    """Gradient nodes, of another one and at other values than those of the graph."""
    text = HEADER.replace('"local" : 1', '"ai.onnx.preview.training" : 1') + GRADIENT
    onnx.save(parser.parse_model(text), tmp_path / "forward.onnx")
    amp(tmp_path, "--onnx-expand-gradients")
    x, w, h1 = normal(3), normal(3, seed=1), normal(3, seed=2)
    found = run_in_onnxruntime(tmp_path / "gradient.onnx", {"x": x, "w": w, "h1": h1})
    assert np.allclose(found["dx"], 3 * x**2 * w**2)
    assert np.allclose(found["ddx"], 6 * x * w**2)
    assert np.allclose(found["at"], 2 * h1 * x)
    assert np.allclose(found["loss"], (2 * x**3 * w).sum())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('y = "y"> (x, w)', 'y = "z"> (x, w)', "expects y to name values of the main graph"),
        (
            '["x", "w"]',
            '["x", "q"]',
            "expects xs to name values of the main graph, but none is 'q'",
        ),
        ('["x", "w"]', '["x"]', "expects 1 inputs, one for each of xs and zs, but got 2"),
    ],
)
def test_wrong_gradient_operator(old: str, new: str, message: str, tmp_path: Path) -> None:
    """Names of nothing."""
    text = HEADER.replace('"local" : 1', '"ai.onnx.preview.training" : 1') + GRADIENT
    onnx.save(parser.parse_model(text.replace(old, new)), tmp_path / "forward.onnx")
    with pytest.raises(AssertionError, match=message):
        amp(tmp_path, "--onnx-expand-gradients")


class Program:
    """A random model: elementwise nodes on vectors, in branches and loops."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.number = 0

    def name(self) -> str:
        self.number += 1
        return f"v{self.number}"

    def block(self, known: list[str], depth: int) -> tuple[list[str], str]:
        """Nodes, and the value that they end with."""
        known, lines = list(known), []
        for _ in range(int(self.random.integers(2, 5))):
            kind = self.random.choice(["Mul", "Add", "Sub", "Tanh", "If", "Loop", "Scan"])
            a, b = (str(value) for value in self.random.choice(known, 2))
            out = self.name()
            if kind == "Tanh" or (depth == 0 and kind in ("If", "Loop", "Scan")):
                lines.append(f"{out} = Tanh ({a})")
            elif kind == "If":
                branches = []
                for branch in ("then_branch", "else_branch"):
                    inner, value = self.block(known, depth - 1)
                    result = self.name()
                    inner.append(f"{result} = Identity ({value})")
                    branches.append(
                        f"{branch} = g{result} () => (double[3] {result}) {{ {' '.join(inner)} }}"
                    )
                lines.append(
                    f"{out} = If ({self.random.choice(['yes', 'no'])}) <{', '.join(branches)}>"
                )
            elif kind == "Loop":
                carried, i, go = self.name(), self.name(), self.name()
                inner, value = self.block([*known, carried], depth - 1)
                result, go2, scan, scans = (self.name() for _ in range(4))
                inner += [f"{result} = Tanh ({value})", f"{go2} = Identity ({go})"]
                inner += [f"{scan} = Mul ({result}, {carried})"]
                lines.append(
                    f"{out}, {scans} = Loop (n, yes, {a}) <body = g{result} (int64 {i}, bool {go},"
                    f" double[3] {carried}) => (bool {go2}, double[3] {result}, double[3] {scan})"
                    f" {{ {' '.join(inner)} }}>"
                )
                total = self.name()
                lines.append(f"{total} = ReduceSum <keepdims = 0> ({scans}, zero)")
                known.append(total)
            elif kind == "Scan":
                carried, piece, result, scan, scans = (self.name() for _ in range(5))
                inner, value = self.block([*known, carried, piece], depth - 1)
                inner += [f"{result} = Tanh ({value})", f"{scan} = Mul ({result}, {piece})"]
                lines.append(
                    f"{out}, {scans} = Scan <num_scan_inputs = 1, body = g{result} (double[3] {carried},"
                    f" double[3] {piece}) => (double[3] {result}, double[3] {scan})"
                    f" {{ {' '.join(inner)} }}> ({a}, rows)"
                )
                total = self.name()
                lines.append(f"{total} = ReduceSum <keepdims = 0> ({scans}, zero)")
                known.append(total)
            else:
                lines.append(f"{out} = {kind} ({a}, {b})")
            known.append(out)
        return lines, known[-1]

    def text(self) -> str:
        lines, value = self.block(["x", "w"], 2)
        return f"""
        f (double[3] x, double[3] w, double[2,3] rows, int64 n, bool yes, bool no) => (double loss) {{
          zero = Constant <value_ints = [0]> ()
          {" ".join(lines)}
          last = Mul ({value}, {value})
          mixed = Mul (last, w)
          all = Add (mixed, x)
          loss = ReduceSum <keepdims = 0> (all)
        }}"""


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """Whatever the nesting."""
    program = Program(seed)
    feeds = {
        "x": normal(3, seed=seed) / 2,
        "w": normal(3, seed=seed + 1) / 2,
        "rows": normal(2, 3, seed=seed + 2) / 2,
        "n": np.array(2),
        "yes": np.array(True),
        "no": np.array(False),
    }
    check(model_of(program.text()), feeds, tmp_path, ["x", "w"])
