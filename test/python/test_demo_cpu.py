"""`tools/dev demo cpu` trains, and finds what is wrong."""

from __future__ import annotations

import subprocess

import demo_digits
import pytest
from tool import SOURCE_DIR
from training import golden_accuracy


def demonstrate(*models: str) -> None:
    """Runs the demo."""
    command = ["bash", SOURCE_DIR / "bench" / "demo_cpu.sh", *models]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_model() -> None:
    demonstrate("cnn")


@pytest.mark.full
def test_all_of_it() -> None:
    demonstrate()


def test_an_accuracy_is_judged() -> None:
    expected = golden_accuracy("cnn", "adamw", "fp16")
    right = round(360 * expected)
    said = f"accuracy {expected:.6f} ({right} of 360)\n"
    assert demo_digits.problem("cnn", said, right / 360) is None
    assert "ONNX Runtime's is" in str(demo_digits.problem("cnn", said, 0.5))
    worse = f"accuracy 0.9 ({right - 1} of 360)"
    assert "PyTorch's" in str(demo_digits.problem("cnn", worse, (right - 1) / 360))
    assert "amp-run said" in str(demo_digits.problem("cnn", "loss 1", 0.5))


def test_a_model_is_unknown() -> None:
    command = ["bash", SOURCE_DIR / "bench" / "demo_cpu.sh", "resnet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "unknown model 'resnet', expected one of" in done.stderr
