"""Models in inference form, trained: running statistics and Dropout as state of the step."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from stateful import initial_state, run_passes, state_pairs
from step_run import FINISH, Run
from tool import SOURCE_DIR

GOLDEN = SOURCE_DIR / "test" / "golden" / "train"
RECORDS = json.loads((GOLDEN / "train.json").read_text())
STEPS = 60
STATISTICS = [f"bn{i}.running_{name}" for i in (1, 2) for name in ("mean", "var")]


def batches(steps: int) -> list[dict[str, np.ndarray]]:
    with np.load(GOLDEN / "data.npz") as data:
        x, y, order = data["x"].astype(np.float32), data["y"].astype(np.int64), data["order"]
    return [{"x": x[batch], "y": y[batch]} for batch in order[:steps]]


def cnn_in_inference_form() -> onnx.ModelProto:
    """As the exporter gives it."""
    model = onnx.load(GOLDEN / "cnn.onnx")
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            kept = [a for a in node.attribute if a.name != "training_mode"]
            del node.attribute[:]
            node.attribute.extend(kept)
    outputs = [output for output in model.graph.output if ".running_" not in output.name]
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    return model


def make_step(
    model: onnx.ModelProto, form: str = "", optimizer: str = "sgd", low: str = "", extra: str = ""
) -> onnx.ModelProto:
    """A training step; `form` are options of amp-training-form, `low` is empty for float32."""
    record = RECORDS["optimizers"]["cnn"][optimizer]
    passes = ["--onnx-infer-types", f"--amp-training-form={form}", "--amp-make-parameters"]
    if low:
        autocast = f"--amp-autocast=policy=training low={low} placement=eager"
        passes += [autocast, "--amp-to-onnx", "--onnx-merge-casts"]
    scale = "seed=scale" if "seed=scale" in extra else ""
    settings = f"settings=momentum={record['momentum']}" if "momentum" in record else ""
    passes += [
        f"--amp-differentiate=loss=loss {scale}",
        f"--amp-attach-optimizer=optimizer={optimizer} lr={record['lr']} "
        f"weight-decay={record['weight_decay']} {settings} {extra}",
    ]
    return run_passes(model, *passes, *FINISH)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("form", ["scaler-mode=torch unbiased-variance=true", ""])
def test_inference_form_trains_as_pytorch(optimizer: str, form: str) -> None:
    """Losses of PyTorch's run in training mode, and, if unbiased, its running statistics."""
    run = Run(make_step(cnn_in_inference_form(), form, optimizer))
    losses = [float(run.run(batch)["loss"]) for batch in batches(STEPS)]
    with np.load(GOLDEN / "runs.npz") as runs:
        golden = runs[f"cnn/{optimizer}/fp32/loss"][:STEPS]
    assert np.abs(np.array(losses) - golden).max() <= 2e-5
    with np.load(GOLDEN / "statistics.npz") as recorded:
        for name in STATISTICS:
            expected = recorded[f"cnn/{optimizer}/fp32/{name}"]
            if name.endswith("mean"):
                # A bias before the normalization has no gradient but noise, which Adam follows.
                if optimizer == "sgd":
                    np.testing.assert_allclose(run.state[name], expected, rtol=2e-4, atol=2e-5)
            elif "unbiased" in form:
                np.testing.assert_allclose(run.state[name], expected, rtol=2e-4)
            else:
                assert (run.state[name] < expected).all()


def test_training_form_keeps_its_outputs() -> None:
    """BatchNormalization that is in training form already, and the names of what it gives."""
    model = onnx.load(GOLDEN / "cnn.onnx")
    step = make_step(model)
    pairs = state_pairs(step)
    assert {name: pairs[name] for name in STATISTICS} == {
        name: f"{name}.out" for name in STATISTICS
    }
    names = [output.name for output in step.graph.output]
    assert len(names) == len(set(names))
    one, other = Run(step), Run(make_step(cnn_in_inference_form()))
    for batch in batches(5):
        found, expected = one.run(batch), other.run(batch)
        assert found["loss"] == expected["loss"]
    for name in STATISTICS:
        np.testing.assert_array_equal(one.state[name], other.state[name])


