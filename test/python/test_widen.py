"""onnx-widen in ONNX Runtime gives, to the bit, what the node-by-node emulation of cases/emu.py gives.

The emulation is an independent oracle: it rounds every low tensor itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from emu import Emu, quiet_cast
from tool import SOURCE_DIR, amp_opt, amp_translate, onnx_amp

CASES = SOURCE_DIR / "test" / "cases"
RECORDS = {
    record["name"]: record
    for record in json.loads((CASES / "cases.json").read_text())["cases"]
    if not record["runtime"] and not record["large"]
}


def widen(source: Path, target: Path) -> None:
    text, wide = target.with_suffix(".mlir"), target.with_suffix(".wide.mlir")
    amp_translate().run("--onnx-to-mlir", source, "-o", text).expect_success()
    amp_opt().run("--onnx-infer-types", "--onnx-widen=interface", text, "-o", wide).expect_success()
    amp_translate().run("--mlir-to-onnx", wide, "-o", target).expect_success()


def run_plainly(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, Any]:
    """Runs a model without optimisations, with 16-bit inputs as float32."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {
        value.name: inputs[value.name].astype(np.float32)
        if value.type == "tensor(float)"
        else inputs[value.name]
        for value in session.get_inputs()
        if value.name in inputs
    }
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


def assert_same(expected: Any, found: Any) -> None:
    if isinstance(expected, list):
        for one, other in zip(expected, found, strict=True):
            assert_same(one, other)
    elif expected.dtype.kind in "OSU":
        np.testing.assert_array_equal(expected, found)
    else:
        np.testing.assert_array_equal(expected.astype(np.float64), found.astype(np.float64))


# By turns: what differs is the Cast alone.
CASES_TO_RUN = [(name, ("fp16", "bf16")[index % 2]) for index, name in enumerate(RECORDS)]


@pytest.mark.parametrize(("name", "dtype"), CASES_TO_RUN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_widened_is_emulated(name: str, dtype: str, tmp_path: Path) -> None:
    record = RECORDS[name]
    low = tmp_path / "low.onnx"
    converted = onnx_amp().run(
        "convert",
        CASES / record["file"],
        "-o",
        low,
        "--dtype",
        dtype,
        "--no-keep-io-types",
        "--quiet",
    )
    if converted.returncode:
        assert "does not admit type" in converted.stderr, converted.stderr
        pytest.skip("bfloat16 inputs are not to be had at this opset")
    model = onnx.load(low)
    inputs = dict(np.load(CASES / record["inputs"]))
    for value in model.graph.input:
        element = value.type.tensor_type.elem_type
        if value.name in inputs and element:
            inputs[value.name] = quiet_cast(
                inputs[value.name], onnx.helper.tensor_dtype_to_np_dtype(element)
            )
    expected = Emu(model).run(inputs)
    widen(low, tmp_path / "wide.onnx")
    found = run_plainly(tmp_path / "wide.onnx", inputs)
    assert set(found) == set(expected)
    for output in expected:
        assert_same(expected[output], found[output])
