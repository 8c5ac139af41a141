"""`onnx-amp train-graph` with several losses and several optimizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from step_passes import TrainingStep
from tool import onnx_amp
from training import GOLDEN, Digits, Trainer

Arrays = dict[str, np.ndarray]

#: One body, two heads.
HEADS = """<ir_version: 9, opset_import: ["" : 20]>
forward (float[N,3] x) => (float[N,2] logits, float[N,3] copy, float penalty)
<float[3,4] body = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3},
 float[4,2] head = {1, -1, 2, -2, 3, 0, 1, 1}, float[4,3] back = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}>
{
  h = MatMul (x, body)
  logits = MatMul (h, head)
  copy = MatMul (h, back)
  square = Mul (body, body)
  penalty = ReduceMean <keepdims = 0> (square)
}"""
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
BATCH = {"x": X, "labels": np.array([0, 1, 1, 0]), "targets.2": X}


def train_graph(source: Path, folder: Path, *options: str | Path) -> onnx.ModelProto:
    target = folder / "step.onnx"
    onnx_amp().run("train-graph", source, "-o", target, *options).expect_success()
    onnx.checker.check_model(target, full_check=True)
    return onnx.load(target)


@pytest.fixture
def heads(tmp_path: Path) -> Path:
    source = tmp_path / "heads.onnxtxt"
    source.write_text(HEADS)
    return source


def initial(step: onnx.ModelProto) -> Arrays:
    return {t.name: onnx.numpy_helper.to_array(t) for t in step.graph.initializer}


def move(step: onnx.ModelProto, batch: Arrays) -> tuple[Arrays, Arrays]:
    """What a step of SGD gives, and how far it moves parameters, divided by the rate of 1."""
    inputs = {value.name for value in step.graph.input}
    state: Arrays = {}
    trainer = TrainingStep(step, state)
    outputs = trainer.run({name: value for name, value in batch.items() if name in inputs})
    before = initial(step)
    return outputs, {
        name: state[name] - before[name] for name in ("body", "head", "back") if name in before
    }


PLAIN = ("--dtype", "none", "--optimizer", "sgd", "--lr", "1")


def test_losses_add_up(heads: Path, tmp_path: Path) -> None:
    """The sum's gradient is that of each loss times its weight."""
    both = train_graph(
        heads,
        tmp_path,
        *("--loss", "cross-entropy,mse=0.25", "--loss", "penalty=1e-2"),
        *("--output", "logits", "--output", "copy", *PLAIN),
    )
    assert [value.name for value in both.graph.input][:3] == ["x", "labels", "targets.2"]
    outputs, moved = move(both, BATCH)
    total = outputs["loss"] + 0.25 * outputs["loss.2"] + 1e-2 * outputs["penalty"]
    assert outputs["total_loss"] == pytest.approx(total, rel=1e-6)
    parts: list[Any] = []
    for options, batch, loss in (
        (("--loss", "cross-entropy", "--output", "logits"), BATCH, "loss"),
        (("--loss", "mse", "--output", "copy"), {"x": X, "targets": X}, "loss"),
        (("--loss", "penalty"), BATCH, "penalty"),
    ):
        found, part = move(train_graph(heads, tmp_path, *options, *PLAIN), batch)
        assert found[loss] == outputs[("loss", "loss.2", "penalty")[len(parts)]]
        parts.append(part)
    for name, distance in moved.items():
        expected = sum(
            weight * part[name]
            for weight, part in zip((1, 0.25, 1e-2), parts, strict=True)
            if name in part
        )
        # Weights of size 9 have steps of 1e-6.
        np.testing.assert_allclose(distance, expected, rtol=1e-4, atol=4e-6)


def test_one_weighted_loss(heads: Path, tmp_path: Path) -> None:
    whole = train_graph(heads, tmp_path, "--loss", "penalty", *PLAIN)
    half = train_graph(heads, tmp_path, "--loss", "penalty=0.5", *PLAIN)
    (outputs, moved), (_, whole_moved) = move(half, BATCH), move(whole, BATCH)
    assert outputs["total_loss"] == outputs["penalty"] / 2
    np.testing.assert_allclose(moved["body"], whole_moved["body"] / 2, rtol=1e-5, atol=1e-6)