def test_statistics_are_float32_below_autocast() -> None:
    step = make_step(cnn_in_inference_form(), low="fp16")
    for value in [*step.graph.input, *step.graph.output]:
        if ".running_" in value.name:
            assert value.type.tensor_type.elem_type == TensorProto.FLOAT
    run, exact = Run(step), Run(make_step(cnn_in_inference_form()))
    for batch in batches(3):
        run.run(batch)
        exact.run(batch)
    for name in STATISTICS:
        expected = exact.state[name]
        error = np.abs(run.state[name] - expected).max() / np.abs(expected).max()
        assert 0 < error < 2e-3


@pytest.mark.parametrize("mode", ["torch", "safe"])
def test_overflow_in_a_batch(mode: str) -> None:
    """A step that is skipped spoils running statistics in PyTorch, and not in mode `safe`."""
    model = cnn_in_inference_form()
    model.graph.input.append(helper.make_tensor_value_info("scale", TensorProto.FLOAT, []))
    step = make_step(model, f"scaler-mode={mode}", extra=f"seed=scale scaler-mode={mode}")
    good, bad = batches(2)
    bad["x"][3, 5] = np.inf
    run = Run(step)
    scale = {"scale": np.array(1024, np.float32)}
    assert not run.run({**good, **scale})["amp.found_inf"]
    before = dict(run.state)
    assert run.run({**bad, **scale})["amp.found_inf"]
    for name, value in run.state.items():
        if name in STATISTICS:
            assert np.isfinite(value).all() == (mode == "safe")
        if mode == "safe" or name not in STATISTICS:
            np.testing.assert_array_equal(value, before[name])
    assert np.isfinite(float(run.run({**good, **scale})["loss"]))


