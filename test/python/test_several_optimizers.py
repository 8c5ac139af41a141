"""Several losses and optimizers with one loss scale, skipped steps, and what counters say.

PyTorch's own runs, test/golden/scaler/scenarios.json, are followed bit for bit by whole steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from loss_scaling import bits, load, number
from stateful import metadata
from step_passes import TrainingStep, make_step

F32 = np.float32
SCENARIOS = load("scenarios.json")["scenarios"]
OPTIMIZERS = ["sgd", "adam", "adamw", "adagrad", "adafactor", "lion"]


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {text}')


def product_model(initial: list[float]) -> onnx.ModelProto:
    """The loss `sum(p * c)`, whose gradient is `c`."""
    numbers = ", ".join(map(repr, initial))
    size = len(initial)
    return model(f"""product (float[{size}] c, float scale) => (float loss)
        <float[{size}] p = {{{numbers}}}>
        {{ pc = Mul(p, c)  loss = ReduceSum<keepdims = 0>(pc) }}""")


def scaler(config: dict[str, Any]) -> str:
    names = ("growth_factor", "backoff_factor", "growth_interval")
    options = [f"{name.replace('_', '-')}={config[name]}" for name in names if name in config]
    return " ".join(["amp-attach-scaler=seed=scale scaler-mode=torch", *options])


def start(config: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"scale": np.array(config["init_scale"], F32)}


def numbers(values: list[Any]) -> np.ndarray:
    return np.array([number(value) for value in values], F32)


# ======================================================================================
# Scenarios of GradScaler
# ======================================================================================


def test_two_optimizers_two_losses() -> None:
    scenario = SCENARIOS["two_optimizers_two_losses"]
    forward = model("""two (float[2] c0, float[3] c1, float scale) => (float l0, float l1)
        <float[2] p0 = {1, 2}, float[3] p1 = {3, 4, 5}>
        {
          m0 = Mul(p0, c0)  l0 = ReduceSum<keepdims = 0>(m0)
          m1 = Mul(p1, c1)  l1 = ReduceSum<keepdims = 0>(m1)
        }""")
    attach = "amp-attach-optimizer=seed=scale scaler-mode=torch optimizer=sgd"
    made = make_step(
        forward,
        "amp-make-parameters=loss=l0 trainable=p0",
        "amp-make-parameters=loss=l1 trainable=p1",
        "amp-differentiate=loss=l0,l1 wrt=p0,p1 seed=scale",
        *(f"{attach} parameters=p{i} lr={rate}" for i, rate in enumerate(scenario["lr"])),
        scaler(scenario["cfg"]),
    )
    step = TrainingStep(made, start(scenario["cfg"]))
    names = {"p0", "p1", "amp.step", "amp.step.2", "scale", "amp.growth_tracker"}
    assert set(step.pairs) == names
    steps = np.zeros(2, int)
    for iteration in scenario["iterations"]:
        found = step.run({"c0": numbers(iteration["c0"]), "c1": numbers(iteration["c1"])})
        flags = [found["amp.found_inf"], found["amp.found_inf.2"]]
        assert flags == [bool(flag) for flag in iteration["found_inf"]]
        steps += iteration["stepped"]
        assert [step.state["amp.step"], step.state["amp.step.2"]] == steps.tolist()
        assert bits(step.state["p0"]) == bits(numbers(iteration["params"][0]))
        assert bits(step.state["p1"]) == bits(numbers(iteration["params"][1]))
        assert step.state["scale"] == number(iteration["scale"])
        assert step.state["amp.growth_tracker"] == iteration["growth_tracker"]


def test_unscale_clip_step() -> None:
    scenario = SCENARIOS["unscale_clip_step"]
    made = make_step(
        product_model(scenario["init"]),
        "amp-make-parameters",
        "amp-differentiate=loss=loss seed=scale",
        "amp-attach-optimizer=optimizer=sgd seed=scale scaler-mode=torch "
        f"lr={scenario['lr']} clip-norm={scenario['max_norm']}",
        scaler(scenario["cfg"]),
    )
    step = TrainingStep(made, start(scenario["cfg"]))
    for iteration in scenario["iterations"]:
        found = step.run({"c": numbers(iteration["c"])})
        assert found["amp.found_inf"] == bool(iteration["found_inf"])
        assert bits(step.state["p"]) == bits(numbers(iteration["params"][0]))
        assert step.state["scale"] == number(iteration["scale"])
        assert step.state["amp.growth_tracker"] == iteration["growth_tracker"]


@pytest.mark.parametrize("run", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_optimizer_state_on_skip(run: str) -> None:
    scenario = SCENARIOS["optimizer_state_on_skip"]
    momentum = "settings=momentum=0.9" if run == "SGD" else ""
    made = make_step(
        product_model([1, 2]),
        "amp-make-parameters",
        "amp-differentiate=loss=loss seed=scale",
        f"amp-attach-optimizer=optimizer={run.lower()} lr={scenario['lr']} {momentum} "
        "seed=scale scaler-mode=torch",
        scaler(scenario["cfg"]),
    )
    step = TrainingStep(made, start(scenario["cfg"]))
    for i, want in enumerate(scenario["runs"][f"{run}_fused=False"]):
        gradient = numbers(scenario["grad"])
        if i in scenario["bad_steps"]:
            gradient[1] = np.inf
        before = step.state["p"]
        step.run({"c": gradient})
        assert (bits(step.state["p"]) != bits(before)) == want["changed"]
        assert step.state["scale"] == want["scale"]
        assert step.state["amp.growth_tracker"] == want["tracker"]
        # PyTorch's vector kernels fuse some products and sums.
        np.testing.assert_allclose(step.state["p"], want["params"], rtol=2e-7)
        if want["opt_step"] is not None:
            assert step.state["amp.step"] == want["opt_step"]


# ======================================================================================
# Skipped steps and counters
# ======================================================================================


def two_layers() -> onnx.ModelProto:
    """Two layers, and a parameter beside them: `w2` is nearer to the loss than `w1`."""
    return model("""layers (float[4, 3] x, float[4, 2] scale_of_h, float bad, float scale)
            => (float loss)
        <float[3, 2] w1 = {1, -1, 0.5, 2, -0.25, 1}, float[2, 2] w2 = {0.5, 1, -1, 0.25},
         float alone = {1}>
        {
          h = MatMul(x, w1)
          r = Mul(h, scale_of_h)
          z = MatMul(r, w2)
          zz = Mul(z, z)
          mean = ReduceMean<keepdims = 0>(zz)
          other = Mul(alone, bad)
          loss = Add(mean, other)
        }""")


def counted_step(options: str, mode: str = "safe") -> onnx.ModelProto:
    return make_step(
        two_layers(),
        "amp-make-parameters",
        "amp-differentiate=loss=loss seed=scale",
        f"amp-attach-optimizer={options} seed=scale scaler-mode={mode} counters=true",
        f"amp-attach-scaler=seed=scale scaler-mode={mode} growth-interval=3",
    )


def batch(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "x": random.normal(size=(4, 3)).astype(F32),
        "scale_of_h": np.ones((4, 2), F32),
        "bad": F32(0.5),
    }


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_skipped_steps_change_nothing(optimizer: str) -> None:
    """Whatever is not finite, wherever it is: bit for bit."""
    extra = "settings=momentum=0.9" if optimizer == "sgd" else ""
    made = counted_step(f"optimizer={optimizer} clip-norm=1 lr=0.1 {extra}")
    step = TrainingStep(made, {"scale": np.array(1024, F32)})
    changing = {"scale", "amp.growth_tracker", "amp.skipped_steps", "amp.first_overflow"}
    names = metadata(made, "amp.parameters")
    assert set(names) == {"w1", "w2", "alone"}
    random = np.random.default_rng(1)
    skipped = 0
    for i in range(24):
        feeds = batch(i)
        expected = None
        if i % 2:
            bad = random.choice([np.inf, -np.inf, np.nan])
            where = random.integers(3)
            if where == 0:
                feeds["bad"] = F32(bad)
                expected = {"alone"}
            else:
                feeds["x" if where == 1 else "scale_of_h"][random.integers(4), 0] = bad
                expected = {"w1", "w2"}
        before = dict(step.state)
        found = step.run(feeds)
        assert found["amp.found_inf"] == (expected is not None)
        skipped += expected is not None
        assert step.state["amp.skipped_steps"] == skipped
        assert step.state["amp.step"] == i + 1 - skipped
        for name in step.state.keys() - changing:
            is_same = bits(step.state[name]) == bits(before[name])
            if expected is not None:
                assert is_same, name
            elif name in names:
                assert not is_same, name
        if expected is not None:
            assert step.state["scale"] == before["scale"] / 2
            assert names[step.state["amp.first_overflow"]] in expected
        else:
            assert step.state["amp.first_overflow"] == before["amp.first_overflow"]
    assert skipped == 12


@pytest.mark.parametrize("mode", ["torch", "safe"])
def test_first_overflow_is_nearest_to_the_loss(mode: str) -> None:
    made = counted_step("optimizer=sgd", mode)
    names = metadata(made, "amp.parameters")
    assert names.index("w2") < names.index("w1")
    step = TrainingStep(made, {"scale": np.array(1024, F32)})
    assert step.state["amp.first_overflow"] == -1
    # What comes out of the first layer overflows, and both gradients with it.
    feeds = batch(0)
    feeds["x"][0, 0] = np.inf
    step.run(feeds)
    assert names[step.state["amp.first_overflow"]] == "w2"
    # Large, but no overflow.
    feeds = batch(0)
    feeds["bad"] = F32(3e38) / 1024
    assert not step.run(feeds)["amp.found_inf"]
    assert names[step.state["amp.first_overflow"]] == "w2"
    # The first layer's alone: it multiplies large numbers by small ones.
    feeds["x"] = np.zeros((4, 3), F32)
    feeds["x"][0, 0] = 1e37
    feeds["bad"] = F32(0)
    step.state["w1"] = np.full((3, 2), 1e-37, F32)
    step.run(feeds)
    assert step.state["amp.skipped_steps"] == 2
    assert names[step.state["amp.first_overflow"]] == "w1"


def test_share_of_zero_gradients() -> None:
    """Of 12 elements of gradients, those of `c` that are zero or smaller than a float16 can be."""
    half = model("""half (float[12] c, float scale) => (float loss)
        <float[12] p = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}>
        {
          p16 = Cast<to = 10>(p)
          p32 = Cast<to = 1>(p16)
          pc = Mul(p32, c)
          loss = ReduceSum<keepdims = 0>(pc)
        }""")
    step = TrainingStep(
        make_step(
            half,
            "amp-make-parameters",
            "amp-differentiate=loss=loss seed=scale",
            "amp-attach-optimizer=optimizer=sgd seed=scale counters=true",
        ),
        {"scale": np.array(1, F32)},
    )
    assert set(step.pairs) == {"p", "amp.step", "amp.skipped_steps", "amp.first_overflow"}
    c = np.array([0, 1, 1e-8, -1e-8, 6e-8, 1e-3, 2, 3, 4, 5, 6, 7], F32)
    assert step.run({"c": c})["amp.zero_gradients"] == pytest.approx(3 / 12)
    # With a scale that keeps them, one is left that is zero.
    step.state["scale"] = np.array(1024, F32)
    assert step.run({"c": c})["amp.zero_gradients"] == pytest.approx(1 / 12)


def test_counters_without_a_scale() -> None:
    step = TrainingStep(
        make_step(
            product_model([1, 2, 3, 4]),
            "amp-make-parameters",
            "amp-differentiate=loss=loss",
            "amp-attach-optimizer=optimizer=sgd counters=true",
        )
    )
    assert set(step.pairs) == {"p", "amp.step"}
    found = step.run({"c": np.array([0, 1, 0, 2], F32), "scale": F32(1)})
    assert found["amp.zero_gradients"] == 0.5


def test_counters_of_several_optimizers_and_micro_batches() -> None:
    """Each counts its own; calls between steps keep them."""
    attach = "amp-attach-optimizer=optimizer=sgd seed=scale counters=true"
    made = make_step(
        two_layers(),
        "amp-make-parameters",
        "amp-differentiate=loss=loss seed=scale micro-batches=2",
        "amp-accumulate-gradients",
        f"{attach} parameters=w.*",
        f"{attach} parameters=alone",
        "amp-attach-scaler=seed=scale",
        "amp-split-step",
    )
    assert set(metadata(made, "amp.parameters")) == {"w1", "w2"}
    assert metadata(made, "amp.parameters.2") == ["alone"]
    step = TrainingStep(made, {"scale": np.array(1024, F32)})
    bad = {**batch(0), "bad": F32(np.inf)}
    for feeds in (bad, batch(1), batch(2)):
        found = step.run(feeds)
    assert not found["amp.found_inf.2"] and found["amp.zero_gradients"] == 0
    counts = {
        name: int(step.state[name])
        for name in sorted(step.state)
        if name.startswith("amp.") and name != "amp.growth_tracker"
    }
    assert counts == {
        "amp.first_overflow": -1,
        "amp.first_overflow.2": 0,
        "amp.micro_step": 1,
        "amp.skipped_steps": 0,
        "amp.skipped_steps.2": 1,
        "amp.step": 1,
        "amp.step.2": 0,
    }
    assert step.state["scale"] == 512