def test_losses_under_a_scale(heads: Path, tmp_path: Path) -> None:
    """The scale is one, of the sum; losses are float32 in half precision."""
    step = train_graph(
        heads,
        tmp_path,
        *("--loss", "cross-entropy", "--loss", "penalty", "--output", "logits"),
        *("--init-scale", "1024", "--optimizer", "sgd", "--lr", "0.01"),
    )
    state: Arrays = {}
    trainer = TrainingStep(step, state)
    batch = {name: BATCH[name] for name in ("x", "labels")}
    losses = [float(trainer.run(batch)["total_loss"]) for _ in range(10)]
    assert losses[-1] < losses[0]
    assert state["amp.growth_tracker"] == 10
    kinds = {value.name: value.type.tensor_type.elem_type for value in step.graph.output}
    assert kinds["loss"] == kinds["total_loss"] == onnx.TensorProto.FLOAT


# ======================================================================================
# Optimizers
# ======================================================================================


def golden(folder: Path, *options: str) -> onnx.ModelProto:
    return train_graph(GOLDEN / "mlp.onnx", folder, "--loss", "loss", *options)


def run(step: onnx.ModelProto, steps: int = 3) -> Arrays:
    trainer = Trainer(step, optimize=False)
    for x, y in list(Digits.load().batches())[:steps]:
        trainer.step(x, y)
    return trainer.state


def state_names(step: onnx.ModelProto) -> set[str]:
    text = next(item.value for item in step.metadata_props if item.key == "amp.state")
    return {pair["input"] for pair in json.loads(text)}


def test_groups_have_optimizers(tmp_path: Path) -> None:
    """The first step of each parameter is that of its own optimizer alone."""
    step = golden(
        tmp_path,
        *("--dtype", "none", "--optimizer", "adamw", "--lr", "0.01"),
        *("--group", "fc1.*:optimizer=sgd,lr=0.5,momentum=0.9,decay=0.01"),
        *("--group", "fc2.bias:optimizer=lion", "--group", "fc2.*:lr=0.5"),
    )
    names = state_names(step)
    assert {"fc1.weight.momentum_buffer", "fc2.bias.exp_avg", "fc3.weight.exp_avg_sq"} <= names
    assert not {"fc1.weight.exp_avg", "fc2.bias.exp_avg_sq"} & names
    assert {"amp.step", "amp.step.2", "amp.step.3"} <= names
    one = run(step, 1)
    sgd = ("--optimizer", "sgd", "--lr", "0.5", "--setting", "momentum=0.9")
    others = {
        "fc1.weight": (*sgd, "--weight-decay", "0.01"),
        "fc2.bias": ("--optimizer", "lion"),
        "fc2.weight": ("--optimizer", "adamw", "--lr", "0.01", "--group", "fc2.*:lr=0.5"),
        "fc3.weight": ("--optimizer", "adamw", "--lr", "0.01"),
    }
    for name, options in others.items():
        alone = run(golden(tmp_path, "--dtype", "none", *options), 1)
        assert one[name].tobytes() == alone[name].tobytes(), name


def test_one_scale_and_a_flag_for_each(tmp_path: Path) -> None:
    """One optimizer skips, the other makes its step; the scale backs off."""
    options = ("--loss-scale", "dynamic", "--dtype", "none", "--init-scale", "1024")
    step = golden(tmp_path, *options, "--group", "fc1.*:optimizer=sgd,lr=0.1", "--counters")
    outputs = {value.name for value in step.graph.output}
    assert {"amp.found_inf", "amp.found_inf.2", "amp.scale_next"} <= outputs
    assert {"amp.skipped_steps_next", "amp.skipped_steps.2_next"} <= outputs
    assert "amp.scale.2_next" not in outputs
    trainer = Trainer(step, optimize=False)
    x, y = next(Digits.load().batches())
    trainer.step(x, y)
    before = dict(trainer.state)
    # The input is in fc1's gradient alone; forward it stays small by weights that are zero.
    trainer.state["fc1.weight"] = np.zeros_like(before["fc1.weight"])
    huge = np.full_like(x, 3e38)
    found = trainer.step(huge, y)
    assert found["amp.found_inf.2"] and not found["amp.found_inf"]
    assert trainer.state["amp.step"] == 2 and trainer.state["amp.step.2"] == 1
    assert trainer.state["amp.scale"] == 512
    assert not np.any(trainer.state["fc1.weight"])
    assert np.any(trainer.state["fc3.weight"] != before["fc3.weight"])


