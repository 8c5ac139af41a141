"""Gradients of models by amp-differentiate, and what they should be.

    python gradients.py [NAME…]     the cases of test/golden/gradcheck, a line each

A case is a model of one node with float64 gradients of sum(output * cotangent), by PyTorch.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from running import run_in_onnxruntime
from tool import SOURCE_DIR, build_dir

GOLDEN = SOURCE_DIR / "test" / "golden" / "gradcheck"
#: Largest error against float64, in parts of the largest gradient: the worst of PyTorch's own
#: float32 gradients is 6.6e-7; ONNX Runtime adds up in another order.
TOLERANCE = 5e-6


@dataclass(frozen=True)
class Case:
    """A one-node model, what it is fed, and its gradients."""

    name: str
    op: str
    differentiated: list[str]
    cotangents: list[str]
    constant_inputs: list[str]
    opset: int

    @property
    def model(self) -> onnx.ModelProto:
        return onnx.load(GOLDEN / "cases" / f"{self.name}.onnx")

    def arrays(self) -> dict[str, np.ndarray]:
        with np.load(GOLDEN / "cases" / f"{self.name}.npz") as file:
            return dict(file)


def cases() -> list[Case]:
    """All of them."""
    records = json.loads((GOLDEN / "cases.json").read_text())["cases"]
    names = Case.__dataclass_fields__
    return [Case(**{key: record[key] for key in names}) for record in records]


def with_loss(case: Case, constants: bool = True) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The model with `loss`, the sum of its outputs times their cotangents, and its inputs. Inputs
    that are called constant are initializers, or stay inputs."""
    model, arrays = case.model, case.arrays()
    graph = model.graph
    feeds = {name[3:]: array for name, array in arrays.items() if name.startswith("in/")}
    feeds = {name: narrow(array) for name, array in feeds.items()}
    given = {tensor.name for tensor in graph.initializer}
    inputs = {value.name for value in graph.input} - given
    parts = []
    for name in case.cotangents:
        cotangent = narrow(arrays[f"cot/{name}"])
        graph.initializer.append(numpy_helper.from_array(cotangent, f"cot_{name}"))
        graph.node.append(helper.make_node("Mul", [name, f"cot_{name}"], [f"part_{name}"]))
        graph.node.append(
            helper.make_node("ReduceSum", [f"part_{name}"], [f"sum_{name}"], keepdims=0)
        )
        parts.append(f"sum_{name}")
    while len(parts) > 1:
        graph.node.append(helper.make_node("Add", parts[-2:], [f"{parts[-1]}_and"]))
        parts[-2:] = [f"{parts[-1]}_and"]
    graph.node.append(helper.make_node("Identity", parts, ["loss"]))
    graph.output.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
    if constants:
        for name in set(case.constant_inputs) & inputs:
            graph.initializer.append(numpy_helper.from_array(feeds[name], name))
            graph.input.remove(next(value for value in graph.input if value.name == name))
            inputs.remove(name)
    return model, {name: array for name, array in feeds.items() if name in inputs}


def narrow(array: np.ndarray) -> np.ndarray:
    """float32 for float64."""
    return array.astype(np.float32) if array.dtype == np.float64 else array


def differentiate(
    model: onnx.ModelProto, losses: list[str], wrt: list[str], folder: Path
) -> onnx.ModelProto:
    """The model with gradients; AssertionError with what was said if it has none."""
    source, target = folder / "forward.onnx", folder / "gradient.onnx"
    onnx.save(model, source)
    bin_dir = build_dir() / "bin"
    options = f"loss={','.join(losses)} wrt={','.join(wrt)}"
    commands: list[list[str | Path]] = [
        [bin_dir / "amp-translate", "--onnx-to-mlir", source],
        [bin_dir / "amp-opt", "-", "--onnx-infer-types", f"--amp-differentiate={options}"],
        [bin_dir / "amp-translate", "--mlir-to-onnx", "-", "-o", target],
    ]
    text = b""
    for command in commands:
        done = subprocess.run(command, input=text, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode().splitlines()[0]
        text = done.stdout
    return onnx.load(target)


def problem(case: Case, folder: Path, constants: bool = True) -> str | None:
    """What is wrong with the gradients of a case."""
    model, feeds = with_loss(case, constants)
    try:
        result = differentiate(model, ["loss"], case.differentiated, folder)
        onnx.checker.check_model(result, full_check=True)
        outputs = run_in_onnxruntime(folder / "gradient.onnx", feeds)
    except Exception as failure:
        return (str(failure).strip().splitlines() or [type(failure).__name__])[0][:300]
    arrays = case.arrays()
    for name in case.differentiated:
        expected, found = arrays[f"vjp/{name}"], outputs[f"{name}_grad"]
        if expected.shape != found.shape:
            return f"{name}: shape {found.shape}, expected {expected.shape}"
        known = np.isfinite(expected)
        if not np.array_equal(np.isfinite(found), known):
            return f"{name}: not finite where it should be, or finite where it should not"
        scale = max(float(np.abs(expected[known]).max(initial=0)), 1e-30)
        error = float(np.abs(found[known] - expected[known]).max(initial=0)) / scale
        if error > TOLERANCE and np.abs(found[known] - expected[known]).max() > 1e-7:
            return f"{name}: error {error:.3g}"
    return None


def main(names: list[str]) -> int:
    """Entry of the command line."""
    import tempfile

    failed = 0
    chosen = [case for case in cases() if not names or case.name in names or case.op in names]
    for case in chosen:
        with tempfile.TemporaryDirectory() as folder:
            found = problem(case, Path(folder))
        failed += bool(found)
        print(f"{case.name:34} {case.op:26} {found or 'ok'}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
