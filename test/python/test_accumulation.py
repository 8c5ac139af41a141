"""Gradients added up over micro-batches: in one graph, and in two."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from loss_scaling import bits, load, number
from step_passes import TrainingStep, make_step, settings_of
from test_training_steps import FLOAT32, STEPS
from training import GOLDEN, RECORDS, golden

F32 = np.float32
SCENARIO = load("scenarios.json")["scenarios"]["accumulate_4"]
MICRO_BATCHES = 4


def product_model() -> onnx.ModelProto:
    """The loss `sum(p * c)`, whose gradient is `c`."""
    return onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        product (float[3] c, float scale) => (float loss)
        <float[3] p = {1, 2, 3}>
        { pc = Mul(p, c)  loss = ReduceSum<keepdims = 0>(pc) }""")


def passes(
    part: str,
    micro_batches: int = MICRO_BATCHES,
    optimizer: str = "optimizer=sgd lr=0.5",
    scaler: str | None = "scaler-mode=torch growth-interval=2",
) -> list[str]:
    seed = "" if scaler is None else "seed=scale"
    mode = "" if scaler is None else scaler.split()[0]
    return [
        "amp-make-parameters",
        f"amp-differentiate=loss=loss micro-batches={micro_batches} {seed}",
        "amp-accumulate-gradients",
        f"amp-attach-optimizer={optimizer} {seed} {mode}",
        *([] if scaler is None else [f"amp-attach-scaler={seed} {scaler}"]),
        f"amp-split-step=part={part}",
    ]


def start() -> dict[str, np.ndarray]:
    return {"scale": np.array(SCENARIO["cfg"]["init_scale"], F32)}


def check(step: TrainingStep, want: dict[str, Any]) -> None:
    """The state after a step of the scenario."""
    assert bits(step.state["p"]) == bits(np.array([number(x) for x in want["params"][0]], F32))
    assert step.state["scale"] == number(want["scale"])
    assert step.state["amp.growth_tracker"] == want["growth_tracker"]


def numbers(values: list[Any]) -> np.ndarray:
    return np.array([number(value) for value in values], F32)


def test_gradscaler_in_one_graph() -> None:
    step = TrainingStep(make_step(product_model(), *passes("both")), start())
    for iteration in SCENARIO["iterations"]:
        for i, micro in enumerate(iteration["micro"]):
            before = dict(step.state)
            found = step.run({"c": numbers(micro["c"])})
            if i + 1 < MICRO_BATCHES:
                assert bits(step.state["p.accumulated"]) == bits(numbers(micro["grad_acc"]))
                changed = {"p.accumulated", "amp.micro_step"}
                for name in step.state.keys() - changed:
                    assert bits(step.state[name]) == bits(before[name]), name
                assert not found["amp.found_inf"]
        assert found["amp.found_inf"] == bool(iteration["found_inf"])
        assert bits(step.state["p.accumulated"]) == bytes(12)
        check(step, iteration)


def test_gradscaler_in_two_graphs() -> None:
    state = start()
    accumulate = TrainingStep(make_step(product_model(), *passes("accumulate")), state)
    apply = TrainingStep(make_step(product_model(), *passes("apply")), state)
    assert set(accumulate.pairs) == {"p.accumulated"}
    assert accumulate.outputs == ["loss", "p.accumulated_next"]
    assert accumulate.inputs == {"c", "scale", "p", "p.accumulated"}
    assert apply.inputs == set(apply.pairs)
    assert set(apply.pairs) == {"p", "p.accumulated", "scale", "amp.step", "amp.growth_tracker"}
    assert set(apply.outputs) == {*apply.pairs.values(), "amp.found_inf"}
    for iteration in SCENARIO["iterations"]:
        for micro in iteration["micro"]:
            accumulate.run({"c": numbers(micro["c"])})
            assert bits(state["p.accumulated"]) == bits(numbers(micro["grad_acc"]))
        found = apply.run({})
        assert found["amp.found_inf"] == bool(iteration["found_inf"])
        assert bits(state["p.accumulated"]) == bytes(12)
        check(apply, iteration)