@pytest.mark.parametrize("extra", [(), ("--schedule", "cosine:warmup=1,total=9", "--ema", "0.9")])
def test_accumulation(tmp_path: Path, extra: tuple[str, ...]) -> None:
    group = ("--group", "fc1.*:optimizer=sgd,lr=0.1")
    state = run(golden(tmp_path, "--accumulate", "2", *group, *extra), 4)
    assert state["amp.step"] == state["amp.step.2"] == 2
    assert state["amp.micro_step"] == 0


def test_every_parameter_has_its_own(tmp_path: Path) -> None:
    """Nothing is left to --optimizer then."""
    group = ("--group", ".*weight:optimizer=lion", "--group", ".*bias:optimizer=sgd,lr=0.1")
    names = state_names(golden(tmp_path, "--dtype", "none", *group))
    assert "fc1.weight.exp_avg" in names
    assert not any(name.endswith("exp_avg_sq") for name in names)


def test_the_summary_names_optimizers(tmp_path: Path) -> None:
    command = ("train-graph", GOLDEN / "mlp.onnx", "-o", tmp_path / "step.onnx", "--loss", "loss")
    group = ("--group", "fc1.*:optimizer=sgd", "--group", "fc2.*:optimizer=lion,lr=1e-3")
    done = onnx_amp().run(*command, *group).expect_success()
    assert "a step of adamw, sgd and lion in fp16" in done.stdout.decode()


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (("--loss", "=2"), "loss: expected NAME or NAME=WEIGHT, but got '=2'", 2),
        (
            ("--loss", "loss=inf"),
            "loss: the weight of 'loss' expects a finite number, but got 'inf'",
            2,
        ),
        (("--loss", "loss,loss=2"), "loss: 'loss' is named twice", 2),
        (("--loss", "loss", "--loss", "los"), "no value is named 'los'; did you mean 'loss'?", 1),
        (("--loss", "loss=x"), "loss: no value is named 'loss=x'", 1),
        (
            ("--loss", "cross-entropy,mse", "--output", "logits"),
            "output: expected one for each loss that is built, 2, but got 1",
            1,
        ),
        (
            ("--loss", "loss", "--group", "fc1.*:optimizer=sgdd"),
            "group 'fc1.*': no optimizer is called 'sgdd'; did you mean 'sgd'?",
            2,
        ),
        (
            ("--loss", "loss", "--group", "fc1.*:optimizer=sgd,beta1=0.5"),
            "group 'fc1.*': sgd has no setting 'beta1'",
            2,
        ),
        (
            ("--loss", "loss", "--group", "fc1.*:optimizer=sgd,lr=fast"),
            "group 'fc1.*' expects settings NAME=NUMBER, but got 'lr=fast'",
            2,
        ),
        (
            ("--loss", "loss", "--group", "fc1.*:optimizer=sgd,lr=-1"),
            "lr of group 'fc1.*' expects a number from 0, but got -1",
            2,
        ),
        (
            ("--loss", "loss", "--group", "a:optimizer=sgd,optimizer=lion"),
            "group 'a' has two optimizers, 'sgd' and 'lion'",
            2,
        ),
        (
            ("--loss", "loss", "--group", "*:optimizer=sgd"),
            "group: '*' is no regular expression",
            2,
        ),
        (
            ("--loss", "loss", "--group", "fc9.*:optimizer=sgd"),
            "parameters: none that has no optimizer yet has a name like 'fc9.*'",
            1,
        ),
    ],
)
def test_errors(tmp_path: Path, options: tuple[str, ...], message: str, code: int) -> None:
    target = tmp_path / "step.onnx"
    command = ("train-graph", GOLDEN / "mlp.onnx", "-o", target)
    onnx_amp().run(*command, *options).expect_error(message, code=code)
    assert not list(tmp_path.iterdir())


def test_a_sum_has_a_name_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "taken.onnxtxt"
    source.write_text(HEADS.replace("h = MatMul", "total_loss = Abs (x)\n  h = MatMul"))
    command = ("train-graph", source, "-o", tmp_path / "step.onnx", "--loss", "penalty=2")
    onnx_amp().run(*command).expect_error(
        "loss: a new output would be named 'total_loss', as another value is"
    )