def normalization(
    body: str, inputs: str = "", outputs: str = "", opset: int = 18
) -> onnx.ModelProto:
    """A model with statistics m and v of three channels."""
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {opset}]>
        g (float[4,3] x{inputs}) => (float[4,3] y{outputs})
        <float[3] s = {{1, 1, 1}}, float[3] b = {{0, 0, 0}},
         float[3] m = {{0, 1, 2}}, float[3] v = {{1, 2, 3}}> {{ {body} }}"""
    )


X = np.array([[1, 2, 3], [2, 4, -3], [3, 6, 9], [4, 8, 1]], np.float32)


def running(old: list[float], batch: np.ndarray, momentum: float) -> np.ndarray:
    return np.array(old) * momentum + batch * (1 - momentum)


def test_shared_statistics_are_updated_in_turn() -> None:
    body = """a = BatchNormalization <momentum = 0.75> (x, s, b, m, v)
              c = Add (a, x)
              y = BatchNormalization <momentum = 0.5> (c, s, b, m, v)"""
    run = Run(run_passes(normalization(body), "--onnx-infer-types", "--amp-training-form"))
    run.run({"x": X})
    a = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)
    means = running(list(running([0, 1, 2], X.mean(0), 0.75)), (a + X).mean(0), 0.5)
    variances = running(list(running([1, 2, 3], X.var(0), 0.75)), (a + X).var(0), 0.5)
    assert set(run.state) == {"m", "v"}
    np.testing.assert_allclose(run.state["m"], means, rtol=1e-5)
    np.testing.assert_allclose(run.state["v"], variances, rtol=1e-5)


def test_unbiased_variance_of_a_batch_of_unknown_size() -> None:
    model = normalization("y = BatchNormalization <momentum = 0.75> (x, s, b, m, v)")
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    step = run_passes(
        model,
        "--onnx-infer-types",
        "--amp-training-form=unbiased-variance=true",
        "--onnx-infer-types",
    )
    for count in (4, 2, 1):
        run = Run(step)
        run.run({"x": X[:count]})
        batch = X[:count].var(0, ddof=1) if count > 1 else np.zeros(3)
        np.testing.assert_allclose(run.state["v"], running([1, 2, 3], batch, 0.75), rtol=1e-5)


def test_statistics_of_16_bits_become_float32() -> None:
    model = normalization("y = BatchNormalization (x, s, b, m, v)")
    for tensor in model.graph.initializer:
        if tensor.name in ("m", "v"):
            low = numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(low, tensor.name))
    step = run_passes(model, "--onnx-infer-types", "--amp-training-form")
    run = Run(step)
    assert run.state["m"].dtype == np.float32
    run.run({"x": X})
    np.testing.assert_allclose(run.state["m"], running([0, 1, 2], X.mean(0), 0.9), rtol=1e-5)


def test_functions_are_inlined() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18, "f": 1]>
        g (float[4,3] x) => (float[4,3] y)
        <float[3] s = {1, 1, 1}, float[3] b = {0, 0, 0}, float[3] m = {0, 1, 2}, float[3] v = {1, 2, 3}>
        { y = f.outer (x, s, b, m, v) }
        <domain: "f", opset_import: ["": 18, "f": 1]>
        outer (x, s, b, m, v) => (y) { n = f.inner (x, s, b, m, v) y = Neg (n) }
        <domain: "f", opset_import: ["": 18]>
        inner (x, s, b, m, v) => (y)
        { n = BatchNormalization (x, s, b, m, v) r = Constant <value_float = 0.5> () y = Dropout (n, r) }"""
    )
    step = run_passes(model, "--onnx-infer-types", "--amp-training-form")
    run = Run(step)
    assert set(run.state) == {"m", "v", "amp.seed", "amp.random_step"}
    y = run.run({"x": X})["y"]
    expected = -2 * (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)
    mask = y != 0
    assert mask.any() and not mask.all()
    np.testing.assert_allclose(y[mask], expected[mask], rtol=1e-4)


# Dropout ----------------------------------------------------------------------------------------


def mlp_with_dropout(ratio: float) -> onnx.ModelProto:
    """The MLP with what the exporter left out where PyTorch has Dropout."""
    model = onnx.load(GOLDEN / "mlp.onnx")
    model.graph.initializer.append(numpy_helper.from_array(np.array(ratio, np.float32), "ratio"))
    for node in model.graph.node:
        if node.op_type == "Identity":
            node.op_type = "Dropout"
            node.input.append("ratio")
    return model


def test_dropout_of_nothing_is_the_identity() -> None:
    step = make_step(mlp_with_dropout(0.0))
    assert "amp.seed" not in state_pairs(step)
    run, plain = Run(step), Run(make_step(onnx.load(GOLDEN / "mlp.onnx")))
    for batch in batches(3):
        assert run.run(batch)["loss"] == plain.run(batch)["loss"]


@pytest.mark.parametrize("low", ["", "fp16"])
def test_dropout_trains_and_repeats(low: str) -> None:
    step = make_step(mlp_with_dropout(0.1), "seed=5", optimizer="adamw", low=low)
    data = batches(40)
    first, second = Run(step), Run(step)
    losses = [float(first.run(batch)["loss"]) for batch in data]
    assert np.mean(losses[-5:]) < 0.6 * losses[0]
    half = [float(second.run(batch)["loss"]) for batch in data[:20]]
    # A run that goes on from the state of another.
    third = Run(step, **second.state)
    assert half + [float(third.run(batch)["loss"]) for batch in data[20:]] == losses
    for name, value in first.state.items():
        np.testing.assert_array_equal(value, third.state[name])
    other = Run(step, **{"amp.seed": 6})
    assert float(other.run(data[0])["loss"]) != losses[0]


