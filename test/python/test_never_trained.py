"""`onnx-amp train-graph`: which initializers are weights, and what is said of those that may be none.

The list of inputs that are none is in passes/Training/NeverTrained.cpp.
"""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from tool import onnx_amp

HEAD = """<ir_version: 10, opset_import: ["" : 23]>
forward (float[4,4] x) => (float[4,4] y)
<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}, """


def train(folder: Path, initializers: str, body: str, *options: str) -> tuple[set[str], str]:
    """The parameters of a step, and what is said."""
    source, target = folder / "model.onnxtxt", folder / "step.onnx"
    source.write_text(f"{HEAD}{initializers}> {{ h = MatMul (x, w) {body} }}")
    command = ("train-graph", source, "-o", target, "--loss", "mse", "--dtype", "none")
    done = onnx_amp().run(*command, "--optimizer", "sgd", *options).expect_success()
    model = onnx.load(target)
    text = next(item.value for item in model.metadata_props if item.key == "amp.state")
    names = {pair["input"] for pair in json.loads(text)} - {"amp.step"}
    summary = done.stdout.decode().splitlines()
    assert len(summary) <= 2
    return names, summary[1] if len(summary) == 2 else ""


#: Initializers, nodes that make y of h, and roles of those that are no weights.
FIXED = {
    "clip": ("float lo = {-1}, float hi = {6}", "y = Clip (h, lo, hi)", "a bound of a Clip"),
    "pow": ("float[1] p = {2}", "y = Pow (h, p)", "the exponent of a Pow"),
    "pad": (
        "float value = {0.5}, int64[4] pads = {0, 0, 1, 0}",
        "long = Pad (h, pads, value) s = Constant <value_ints = [0]> () "
        "e = Constant <value_ints = [4]> () y = Slice (long, s, e, s)",
        "the value of a Pad",
    ),
    "resize": (
        "float[2] scales = {1, 1}",
        'y = Resize <mode = "linear"> (h, , scales)',
        "the scales of a Resize",
    ),
    "fill": (
        "float low = {-1e30}, bool[4,4] m = {1,0,0,0,1,1,0,0,1,1,1,0,1,1,1,1}",
        "s = Where (m, h, low) y = Softmax (s)",
        "what a Where fills in",
    ),
    "rotation": (
        "float[1,4,2] c = {1, 1, 1, 1, 1, 1, 1, 1}, float[1,4,2] s = {0, 0, 0, 0, 0, 0, 0, 0}, "
        "int64[4] four = {1, 1, 4, 4}, int64[2] two = {4, 4}",
        "r = Reshape (h, four) q = RotaryEmbedding (r, c, s) y = Reshape (q, two)",
        "a table of a RotaryEmbedding",
    ),
    "class weights": (
        "float[4] cw = {1, 2, 1, 1}, int64[4] l = {0, 1, 2, 3}",
        "e = SoftmaxCrossEntropyLoss (h, l, cw) y = Add (h, e)",
        "the weights of classes",
    ),
    "through a cast": (
        "float16 p = {16384}",
        "wide = Cast <to = 1> (p) y = Pow (h, wide)",
        "the exponent of a Pow",
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_what_is_no_weight_stays(tmp_path: Path, name: str) -> None:
    initializers, body, role = FIXED[name]
    names, text = train(tmp_path, initializers, body)
    assert {each for each in names if not each.startswith("amp.")} == {"w"}
    assert text.startswith("not trained: '")
    assert f"({role})" in text
    assert "constant" not in text


DOUBTFUL = {
    "a factor": ("float half = {0.5}", "y = Mul (h, half)", "'half' (one element)"),
    "a list of one": ("float[1,1] e = {1e-5}", "y = Add (h, e)", "'e' (one element)"),
    "a mask": (
        "float[4,4] mask = {0, -1e9, -1e9, -1e9, 0, 0, -1e9, -1e9, 0, 0, 0, -1e9, 0, 0, 0, 0}",
        "s = Add (h, mask) y = Softmax (s)",
        "'mask' (a mask)",
    ),
    # The exponent of a generalized mean is learned: it is the root's, too.
    "an exponent with another use": (
        "float[1] p = {3}",
        "a = Abs (h) b = Pow (a, p) one = Reciprocal (p) y = Pow (b, one)",
        "'p' (one element)",
    ),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_may_be_constant_is_trained_and_said(tmp_path: Path, name: str) -> None:
    initializers, body, said = DOUBTFUL[name]
    names, text = train(tmp_path, initializers, body)
    trained = said.split("'")[1]
    assert names == {"w", trained}
    assert text == f"trained, though perhaps constant: {said}; --trainable leaves out what is"
    names, text = train(tmp_path, initializers, body, "--trainable", "w")
    assert (names, text) == ({"w"}, "")


def test_both_are_one_note(tmp_path: Path) -> None:
    initializers = "float p = {2}, float half = {0.5}"
    _, text = train(tmp_path, initializers, "s = Pow (h, p) y = Mul (s, half)")
    assert text == (
        "not trained: 'p' (the exponent of a Pow); trained, though perhaps constant: "
        "'half' (one element); --trainable leaves out what is"
    )


def test_many_are_counted(tmp_path: Path) -> None:
    initializers = ", ".join(f"float c{i} = {{{i}}}" for i in range(9))
    body = "v0 = Add (h, c0) "
    body += " ".join(f"v{i} = Add (v{i - 1}, c{i})" for i in range(1, 9)) + " y = Identity (v8)"
    _, text = train(tmp_path, initializers, body)
    assert "'c5' (one element) and 3 more; --trainable" in text


def test_weights_are_not_doubted(tmp_path: Path) -> None:
    """Zeros, as of a bias, are no mask, and a learned fill of a Where is a weight."""
    _, text = train(
        tmp_path,
        "float[4] b = {0, 0, 0, 0}, float[4] token = {1, 2, 3, 4}, bool[4,1] m = {1, 0, 1, 0}",
        "s = Add (h, b) y = Where (m, s, token)",
    )
    assert not text


def test_quiet(tmp_path: Path) -> None:
    source = tmp_path / "model.onnxtxt"
    source.write_text(f"{HEAD}float p = {{2}}> {{ h = MatMul (x, w) y = Pow (h, p) }}")
    command = ("train-graph", source, "-o", tmp_path / "step.onnx", "--loss", "mse", "--quiet")
    done = onnx_amp().run(*command).expect_success()
    assert not done.stdout and not done.stderr


def test_nothing_but_constants(tmp_path: Path) -> None:
    source, target = tmp_path / "model.onnxtxt", tmp_path / "step.onnx"
    source.write_text(f"{HEAD}float p = {{2}}> {{ h = MatMul (x, w) y = Pow (h, p) }}")
    command = ("train-graph", source, "-o", target, "--loss", "mse", "--trainable", "p")
    onnx_amp().run(*command).expect_error("trainable: 'p' is the exponent of a Pow: no weight")
    assert not target.exists()
