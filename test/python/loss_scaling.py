"""Steps with loss scaling, written in the amp dialect and run by ONNX Runtime as standard ONNX."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from stateful import StatefulSession, checked, pipe
from tool import SOURCE_DIR

GOLDEN = SOURCE_DIR / "test" / "golden" / "scaler"
TRACES = SOURCE_DIR / "test" / "cases" / "scaler_traces.json"

#: Names and types of a value, as in `{"p": "tensor<4xf32>"}`.
Signature = Mapping[str, str]


def lower(
    inputs: Signature, body: str, outputs: Mapping[str, tuple[str, str]], opset: int = 13
) -> onnx.ModelProto:
    """The model of a main graph: `outputs` gives names to values and their types."""

    def named(names: Mapping[str, Any]) -> str:
        return "[" + ", ".join(f'{{name = "{name}"}}' for name in names) + "]"

    arguments = ", ".join(f"%{name}: {kind}" for name, kind in inputs.items())
    types = ", ".join(kind for _, kind in outputs.values())
    values = ", ".join(value for value, _ in outputs.values())
    text = f"""
      module attributes {{onnx.model = {{ir_version = 8 : i64,
          opset_import = [{{domain = "", version = {opset} : i64}}]}}}} {{
      func.func @main({arguments}) -> ({types}) attributes {{onnx.graph = {{
          name = "step", input = {named(inputs)}, output = {named(outputs)}}}}} {{
        {body}
        return {values} : {types}
      }}
      }}"""
    model = checked(
        pipe(
            text.encode(),
            ["amp-opt", "-", "--amp-to-onnx"],
            ["amp-translate", "--mlir-to-onnx", "-"],
        )
    )
    assert {entry.domain for entry in model.opset_import} == {""}
    return model


class Step(StatefulSession):
    """A session whose outputs that are named as state, with `_new` behind it, become state."""

    def __init__(self, model: onnx.ModelProto, state: Mapping[str, np.ndarray]) -> None:
        super().__init__(model, {name: f"{name}_new" for name in state}, dict(state))


def update_scale(
    found: str,
    mode: str = "torch",
    *,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    growth_interval: int = 2000,
    min_scale: float | None = None,
    max_scale: float | None = None,
) -> str:
    """An amp.update_scale of `%scale` and `%tracker`, to `%scale_new` and `%tracker_new`."""
    attributes = [
        f"growth_factor = {growth_factor!r} : f64",
        f"backoff_factor = {backoff_factor!r} : f64",
        f"growth_interval = {growth_interval} : i64",
    ]
    for name, bound in (("min_scale", min_scale), ("max_scale", max_scale)):
        if bound is not None:
            attributes.append(f"{name} = {np.float32(bound)!s} : f32")
    return (
        f"%scale_new, %tracker_new = amp.update_scale {mode} %scale, %tracker "
        f"after {found} {{{', '.join(attributes)}}}"
    )


SCALER_STATE = {"scale": "tensor<f32>", "tracker": "tensor<i32>"}
SCALER_OUTPUTS = {
    "scale_new": ("%scale_new", "tensor<f32>"),
    "tracker_new": ("%tracker_new", "tensor<i32>"),
}


def scaler_state(scale: float, tracker: int = 0) -> dict[str, np.ndarray]:
    """What a scaler begins with."""
    return {"scale": np.array(scale).astype(np.float32), "tracker": np.array(tracker, np.int32)}


def bits(array: Any) -> bytes:
    """What is compared bit for bit; NaNs are all alike."""
    array = np.asarray(array)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    return array.tobytes()


def number(value: Any) -> float:
    """A number of the golden files, which spell what is not finite."""
    return float(value)


def load(name: str) -> Any:
    """A file of the golden ones."""
    return json.loads((GOLDEN / name).read_text())
