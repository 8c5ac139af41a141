"""Gradients of real models: a step against them makes the loss smaller by as much as they say.

The loss is the mean of the squares of a model's float outputs. The slope of the loss along a random
direction of all weights together is the difference of two runs, and the sum of gradient times
direction. Without AMP_CORPUS these are the small models of test/models; with it, and `--full`, all.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import corpus
import numpy as np
import onnx
import pytest
from corpus import CorpusModel
from onnx import TensorProto, helper, numpy_helper
from running import run_in_onnxruntime
from tool import SOURCE_DIR, is_full, onnx_amp

#: Weights with fewer elements are constants of formulas as often as parameters.
LEAST_ELEMENTS = 8
#: Differences of float32 runs have errors of some 1e-6 of the loss, and steps have a curvature.
TOLERANCE = 2e-2
BIGGEST = 200 << 20

#: Models that cannot be differentiated, and what is said of them.
REFUSED = {
    "ddddocr_common": "the shape that the model declares of '387' is wrong",
    "ddddocr_old_int8dyn": "the shape that the model declares of '387' is wrong",
}

#: Weights on which it depends which experts are taken: the loss has steps there.
ROUTING = {"moe_tiny_dynamo18": {"n.weight", "n.bias", "val_2"}}


def selected(full: bool) -> list[CorpusModel]:
    """The models of the tier."""
    models = {model.name: model for model in corpus.models_in(SOURCE_DIR / "test" / "models")}
    if full and os.environ.get("AMP_CORPUS"):
        models |= {model.name: model for model in corpus.all_models()}
    return [model for model in models.values() if model.path.stat().st_size <= BIGGEST]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per model."""
    if "corpus_model" in metafunc.fixturenames:
        models = selected(is_full(metafunc.config))
        metafunc.parametrize("corpus_model", models, ids=lambda model: model.name)


def with_loss(model: onnx.ModelProto) -> None:
    """Adds `amp_loss`, the mean of the squares of the float outputs."""
    parts: list[str] = []
    for output in list(model.graph.output):
        if output.type.tensor_type.elem_type == TensorProto.FLOAT:
            name = f"amp_loss_{len(parts)}"
            model.graph.node.append(helper.make_node("Mul", [output.name] * 2, [f"{name}_square"]))
            model.graph.node.append(
                helper.make_node("ReduceMean", [f"{name}_square"], [name], keepdims=0)
            )
            parts.append(name)
    model.graph.node.append(helper.make_node("Sum", parts, ["amp_loss"]))
    model.graph.output.append(helper.make_tensor_value_info("amp_loss", TensorProto.FLOAT, []))


def weights_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The float initializers that may be parameters."""
    return {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.FLOAT
        and int(np.prod(tensor.dims, dtype=np.int64)) >= LEAST_ELEMENTS
    }


def moved(
    model: onnx.ModelProto, weights: dict[str, np.ndarray], step: dict[str, np.ndarray], size: float
) -> onnx.ModelProto:
    """The model with weights moved along a direction."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    for tensor in other.graph.initializer:
        if tensor.name in step:
            array = (weights[tensor.name] + size * step[tensor.name]).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return other


def loss_of(model: onnx.ModelProto, inputs: dict[str, np.ndarray], path: Path) -> float:
    onnx.save(model, path)
    return float(run_in_onnxruntime(path, inputs)["amp_loss"])


def differentiate(
    model: onnx.ModelProto, weights: dict[str, np.ndarray], target: Path
) -> str | None:
    """Writes the model with the gradients of weights, or says why it can't be; takes away weights
    that the loss does not depend on."""
    source = target.with_name("forward.onnx")
    onnx.save(model, source)
    while weights:
        command = [onnx_amp().path, "differentiate", source, "-o", target, "--quiet"]
        names = [f"--wrt={name}" for name in sorted(weights)]
        done = subprocess.run(
            [*command, "--loss=amp_loss", *names], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return None
        message = done.stderr.strip()
        without = re.search(r"no differentiable path leads from '(.*?)' to the loss", message)
        if not without:
            return message
        del weights[without[1]]
    return "no weight has a gradient"


def test_slope(corpus_model: CorpusModel, tmp_path: Path) -> None:
    model = onnx.load(corpus_model.path)
    inputs = corpus.load_inputs(corpus_model)
    with_loss(model)
    weights = weights_of(model)
    for name in ROUTING.get(corpus_model.name, set()):
        del weights[name]
    if not weights:
        pytest.skip("no weights")
    result = tmp_path / "gradient.onnx"
    message = differentiate(model, weights, result)
    if message:
        refused = REFUSED.get(corpus_model.name)
        assert refused and refused in message, message
        return
    outputs = run_in_onnxruntime(result, inputs)
    gradients = {name: outputs[f"{name}_grad"] for name in weights}
    rng = np.random.default_rng(0)
    # Along the gradient, which noise hides least, and a bit beside it.
    direction = {}
    for name, gradient in gradients.items():
        assert np.isfinite(gradient).all(), name
        noise = rng.normal(size=gradient.shape) * (np.std(gradient) + 1e-12)
        direction[name] = gradient + 0.5 * noise
    slope = sum(float(np.sum(gradients[n].astype(np.float64) * direction[n])) for n in weights)
    length = np.sqrt(sum(float(np.sum(d.astype(np.float64) ** 2)) for d in direction.values()))
    loss = float(outputs["amp_loss"])
    if not slope or not loss:
        assert slope == 0
        return
    found = []
    for part in (1e-2, 3e-3, 1e-3):
        size = part * abs(loss) / abs(slope)  # changes the loss by this part, nearly
        low, high = (
            loss_of(moved(model, weights, direction, sign * size), inputs, tmp_path / "moved.onnx")
            for sign in (-1, 1)
        )
        found.append((high - low) / (2 * size))
    errors = [abs(each - slope) / abs(slope) for each in found]
    assert min(errors) < TOLERANCE, (slope, found, length)
