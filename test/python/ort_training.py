"""ONNX Runtime's training artifacts: where they are, what they are fed with, and how they are run.

Made by onnxruntime-training-cpu 1.19.2, for a batch of 64 of scikit-learn's digits in the order of
`RandomState(0).permutation`; `losses.json` has what its own training loses over 20 steps.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from running import run_strictly
from tool import SOURCE_DIR

ARTIFACTS = SOURCE_DIR / "test" / "models" / "ort_training"
RECORDS = json.loads((ARTIFACTS / "losses.json").read_text())
MODELS = ("mlp", "cnn", "gpt_op16")
BATCH, STEPS = 64, 20


def batches(model: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The inputs and labels of each step."""
    with np.load(SOURCE_DIR / "test" / "golden" / "train" / "data.npz") as data:
        # Without the jitter that is there to avoid ties: the digits' own 17 levels.
        pixels, labels = np.round(data["x"] * 16), data["y"].astype(np.int64)
    order = np.random.RandomState(0).permutation(len(pixels))
    x = pixels.astype(np.int64) if model == "gpt_op16" else (pixels / 16).astype(np.float32)
    if model == "cnn":
        x = x.reshape(-1, 1, 8, 8)
    for step in range(STEPS):
        chosen = order[step * BATCH : (step + 1) * BATCH]
        yield x[chosen], labels[chosen]


class Checkpoint:
    """The tensors of a checkpoint, a flatbuffer: ModuleState's trained and frozen parameters."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        assert self.data[4:8] == b"ODTC"
        module = self.table(self.field(self.read("I", 0), 1))
        self.trained = dict(self.tensors(module, 0))
        self.frozen = dict(self.tensors(module, 1))

    def read(self, code: str, at: int) -> Any:
        return struct.unpack_from("<" + code, self.data, at)[0]

    def field(self, table: int, index: int) -> int:
        """Where a field of a table is; 0 if it has none."""
        names = table - self.read("i", table)
        if 4 + 2 * index >= self.read("H", names):
            return 0
        offset = self.read("H", names + 4 + 2 * index)
        return table + offset if offset else 0

    def table(self, at: int) -> int:
        return at + int(self.read("I", at))

    def vector(self, at: int, width: int) -> bytes:
        start = self.table(at)
        return self.data[start + 4 : start + 4 + width * self.read("I", start)]

    def tensors(self, module: int, index: int) -> Iterator[tuple[str, np.ndarray]]:
        at = self.field(module, index)
        if not at:
            return
        start = self.table(at)
        for i in range(self.read("I", start)):
            tensor = self.table(start + 4 + 4 * i)
            name = self.vector(self.field(tensor, 0), 1).decode()
            shape = np.frombuffer(self.vector(self.field(tensor, 2), 8), np.int64)
            raw = self.vector(self.field(tensor, 4), 1)
            yield name, np.frombuffer(raw, np.float32).reshape(shape)


def session(model: onnx.ModelProto | Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    data = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def state_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """The output that is the next value of each input that is state."""
    texts = [item.value for item in model.metadata_props if item.key == "amp.state"]
    return {pair["input"]: pair["output"] for text in texts for pair in json.loads(text)}


class Trainer:
    """What ONNX Runtime's training API does, with rewritten models in ordinary sessions.

    `strictly`, the training model runs node by node, and what is low is rounded: ONNX Runtime's CPU
    provider drops casts to float16 and back.
    """

    def __init__(
        self,
        training: Path,
        optimizer: Path,
        checkpoint: Path,
        rate: float,
        *,
        strictly: bool = False,
    ) -> None:
        self.training, self.optimizer = session(training), session(optimizer)
        self.strict = onnx.load(training) if strictly else None
        self.pairs = state_pairs(onnx.load(training))
        self.optimizer_pairs = state_pairs(onnx.load(optimizer))
        weights = Checkpoint(checkpoint)
        self.weights, self.frozen = dict(weights.trained), weights.frozen
        self.rate, self.step_count = rate, 0
        #: What the training model gave last.
        self.outputs: dict[str, np.ndarray] = {}
        self.moments = {
            name: [np.zeros_like(value) for value in self.weights.values()]
            for name in ("first_order_moments", "second_order_moments")
        }
        self.scaler: dict[str, np.ndarray] = {}
        self.buffers = {
            value.name: np.zeros(value.shape, np.float32)
            for value in self.training.get_inputs()
            if value.name.endswith(".accumulation.buffer")
        }
        #: Whether the last step was taken.
        self.updated = True

    def accumulate(self, x: np.ndarray, labels: np.ndarray, restart: bool = True) -> float:
        """Adds a batch's gradients to the buffers; returns its loss."""
        feeds = {
            "x": x,
            "labels": labels,
            "lazy_reset_grad": np.array([restart]),
            **self.weights,
            **self.frozen,
            **self.buffers,
            **self.scaler,
        }
        names = [output.name for output in self.training.get_outputs()]
        if self.strict:
            self.outputs = run_strictly(self.strict, feeds)[0]
        else:
            self.outputs = dict(zip(names, self.training.run(None, feeds), strict=True))
        for state in (self.buffers, self.scaler):
            for name in state:
                state[name] = self.outputs[self.pairs[name]]
        return float(self.outputs[names[0]])

    def update(self) -> None:
        """An optimizer's step."""
        gradients = [self.buffers[f"{name}_grad.accumulation.buffer"] for name in self.weights]
        feeds = {
            "learning_rate": np.array([self.rate], np.float32),
            "step": np.array([self.step_count + 1]),
            "params": list(self.weights.values()),
            "gradients": gradients,
            **self.moments,
        }
        wanted = {value.name for value in self.optimizer.get_inputs()}
        names = [output.name for output in self.optimizer.get_outputs()]
        feeds = {name: value for name, value in feeds.items() if name in wanted}
        outputs = dict(zip(names, self.optimizer.run(None, feeds), strict=True))
        self.weights = dict(zip(self.weights, outputs[self.optimizer_pairs["params"]], strict=True))
        for name in self.moments:
            if name in self.optimizer_pairs:
                self.moments[name] = outputs[self.optimizer_pairs[name]]
        self.updated = bool(np.all(outputs[names[0]]))
        self.step_count += self.updated
