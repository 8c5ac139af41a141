"""Operators of ONNX Runtime's training package on small inputs, and what they give.

    PYTHONPATH=FOLDER python ort_training_ops.py    records test/golden/ort_training/ops.npz

FOLDER has onnxruntime-training-cpu 1.19.2 (tools/setup/ort-training.sh); ONNX Runtime's package for
inference has none of these operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "ort_training" / "ops.npz"
MICROSOFT = "com.microsoft"


@dataclass
class Case:
    """A node of an operator; `before` makes what it reads besides inputs."""

    name: str
    op: str
    reads: list[str]
    gives: list[str]
    inputs: dict[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    before: list[onnx.NodeProto] = field(default_factory=list)
    domain: str = MICROSOFT
    #: Of the first output, which MaxPoolGrad takes from what is declared.
    shape: tuple[int, ...] | None = None

    def model(self) -> onnx.ModelProto:
        node = helper.make_node(
            self.op, self.reads, self.gives, "it", domain=self.domain, **self.attributes
        )
        infos, sequences = [], []
        for name, value in self.inputs.items():
            if isinstance(value, list):
                sequences.append(
                    helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)
                )
                continue
            infos.append(
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
            )
        outputs = [self.output(name) for name in self.gives if name]
        graph = helper.make_graph([*self.before, node], "case", infos + sequences, outputs)
        imports = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    def output(self, name: str) -> onnx.ValueInfoProto:
        if name.startswith("seq"):
            return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)
        element = TensorProto.BOOL if name == "flag" else TensorProto.FLOAT
        shape = self.shape if name == self.gives[0] else None
        return helper.make_tensor_value_info(name, element, shape)


RNG = np.random.default_rng(20)


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def softmax(x: np.ndarray, axes: tuple[int, ...] = (-1,)) -> np.ndarray:
    e = np.exp(x - x.max(axes, keepdims=True))
    found: np.ndarray = (e / e.sum(axes, keepdims=True)).astype(np.float32)
    return found


def unary(op: str, x: np.ndarray | None = None, name: str = "", **attributes: Any) -> Case:
    """dX of dY and X, or Y."""
    x = f(3, 5) if x is None else x
    inputs = {"dy": f(*x.shape), "x": x}
    return Case(name or op, op, ["dy", "x"], ["dx"], inputs, attributes)


def convolution(name: str, x: tuple[int, ...], w: tuple[int, ...], **attributes: Any) -> Case:
    """The shape of dY is that of the convolution's result."""
    conv = helper.make_node("Conv", ["x", "w"], ["y"], "conv", **attributes)
    scale = helper.make_node("Mul", ["y", "y"], ["dy"])
    reads, gives = ["dy", "x", "w"], ["dx", "dw", "db"]
    return Case(name, "ConvGrad", reads, gives, {"x": f(*x), "w": f(*w)}, attributes, [conv, scale])


def pool(name: str, **attributes: Any) -> Case:
    node = helper.make_node("MaxPool", ["x"], ["y", "mask"], "pool", **attributes)
    scale = helper.make_node("Mul", ["y", "y"], ["dy"])
    shape = (2, 3, 7, 8)
    return Case(
        name,
        "MaxPoolGrad",
        ["dy", "mask"],
        ["dx"],
        {"x": f(*shape)},
        attributes,
        [node, scale],
        domain="",
        shape=shape,
    )


def average_pool(name: str, shape: tuple[int, ...] = (2, 3, 7, 8), **attributes: Any) -> Case:
    """The operator reads attributes, and the shape that its output is declared with."""
    node = helper.make_node("AveragePool", ["x"], ["y"], "pool", **attributes)
    scale = helper.make_node("Mul", ["y", "y"], ["dy"])
    inputs, before = {"x": f(*shape)}, [node, scale]
    return Case(
        name, "AveragePoolGrad", ["dy"], ["dx"], inputs, attributes, before, domain="", shape=shape
    )


def loss(
    name: str,
    labels: np.ndarray,
    weighted: bool = False,
    shape: Sequence[int] = (4, 5),
    **attributes: Any,
) -> Case:
    reads = ["logits", "labels", *(["weight"] if weighted else [])]
    node = helper.make_node(
        "SoftmaxCrossEntropyLoss", reads, ["loss", "logp"], "loss", **attributes
    )
    of_loss = f(*labels.shape) if attributes.get("reduction") == "none" else f()
    inputs = {"dloss": np.array(of_loss), "logits": f(*shape), "labels": labels}
    if weighted:
        inputs["weight"] = np.abs(f(shape[1]))
    reads = ["dloss", "logp", "labels", *(["weight"] if weighted else [])]
    return Case(name, "SoftmaxCrossEntropyLossGrad", reads, ["dx"], inputs, attributes, [node])


