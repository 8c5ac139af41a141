"""`amp-run --train` and `--eval-data`, as processes, on compiled golden models.

The data is laid out in PyTorch's order of samples, so that a run without --shuffle is PyTorch's own.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tool import Tool, build_dir, onnx_amp
from training import (
    GOLDEN,
    MODELS,
    RECORDS,
    Digits,
    add_statistics,
    golden,
    golden_accuracy,
    golden_model,
    inference_model,
    optimizer_options,
)

BATCH = int(RECORDS["data"]["batch"])
STEPS = 60
#: As test_training_steps.py has it.
FLOAT32 = 2e-5


def amp_run() -> Tool:
    """The runtime's tool."""
    return Tool(build_dir() / "bin" / "amp-run")


def compile_model(model: onnx.ModelProto, target: Path) -> Path:
    """The executable of a model."""
    source = target.with_suffix(".onnx")
    onnx.save(model, source)
    onnx_amp().run("compile", source, "-o", target).expect_success()
    return target


def compile_step(model: str, optimizer: str, low: str, folder: Path, *options: str) -> Path:
    """The executable of a golden model's training step."""
    forward = golden_model(model, low)
    source, target = folder / "forward.onnx", folder / "step.onnx"
    onnx.save(forward, source)
    record = optimizer_options(optimizer, RECORDS["optimizers"][model][optimizer])
    command = ["train-graph", source, "-o", target, "--loss", "loss", "--dtype", low]
    onnx_amp().run(*command, *record, *options).expect_success()
    step = onnx.load(target)
    add_statistics(step, forward)
    return compile_model(step, folder / "step.ampx")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All training batches in PyTorch's order."""
    digits = Digits.load()
    order = digits.order.ravel()
    path = tmp_path_factory.mktemp("data") / "train.npz"
    np.savez(path, x=digits.x[order], y=digits.y[order])
    return path


@pytest.fixture(scope="module")
def test_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples that are not trained on, as two .npy files."""
    digits = Digits.load()
    folder = tmp_path_factory.mktemp("test")
    np.save(folder / "x.npy", digits.x[digits.test])
    np.save(folder / "y.npy", digits.y[digits.test].astype(np.uint8))
    return folder


def read_log(path: Path) -> list[dict[str, Any]]:
    """Its lines, without what depends on the time."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["seconds"], line["samples_per_second"]
    return lines


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    kinds = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}
    tensors = {}
    for name, entry in header.items():
        start, end = (begin + offset for offset in entry["data_offsets"])
        elements = np.frombuffer(content[start:end], kinds[entry["dtype"]])
        tensors[name] = elements.reshape(entry["shape"])
    return tensors


def train(step: Path, data: Path, folder: Path, *options: str) -> list[dict[str, Any]]:
    """The log of a run."""
    log = folder / "log.jsonl"
    command = [step, "--train", "--data", data, "--batch", str(BATCH), "--log", log]
    amp_run().run(*command, *options).expect_success()
    return read_log(log)


@pytest.mark.parametrize("low", ["none", "fp16", "bf16"])
@pytest.mark.parametrize("model", MODELS)
def test_losses_follow_pytorch(model: str, low: str, data: Path, tmp_path: Path) -> None:
    # As PyTorch's runs: GradScaler for float16 alone.
    scale = () if low == "fp16" else ("--loss-scale=none",)
    step = compile_step(model, "adamw", low, tmp_path, *scale)
    log = train(step, data, tmp_path, f"--steps={STEPS}")
    losses = np.array([line["loss"] for line in log])
    reference = golden(model, "adamw", "fp32" if low == "none" else "fp64")[:STEPS]
    first, limit = 1e-6, FLOAT32
    if low != "none":
        # How far PyTorch's own 16 bits are from float64, thrice.
        spread = RECORDS["spread"][f"{model}/adamw"][f"{low}_vs_fp64"]
        first, limit = 3 * spread["loss_step1"], 3 * spread["loss_max_60"]
    assert abs(losses[0] - reference[0]) <= first
    assert np.abs(losses - reference).max() <= limit


