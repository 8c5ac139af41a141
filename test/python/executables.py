"""Compiles models with onnx-amp and runs them with amp-run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from tool import build_dir

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BINARY_DIR = build_dir() / "bin"


class ExecutableError(Exception):
    """What one of the tools said."""


def call(*arguments: object) -> str:
    """Runs a tool; what it printed, or the error that it gave."""
    result = subprocess.run(
        [str(argument) for argument in arguments], capture_output=True, text=True, timeout=300
    )
    if result.returncode != 0:
        raise ExecutableError(result.stderr.strip() or f"exit code {result.returncode}")
    return result.stdout + result.stderr


def compile_model(
    model: onnx.ModelProto | Path, path: Path, options: Sequence[object] = ()
) -> Path:
    """An executable at `path` of a model or of a file with one."""
    source = model if isinstance(model, Path) else path.with_suffix(".onnx")
    if isinstance(model, onnx.ModelProto):
        source.write_bytes(model.SerializeToString())
    call(BINARY_DIR / "onnx-amp", "compile", source, "-o", path, "--quiet", *options)
    return path


def run_executable(
    path: Path, inputs: Mapping[str, np.ndarray], options: Sequence[object] = ()
) -> dict[str, np.ndarray]:
    """What a step gives, by name; bfloat16 as the bytes that amp-run writes."""
    arrays = path.with_suffix(".in.npz")
    results = path.with_suffix(".out.npz")
    stored: dict[str, Any] = {
        name: np.asarray(array).view("V2") if array.dtype == BFLOAT16 else array
        for name, array in inputs.items()
    }
    np.savez(arrays, **stored)
    call(BINARY_DIR / "amp-run", path, "--inputs", arrays, "--outputs", results, *options)
    with np.load(results) as file:
        return {name: file[name] for name in file.files}
