"""Options of `onnx-amp train-graph`: what they mean is tested with the passes, here that they arrive there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from step_passes import TrainingStep
from tool import onnx_amp
from training import GOLDEN, Digits, Trainer
from training_info import Training

Arrays = dict[str, np.ndarray]
STEPS = 4


def train_graph(folder: Path, *options: str | Path, model: str = "mlp") -> onnx.ModelProto:
    target = folder / "step.onnx"
    source = GOLDEN / f"{model}.onnx"
    onnx_amp().run("train-graph", source, "-o", target, "--loss", "loss", *options).expect_success()
    onnx.checker.check_model(target, full_check=True)
    return onnx.load(target)


def run(step: onnx.ModelProto, steps: int = STEPS) -> tuple[list[Arrays], Arrays]:
    """The outputs of each step, and the last state."""
    trainer = Trainer(step, optimize=False)
    batches = list(Digits.load().batches())[:steps]
    return [trainer.step(x, y) for x, y in batches], trainer.state


def assert_same_bits(one: Arrays, other: Arrays) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.tobytes() == other[name].tobytes(), name


def test_groups_schedule_and_averages(tmp_path: Path) -> None:
    """SGD without warm-up moves a parameter by rate, factor and schedule times the gradient."""
    common = ("--dtype", "none", "--optimizer", "sgd", "--lr", "0.5")
    plain, _ = run(train_graph(tmp_path, *common), 1)
    options = ("--group", "fc1.*:lr=0.5", "--schedule", "linear:total=2", "--ema", "0.5")
    outputs, state = run(train_graph(tmp_path, *common, *options), 2)
    initial = {
        t.name: onnx.numpy_helper.to_array(t)
        for t in onnx.load(GOLDEN / "mlp.onnx").graph.initializer
    }
    for name, factor in (("fc1.weight", 0.5), ("fc2.weight", 1.0)):
        moved = plain[0][f"{name}_next"] - initial[name]
        first = outputs[0][f"{name}_next"]
        # Of weights near 0.1 a unit in the last place is 1e-8.
        np.testing.assert_allclose(first - initial[name], factor * moved, rtol=1e-4, atol=2e-8)
        np.testing.assert_allclose(
            outputs[0][f"{name}.ema_next"], (initial[name] + first) / 2, rtol=1e-6, atol=1e-8
        )
    assert state["amp.step"] == 2


def test_rate_as_input(tmp_path: Path) -> None:
    step = train_graph(tmp_path, "--dtype", "none", "--schedule", "input", "--lr", "0.25")
    (rate,) = [tensor for tensor in step.graph.initializer if tensor.name == "amp.lr"]
    assert onnx.numpy_helper.to_array(rate) == 0.25
    trainer = Trainer(step)
    x, y = next(iter(Digits.load().batches()))
    before = trainer.state["fc1.weight"]
    trainer.step(x, y, **{"amp.lr": np.array(0.0)})
    assert trainer.state["fc1.weight"].tobytes() == before.tobytes()


def test_clipping_by_value(tmp_path: Path) -> None:
    options = ("--dtype", "none", "--optimizer", "sgd", "--lr", "1", "--clip-value", "1e-3")
    outputs, _ = run(train_graph(tmp_path, *options), 1)
    before = {
        t.name: onnx.numpy_helper.to_array(t)
        for t in onnx.load(GOLDEN / "mlp.onnx").graph.initializer
    }
    moved = np.abs(outputs[0]["fc2.weight_next"] - before["fc2.weight"])
    # Plus half a unit in the last place of a weight below 1, as the difference is rounded.
    assert 0.5e-3 < moved.max() <= 1e-3 + 6e-8


def test_accumulation_in_one_graph_and_two(tmp_path: Path) -> None:
    """Both make the same steps, to the bit."""
    options = ("--accumulate", "3", "--clip-norm", "1", "--counters")
    outputs, one = run(train_graph(tmp_path, *options), 6)
    second = tmp_path / "apply.onnx"
    first = train_graph(tmp_path, *options, "--apply-output", second)
    onnx.checker.check_model(second, full_check=True)
    state: Arrays = {}
    accumulate, apply = TrainingStep(first, state), TrainingStep(onnx.load(second), state)
    losses = []
    for i, (x, y) in enumerate(list(Digits.load().batches())[:6]):
        losses.append(accumulate.run({"x": x, "y": y})["loss"])
        if i % 3 == 2:
            apply.run({})
    assert [value["loss"].tobytes() for value in outputs] == [value.tobytes() for value in losses]
    assert state["amp.step"] == 2
    assert one.pop("amp.micro_step") == 0
    assert_same_bits(one, state)


@pytest.mark.parametrize("is_first", [True, False])
def test_two_graphs_or_none(is_first: bool, tmp_path: Path) -> None:
    """Where one of two files can't be written, the other is as it was."""
    first, second = tmp_path / "step.onnx", tmp_path / "apply.onnx"
    kept, refused = (second, first) if is_first else (first, second)
    kept.write_text("old")
    refused.mkdir()
    command = ("train-graph", GOLDEN / "mlp.onnx", "-o", first, "--loss", "loss")
    done = onnx_amp().run(*command, "--accumulate", "2", "--apply-output", second)
    done.expect_error(f"cannot write '{refused}'")
    assert kept.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {first.name, second.name}


