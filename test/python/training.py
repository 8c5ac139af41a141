"""Training steps of the golden models on scikit-learn's digits, run by ordinary ONNX Runtime.

test/golden/train has the models, the data, and what PyTorch's own training did with both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from stateful import StatefulSession, metadata
from tool import SOURCE_DIR, amp_opt, amp_translate, onnx_amp

GOLDEN = SOURCE_DIR / "test" / "golden" / "train"
RECORDS = json.loads((GOLDEN / "train.json").read_text())
MODELS = ("mlp", "cnn", "transformer")
STEPS_PER_EPOCH = RECORDS["data"]["steps_per_epoch"]
#: The state that is the loss scale, where there is one.
SCALE = "amp.scale"


@dataclass(frozen=True)
class Digits:
    """Images and labels, the training batches of all epochs in PyTorch's order, and the rest."""

    x: np.ndarray
    y: np.ndarray
    order: np.ndarray
    test: np.ndarray

    @staticmethod
    def load() -> Digits:
        with np.load(GOLDEN / "data.npz") as data:
            x, y = data["x"].astype(np.float32), data["y"].astype(np.int64)
            return Digits(x, y, data["order"], data["test_index"])

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """What each step is fed."""
        for batch in self.order:
            yield self.x[batch], self.y[batch]


def optimizer_options(optimizer: str, record: dict[str, Any]) -> list[str]:
    """The options of train-graph for an optimizer of PyTorch's."""
    options = ["--optimizer", optimizer, "--lr", str(record["lr"])]
    options += ["--weight-decay", str(record["weight_decay"])]
    values = {"momentum": record.get("momentum"), "eps": record.get("eps")}
    values["beta1"], values["beta2"] = record.get("betas", (None, None))
    for name, value in values.items():
        if value is not None:
            options += ["--setting", f"{name}={value}"]
    return options


def golden_model(model: str, low: str = "none") -> onnx.ModelProto:
    """A golden model, with its loss; in fp16 and bf16 as `torch.autocast("cpu")` runs it.

    What that does not list gives the type that it is given: a layer norm behind a linear layer rounds its result,
    with parameters in float32. ONNX's has one type for both; casts behind it do the same.
    """
    forward = onnx.load(GOLDEN / f"{model}.onnx")
    if low not in ("fp16", "bf16"):
        return forward
    kind = TensorProto.FLOAT16 if low == "fp16" else TensorProto.BFLOAT16
    linear = {name for node in forward.graph.node if node.op_type == "Gemm" for name in node.output}
    nodes = list(forward.graph.node)
    del forward.graph.node[:]
    for node in nodes:
        forward.graph.node.append(node)
        if node.op_type == "LayerNormalization" and node.input[0] in linear:
            name = node.output[0]
            forward.graph.node[-1].output[0] = wide = f"{name}_wide"
            forward.graph.node.append(helper.make_node("Cast", [wide], [f"{name}_{low}"], to=kind))
            back = helper.make_node("Cast", [f"{name}_{low}"], [name], to=TensorProto.FLOAT)
            forward.graph.node.append(back)
    return forward


def with_loss_weight(model: onnx.ModelProto) -> None:
    """Multiplies the loss by the new input `loss_weight`."""
    for node in model.graph.node:
        node.output[:] = ["plain_loss" if name == "loss" else name for name in node.output]
    model.graph.node.append(helper.make_node("Mul", ["plain_loss", "loss_weight"], ["loss"]))
    model.graph.input.append(helper.make_tensor_value_info("loss_weight", TensorProto.FLOAT, []))


def widen(source: Path, target: Path) -> None:
    """Makes every node compute in float32 and round what it gives to the type that it had."""
    text, wide = target.with_suffix(".mlir"), target.with_suffix(".wide.mlir")
    amp_translate().run("--onnx-to-mlir", source, "-o", text).expect_success()
    amp_opt().run("--onnx-infer-types", "--onnx-widen", text, "-o", wide).expect_success()
    amp_translate().run("--mlir-to-onnx", wide, "-o", target).expect_success()


