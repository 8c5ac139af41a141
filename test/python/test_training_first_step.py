"""Gradients of the first step are PyTorch's, within three times what its own formats are off float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from running import run_in_onnxruntime, run_strictly
from tool import amp_opt, amp_translate
from training import GOLDEN, MODELS, RECORDS, Digits, golden_model

#: Of the gradient, in parts of its largest element: float32's, by the README of the golden data.
FLOAT32 = 2e-5
SPREADS = 3
FIRST_SCALE = 65536.0


def gradients(model: str, low: str, scale: float, folder: Path) -> dict[str, np.ndarray]:
    """Of all parameters, for the first batch; with the loss."""
    forward = golden_model(model, low)
    parameters = [tensor.name for tensor in forward.graph.initializer]
    forward.graph.input.append(helper.make_tensor_value_info("seed", TensorProto.FLOAT, []))
    source, target = folder / "forward.onnx", folder / "gradient.onnx"
    onnx.save(forward, source)
    passes = ["--onnx-infer-types"]
    if low == "bf16":
        passes += ["--onnx-raise-opset=low=bf16 policy=training preferred-opset=22"]
    passes += ["--amp-make-parameters=loss=loss"]
    if low:
        autocast = f"--amp-autocast=policy=training low={low} placement=eager"
        passes += [autocast, "--amp-to-onnx", "--onnx-merge-casts"]
    passes += ["--amp-differentiate=loss=loss seed=seed", "--onnx-infer-types"]
    text, changed = folder / "forward.mlir", folder / "gradient.mlir"
    amp_translate().run("--onnx-to-mlir", source, "-o", text).expect_success()
    amp_opt().run(*passes, text, "-o", changed).expect_success()
    amp_translate().run("--mlir-to-onnx", changed, "-o", target).expect_success()
    x, y = next(Digits.load().batches())
    feeds = {"x": x, "y": y, "seed": np.array(scale, np.float32)}
    if low == "bf16":
        result = onnx.load(target)
        initial = {one.name: numpy_helper.to_array(one) for one in result.graph.initializer}
        given = {value.name for value in result.graph.input}
        outputs, _ = run_strictly(
            result, {**{n: a for n, a in initial.items() if n in given}, **feeds}
        )
    else:
        outputs = run_in_onnxruntime(target, feeds)
    named = {name: outputs[f"{name}_grad"] for name in parameters if f"{name}_grad" in outputs}
    return {name: array.astype(np.float64) / scale for name, array in named.items()} | {
        "loss": outputs["loss"].astype(np.float64)
    }


def null_elements(model: str, name: str, size: tuple[int, ...]) -> np.ndarray:
    """Where the exact gradient is zero, and what comes out is rounding alone."""
    mask = np.zeros(size, bool)
    for entry in RECORDS["null_gradient_elements"].get(model, []):
        base, _, part = entry.partition("[")
        if base == name:
            mask[slice(*map(int, part.rstrip("]").split(":"))) if part else ...] = True
    return mask


@pytest.mark.parametrize("low", ["", "fp16", "bf16"])
@pytest.mark.parametrize("model", MODELS)
def test_first_step(model: str, low: str, tmp_path: Path) -> None:
    found = gradients(model, low, FIRST_SCALE if low == "fp16" else 1.0, tmp_path)
    spread = RECORDS["first_step"][model][low or "fp32"]
    with np.load(GOLDEN / f"{model}_grad64.npz") as file:
        expected = {name[5:]: file[name] for name in file if name.startswith("grad/")}
        loss = float(file["loss"])
    assert set(found) == {*expected, "loss"}
    assert abs(found["loss"] - loss) <= (SPREADS * spread["loss_abs"] if low else 1e-6)
    limit = SPREADS * spread["worst_max_rel"] if low else FLOAT32
    for name, gradient in expected.items():
        kept = ~null_elements(model, name, gradient.shape)
        if kept.any():
            error = np.abs(found[name] - gradient)[kept].max() / np.abs(gradient[kept]).max()
            assert error <= limit, (name, error)