def test_counters(tmp_path: Path) -> None:
    outputs, state = run(train_graph(tmp_path, "--counters"))
    assert state["amp.skipped_steps"] == sum(bool(each["amp.found_inf"]) for each in outputs)
    assert all(0 <= each["amp.zero_gradients"] < 1 for each in outputs)


def test_recomputation_changes_no_bit(tmp_path: Path) -> None:
    plain, _ = run(train_graph(tmp_path, "--dtype", "none", model="cnn"))
    again, _ = run(train_graph(tmp_path, "--dtype", "none", "--recompute", "auto", model="cnn"))
    for one, other in zip(plain, again, strict=True):
        assert_same_bits(one, other)


def test_recomputation_is_reported(tmp_path: Path) -> None:
    command = ("train-graph", GOLDEN / "cnn.onnx", "-o", tmp_path / "step.onnx", "--loss", "loss")
    done = onnx_amp().run(*command, "--recompute", "auto").expect_success()
    assert "peak of activations" in done.stdout.decode()


@pytest.mark.parametrize(
    "options", [(), ("--dtype", "none"), ("--accumulate", "2", "--ema", "0.9")]
)
def test_training_info(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The model in ONNX's form makes the steps of the flat one."""
    flat = Trainer(train_graph(tmp_path, *options))
    made = train_graph(tmp_path, *options, "--form", "training-info")
    assert len(made.training_info) == 1
    assert [node.op_type for node in made.graph.node] == [
        node.op_type for node in onnx.load(GOLDEN / "mlp.onnx").graph.node
    ]
    training = Training(made)
    for x, y in list(Digits.load().batches())[:STEPS]:
        outputs = training.step({"x": x, "y": y})[0]
        # The forward model has a loss of its own, which autocast did not touch.
        loss = outputs.get("loss_step", outputs["loss"])
        assert loss.tobytes() == flat.step(x, y)["loss"].tobytes()


def test_stochastic_rounding(tmp_path: Path) -> None:
    step = train_graph(tmp_path, "--dtype", "bf16", "--stochastic-rounding", "--seed", "7")
    kinds = {value.name: value.type.tensor_type.elem_type for value in step.graph.input}
    assert kinds["fc1.weight"] == onnx.TensorProto.BFLOAT16
    (seed,) = [tensor for tensor in step.graph.initializer if tensor.name == "amp.seed"]
    assert onnx.numpy_helper.to_array(seed) == 7


@pytest.mark.parametrize(("keep", "trains"), [("train", True), ("keep", False)])
def test_batch_normalization(tmp_path: Path, keep: str, trains: bool) -> None:
    """As the model has it, or as in training; statistics are never parameters."""
    model = onnx.load(GOLDEN / "cnn.onnx")
    outputs = [value for value in model.graph.output if not value.name.endswith(".out")]
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            for attribute in node.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
    source, target = tmp_path / "forward.onnx", tmp_path / "step.onnx"
    onnx.save(model, source)
    command = ("train-graph", source, "-o", target, "--loss", "loss", "--batch-norm", keep)
    onnx_amp().run(*command).expect_success()
    names = {value.name for value in onnx.load(target).graph.input}
    assert ("bn1.running_mean" in names) == trains
    assert "bn1.running_mean.exp_avg" not in names


@pytest.mark.parametrize("loss", ["cross-entropy", "mse"])
def test_running_statistics_are_no_logits(tmp_path: Path, loss: str) -> None:
    """A loss is built on the only output of floats, which statistics, new as outputs, are not."""
    model = onnx.load(GOLDEN / "cnn.onnx")
    kept = [value for value in model.graph.output if value.name == "logits"]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    (last,) = [node for node in model.graph.node if "loss" in node.output]
    model.graph.node.remove(last)
    source, target = tmp_path / "forward.onnx", tmp_path / "step.onnx"
    onnx.save(model, source)
    onnx_amp().run("train-graph", source, "-o", target, "--loss", loss).expect_success()
    names = [value.name for value in onnx.load(target).graph.output]
    assert "loss" in names
    assert "bn1.running_mean_next" in names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--stochastic-rounding",),
            "stochastic-rounding goes with bf16, but the low format is fp16",
        ),
        (("--apply-output", "y"), "--apply-output goes with --accumulate N, 2 or more"),
        (
            ("--accumulate", "2", "--apply-output", "-"),
            "--apply-output expects a file, but got '-'",
        ),
        (
            ("--accumulate", "2", "--apply-output="),
            "--apply-output expects a file",
        ),
        (
            ("--accumulate", "2", "--apply-output", "STEP"),
            "--apply-output expects another file than -o, but both are",
        ),
        (
            ("--accumulate", "2", "--apply-output", "y", "--form", "training-info"),
            "--apply-output goes with --form flat",
        ),
        (("--accumulate", "0"), "--accumulate expects a whole number of 1 or more, but got '0'"),
        (("--group", "fc1"), "group: expected REGEX:lr=FACTOR,decay=NUMBER, but got 'fc1'"),
        (("--group", "fc9:lr=1"), "group: no parameter has a name like 'fc9'"),
        (("--schedule", "cosin"), "no schedule is called 'cosin'; did you mean 'cosine'?"),
        (("--seed", "-1"), "--seed expects a number from 0 to 2^64 - 1, but got '-1'"),
        (("--ema", "1"), "ema expects a number from 0 to below 1, but got 1"),
        (("--clip-value", "inf"), "clip-value"),
        (("--recompute", "all"), "expects 'auto', 'budget=BYTES' or 'nodes=REGEX', but got 'all'"),
        (("--recompute=",), "--recompute expects auto, budget=BYTES or nodes=REGEX"),
        (("--dim", "N=3"), "--dim is for --recompute"),
        (("--recompute", "auto", "--dim", "N"), "--dim: expects a dimension as NAME=SIZE"),
        (("--batch-norm", "off"), "unknown value 'off' of --batch-norm, expected train or keep"),
        (("--dropout", "off"), "unknown value 'off' of --dropout, expected train or keep"),
        (("--form", "onnx"), "unknown value 'onnx' of --form, expected flat or training-info"),
    ],
)
def test_errors(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    target = tmp_path / "step.onnx"
    command = ["train-graph", GOLDEN / "mlp.onnx", "-o", target, "--loss", "loss"]
    given = [str(target) if option == "STEP" else option for option in options]
    # Whether groups have parameters is a matter of the model.
    code = 1 if message.startswith("group:") else 2
    onnx_amp().run(*command, *given).expect_error(message, code=code)
    assert not list(tmp_path.iterdir())