def linear_model(batch: int) -> onnx.ModelProto:
    """A mean squared error over a batch."""
    return onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 20]>
        linear (float[{batch}, 3] x, float[{batch}, 2] y) => (float loss)
        <float[3, 2] w = {{1, -1, 0.5, 2, -0.25, 0}}, float[2] b = {{0.5, -0.5}}>
        {{
          xw = MatMul(x, w)
          z = Add(xw, b)
          d = Sub(z, y)
          dd = Mul(d, d)
          loss = ReduceMean<keepdims = 0>(dd)
        }}""")


@pytest.mark.parametrize("micro_batches", [2, 3])
@pytest.mark.parametrize(
    "optimizer", ["optimizer=adamw clip-norm=0.5", "optimizer=sgd settings=momentum=0.9"]
)
def test_micro_batches_are_a_batch(micro_batches: int, optimizer: str) -> None:
    """Without a scale, too; averages of equal micro-batches are the whole batch's."""
    whole = TrainingStep(
        make_step(
            linear_model(2 * micro_batches),
            "amp-make-parameters",
            "amp-differentiate=loss=loss",
            f"amp-attach-optimizer={optimizer} lr=0.1",
        )
    )
    parts = TrainingStep(
        make_step(
            linear_model(2), *passes("both", micro_batches, f"{optimizer} lr=0.1", scaler=None)
        )
    )
    random = np.random.default_rng(0)
    for i in range(5):
        x = random.normal(size=(2 * micro_batches, 3)).astype(F32)
        y = random.normal(size=(2 * micro_batches, 2)).astype(F32)
        loss = whole.run({"x": x, "y": y})["loss"]
        losses = []
        for m in range(micro_batches):
            assert parts.state["amp.step"] == i
            assert parts.state["amp.micro_step"] == m
            rows = slice(2 * m, 2 * m + 2)
            losses.append(parts.run({"x": x[rows], "y": y[rows]})["loss"])
        assert np.mean(losses) == pytest.approx(loss, rel=1e-6)
        for name in whole.state:
            np.testing.assert_allclose(
                parts.state[name], whole.state[name], rtol=2e-5, atol=1e-6, err_msg=name
            )


@pytest.mark.parametrize("low", ["", "fp16"])
def test_micro_batches_follow_pytorch(low: str) -> None:
    """Two graphs, batches in four parts, beside PyTorch's whole batches."""
    options, names = settings_of(RECORDS["optimizers"]["mlp"]["adamw"])
    attach = f"optimizer=adamw {options} settings={','.join(names)}"
    scaler = "scaler-mode=torch" if low else None
    made = passes("accumulate", MICRO_BATCHES, attach, scaler)
    if low:
        cast = f"amp-autocast=policy=training low={low} placement=eager"
        made[1:1] = [cast, "amp-to-onnx", "onnx-merge-casts"]
    forward = onnx.load(GOLDEN / "mlp.onnx")
    del forward.graph.value_info[:]
    for value in (*forward.graph.input, *forward.graph.output):
        for size in value.type.tensor_type.shape.dim[:1]:
            size.dim_value //= MICRO_BATCHES
    if low:
        scale = onnx.helper.make_tensor_value_info("scale", onnx.TensorProto.FLOAT, [])
        forward.graph.input.append(scale)
    state = {"scale": np.array(65536, F32)} if low else {}
    accumulate = TrainingStep(make_step(forward, *made), state)
    apply = TrainingStep(make_step(forward, *made[:-1], "amp-split-step=part=apply"), state)
    with np.load(GOLDEN / "data.npz") as data:
        x, y, order = data["x"].astype(F32), data["y"].astype(np.int64), data["order"]
    losses = []
    for batch in order[:STEPS]:
        parts = np.split(batch, MICRO_BATCHES)
        losses.append(
            np.mean([accumulate.run({"x": x[rows], "y": y[rows]})["loss"] for rows in parts])
        )
        apply.run({})
    expected = golden("mlp", "adamw", "fp64" if low else "fp32")[:STEPS]
    spread = RECORDS["spread"]["mlp/adamw"]["fp16_vs_fp64"]
    limit = 3 * spread["loss_max_60"] if low else FLOAT32
    assert np.abs(np.array(losses) - expected).max() <= limit


def test_what_runs_between_is_not_the_step() -> None:
    """The update is in the branch, all of it; gradients are not."""
    step = make_step(product_model(), *passes("both", optimizer="optimizer=adamw"))
    choice = next(node for node in step.graph.node if node.op_type == "If")
    outside = [node.op_type for node in step.graph.node]
    inside = {node.op_type for attribute in choice.attribute for node in attribute.g.node}
    assert not {"Sqrt", "Pow", "ReduceL1"} & set(outside)
    assert outside.count("Add") == 2  # the sum, the counter
    assert outside.count("If") == 1
    assert "If" in inside
