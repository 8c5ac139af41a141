"""ONNX Runtime's training model and its optimizer model, joined to one step.

`onnx-amp convert TRAIN --optimizer-model OPT --lower-ort`: the steps lose what ONNX Runtime's training API
loses with the two models.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ort_training import ARTIFACTS, RECORDS, Checkpoint, batches, state_pairs
from running import run_strictly
from step_passes import TrainingStep
from test_ort_training import FLOAT16, FLOAT32, LARGE, artifacts, make_trainer
from tool import is_full, onnx_amp

Arrays = dict[str, np.ndarray]


def join(folder: Path, model: str, optimizer: str, *options: str) -> onnx.ModelProto:
    training, update = artifacts(model, optimizer)
    target = folder / "step.onnx"
    onnx_amp().convert(training, target, "--lower-ort", "--optimizer-model", update, *options)
    onnx.checker.check_model(target, full_check=True)
    step = onnx.load(target)
    assert {node.domain for node in step.graph.node} == {""}
    assert not {"Loop", "SequenceConstruct", "SequenceAt"} & {n.op_type for n in step.graph.node}
    return step


class Steps:
    """Feeds a step with batches, its state, and the checkpoint's weights."""

    def __init__(
        self, step: onnx.ModelProto, model: str, optimizer: str, strictly: bool = False
    ) -> None:
        weights = Checkpoint(ARTIFACTS / model / "checkpoint")
        self.state: Arrays = {**weights.trained}
        self.fixed: Arrays = {**weights.frozen}
        rate = RECORDS[f"{model}/{optimizer}"]["lr"]
        self.fixed["learning_rate"] = np.array([rate], np.float32)
        self.step = None if strictly else TrainingStep(step, self.state)
        self.strict = step if strictly else None
        if strictly:
            for tensor in step.graph.initializer:
                self.state.setdefault(tensor.name, onnx.numpy_helper.to_array(tensor))
        self.pairs = state_pairs(step)
        self.inputs = {value.name for value in step.graph.input}

    def run(self, x: np.ndarray, labels: np.ndarray) -> Arrays:
        batch = {"x": x, "labels": labels, **self.fixed}
        batch = {name: value for name, value in batch.items() if name in self.inputs}
        if self.step:
            return self.step.run(batch)
        state = {name: value for name, value in self.state.items() if name in self.inputs}
        outputs: Arrays = run_strictly(self.strict, {**batch, **state})[0]
        self.state.update({name: outputs[output] for name, output in self.pairs.items()})
        return outputs


def losses_of(steps: Steps, step: onnx.ModelProto, model: str) -> np.ndarray:
    first = step.graph.output[0].name
    return np.array([float(steps.run(x, labels)[first]) for x, labels in batches(model)])


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("model", ["mlp", "cnn", "gpt_op16"])
def test_steps_follow_onnx_runtime(
    tmp_path: Path, pytestconfig: pytest.Config, model: str, optimizer: str
) -> None:
    if model == "gpt_op16" and optimizer == "sgd" and not is_full(pytestconfig):
        pytest.skip("with --full")
    step = join(tmp_path, model, optimizer, "--dtype", "none")
    steps = Steps(step, model, optimizer)
    losses = losses_of(steps, step, model)
    assert np.abs(losses - RECORDS[f"{model}/{optimizer}"]["losses"]).max() <= FLOAT32
    if optimizer == "adamw":
        assert steps.state["step"] == len(losses) + 1


def test_the_interface(tmp_path: Path) -> None:
    """The batch, parameters, moments and the count; buffers and flags of accumulation are gone."""
    step = join(tmp_path, "mlp", "adamw", "--dtype", "none")
    inputs = [value.name for value in step.graph.input]
    weights = list(Checkpoint(ARTIFACTS / "mlp" / "checkpoint").trained)
    moments = ["first_order_moment", "second_order_moment"]
    assert inputs[:2] == ["x", "labels"]
    kept = [f"{weight}.{moment}" for moment in moments for weight in sorted(weights)]
    assert sorted(inputs[2:]) == sorted([*weights, *kept, "learning_rate", "step"])
    pairs = state_pairs(step)
    assert set(pairs) == {*weights, *kept, "step"}
    assert all(output == f"{name}_next" for name, output in pairs.items())
    # Parameters have no default: they are in the checkpoint.
    assert {tensor.name for tensor in step.graph.initializer if tensor.name in inputs} == {
        *kept,
        "step",
    }
    assert not any("accumulation" in value.name for value in step.graph.output)


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_float16_with_a_scale(tmp_path: Path, model: str) -> None:
    step = join(tmp_path, model, "adamw", "--policy", "training", "--loss-scale", "dynamic")
    steps = Steps(step, model, "adamw", strictly=True)
    assert steps.state["loss_scale"] == 65536
    steps.state["loss_scale"] = np.array(1024, np.float32)
    losses = losses_of(steps, step, model)
    assert np.abs(losses - RECORDS[f"{model}/adamw"]["losses"]).max() <= FLOAT16[model]
    assert steps.state["step"] == len(losses) + 1
    assert steps.state["amp.growth_tracker"] == len(losses)