def make_step(
    model: str,
    optimizer: str,
    low: str,
    folder: Path,
    *options: str,
    forward: onnx.ModelProto | None = None,
    record: dict[str, Any] | None = None,
) -> onnx.ModelProto:
    """The training step of a golden model, or of a variant of it, by `onnx-amp train-graph`, with its
    optimizer's record. `low` is fp16, bf16 or none. ONNX Runtime's CPU provider has no bfloat16: there every
    node computes in float32 and rounds what it gives.
    """
    record = record or RECORDS["optimizers"][model][optimizer]
    forward = forward or golden_model(model, low)
    source, target = folder / "forward.onnx", folder / "step.onnx"
    onnx.save(forward, source)
    command: list[str | Path] = ["train-graph", source, "-o", target, "--loss", "loss"]
    command += ["--dtype", low, *optimizer_options(optimizer, record), *options]
    onnx_amp().run(*command).expect_success()
    onnx.checker.check_model(target, full_check=True)
    if low == "bf16":
        widen(target, folder / "wide.onnx")
        target = folder / "wide.onnx"
    step = onnx.load(target)
    add_statistics(step, forward)
    return step


def add_statistics(step: onnx.ModelProto, forward: onnx.ModelProto) -> None:
    """Makes state of the running statistics of BatchNormalization whose next values are outputs of the
    forward model."""
    pairs = metadata(step, "amp.state")
    known = {value.name for value in step.graph.input}
    outputs = {value.name for value in forward.graph.output}
    sizes = {tensor.name: tensor.dims for tensor in step.graph.initializer}
    for node in forward.graph.node:
        for name, following in zip(node.input[3:5], node.output[1:3], strict=False):
            if following in outputs and name in sizes and name not in known:
                info = helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes[name])
                step.graph.input.append(info)
                pairs.append({"input": name, "output": following})
    for item in step.metadata_props:
        if item.key == "amp.state":
            item.value = json.dumps(pairs)


class Trainer(StatefulSession):
    """A step of a golden model."""

    def step(self, x: np.ndarray, y: np.ndarray, **feeds: np.ndarray) -> dict[str, np.ndarray]:
        """All outputs of one step."""
        return self.run({"x": x, "y": y, **feeds})


def train(step: onnx.ModelProto, steps: int) -> tuple[list[float], dict[str, np.ndarray]]:
    """The losses of a run from the initial state, and the last state."""
    trainer = Trainer(step)
    batches = list(Digits.load().batches())[:steps]
    losses = [float(trainer.step(x, y)["loss"]) for x, y in batches]
    return losses, trainer.state


def golden(model: str, optimizer: str, precision: str, what: str = "loss") -> np.ndarray:
    """What PyTorch's run had at each step: loss, grad_norm, scale, found_inf."""
    with np.load(GOLDEN / "runs.npz") as runs:
        found: np.ndarray = runs[f"{model}/{optimizer}/{precision}/{what}"]
    return found


def golden_accuracy(model: str, optimizer: str, precision: str) -> float:
    """PyTorch's share of right answers after the last epoch."""
    return float(RECORDS["accuracy"][f"{model}/{optimizer}/{precision}"])


def inference_model(model: str, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The golden model in inference form with other weights; the output is `logits` alone."""
    forward = golden_model(model)
    graph = forward.graph
    for tensor in graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    for node in graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            kept = [one for one in node.attribute if one.name != "training_mode"]
            del node.attribute[:]
            node.attribute.extend(kept)
    logits = next(output for output in graph.output if output.name == "logits")
    del graph.output[:]
    graph.output.append(logits)
    return forward


def accuracy(model: str, weights: dict[str, np.ndarray], digits: Digits) -> float:
    """The share of right answers on the test set, in float32."""
    return accuracy_in_onnxruntime(inference_model(model, weights), digits)


def accuracy_in_onnxruntime(model: onnx.ModelProto, digits: Digits) -> float:
    """The share of right answers on the test set."""
    from onnxruntime import InferenceSession

    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    size = RECORDS["data"]["batch"]
    right = 0
    for start in range(0, len(digits.test), size):
        index = digits.test[start : start + size]
        x = np.zeros((size, digits.x.shape[1]), np.float32)
        x[: len(index)] = digits.x[index]
        feeds = {"x": x, "y": np.zeros(size, np.int64)}
        (logits,) = session.run(["logits"], {name: feeds[name] for name in wanted})
        right += int((logits.argmax(1)[: len(index)] == digits.y[index]).sum())
    return right / len(digits.test)