def layer_norm(name: str, axis: int, simplified: bool = False) -> Case:
    x = f(2, 3, 4)
    axes = tuple(range(axis % 3, 3))
    mean = x.mean(axes, keepdims=True) * (not simplified)
    deviation = np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)
    inputs = {"dy": f(2, 3, 4), "x": x, "scale": f(*x.shape[axis % 3 :])}
    if not simplified:
        inputs["mean"] = mean
    inputs["inverse"] = (1 / deviation).astype(np.float32)
    gives = ["dx", "dscale"] if simplified else ["dx", "dscale", "dbias"]
    op = "SimplifiedLayerNormalizationGrad" if simplified else "LayerNormalizationGrad"
    return Case(name, op, list(inputs), gives, inputs, {"axis": axis})


def batch_norm() -> list[Case]:
    x, mean, variance = f(4, 3, 5), f(3), np.abs(f(3))
    inputs = {"x": x, "scale": f(3), "b": f(3), "mean": mean, "var": variance}
    gives = ["y", "running_mean", "running_var", "saved_mean", "saved_inverse"]
    forward = Case(
        "BatchNormInternal", "BatchNormInternal", list(inputs), gives, inputs, {"training_mode": 1}
    )
    inverse = (1 / np.sqrt(x.var((0, 2)) + 1e-5)).astype(np.float32)
    of = {"dy": f(4, 3, 5), "x": x, "scale": f(3), "mean": x.mean((0, 2)), "inverse": inverse}
    back = Case(
        "BatchNormalizationGrad",
        "BatchNormalizationGrad",
        list(of),
        ["dx", "dscale", "dbias"],
        of,
        {"epsilon": 1e-5},
    )
    return [forward, back]


def optimizer(name: str, *, signal: bool | None = None, **attributes: Any) -> Case:
    shapes = [(3, 4), (5,)]
    inputs: dict[str, Any] = {
        "lr": np.array([0.01], np.float32),
        "step": np.array([3]),
        "params": [f(*shape) for shape in shapes],
        "gradients": [f(*shape) for shape in shapes],
        "m1": [f(*shape) for shape in shapes],
        "m2": [np.abs(f(*shape)) for shape in shapes],
    }
    gives = ["flag", "seq_params", "seq_m1", "seq_m2"]
    op = "AdamWOptimizer"
    if name.startswith("sgd"):
        op, gives = "SGDOptimizerV2", gives[:2]
        for unused in ("step", "m1", "m2"):
            del inputs[unused]
    if signal is not None:
        inputs["signal"] = np.array([signal])
    return Case(name, op, list(inputs), gives, inputs, attributes)


