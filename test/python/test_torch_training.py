"""The lines of docs/training.md export PyTorch models in training form, and steps of these train as PyTorch does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tool import SOURCE_DIR, onnx_amp
from training import Digits, Trainer

torch = pytest.importorskip("torch", reason="needs PyTorch, which `tools/dev test --full` installs")

from torch_models import Cnn, Mlp, export_for_training  # noqa: E402

pytestmark = pytest.mark.full

STEPS = 20


@pytest.mark.filterwarnings("ignore")  # the exporter and its option are called legacy
def test_the_documented_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they stand in the manual."""
    text = (SOURCE_DIR / "docs" / "training.md").read_text()
    lines = re.search(r"```python\n(model\.train\(\).*?)```", text, re.DOTALL)
    assert lines
    monkeypatch.chdir(tmp_path)
    exec(lines[1], {"torch": torch, "model": Cnn(0.3), "x": torch.rand(4, 64)})
    nodes = onnx.load("model.onnx").graph.node
    modes = [
        one.i
        for node in nodes
        if node.op_type == "BatchNormalization"
        for one in node.attribute
        if one.name == "training_mode"
    ]
    assert modes == [1, 1]
    dropout = next(node for node in nodes if node.op_type == "Dropout")
    assert len(dropout.input) == 3


@pytest.mark.parametrize("kind", [Mlp, Cnn])
def test_trains_as_pytorch(kind: Any, tmp_path: Path) -> None:
    """From the same weights, with the same batches; nothing is dropped."""
    torch.manual_seed(0)
    model = kind()
    batches = list(Digits.load().batches())[:STEPS]
    source, target = tmp_path / "forward.onnx", tmp_path / "step.onnx"
    export_for_training(model, torch.from_numpy(batches[0][0]), source)
    names = dict(model.named_parameters())
    exported = {one.name: numpy_helper.to_array(one) for one in onnx.load(source).graph.initializer}
    for name, parameter in names.items():
        assert np.array_equal(exported[name], parameter.detach().numpy()), name
    command = ["--loss=cross-entropy", "--dtype=none", "--optimizer=adamw", "--lr=1e-3"]
    onnx_amp().run("train-graph", source, "-o", target, *command).expect_success()
    trainer = Trainer(onnx.load(target))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, labels in batches:
        loss = torch.nn.functional.cross_entropy(
            model(torch.from_numpy(x)), torch.from_numpy(labels)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found = trainer.run({"x": x, "labels": labels})
        assert abs(float(found["loss"]) - loss.item()) <= 2e-5