@pytest.mark.parametrize("model", MODELS)
def test_a_trained_model_is_evaluated(
    model: str, data: Path, test_data: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "trained.safetensors"
    step = compile_step(model, "adamw", "none", tmp_path)
    train(step, data, tmp_path, f"--checkpoint={checkpoint}")
    trained = inference_model(model, read_checkpoint(checkpoint))
    executable = compile_model(trained, tmp_path / "eval.ampx")
    result = amp_run().run(executable, "--eval-data", test_data)
    said = result.expect_success().stdout.decode().split()
    assert said[0] == "accuracy"
    assert said[-1] == f"{len(Digits.load().test)})"
    assert abs(float(said[1]) - golden_accuracy(model, "adamw", "fp32")) <= 0.01


def test_the_loss_scale_follows_pytorch(data: Path, tmp_path: Path) -> None:
    options = ("--init-scale=16777216", "--counters")
    log = train(compile_step("mlp", "sgd", "fp16", tmp_path, *options), data, tmp_path)
    found = golden("mlp", "sgd", "fp16_grow", "found_inf").astype(bool)
    scales = golden("mlp", "sgd", "fp16_grow", "scale")
    # Until PyTorch's scale grows; ours waits for 2,000 steps.
    steps = int(np.argmax(np.diff(scales) > 0)) + 1
    assert found[:steps].any()
    assert [line["amp.found_inf"] for line in log[:steps]] == list(found[:steps])
    assert [line["amp.scale"] for line in log[:steps]] == list(scales[:steps])
    assert log[-1]["amp.skipped_steps"] == sum(line["amp.found_inf"] for line in log)
    assert log[-1]["amp.step"] == len(log) - log[-1]["amp.skipped_steps"]


def test_a_run_is_killed_and_goes_on(data: Path, tmp_path: Path) -> None:
    step = compile_step("mlp", "adamw", "bf16", tmp_path)
    options = ["--epochs=8", "--shuffle=1", "--checkpoint-every=20"]
    whole, part = tmp_path / "whole.safetensors", tmp_path / "part.safetensors"
    expected = train(step, data, tmp_path, *options, f"--checkpoint={whole}")
    log = tmp_path / "part.jsonl"
    command: list[str | Path] = [amp_run().path, step, "--train", "--data", data]
    command += ["--batch", str(BATCH), "--log", log, *options, "--checkpoint", part]
    choice = random.Random(1)
    for attempt in range(6):
        resume: list[str | Path] = ["--resume", part] if part.exists() else []
        process = subprocess.Popen(
            [*command, *resume], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if attempt < 5:
            time.sleep(choice.uniform(0, 0.3))
            process.kill()
        _, message = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), message
    assert read_log(log) == expected
    weights = read_checkpoint(whole)
    for name, array in read_checkpoint(part).items():
        assert array.tobytes() == weights[name].tobytes(), name


def test_the_first_node_is_named(data: Path, tmp_path: Path) -> None:
    # Weights whose products with the data add up to infinity.
    forward = onnx.load(GOLDEN / "mlp.onnx")
    for tensor in forward.graph.initializer:
        if tensor.name == "fc1.weight":
            array = numpy_helper.to_array(tensor).copy()
            array[3] = 3e38
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    source, target = tmp_path / "forward.onnx", tmp_path / "step.onnx"
    onnx.save(forward, source)
    command = ["train-graph", source, "-o", target, "--loss", "loss", "--dtype", "none"]
    onnx_amp().run(*command, "--optimizer=sgd", "--lr=0.1").expect_success()
    step = compile_model(onnx.load(target), tmp_path / "step.ampx")
    options = ["--batch", str(BATCH), "--stop-on-nonfinite"]
    result = amp_run().run(step, "--train", "--data", data, *options)
    result.expect_error("'loss' is nan in step 1: node ", "are not finite; the first")