@pytest.mark.parametrize("placement", ["eager", "optimal"])
def test_an_overflow_changes_nothing_but_the_scale(tmp_path: Path, placement: str) -> None:
    options = ("--policy", "training", "--loss-scale", "dynamic", "--placement", placement)
    step = join(tmp_path, "mlp", "adamw", *options)
    steps = Steps(step, "mlp", "adamw", strictly=True)
    x, labels = next(batches("mlp"))
    steps.state["loss_scale"] = np.array(LARGE, np.float32)
    before = dict(steps.state)
    assert steps.run(x, labels)["amp.found_inf"]
    for name, value in steps.state.items():
        if name == "loss_scale":
            assert value == LARGE / 2
        else:
            assert value.tobytes() == before[name].tobytes(), name
    steps.state["loss_scale"] = np.array(1024, np.float32)
    assert not steps.run(x, labels)["amp.found_inf"]
    assert steps.state["step"] == 2


def test_a_static_scale(tmp_path: Path) -> None:
    """Powers of two round nothing in float32."""
    plain = join(tmp_path, "mlp", "sgd", "--dtype", "none")
    scaled = join(tmp_path, "mlp", "sgd", "--dtype", "none", "--loss-scale", "static=1024")
    assert [v.name for v in scaled.graph.input] == [v.name for v in plain.graph.input]
    found = [losses_of(Steps(step, "mlp", "sgd"), step, "mlp") for step in (plain, scaled)]
    assert np.array_equal(found[0], found[1])


def test_clipping(tmp_path: Path) -> None:
    """An optimizer model that clips gradients does so in a step."""
    training, update = artifacts("mlp", "sgd")
    model = onnx.load(update)
    (node,) = model.graph.node
    clipped = "clipped"
    clip = onnx.helper.make_node(
        "InplaceClipGradNorm",
        ["gradients"],
        [clipped],
        "clip",
        domain="com.microsoft",
        max_norm=1e-3,
    )
    node.input[list(node.input).index("gradients")] = clipped
    model.graph.node.insert(0, clip)
    changed, target = tmp_path / "clipping.onnx", tmp_path / "step.onnx"
    onnx.save(model, changed)
    options = ("--lower-ort", "--optimizer-model", changed, "--dtype", "none")
    onnx_amp().convert(training, target, *options)
    step = onnx.load(target)
    steps = Steps(step, "mlp", "sgd")
    before = dict(steps.state)
    steps.run(*next(batches("mlp")))
    weights = Checkpoint(ARTIFACTS / "mlp" / "checkpoint").trained
    moved = [steps.state[name].astype(np.float64) - before[name] for name in weights]
    norm = np.sqrt(sum(np.sum(each**2) for each in moved))
    rate = RECORDS["mlp/sgd"]["lr"]
    assert norm == pytest.approx(rate * 1e-3, rel=1e-3)


def test_micro_batches_have_scales_of_their_own(tmp_path: Path) -> None:
    """Apart, models accumulate what is unscaled: the scale may change in between."""
    x, labels = next(batches("mlp"))
    found = []
    for options in ((), ("--loss-scale", "dynamic")):
        folder = tmp_path / str(len(options))
        folder.mkdir()
        scale = 4096.0 if options else None
        trainer = make_trainer(
            onnx_amp(), folder, "mlp", "sgd", "--dtype", "none", *options, scale=scale
        )
        trainer.accumulate(x[:32], labels[:32])
        if options:
            trainer.scaler["loss_scale"] = np.array(16, np.float32)
        trainer.accumulate(x[32:], labels[32:], restart=False)
        found.append(trainer.buffers)
    assert all(np.array_equal(value, found[1][name]) for name, value in found[0].items())


def test_errors(tmp_path: Path) -> None:
    training, update = artifacts("mlp", "adamw")
    target = tmp_path / "step.onnx"

    def fails(message: str, source: Path, *options: Any, code: int = 1) -> None:
        onnx_amp().run("convert", source, "-o", target, *options).expect_error(message, code=code)
        assert not target.exists()

    joined = ("--lower-ort", "--optimizer-model")
    fails(
        "--optimizer-model goes with --lower-ort",
        training,
        "--optimizer-model",
        update,
        code=2,
    )
    fails("--optimizer-model expects a file", training, "--lower-ort", "--optimizer-model=", code=2)
    fails("no such file", training, *joined, tmp_path / "nowhere.onnx")
    fails("has no InPlaceAccumulatorV2", update, *joined, update)
    fails("but has no sequence 'params'", training, *joined, training)
    renamed = onnx.load(training)
    for value in renamed.graph.input:
        value.name = value.name.replace(".accumulation.buffer", ".buffer")
    for node in renamed.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = name.replace(".accumulation.buffer", ".buffer")
    changed = tmp_path / "renamed.onnx"
    onnx.save(renamed, changed)
    fails(
        "expects a buffer 'X_grad.accumulation.buffer' for an input 'X'", changed, *joined, update
    )
    taken = onnx.load(training)
    for value in taken.graph.input:
        value.name = "step" if value.name == "labels" else value.name
    for node in taken.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = "step" if name == "labels" else name
    onnx.save(taken, changed)
    fails(
        "has an input 'step', as a value of the training model is named", changed, *joined, update
    )
    whole = onnx.load(update)
    function = onnx.helper.make_function(
        "my", "f", ["a"], ["b"], [onnx.helper.make_node("Abs", ["a"], ["b"])], whole.opset_import
    )
    whole.functions.append(function)
    whole.opset_import.append(onnx.helper.make_opsetid("my", 1))
    onnx.save(whole, changed)
    fails("expects ONNX Runtime's optimizer model, but has functions", training, *joined, changed)
    open_shapes = onnx.load(training)
    for value in open_shapes.graph.input:
        if value.name == "a.weight":
            value.type.tensor_type.shape.dim[0].Clear()
    onnx.save(open_shapes, changed)
    fails("parameter 'a.weight' expects float32 and a static shape", changed, *joined, update)
