"""ONNX Runtime's LambOptimizer in ONNX's own operators, against the formulas of its kernel.

The operator has kernels for GPUs alone (orttraining/training_ops/cuda/optimizer/lamb.cu): what it gives cannot
be recorded here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from ort_training import session, state_pairs
from tool import onnx_amp

SHAPES = [(3, 4), (5,), (2, 1)]
RNG = np.random.default_rng(8)


def values(scale: float = 1.0) -> list[np.ndarray]:
    return [(RNG.normal(size=shape) * scale).astype(np.float32) for shape in SHAPES]


@dataclass
class Lamb:
    """One step of all parameters, in float64."""

    attributes: dict[str, Any] = field(default_factory=dict)
    signal: bool | None = None
    scale: float | None = None
    norm: float | None = None
    step: int | None = None
    narrow: bool = False
    weights: list[np.ndarray] = field(default_factory=values)
    gradients: list[np.ndarray] = field(default_factory=values)
    first: list[np.ndarray] = field(default_factory=lambda: values(0.1))
    second: list[np.ndarray] = field(default_factory=lambda: [np.abs(v) for v in values(0.1)])

    def setting(self, name: str, group: int, missing: float) -> float:
        return float(np.float32(self.attributes.get(name, [missing] * 9)[group]))

    def expected(self, group: int) -> list[np.ndarray]:
        """Weight, gradient and moments afterwards."""
        w, g, m1, m2 = (
            each[group].astype(np.float64)
            for each in (self.weights, self.gradients, self.first, self.second)
        )
        if self.signal is False:
            return [w, g, m1, m2]
        divisor = self.scale or 1.0
        most = self.setting("max_norm_clip", group, 1)
        if self.norm is not None and self.norm > divisor * most:
            divisor = self.norm / most
        g = g / divisor
        alpha, beta = self.setting("alpha", group, 0.9), self.setting("beta", group, 0.999)
        new1 = alpha * m1 + (1 - alpha) * g
        new2 = beta * m2 + (1 - beta) * g * g
        correct = self.attributes.get("do_bias_correction", 1) and (self.step or 0) > 0
        step = self.step or 0
        root = np.sqrt(new2 / (1 - beta**step if correct else 1))
        mean = new1 / (1 - alpha**step if correct else 1)
        direction = self.setting("lambda", group, 0) * w + mean / (
            root + self.setting("epsilon", group, 1e-6)
        )
        moves = np.isfinite(direction)
        new1, new2 = np.where(moves, new1, m1), np.where(moves, new2, m2)
        direction = np.where(moves, direction, 0)
        sizes, squares = np.sum(w * w), np.sum(direction * direction)
        ratio = 1.0
        if sizes and squares:
            ratio = np.sqrt(sizes / squares)
            ratio = min(self.attributes.get("ratio_max", np.inf), ratio)
            ratio = max(self.attributes.get("ratio_min", -np.inf), ratio)
        delta = -0.01 * ratio * direction
        return [w + delta, delta, new1, new2]

    def model(self) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        feeds: dict[str, np.ndarray] = {"rate": np.array([0.01], np.float32)}
        names = ["", "", "", "rate", ""]
        for i, (name, value) in enumerate(
            [("signal", self.signal), ("scale", self.scale), ("norm", self.norm)]
        ):
            if value is not None:
                names[i] = name
                feeds[name] = np.array([value], bool if name == "signal" else np.float32)
        gives = [""]
        if self.step is not None:
            names[4], gives[0] = "step", "step_next"
            feeds["step"] = np.array([self.step])
        for group in range(len(SHAPES)):
            for kind, arrays in (
                ("w", self.weights),
                ("g", self.gradients),
                ("m", self.first),
                ("v", self.second),
            ):
                names.append(f"{kind}{group}")
                gives.append(f"{kind}{group}_next")
                narrow = self.narrow and kind in "gmv"
                feeds[names[-1]] = arrays[group].astype(np.float16 if narrow else np.float32)
            names.append(f"h{group}" if self.narrow else "")
            gives.append(f"h{group}_next" if self.narrow else "")
            if self.narrow:
                feeds[f"h{group}"] = self.weights[group].astype(np.float16)
        node = helper.make_node(
            "LambOptimizer", names, gives, "lamb", domain="com.microsoft", **self.attributes
        )
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in feeds.items()
        ]
        outputs = []
        for name in gives:
            if name:
                like = feeds[name.removesuffix("_next")]
                element = helper.np_dtype_to_tensor_dtype(like.dtype)
                outputs.append(helper.make_tensor_value_info(name, element, like.shape))
        graph = helper.make_graph([node], "lamb", inputs, outputs)
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8), feeds


def run(case: Lamb, folder: Path) -> dict[str, np.ndarray]:
    source, target = folder / "lamb.onnx", folder / "lowered.onnx"
    model, feeds = case.model()
    onnx.save(model, source)
    onnx_amp().convert(source, target, "--dtype", "none", "--lower-ort")
    result = onnx.load(target)
    onnx.checker.check_model(result, full_check=True)
    assert {node.domain for node in result.graph.node} == {""}
    wanted = {value.name for value in result.graph.input}
    runtime = session(result)
    names = [output.name for output in runtime.get_outputs()]
    outputs = runtime.run(None, {name: value for name, value in feeds.items() if name in wanted})
    return dict(zip(names, outputs, strict=True))


def lists(**settings: float | list[float]) -> dict[str, Any]:
    return {k: v if isinstance(v, list) else [v] * len(SHAPES) for k, v in settings.items()}


CASES = {
    "plain": Lamb(step=3),
    "first": Lamb(step=1, attributes=lists(**{"lambda": 0.1})),
    "uncorrected": Lamb(step=3, attributes={"do_bias_correction": 0}),
    "no step": Lamb(),
    "scaled": Lamb(step=2, scale=1024.0),
    "clipped": Lamb(step=2, scale=8.0, norm=100.0),
    "within": Lamb(step=2, scale=8.0, norm=7.0),
    "bounded": Lamb(step=2, attributes={"ratio_min": 0.5, "ratio_max": 0.6}),
    "taken": Lamb(step=2, signal=True),
    "skipped": Lamb(step=2, signal=False),
    "each": Lamb(
        step=4,
        norm=50.0,
        attributes=lists(
            alpha=[0.5, 0.9, 0.8],
            beta=[0.9, 0.99, 0.5],
            epsilon=[1e-3, 1e-6, 1e-2],
            max_norm_clip=[1.0, 2.0, 100.0],
            **{"lambda": [0.0, 0.1, 0.2]},
        ),
    ),
    "no weight": Lamb(step=2, weights=[np.zeros(shape, np.float32) for shape in SHAPES]),
}


@pytest.mark.parametrize("name", CASES)
def test_formulas(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found = run(case, tmp_path)
    for group in range(len(SHAPES)):
        for kind, want in zip("wgmv", case.expected(group), strict=True):
            have = found[f"{kind}{group}_next"]
            np.testing.assert_allclose(have, want, rtol=2e-5, atol=1e-6 * np.abs(want).max())
    if case.step is not None:
        assert found["step_next"] == case.step + (case.signal is not False)


def test_an_element_that_is_not_finite_stays(tmp_path: Path) -> None:
    case = Lamb(step=2)
    case.gradients[0][0, 0] = np.inf
    found = run(case, tmp_path)
    assert found["w0_next"][0, 0] == case.weights[0][0, 0]
    assert found["m0_next"][0, 0] == case.first[0][0, 0]
    assert found["v0_next"][0, 0] == case.second[0][0, 0]
    assert found["g0_next"][0, 0] == 0
    assert np.all(found["w0_next"].ravel()[1:] != case.weights[0].ravel()[1:])


def test_half_precision_beside_masters(tmp_path: Path) -> None:
    case = Lamb(step=2, narrow=True)
    found = run(case, tmp_path)
    for group in range(len(SHAPES)):
        weight, _, first, _ = case.expected(group)
        assert found[f"w{group}_next"].dtype == np.float32
        np.testing.assert_allclose(found[f"w{group}_next"], weight, rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(found[f"m{group}_next"], first, rtol=3e-3, atol=1e-4)
        half = found[f"h{group}_next"]
        assert half.tobytes() == found[f"w{group}_next"].astype(np.float16).tobytes()


@pytest.mark.parametrize(
    ("position", "message"),
    [(3, "it has no learning rate"), (6, "parameter 0 has no gradient or moments")],
)
def test_errors(position: int, message: str, tmp_path: Path) -> None:
    model, _ = Lamb(step=1).model()
    model.graph.node[0].input[position] = ""
    source, target = tmp_path / "lamb.onnx", tmp_path / "lowered.onnx"
    onnx.save(model, source)
    command = ("convert", source, "-o", target, "--dtype", "none", "--lower-ort")
    onnx_amp().run(*command).expect_error("'lamb'", message)
    assert not target.exists()


def test_types_and_pairs(tmp_path: Path) -> None:
    """What comes out is declared as it was, and paired with what it is the next value of."""
    model, _ = Lamb(step=1).model()
    source, target = tmp_path / "lamb.onnx", tmp_path / "lowered.onnx"
    onnx.save(model, source)
    onnx_amp().convert(source, target, "--dtype", "none", "--lower-ort")
    kinds = {value.name: value.type.tensor_type for value in onnx.load(target).graph.output}
    assert kinds["w0_next"].elem_type == TensorProto.FLOAT
    assert [size.dim_value for size in kinds["w0_next"].shape.dim] == [3, 4]
    pairs = state_pairs(onnx.load(target))
    assert pairs.pop("step") == "step_next"
    assert pairs == {f"{kind}{i}": f"{kind}{i}_next" for kind in "wmv" for i in range(3)}
