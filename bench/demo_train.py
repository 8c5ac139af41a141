"""Trains three models in ordinary ONNX Runtime beside PyTorch: what `tools/dev demo train` shows.

A multilayer perceptron, a convolutional network with BatchNormalization and a transformer learn
scikit-learn's digits with AdamW for five epochs: in float32, in float16 with dynamic loss scaling,
and in bfloat16. PyTorch's losses are those of its own training, from the same weights, with the
same batches (test/golden/train). ONNX Runtime's CPU provider has no kernels for bfloat16: there
every node computes in float32 and rounds what it gives. Then a gradient is made to overflow.

Ends with exit code 1 if a loss or an accuracy is off PyTorch's, or if an overflow does not skip
one step, bit for bit, and halve the scale.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "python")]

from tool import build_dir  # noqa: E402
from training import (  # noqa: E402
    MODELS,
    RECORDS,
    SCALE,
    Digits,
    Trainer,
    accuracy,
    golden,
    golden_accuracy,
    golden_model,
    make_step,
    with_loss_weight,
)

OPTIMIZER = "adamw"
FORMATS = ("fp32", "fp16", "bf16")
#: What dynamic loss scaling begins with.
FIRST_SCALE = 65536.0
#: Steps whose losses are shown, and those over which float32's are compared.
SHOWN = (1, 10, 30, 60, 110)
COMPARED = 60
#: Of the loss in float32; of the accuracy, in parts of 1.
LOSS, ACCURACY = 2e-5, {"fp32": 0.01, "fp16": 0.03, "bf16": 0.03}
#: In float16 and bfloat16, the first loss in parts of how far PyTorch's own is from float64.
SPREADS = 3


@dataclass
class Result:
    """A model trained in a format."""

    model: str
    dtype: str
    losses: np.ndarray
    accuracy: float
    skipped: int

    @property
    def expected(self) -> np.ndarray:
        """PyTorch's losses."""
        return golden(self.model, OPTIMIZER, self.dtype)

    @property
    def expected_accuracy(self) -> float:
        """PyTorch's accuracy."""
        return golden_accuracy(self.model, OPTIMIZER, self.dtype)

    @property
    def difference(self) -> float:
        """The largest between losses that are compared."""
        return float(np.abs(self.losses - self.expected)[:COMPARED].max())

    def problem(self) -> str | None:
        """Why this is not as PyTorch trains."""
        if not np.isfinite(self.losses).all():
            return "a loss is not finite"
        if self.dtype == "fp32":
            if not self.difference <= LOSS:
                return f"losses differ by {self.difference:.2g}, expected {LOSS:g} at most"
        else:
            limit = SPREADS * RECORDS["first_step"][self.model][self.dtype]["loss_abs"]
            first = abs(self.losses[0] - golden(self.model, OPTIMIZER, "fp64")[0])
            if not first <= limit:
                return f"the first loss is off by {first:.2g}, expected {limit:.2g} at most"
        if abs(self.accuracy - self.expected_accuracy) > ACCURACY[self.dtype] + 1e-9:
            return f"accuracy {self.accuracy:.3f}, PyTorch's is {self.expected_accuracy:.3f}"
        return None


def train(model: str, dtype: str, digits: Digits) -> Result:
    """Five epochs."""
    low = "none" if dtype == "fp32" else dtype
    with tempfile.TemporaryDirectory() as folder:
        step = make_step(model, OPTIMIZER, low, Path(folder))
    trainer = Trainer(step, optimize=dtype != "bf16")
    outputs = [trainer.step(x, y) for x, y in digits.batches()]
    return Result(
        model,
        dtype,
        np.array([float(each["loss"]) for each in outputs]),
        accuracy(model, trainer.state, digits),
        sum(bool(each.get("amp.found_inf", False)) for each in outputs),
    )


def overflow(model: str, digits: Digits) -> tuple[str, str | None]:
    """Trains in float16 with one step whose loss counts so much that gradients overflow; what
    happened, and what is wrong with it."""
    forward = golden_model(model)
    with_loss_weight(forward)
    with tempfile.TemporaryDirectory() as folder:
        step = make_step(model, OPTIMIZER, "fp16", Path(folder), forward=forward)
    trainer = Trainer(step)
    kept = [
        name
        for name in trainer.pairs
        if name not in (SCALE, "amp.growth_tracker") and "running" not in name
    ]
    steps, at = 8, 4
    found, scales, same = [], [], []
    for number, (x, y) in zip(range(steps), digits.batches(), strict=False):
        before = dict(trainer.state)
        weight = np.array(1e30 if number == at else 1, np.float32)
        found.append(bool(trainer.step(x, y, loss_weight=weight)["amp.found_inf"]))
        scales.append(float(trainer.state[SCALE]))
        same.append(all(np.array_equal(before[name], trainer.state[name]) for name in kept))
    said = f"scale {' '.join(f'{scale:g}' for scale in scales)}, skipped {sum(found)}"
    expected = [number == at for number in range(steps)]
    if found != expected:
        return said, f"overflows {found}, expected one at step {at + 1}"
    if scales != [FIRST_SCALE] * at + [FIRST_SCALE / 2] * (steps - at):
        return said, "the scale was not halved once"
    if same != expected:
        return said, "the state changed in the step that was skipped, or not in another"
    return said, None


def main() -> int:
    """Entry of the demo."""
    if not (build_dir() / "bin" / "onnx-amp").exists():
        sys.exit(f"demo: error: {build_dir()} has not been built")
    digits = Digits.load()
    problems = []
    print(f"losses at steps {', '.join(map(str, SHOWN))}, of ONNX Runtime and of PyTorch; largest")
    print(
        f"difference in the first {COMPARED} steps; accuracy on {len(digits.test)} other images\n"
    )
    for model in MODELS:
        for dtype in FORMATS:
            result = train(model, dtype, digits)
            problem = result.problem()
            for who, losses, right in (
                ("onnx-amp", result.losses, result.accuracy),
                ("PyTorch", result.expected, result.expected_accuracy),
            ):
                values = " ".join(f"{losses[step - 1]:9.6f}" for step in SHOWN)
                print(f"{model:12} {dtype} {who:9} {values}   accuracy {right:.3f}", end="")
                print(f"   difference {result.difference:.1e}" if who == "onnx-amp" else "")
            if problem:
                problems.append(f"{model} in {dtype}: {problem}")
    print("\nfloat16, a gradient overflows in the fifth step")
    for model in MODELS:
        said, problem = overflow(model, digits)
        print(f"{model:12} {said}")
        if problem:
            problems.append(f"{model}, overflow: {problem}")
    for line in problems:
        print(f"demo: error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
