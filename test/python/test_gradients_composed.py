"""Gradients of random graphs are the slopes of their losses, in float64.

For each input and weight the derivative along a random direction is compared with a central difference of ONNX
Runtime's own results. Where the slopes to both sides differ there is a kink, and nothing to compare.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from differentiable_graphs import Case, cases
from hypothesis import HealthCheck, assume, given, settings
from onnx import numpy_helper
from tool import is_full, onnx_amp

STEP = 1e-6
#: Of differences, in parts of the sizes of the losses and slopes that they are made of.
TOLERANCE = 1e-6


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def with_weights_as_inputs(case: Case) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The forward model with all that is differentiated as inputs; what it is fed."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    feeds = dict(case.feeds)
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        feeds[tensor.name] = array
        model.graph.input.append(
            onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, array.shape)
        )
    del model.graph.initializer[:]
    return model, feeds


def differentiate(case: Case, folder: Path) -> tuple[onnx.ModelProto, list[str]]:
    """The model with gradients, and the names of those that there are: a value from which no path leads to the loss has
    none."""
    source, target = folder / "forward.onnx", folder / "gradient.onnx"
    onnx.save(case.model, source)
    wrt = list(case.wrt)
    while wrt:
        names = [f"--wrt={name}" for name in wrt]
        result = onnx_amp().run("differentiate", source, "-o", target, "--loss=loss", *names)
        if result.returncode == 0:
            return onnx.load(target), wrt
        # What rules ask for where shapes are not declared.
        assume("where the rank of" not in result.stderr)
        missing = re.search(r"no differentiable path leads from '(.*?)' to the loss", result.stderr)
        assert missing, result.stderr
        wrt.remove(missing[1])
    assume(False)
    raise AssertionError


def check(case: Case) -> None:
    """Compares all gradients."""
    forward, feeds = with_weights_as_inputs(case)
    plain = session(forward)
    used = {value.name for value in plain.get_inputs()}

    def loss(values: dict[str, np.ndarray]) -> float:
        fed = {name: array for name, array in values.items() if name in used}
        return float(plain.run(["loss"], fed)[0])

    middle = loss(feeds)
    assume(np.isfinite(middle))
    with tempfile.TemporaryDirectory() as folder:
        result, wrt = differentiate(case, Path(folder))
    if all(value.type.tensor_type.HasField("shape") for value in result.graph.input):
        onnx.checker.check_model(result)  # which wants shapes
    backward = session(result)
    given = {value.name for value in backward.get_inputs()}
    outputs = backward.run(None, {name: a for name, a in case.feeds.items() if name in given})
    found = dict(zip([one.name for one in backward.get_outputs()], outputs, strict=True))
    assert abs(float(found["loss"]) - middle) <= 1e-9 * max(abs(middle), 1)
    random = np.random.default_rng(0)
    for name in wrt:
        gradient = found[f"{name}_grad"]
        assert gradient.shape == feeds[name].shape, name
        direction = random.normal(size=gradient.shape)
        low, high = (
            loss({**feeds, name: np.asarray(feeds[name] + sign * STEP * direction)})
            for sign in (-1, 1)
        )
        left, right = (middle - low) / STEP, (high - middle) / STEP
        expected, slope = (high - low) / (2 * STEP), float(np.sum(gradient * direction))
        size = max(abs(expected), abs(middle), 1.0)
        if abs(left - right) > 1e-3 * size:
            continue
        # What is curved is curved to both sides: its error is theirs, squared, as central differences have it.
        assert abs(slope - expected) <= (TOLERANCE + 0.1 * abs(left - right) / size) * size, (
            f"{name}: {slope}, expected {expected}"
        )


def test_composed_graphs(request: pytest.FixtureRequest) -> None:
    @settings(
        max_examples=2000 if is_full(request.config) else 60,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases())
    def run(case: Case) -> None:
        check(case)

    run()
