"""Kernels compute what the loops did that they were made of, but for the order of sums.

Programs are random: elementwise operators that broadcast, reductions along rows and columns,
normalisations, views, and operators between that are no loops.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from executables import compile_model, run_executable
from linalg_programs import compile_main, run_main, to_loops
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tool import amp_opt

# Enough for kernels of rows and of columns to be worth it.
ROWS, COLUMNS = 192, 256
SHAPES = [(ROWS, COLUMNS), (ROWS, 1), (COLUMNS,), (), (2, ROWS // 2, COLUMNS)]


class Writer:
    """Writes a random graph; knows the shape of each value."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shapes: dict[str, tuple[int, ...]] = {}

    def add(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> None:
        name = f"v{len(self.shapes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.shapes[name] = shape

    def constant(self, values: list[int]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def pick(self) -> str:
        names = list(self.shapes)
        weights = np.arange(1, len(names) + 1, dtype=np.float64) ** 2
        return str(self.random.choice(names, p=weights / weights.sum()))

    def step(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        kind = self.random.integers(0, 10)
        if kind < 3:
            self.add(str(self.random.choice(["Tanh", "Sigmoid", "Neg", "Abs"])), [x], shape)
        elif kind < 7:
            y = self.pick()
            try:
                both = np.broadcast_shapes(shape, self.shapes[y])
            except ValueError:
                return
            if both in SHAPES:
                self.add(str(self.random.choice(["Add", "Mul", "Sub", "Max"])), [x, y], both)
        elif len(shape) == 2 and shape[1] != 1:
            if kind == 7:
                axis, keep = self.random.integers(0, 2, 2)
                kept = ((1 if axis == 0 else ROWS, 1 if axis == 1 else COLUMNS), (shape[1 - axis],))
                result = kept[0] if keep else kept[1]
                if result in SHAPES:
                    axes = self.constant([int(axis)])
                    self.add("ReduceMean", [x, axes], result, keepdims=int(keep))
            elif kind == 8:
                self.add("Softmax", [x], shape, axis=-1)
            else:
                self.add("Reshape", [x, self.constant(list(SHAPES[4]))], SHAPES[4])
        elif len(shape) == 3:
            if kind == 7:
                self.add("ReduceSum", [x], (), keepdims=0)
            else:
                self.add("Reshape", [x, self.constant(list(SHAPES[0]))], SHAPES[0])

    def model(self) -> onnx.ModelProto:
        inputs = {f"x{i}": shape for i, shape in enumerate(SHAPES)}
        self.shapes.update(inputs)
        while len(self.nodes) < 20:
            self.step()
        used = {name for node in self.nodes for name in node.input}
        ends = [n for n in self.shapes if n not in used and n not in inputs]
        # Some are needed inside and outside.
        more = [n for n in self.shapes if n in used and n.startswith("v")]
        ends += [n for n in more if self.random.random() < 0.15]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "g",
            [info(name, TensorProto.DOUBLE, shape) for name, shape in inputs.items()],
            [info(name, TensorProto.DOUBLE, self.shapes[name]) for name in ends],
            initializer=self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])


def with_views(text: str) -> str:
    """Reshapes as amp-select-kernels leaves them."""
    return re.sub(
        r'"onnx\.Reshape"\((%\w+), %\w+\).*: \((tensor<\w+>), tensor<\w+>\) -> (tensor<\w+>)',
        r"amprt.view \1 : (\2) -> \3",
        text,
    )


def without_amprt(text: str) -> str:
    """Launches as calls, views as reshapes, for MLIR's own pipeline."""
    count = 0

    def reshape(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        result, source, before, after = match.groups()
        sizes = [int(size) for size in after.split("x")[:-1]]
        shape = f"tensor<{len(sizes)}xindex>"
        return (
            f"%shape{count} = arith.constant dense<{sizes}> : {shape}\n"
            f"{result} = tensor.reshape {source}(%shape{count}) : "
            f"(tensor<{before}>, {shape}) -> tensor<{after}>"
        )

    text = re.sub(
        r"(%\w+) = amprt\.view (%[\w#]+) : \(tensor<(.*?)>\) -> tensor<(.*?)>", reshape, text
    )
    text = re.sub(r"amprt\.launch (@\w+\(.*?\)) (?:\{.*?\} )?:", r"func.call \1 :", text)
    return text.replace("attributes {amprt.kernel} ", "")


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    model = Writer(seed).model()
    loops = with_views(to_loops(model, tmp_path))
    loops = "\n".join(line for line in loops.splitlines() if "onnx." not in line)
    source, fused = tmp_path / "loops.mlir", tmp_path / "fused.mlir"
    source.write_text(loops)
    amp_opt().run(
        "--amp-fuse-kernels", "--mlir-print-local-scope", source, "-o", fused
    ).expect_success()
    text = fused.read_text()
    main = text[: text.index("amprt.kernel")]
    assert main.count("amprt.launch") <= loops.count("linalg.generic") // 2
    random = np.random.default_rng(seed)
    inputs = [random.standard_normal(shape).astype(np.float64) for shape in SHAPES]
    made = []
    for name, program in (("loops", loops), ("fused", text)):
        folder = tmp_path / name
        folder.mkdir()
        library = compile_main(without_amprt(program), folder)
        outputs = [
            np.zeros([d.dim_value for d in value.type.tensor_type.shape.dim], np.float64)
            for value in model.graph.output
        ]
        run_main(library, [np.asarray(x, order="C") for x in inputs] + outputs)
        made.append(outputs)
    for one, other in zip(*made, strict=True):
        scale = max(1.0, float(np.abs(one).max()))
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10 * scale)


# The gradient of an attention, where a kernel has members far apart: what lies on the way from one
# kernel to another need not lie between them.
FAR_APART = """
<ir_version: 10, opset_import: ["" : 20]>
attention (float16[2,40,13] q, float16[2,40,13] k, float16[2,40,9] v, float16[2,40,9] dy)
    => (float16 loss, float16[2,40,13] dq, float16[2,40,13] dk, float16[2,40,9] dv)
    <float16 scale = {16896}, int64[1] last = {-1}> {
  kt = Transpose <perm = [0, 2, 1]> (k)
  s = MatMul (q, kt)
  scaled = Div (s, scale)
  p = Softmax <axis = -1> (scaled)
  o = MatMul (p, v)
  product = Mul (o, dy)
  loss = ReduceSum <keepdims = 0> (product)
  one = Constant <value = float16 {15360}> ()
  sizes = Constant <value = int64[3] {2, 40, 9}> ()
  ones = Expand (one, sizes)
  do = Mul (ones, dy)
  vt = Transpose <perm = [0, 2, 1]> (v)
  dp = MatMul (do, vt)
  pt = Transpose <perm = [0, 2, 1]> (p)
  dv = MatMul (pt, do)
  dp32 = Cast <to = 1> (dp)
  p32 = Cast <to = 1> (p)
  dpp = Mul (dp32, p32)
  rows = ReduceSum <keepdims = 1> (dpp, last)
  centred = Sub (dp32, rows)
  ds32 = Mul (centred, p32)
  ds16 = Cast <to = 10> (ds32)
  ds = Div (ds16, scale)
  ktt = Transpose <perm = [0, 2, 1]> (kt)
  dq = MatMul (ds, ktt)
  qt = Transpose <perm = [0, 2, 1]> (q)
  qds = MatMul (qt, ds)
  dk = Transpose <perm = [0, 2, 1]> (qds)
}"""


def test_kernels_far_apart(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(FAR_APART)
    executable = compile_model(model, tmp_path / "m.ampx", ["--round-each-node"])
    random = np.random.default_rng(5)
    inputs = {
        value.name: random.standard_normal(
            [d.dim_value for d in value.type.tensor_type.shape.dim]
        ).astype(np.float16)
        for value in model.graph.input
    }
    got = run_executable(executable, inputs)
    expected: Any = ReferenceEvaluator(model).run(None, inputs)
    for value, want in zip(model.graph.output, expected, strict=True):
        # Both round each of a dozen nodes; the reference also adds up in float16.
        bound = 2e-2 * float(np.abs(want.astype(np.float64)).max())
        np.testing.assert_allclose(got[value.name], want, rtol=0, atol=bound)
