"""`onnx-amp train-graph --loss cross-entropy`: which dimension classes are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from step_passes import TrainingStep
from tool import onnx_amp

MODEL = """<ir_version: 9, opset_import: ["" : 20]>
forward (float[{x}] x) => (float[{y}] logits)
<float[3,3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, float[3,{classes}] v = {{{values}}}>
{{ h = MatMul (x, w) logits = MatMul (h, v) }}"""
RNG = np.random.default_rng(4)


def write(folder: Path, x: str, y: str, classes: int = 5) -> Path:
    """Scores of `classes` classes, the last dimension."""
    values = ", ".join(f"{value:.3f}" for value in RNG.normal(size=3 * classes))
    source = folder / "model.onnxtxt"
    source.write_text(MODEL.format(x=x, y=y, classes=classes, values=values))
    return source


def train_graph(source: Path, folder: Path, *options: str) -> tuple[onnx.ModelProto, str]:
    target = folder / "step.onnx"
    command = ("train-graph", source, "-o", target, "--loss", "cross-entropy", "--dtype", "none")
    done = onnx_amp().run(*command, "--optimizer", "sgd", *options).expect_success()
    onnx.checker.check_model(target, full_check=True)
    return onnx.load(target), done.stdout.decode()


def labels_shape(step: onnx.ModelProto) -> list[str | int]:
    (labels,) = [value for value in step.graph.input if value.name == "labels"]
    return [size.dim_param or size.dim_value for size in labels.type.tensor_type.shape.dim]


def cross_entropy(scores: np.ndarray, labels: np.ndarray, axis: int) -> float:
    scores = np.moveaxis(scores.astype(np.float64), axis, -1)
    logp = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    taken = np.take_along_axis(logp, np.maximum(labels, 0)[..., None], -1)[..., 0]
    return float(-taken[labels >= 0].mean())


def check(step: onnx.ModelProto, shape: tuple[int, ...], axis: int) -> None:
    """The loss is PyTorch's, of scores with classes where it wants them; a step makes it smaller."""
    x = RNG.normal(size=(*shape, 3)).astype(np.float32) / 8
    sizes = [*shape, 5]
    classes = sizes.pop(axis)
    labels = RNG.integers(0, classes, sizes)
    labels.flat[1] = -100
    trainer = TrainingStep(step, {})
    outputs = trainer.run({"x": x, "labels": labels})
    assert outputs["logits"].shape == (*shape, 5)
    assert outputs["loss"] == pytest.approx(
        cross_entropy(outputs["logits"], labels, axis), rel=1e-5
    )
    assert trainer.run({"x": x, "labels": labels})["loss"] < outputs["loss"]


@pytest.mark.parametrize("axis", ["2", "-1"])
def test_classes_are_last(tmp_path: Path, axis: str) -> None:
    """As language models have them: no transpose is needed."""
    source = write(tmp_path, "N,4,3", "N,4,5")
    step, text = train_graph(source, tmp_path, "--class-axis", axis)
    assert labels_shape(step) == ["N", 4]
    assert "classes are" not in text
    assert "Transpose" not in {node.op_type for node in step.graph.node if "loss" in node.name}
    check(step, (2, 4), 2)


def test_the_only_size_that_is_known(tmp_path: Path) -> None:
    source = write(tmp_path, "N,T,3", "N,T,5")
    step, text = train_graph(source, tmp_path)
    assert labels_shape(step) == ["N", "T"]
    assert "classes are dimension 2 of 'logits', whose size alone is known" in text
    check(step, (2, 4), 2)
    step, text = train_graph(source, tmp_path, "--class-axis", "1")
    assert labels_shape(step) == ["N", 5]
    assert "classes are" not in text


def test_four_dimensions(tmp_path: Path) -> None:
    step, _ = train_graph(write(tmp_path, "N,H,W,3", "N,H,W,5"), tmp_path)
    assert labels_shape(step) == ["N", "H", "W"]
    check(step, (2, 3, 4), 3)
    source = write(tmp_path, "N,2,4,3", "N,2,4,5")
    step, text = train_graph(source, tmp_path)
    assert labels_shape(step) == ["N", 4, 5]
    assert "classes are" not in text  # images are PyTorch's
    for axis, shape in (("2", ["N", 2, 5]), ("0", [2, 4, 5])):
        step, _ = train_graph(source, tmp_path, "--class-axis", axis)
        assert labels_shape(step) == shape
        check(step, (3, 2, 4), int(axis))


def test_pytorchs_axis_is_said(tmp_path: Path) -> None:
    """With three dimensions of known sizes nothing tells classes from a sequence."""
    step, text = train_graph(write(tmp_path, "N,4,3", "N,4,5"), tmp_path)
    assert labels_shape(step) == ["N", 5]
    assert (
        "classes are dimension 1 of 'logits', as in PyTorch; where they are the last, say "
        "--class-axis 2"
    ) in text
    check(step, (2, 4), 1)


def test_two_dimensions(tmp_path: Path) -> None:
    source = write(tmp_path, "N,3", "N,5")
    step, text = train_graph(source, tmp_path)
    assert labels_shape(step) == ["N"]
    assert "classes are" not in text
    step, _ = train_graph(source, tmp_path, "--class-axis", "0")
    assert labels_shape(step) == [5]
    check(step, (4,), 0)


def test_half_precision(tmp_path: Path) -> None:
    """The loss stays float32."""
    source = write(tmp_path, "N,T,3", "N,T,5")
    target = tmp_path / "step.onnx"
    command = ("train-graph", source, "-o", target, "--loss", "cross-entropy")
    onnx_amp().run(*command).expect_success()
    onnx.checker.check_model(target, full_check=True)
    state: dict[str, np.ndarray] = {}
    batch = {"x": np.ones((2, 4, 3), np.float32) / 8, "labels": np.ones((2, 4), np.int64)}
    trainer = TrainingStep(onnx.load(target), state)
    assert trainer.run(batch)["loss"].dtype == np.float32
    assert state["amp.step"] == 1


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (("--class-axis", "last"), "class-axis expects a whole number, but got 'last'", 2),
        (
            ("--class-axis", "3"),
            "class-axis: 'logits' expects an axis from -3 to 2, but got 3",
            1,
        ),
        (
            ("--class-axis", "1", "--loss", "mse"),
            "class-axis: expects the loss cross-entropy, but got 'mse'",
            1,
        ),
    ],
)
def test_errors(tmp_path: Path, options: tuple[str, ...], message: str, code: int) -> None:
    source, target = write(tmp_path, "N,4,3", "N,4,5"), tmp_path / "step.onnx"
    loss = () if "--loss" in options else ("--loss", "cross-entropy")
    command = ("train-graph", source, "-o", target, *loss, *options)
    onnx_amp().run(*command).expect_error(message, code=code)
    assert not target.exists()
