"""Models written in PyTorch as its users write them, and their export in training form.

Only tests that have PyTorch import this.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    """Linear, layer norm, gelu, dropout; twice."""

    def __init__(self, drop: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Dropout(drop)),
            *(nn.Linear(128, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(drop)),
            nn.Linear(64, 10),
        )

    def forward(self, x: Any) -> Any:
        return self.body(x)


class Cnn(nn.Module):
    """Convolution, batch norm, relu; twice; then dropout."""

    def __init__(self, drop: float = 0.0) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.drop, self.fc = nn.Dropout(drop), nn.Linear(512, 10)

    def forward(self, x: Any) -> Any:
        x = x.reshape(-1, 1, 8, 8)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(self.drop(F.max_pool2d(x, 2).flatten(1)))


class Block(nn.Module):
    """A transformer block with attention written out."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.ln1(x)).chunk(3, dim=-1)
        q, k, v = (
            part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in parts
        )
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        if self.causal:
            allowed = torch.ones(length, length, dtype=torch.bool).tril()
            scores = scores.masked_fill(~allowed, -1e9)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 of 12 layers, with the output's weights those of the embedding."""

    def __init__(self, width: int = 96, words: int = 500, length: int = 32) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 12, causal=True) for _ in range(12))
        self.ln = nn.LayerNorm(width)

    def forward(self, tokens: Any) -> Any:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return (self.ln(x) @ self.words.weight.T).transpose(1, 2)


class Vit(nn.Module):
    """A vision transformer of 12 layers."""

    def __init__(self, width: int = 96, patch: int = 8, size: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, 12, causal=False) for _ in range(12))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x)[:, 0])


class Bottleneck(nn.Module):
    """Three convolutions beside a way around them."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.around = nn.Sequential(
            nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
        )

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.around(x))


class ResNet(nn.Module):
    """A residual network of four stages, with one group of convolutions apart."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
        widths = ((16, 16, 1), (64, 32, 2), (128, 32, 2), (128, 64, 2))
        self.stages = nn.Sequential(*(Bottleneck(*one) for one in widths))
        self.depthwise = nn.Conv2d(256, 256, 3, padding=1, groups=256)
        self.fc = nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.bn(self.stem(x))), 3, 2, 1)
        x = self.depthwise(self.stages(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def export_for_training(model: nn.Module, x: Any, path: Path) -> None:
    """The lines of docs/training.md: BatchNormalization and Dropout are in training form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.train()
        torch.onnx.export(
            model,
            (x,),
            path,
            input_names=["x"],
            output_names=["logits"],
            dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
        )
