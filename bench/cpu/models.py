"""Models that train beside PyTorch, and their steps there. Needs PyTorch."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

# PyTorch's profiler says on standard error when it begins and ends.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "python")]

from torch_models import export_for_training  # noqa: E402

GOLDEN = ROOT / "test" / "golden" / "train"
LOW_TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class DigitsMlp(nn.Module):
    """The golden multilayer perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.ln1 = nn.Linear(64, 128), nn.LayerNorm(128)
        self.fc2, self.ln2 = nn.Linear(128, 64), nn.LayerNorm(64)
        self.fc3 = nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        x = F.gelu(self.ln1(self.fc1(x)))
        return self.fc3(F.gelu(self.ln2(self.fc2(x))))


class DigitsCnn(nn.Module):
    """The golden convolutional network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.fc = nn.Linear(512, 10)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.bn1(self.conv1(x.reshape(-1, 1, 8, 8))))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(F.max_pool2d(x, 2).flatten(1))


class Block(nn.Module):
    """A transformer block; PyTorch may take its fused attention."""

    def __init__(self, width: int, heads: int, hidden: int, causal: bool, gelu: str) -> None:
        super().__init__()
        self.heads, self.causal, self.gelu = heads, causal, gelu
        self.ln1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.proj, self.ln2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.ln1(x)).chunk(3, dim=-1)
        q, k, v = (
            part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in parts
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate=self.gelu))


class DigitsTransformer(nn.Module):
    """The golden transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.pos = nn.Linear(4, 32), nn.Parameter(torch.zeros(16, 32))
        self.block0, self.block1 = (Block(32, 4, 64, False, "none") for _ in range(2))
        self.ln, self.head = nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        x = x.reshape(-1, 4, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(-1, 16, 4)
        x = self.block1(self.block0(self.embed(x) + self.pos))
        return self.head(self.ln(x).mean(1))


class WideMlp(nn.Sequential):
    """Three layers of width 1024."""

    def __init__(self, width: int = 1024) -> None:
        layers = [part for _ in range(3) for part in (nn.Linear(width, width), nn.GELU())]
        super().__init__(*layers, nn.Linear(width, 10))


class Residual(nn.Module):
    """ResNet's block of two convolutions."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = (
            nn.Conv2d(inputs, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.around = nn.Sequential()
        if stride != 1 or inputs != width:
            around = nn.Conv2d(inputs, width, 1, stride, bias=False)
            self.around = nn.Sequential(around, nn.BatchNorm2d(width))

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.around(x))


class ResNet18(nn.Module):
    """ResNet-18."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        widths = [64, 64, 128, 256, 512]
        blocks = []
        for index, (inputs, width) in enumerate(pairwise(widths)):
            blocks += [Residual(inputs, width, 1 + (index > 0)), Residual(width, width, 1)]
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, classes)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, 2, 1)
        return self.fc(self.blocks(x).mean((2, 3)))


class Gpt2(nn.Module):
    """GPT-2 of 4 layers, of width 384, the output's weights those of the embedding."""

    def __init__(self, words: int = 8192, length: int = 128, width: int = 384) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        blocks = (Block(width, 6, 4 * width, True, "tanh") for _ in range(4))
        self.blocks, self.ln = nn.ModuleList(blocks), nn.LayerNorm(width)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens: Any) -> Any:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.ln(x) @ self.words.weight.T


@dataclass
class Case:
    """A model, a batch, and how onnx-amp is told of both."""

    name: str
    model: nn.Module
    x: Any
    y: Any
    golden: str = ""

    def export(self, folder: Path) -> tuple[Path, list[str], dict[str, np.ndarray]]:
        """The forward model, train-graph's options for its loss, and the inputs of a step."""
        x, y = self.x.numpy(), self.y.numpy()
        if self.golden:
            return GOLDEN / f"{self.golden}.onnx", ["--loss=loss"], {"x": x, "y": y}
        path = folder / "forward.onnx"
        export_for_training(copy.deepcopy(self.model), self.x, path)
        options = ["--loss=cross-entropy", "--output=logits", "--class-axis=-1"]
        return path, options, {"x": x, "labels": y}


def golden(name: str, kind: Callable[[], nn.Module]) -> Case:
    """A golden model with its weights, and its first batch."""
    model = kind()
    source = onnx.load(GOLDEN / f"{name}.onnx")
    weights = {one.name: numpy_helper.to_array(one) for one in source.graph.initializer}
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[key].copy()))
    with np.load(GOLDEN / "data.npz") as data:
        batch = data["order"][0]
        x, y = data["x"][batch].astype(np.float32), data["y"][batch].astype(np.int64)
    return Case(f"golden {name}", model, torch.from_numpy(x), torch.from_numpy(y), name)


def gpt2() -> Case:
    """128 tokens, a batch of 8."""
    model = Gpt2()
    words = model.words.num_embeddings
    x, y = (torch.randint(0, words, (8, 128)) for _ in range(2))
    return Case("GPT-2, 4 layers, 8x128", model, x, y)


#: Each is made when it is asked for.
CASES: dict[str, Callable[[], Case]] = {
    "mlp": lambda: golden("mlp", DigitsMlp),
    "cnn": lambda: golden("cnn", DigitsCnn),
    "transformer": lambda: golden("transformer", DigitsTransformer),
    "wide-mlp": lambda: Case(
        "MLP 1024, batch 512", WideMlp(), torch.rand(512, 1024), torch.randint(0, 10, (512,))
    ),
    "resnet18": lambda: Case(
        "ResNet-18, 16x3x64x64",
        ResNet18(),
        torch.rand(16, 3, 64, 64),
        torch.randint(0, 1000, (16,)),
    ),
    "gpt2": gpt2,
}


def make(name: str) -> Case:
    """A case, the same each time."""
    torch.manual_seed(0)
    return CASES[name]()


class Step:
    """A training step with AdamW in PyTorch; 16 bits are autocast's, with GradScaler for float16."""

    def __init__(self, case: Case, low: str = "", compiled: bool = False) -> None:
        self.model = copy.deepcopy(case.model).train()
        self.low = LOW_TYPES.get(low)
        self.x, self.y = case.x, case.y
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-3, weight_decay=0.01, fused=True
        )
        self.scaler = torch.amp.GradScaler("cpu", enabled=low == "fp16")
        self.forward: Callable[[], Any] = torch.compile(self.loss) if compiled else self.loss

    def loss(self) -> Any:
        """The mean cross entropy."""
        with torch.autocast("cpu", dtype=self.low, enabled=self.low is not None):
            logits = self.model(self.x)
            return F.cross_entropy(logits.flatten(0, -2), self.y.flatten())

    def __call__(self) -> Any:
        """A step; its loss."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def resting_bytes(self) -> int:
        """What is there between steps: parameters, buffers, the optimizer's state."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        for state in self.optimizer.state.values():
            tensors += [each for each in state.values() if torch.is_tensor(each)]
        return sum(each.untyped_storage().nbytes() for each in tensors)

    def peak_bytes(self) -> int:
        """The most that PyTorch's allocator has given at one moment of a step."""
        self()
        self.optimizer.zero_grad(set_to_none=True)
        resting = self.resting_bytes()
        activities = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
            self()
        found, most = 0, 0
        events = profile.profiler.kineto_results.events()
        for event in sorted(events, key=lambda event: event.start_ns()):
            if event.name() == "[memory]":
                found += event.nbytes()
                most = max(most, found)
        return resting + most
