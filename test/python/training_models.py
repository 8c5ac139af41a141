"""Models with `training_info`, made here: ONNX's own test data has none.

Graphs are in ONNX's text form; an algorithm names values of the main graph, which the text form allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx
import onnx.parser

HEADER = '<ir_version: 9, opset_import: ["" : 18, "ai.onnx.preview.training" : 1]>\n'


@dataclass(frozen=True)
class Info:
    """A TrainingInfoProto; bindings are "key: value, key: value"."""

    algorithm: str
    update: str
    initialization: str = ""
    initial: str = ""


def make(graph: str, infos: Sequence[Info], header: str = HEADER) -> onnx.ModelProto:
    """A model with a TrainingInfoProto for each."""
    model = onnx.parser.parse_model(header + graph)
    for info in infos:
        training = model.training_info.add()
        training.algorithm.CopyFrom(onnx.parser.parse_graph(info.algorithm))
        if info.initialization:
            training.initialization.CopyFrom(onnx.parser.parse_graph(info.initialization))
        for text, bindings in (
            (info.update, training.update_binding),
            (info.initial, training.initialization_binding),
        ):
            for pair in filter(None, text.split(",")):
                key, value = pair.split(":")
                bindings.add(key=key.strip(), value=value.strip())
    return model


LINEAR = """
linear (float[N,4] x) => (float[N,2] y)
  <float[4,2] W = {0.5, -1, 0.25, 2, -0.5, 1, 0.75, -2}, float[2] b = {0.5, -0.5}> {
    xw = MatMul(x, W)
    y = Add(xw, b)
}"""

#: Reads the inference graph's output, and a value in it.
ADAM = Info(
    """
    algorithm (float[N,2] target) => (float loss, float[4,2] W_new, float[2] b_new, float[4,2] VW_new,
        float[2] Vb_new, float[4,2] HW_new, float[2] Hb_new, int64 T_new, float bias)
      <float R = {0.1}, int64 T = {0}, int64 one = {1}, float[4,2] VW = {0, 0, 0, 0, 0, 0, 0, 0},
       float[2] Vb = {0, 0}, float[4,2] HW = {0, 0, 0, 0, 0, 0, 0, 0}, float[2] Hb = {0, 0}> {
        d = Sub(y, target)
        sq = Mul(d, d)
        loss = ReduceMean<keepdims = 0>(sq)
        dW, db = ai.onnx.preview.training.Gradient<xs = ["W", "b"], zs = ["x"], y = "loss">(W, b, x)
        W_new, b_new, VW_new, Vb_new, HW_new, Hb_new = ai.onnx.preview.training.Adam<alpha = 0.5,
            beta = 0.75, norm_coefficient = 0.01, norm_coefficient_post = 0.001, epsilon = 0.001>
            (R, T, W, b, dW, db, VW, Vb, HW, Hb)
        T_new = Add(T, one)
        shifted = Sub(y, xw)
        bias = ReduceMean<keepdims = 0>(shifted)
    }""",
    "W: W_new, b: b_new, VW: VW_new, Vb: Vb_new, HW: HW_new, Hb: Hb_new, T: T_new",
    """
    initialization () => (float[4,2] W0, float[2] b0, int64 T0) <int64[1] two = {2}, int64 zero = {0}> {
        W0 = RandomNormal<seed = 3.0, shape = [4, 2], scale = 0.1>()
        b0 = ConstantOfShape(two)
        T0 = Identity(zero)
    }""",
    "W: W0, b: b0, T: T0",
)

#: As in the corpus: an algorithm that computes the model itself.
MOMENTUM = Info(
    """
    algorithm (float[N,2] target) => (float loss, float[4,2] W_new, float[2] b_new, float[4,2] V_W_new,
        float[2] V_b_new, int64 T_new)
      <float R = {0.05}, int64 T = {0}, int64 one = {1}, float[4,2] V_W = {0, 0, 0, 0, 0, 0, 0, 0},
       float[2] V_b = {0, 0}> {
        t_xw = MatMul(x, W)
        t_y = Add(t_xw, b)
        d = Sub(t_y, target)
        sq = Mul(d, d)
        loss = ReduceMean<keepdims = 0>(sq)
        dW, db = ai.onnx.preview.training.Gradient<xs = ["W", "b"], zs = ["x"], y = "loss">(W, b, x)
        W_new, b_new, V_W_new, V_b_new = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 1.0,
            mode = "standard", norm_coefficient = 0.0>(R, T, W, b, dW, db, V_W, V_b)
        T_new = Add(T, one)
    }""",
    "W: W_new, b: b_new, V_W: V_W_new, V_b: V_b_new, T: T_new",
)

#: Coordinate descent: W first, then b with the new W. Values of both have the same names.
DESCENT = [
    Info(
        f"""
        step (float[N,2] target) => (float loss, float[{shape}] new)
          <float R = {{0.1}}> {{
            d = Sub(y, target)
            sq = Mul(d, d)
            loss = ReduceMean<keepdims = 0>(sq)
            g = ai.onnx.preview.training.Gradient<xs = ["{name}"], zs = ["x"], y = "loss">({name}, x)
            move = Mul(R, g)
            new = Sub({name}, move)
        }}""",
        f"{name}: new",
    )
    for name, shape in (("W", "4,2"), ("b", "2"))
]

#: Swaps two initializers, and binds an output of the inference graph.
SWAP = (
    """
    swap (float[2] x) => (float[2] y)
      <float[2] p = {1, 2}, float[2] q = {3, 4}, float[2] last = {0, 0}> {
        a = Mul(x, p)
        y = Add(a, q)
    }""",
    [
        Info(
            """
            exchange () => (float[2] p_new, float[2] q_new, float[2] old) {
                p_new = Identity(q)
                q_new = Identity(p)
                old = Identity(last)
            }""",
            "p: p_new, q: q_new, last: y",
        )
    ],
)

CONV = (
    """
    conv (float[N,1,6,6] x) => (float[N,3] y)
      <float[2,1,3,3] k = {1, 0, -1, 2, 0, -2, 1, 0, -1, 1, 2, 1, 0, 0, 0, -1, -2, -1},
       float[32,3] w = {"""
    + ", ".join(["0.1", "0.2", "0.3"] * 32)
    + """}> {
        c = Conv(x, k)
        r = Relu(c)
        f = Flatten(r)
        y = MatMul(f, w)
    }""",
    [
        Info(
            """
            algorithm (int64[N] labels) => (float loss, float[2,1,3,3] k_new, float[32,3] w_new,
                float[2,1,3,3] Hk_new, float[32,3] Hw_new)
              <float R = {0.05}, int64 T = {0}, float zero = {0}, int64[4] ks = {2, 1, 3, 3},
               int64[2] ws = {32, 3}, float[1] Hk0 = {0.1}> {
                loss = SoftmaxCrossEntropyLoss(y, labels)
                dk, dw = ai.onnx.preview.training.Gradient<xs = ["k", "w"], zs = ["x", "labels"],
                    y = "loss">(k, w, x, labels)
                Hk = Expand(Hk0, ks)
                Hw = Expand(Hk0, ws)
                k_new, w_new, Hk_new, Hw_new = ai.onnx.preview.training.Adagrad
                    <decay_factor = 0.1, norm_coefficient = 0.01>(R, T, k, w, dk, dw, Hk, Hw)
            }""",
            "k: k_new, w: w_new",
        )
    ],
)

#: Keeps W where its gradient is too large; the branches read values of both graphs.
GUARD = Info(
    """
    algorithm (float[N,2] target) => (float loss, float[4,2] W_new)
      <float R = {0.1}, float most = {1.5}> {
        d = Sub(y, target)
        sq = Mul(d, d)
        loss = ReduceMean<keepdims = 0>(sq)
        dW = ai.onnx.preview.training.Gradient<xs = ["W"], zs = ["x", "target"], y = "loss">(W, x, target)
        size = Abs(dW)
        largest = ReduceMax<keepdims = 0>(size)
        isLarge = Greater(largest, most)
        W_new = If<then_branch = keep () => (float[4,2] kept) { kept = Identity(W) },
                   else_branch = move () => (float[4,2] moved) { by = Mul(R, dW)  moved = Sub(W, by) }>(isLarge)
    }""",
    "W: W_new",
)

#: A model of local functions, with its loss.
FUNCTIONS = """
functions (float[8,4] x, float[8,2] target) => (float loss)
  <float[4,2] W = {0.5, -1, 0.25, 2, -0.5, 1, 0.75, -2}> {
    y = own.layer(x, W)
    d = Sub(y, target)
    loss = own.mean_square(d)
}
<domain: "own", opset_import: ["" : 18]>
layer (x, w) => (y) { p = MatMul(x, w)  y = Tanh(p) }
<domain: "own", opset_import: ["" : 18]>
mean_square (d) => (m) { s = Mul(d, d)  m = ReduceMean<keepdims = 0>(s) }
"""
FUNCTIONS_HEADER = '<ir_version: 10, opset_import: ["" : 18, "own" : 1]>\n'
