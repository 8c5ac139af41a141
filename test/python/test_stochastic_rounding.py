"""Training with parameters that are bfloat16, without float32 copies."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from stateful import run_passes, state_pairs
from step_run import FINISH, Run, with_float32_state
from tool import SOURCE_DIR

GOLDEN = SOURCE_DIR / "test" / "golden" / "train"
RECORD = json.loads((GOLDEN / "train.json").read_text())["optimizers"]["mlp"]["adamw"]
STEPS = 60


def mlp_step(rounding: bool, scaled: bool = False) -> onnx.ModelProto:
    model = onnx.load(GOLDEN / "mlp.onnx")
    scale = "seed=scale" if scaled else ""
    if scaled:
        model.graph.input.append(helper.make_tensor_value_info("scale", TensorProto.FLOAT, []))
    passes = [
        "--onnx-infer-types",
        "--amp-make-parameters",
        f"--amp-differentiate=loss=loss {scale}",
    ]
    passes.append(
        f"--amp-attach-optimizer=optimizer=adamw lr={RECORD['lr']} "
        f"weight-decay={RECORD['weight_decay']} {scale}"
    )
    if rounding:
        passes.append("--amp-stochastic-rounding")
    return run_passes(model, *passes, *FINISH)


def batches(steps: int) -> list[dict[str, np.ndarray]]:
    with np.load(GOLDEN / "data.npz") as data:
        x, y, order = data["x"].astype(np.float32), data["y"].astype(np.int64), data["order"]
    return [{"x": x[batch], "y": y[batch]} for batch in order[:steps]]


def test_parameters_are_bfloat16_and_learn() -> None:
    step = mlp_step(rounding=True)
    types = {value.name: value.type.tensor_type.elem_type for value in step.graph.input}
    assert types["fc1.weight"] == TensorProto.BFLOAT16
    assert types["fc1.weight.exp_avg"] == TensorProto.FLOAT
    run, exact = Run(with_float32_state(step)), Run(mlp_step(rounding=False))
    again = Run(with_float32_state(step))
    losses, expected = [], []
    for batch in batches(STEPS):
        losses.append(float(run.run(batch)["loss"]))
        expected.append(float(exact.run(batch)["loss"]))
        assert float(again.run(batch)["loss"]) == losses[-1]
    # PyTorch's own bfloat16 is within 0.007 of float64 here, with float32 parameters.
    assert abs(losses[0] - expected[0]) < 5e-3
    assert abs(np.mean(losses[-10:]) - np.mean(expected[-10:])) < 2e-2


def test_skipped_steps_keep_every_bit() -> None:
    run = Run(with_float32_state(mlp_step(rounding=True, scaled=True)))
    scale = {"scale": np.array(1024, np.float32)}
    good, bad = batches(2)
    run.run({**good, **scale})
    before = dict(run.state)
    bad["x"][0, 0] = np.inf
    assert run.run({**bad, **scale})["amp.found_inf"]
    for name, value in run.state.items():
        if name != "amp.random_step":
            np.testing.assert_array_equal(value, before[name])


def test_updates_below_a_bfloat16_are_not_lost() -> None:
    """1 - 1e-4 is 1 in bfloat16; a hundred such steps are 0.01 on average."""
    count, steps = 4096, 100
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[{count}] x) => (float loss)
        {{ y = Mul (x, w) loss = ReduceSum <keepdims = 0> (y) }}"""
    )
    model.graph.initializer.append(numpy_helper.from_array(np.ones(count, np.float32), "w"))
    step = run_passes(
        model,
        "--onnx-infer-types",
        "--amp-make-parameters",
        "--amp-differentiate=loss=loss",
        "--amp-attach-optimizer=optimizer=sgd lr=1e-4",
        "--amp-stochastic-rounding",
        *FINISH,
    )
    run = Run(with_float32_state(step))
    for _ in range(steps):
        run.run({"x": np.ones(count, np.float32)})
    w = run.state["w"]
    # Steps of 2^-8 with probability 1e-4 / 2^-8, down from 1.
    deviation = (steps * 1e-4 * 2**-8 / count) ** 0.5
    assert abs(w.mean() - (1 - steps * 1e-4)) < 5 * deviation
    assert len(np.unique(w)) > 1


def test_state_is_fed_back_as_it_is() -> None:
    """What docs/training.md says: values of ONNX Runtime, not arrays."""
    step = mlp_step(rounding=True)
    session = onnxruntime.InferenceSession(
        step.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    pairs = state_pairs(step)
    names = [output.name for output in session.get_outputs()]
    state: dict[str, onnxruntime.OrtValue] = {}
    losses = []
    for batch in batches(3):
        feeds = {name: onnxruntime.OrtValue.ortvalue_from_numpy(a) for name, a in batch.items()}
        found = dict(
            zip(names, session.run_with_ort_values(names, {**feeds, **state}), strict=True)
        )
        state = {name: found[output] for name, output in pairs.items()}
        losses.append(float(found["loss"].numpy()))
    run = Run(with_float32_state(step))
    assert losses == [float(run.run(batch)["loss"]) for batch in batches(3)]