def cases() -> list[Case]:
    """Always the same: the numbers are those of one generator, in this order."""
    global RNG
    RNG = np.random.default_rng(20)
    sigmoid = (1 / (1 + np.exp(-f(3, 5)))).astype(np.float32)
    rows = np.array([[0, 2], [2, 2]])
    gather = {"shape": np.array([4, 3]), "indices": rows, "dy": f(2, 2, 3)}
    gather_nd = {"shape": np.array([4, 3]), "indices": rows, "dy": f(2)}
    elements = {
        "dy": f(2, 3),
        "shape": np.array([4, 3]),
        "indices": np.array([[0, 1, 1], [3, 1, 0]]),
    }
    sliced = {
        "dy": f(2, 3),
        "shape": np.array([5, 3]),
        "starts": np.array([1]),
        "ends": np.array([5]),
        "axes": np.array([0]),
        "steps": np.array([2]),
    }
    labels, ignored = np.array([0, 4, 2, 2]), np.array([0, 4, -1, 2])
    planes = np.array([[[0, 4], [1, 1]], [[2, 3], [3, 0]]])
    dropped = {"dy": f(3, 5), "mask": f(3, 5) > 0, "ratio": np.array(0.25, np.float32)}
    biased = {"dy": f(3, 5), "x": f(3, 5), "b": f(5)}
    flat = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    return [
        *batch_norm(),
        Case("BiasFastGeluGrad_dX", "BiasFastGeluGrad_dX", ["dy", "x", "b"], ["dx"], biased),
        Case("BiasGeluGrad_dX", "BiasGeluGrad_dX", ["dy", "x", "b"], ["dx"], biased),
        convolution("conv", (2, 3, 6, 7), (4, 3, 3, 2), pads=[1, 0, 1, 1], strides=[2, 1]),
        convolution("conv_groups", (2, 4, 9), (6, 2, 3), group=2, dilations=[2]),
        Case("DropoutGrad", "DropoutGrad", ["dy", "mask", "ratio"], ["dx"], dropped),
        unary("FastGeluGrad"),
        Case("GatherElementsGrad", "GatherElementsGrad", list(elements), ["dx"], elements),
        Case("GatherGrad", "GatherGrad", list(gather), ["dx"], gather),
        Case("GatherNDGrad", "GatherNDGrad", list(gather_nd), ["dx"], gather_nd),
        unary("GeluGrad"),
        layer_norm("layer_norm", -1),
        layer_norm("layer_norm_1", 1),
        unary("LogSoftmaxGrad_13", np.log(softmax(f(3, 5))), axis=-1),
        unary("LogSoftmaxGrad", np.log(softmax(flat, (1, 2))), axis=1),
        pool("pool", kernel_shape=[2, 2], strides=[2, 2]),
        pool("pool_overlaps", kernel_shape=[3, 3], strides=[1, 2], pads=[1, 1, 1, 1]),
        unary("QuickGeluGrad", alpha=1.5),
        unary("ReluGrad"),
        unary("SigmoidGrad", sigmoid),
        layer_norm("rms_norm", -1, simplified=True),
        Case("SliceGrad", "SliceGrad", list(sliced), ["dx"], sliced),
        loss("loss", labels),
        loss("loss_sum", labels, reduction="sum"),
        loss("loss_none", labels, reduction="none"),
        loss("loss_weighted", labels, weighted=True),
        loss("loss_ignored", ignored, ignore_index=-1),
        loss("loss_planes", planes, weighted=True, shape=(2, 5, 2, 2)),
        unary("SoftmaxGrad_13", softmax(f(3, 5, 2), (1,)), axis=1),
        unary("SoftmaxGrad", softmax(flat, (1, 2)), axis=1),
        unary("TanhGrad", np.tanh(f(3, 5))),
        Case("Scale", "Scale", ["x", "s"], ["y"], {"x": f(3, 5), "s": np.array(3.0, np.float32)}),
        Case(
            "Scale_down",
            "Scale",
            ["x", "s"],
            ["y"],
            {"x": f(3, 5), "s": np.array(3)},
            {"scale_down": 1},
        ),
        Case(
            "FusedMatMul",
            "FusedMatMul",
            ["a", "b"],
            ["y"],
            {"a": f(2, 4, 3), "b": f(2, 5, 4)},
            {"transA": 1, "transB": 1, "alpha": 0.5},
        ),
        Case("Gelu", "Gelu", ["x"], ["y"], {"x": f(3, 5)}),
        Case("FastGelu", "FastGelu", ["x", "b"], ["y"], {"x": f(3, 5), "b": f(5)}),
        Case("BiasGelu", "BiasGelu", ["x", "b"], ["y"], {"x": f(3, 5), "b": f(5)}),
        Case("QuickGelu", "QuickGelu", ["x"], ["y"], {"x": f(3, 5)}),
        Case("ReduceAllL2", "ReduceAllL2", ["a", "b"], ["y"], {"a": f(3, 5), "b": f(4)}),
        optimizer("adamw_0", adam_mode=0, weight_decay=0.1),
        optimizer("adamw_1", adam_mode=1, weight_decay=0.1, epsilon=1e-3),
        optimizer("adamw_uncorrected", adam_mode=1, correct_bias=0),
        optimizer("adamw_skipped", signal=False, adam_mode=0),
        optimizer("sgd"),
        optimizer("sgd_taken", signal=True),
        Case(
            "clip",
            "InplaceClipGradNorm",
            ["gradients"],
            ["seq"],
            {"gradients": [f(3, 4), f(5)]},
            {"max_norm": 1.5},
        ),
        Case(
            "clip_wide",
            "InplaceClipGradNorm",
            ["gradients"],
            ["seq"],
            {"gradients": [f(3, 4), f(5)]},
            {"max_norm": 100.0},
        ),
        average_pool("average_pool", kernel_shape=[2, 2], strides=[2, 2]),
        average_pool("average_pool_line", (2, 3, 9), kernel_shape=[3], strides=[2], pads=[1, 1]),
        average_pool(
            "average_pool_overlaps", kernel_shape=[3, 3], strides=[1, 2], pads=[1, 0, 1, 1]
        ),
        average_pool(
            "average_pool_padded",
            kernel_shape=[3, 2],
            strides=[2, 1],
            pads=[1, 1, 0, 1],
            count_include_pad=1,
        ),
    ]


def flatten(outputs: Sequence[Any]) -> list[np.ndarray]:
    """Tensors, and those of sequences."""
    found: list[np.ndarray] = []
    for value in outputs:
        found += value if isinstance(value, list) else [value]
    return found


def main() -> None:
    import onnxruntime

    recorded: dict[str, Any] = {}
    for case in cases():
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(
            case.model().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        # In place: what is changed must be ours.
        feeds = {
            name: [each.copy() for each in value] if isinstance(value, list) else value.copy()
            for name, value in case.inputs.items()
        }
        for i, value in enumerate(flatten(session.run(None, feeds))):
            recorded[f"{case.name}/{i}"] = value
    GOLDEN.parent.mkdir(exist_ok=True)
    np.savez_compressed(GOLDEN, **recorded)


if __name__ == "__main__":
    main()