def dropped(body: str, inputs: str = "", more: str = "") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[64,8] x{inputs}) => (float[64,8] y, float loss)
        <float[64,8] w = {{{", ".join("1" for _ in range(512))}}}, float r = {{0.25}},
         bool yes = {{1}}, bool no = {{0}}{more}>
        {{ a = Mul (x, w) {body} loss = ReduceSum <keepdims = 0> (y) }}"""
    )


@pytest.mark.parametrize("mode", ["", ", yes", ", no"])
def test_gradient_has_the_mask_of_the_value(mode: str) -> None:
    model = dropped(f"y = Dropout (a, r{mode})")
    step = run_passes(
        model,
        "--onnx-infer-types",
        "--amp-training-form",
        "--amp-make-parameters=trainable=w",
        "--amp-differentiate=loss=loss",
        *FINISH,
    )
    x = np.random.default_rng(1).standard_normal((64, 8)).astype(np.float32)
    x[0] = np.inf
    weights = {"w": np.ones((64, 8), np.float32)}
    found = Run(step).run({"x": x, **weights})
    kept = found["y"] != 0
    assert 0.6 < kept.mean() < 0.9
    np.testing.assert_array_equal(found["y"][kept], (x * np.float32(1 / 0.75))[kept])
    assert np.isfinite(found["y"][~kept]).all()
    np.testing.assert_array_equal(found["w_grad"][1:], found["y"][1:])


def test_mode_that_is_an_input_is_obeyed() -> None:
    model = dropped("y = Dropout (a, r, train)", ", bool train")
    run = Run(run_passes(model, "--onnx-infer-types", "--amp-training-form"))
    x = np.ones((64, 8), np.float32)
    np.testing.assert_array_equal(run.run({"x": x, "train": np.array(False)})["y"], x)
    y = run.run({"x": x, "train": np.array(True)})["y"]
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}


def test_dropout_in_a_branch() -> None:
    body = """y = If (c) <
        then_branch = t () => (float[64,8] p) { p = Dropout (a, r) },
        else_branch = e () => (float[64,8] q) { q = Dropout (a) }>"""
    run = Run(run_passes(dropped(body, ", bool c"), "--onnx-infer-types", "--amp-training-form"))
    x = np.ones((64, 8), np.float32)
    for branch, value in ((True, 1 / 0.75), (False, 2.0)):
        y = run.run({"x": x, "c": np.array(branch)})["y"]
        assert set(np.unique(y)) == {np.float32(0), np.float32(value)}


def test_factor_is_not_rounded_by_autocast() -> None:
    """1 / 0.9 has a rounding error in float16, alike for all."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18]>
        g (float[64,64] x, float[64,64] w) => (float[64,64] y) <float r = {0.1}>
        { a = MatMul (x, w) d = Dropout (a, r) y = MatMul (d, w) }"""
    )
    step = run_passes(
        model,
        "--onnx-infer-types",
        "--amp-training-form",
        "--amp-autocast=policy=training low=fp16 placement=eager",
        "--amp-to-onnx",
        "--onnx-merge-casts",
    )
    # ONNX Runtime's CPU provider computes in float32 here, and hides what rounds.
    strict = ReferenceEvaluator(step)
    x = np.linspace(1, 2, 64 * 64, dtype=np.float16).astype(np.float32).reshape(64, 64)
    feeds = {"x": x, "w": np.eye(64, dtype=np.float32), **initial_state(step)}
    y = np.asarray(next(iter(strict.run(["y"], feeds))))
    kept = 1 - float(np.float32(0.1))
    expected = (x / kept).astype(np.float16)
    np.testing.assert_array_equal(y[y != 0], expected[y != 0])
    assert (expected != x.astype(np.float16) * np.float16(1 / kept)).any()
    # Another runtime, the same mask.
    np.testing.assert_array_equal(Run(step).run({"x": x, "w": feeds["w"]})["y"] != 0, y != 0)
