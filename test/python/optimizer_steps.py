"""Steps of optimizers alone: a loss whose gradients are inputs, so that any gradient can be given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from stateful import StatefulSession, run_passes

Arrays = dict[str, np.ndarray]

#: A scalar, a vector, matrices of both forms, and a convolution's filter.
SHAPES: dict[str, tuple[int, ...]] = {
    "scalar": (),
    "vector": (37,),
    "tall": (29, 6),
    "wide": (5, 40),
    "filter": (4, 3, 5, 7),
}


@dataclass(frozen=True)
class Case:
    """An optimizer with settings, and with numbers of torch.optim's where none are given."""

    optimizer: str
    lr: float
    weight_decay: float = 0.0
    settings: Mapping[str, float] = field(default_factory=dict)

    def options(self) -> str:
        settings = ",".join(f"{name}={value}" for name, value in self.settings.items())
        text = f"optimizer={self.optimizer} lr={self.lr} weight-decay={self.weight_decay}"
        return f"{text} settings={settings}" if settings else text


CASES = {
    "sgd": Case("sgd", 0.05, 0.01),
    "sgd-momentum": Case("sgd", 0.05, 0.01, {"momentum": 0.9}),
    "sgd-dampening": Case("sgd", 0.05, 0.0, {"momentum": 0.8, "dampening": 0.3}),
    "sgd-nesterov": Case("sgd", 0.05, 0.01, {"momentum": 0.9, "nesterov": 1}),
    "adam": Case("adam", 3e-3, 0.02),
    "adam-amsgrad": Case("adam", 3e-3, 0.02, {"amsgrad": 1, "beta2": 0.9}),
    # beta1 below a half: the other side of lerp.
    "adam-betas": Case("adam", 3e-3, 0.0, {"beta1": 0.3, "beta2": 0.95, "eps": 1e-3}),
    "adamw": Case("adamw", 3e-3, 0.05),
    "adamw-amsgrad": Case("adamw", 3e-3, 0.05, {"amsgrad": 1}),
    "adagrad": Case("adagrad", 0.02, 0.01),
    "adagrad-decay": Case(
        "adagrad", 0.02, 0.0, {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-6}
    ),
    "adafactor": Case("adafactor", 0.01, 0.02),
    "adafactor-settings": Case(
        "adafactor", 0.3, 0.0, {"beta2_decay": -0.5, "eps1": 0.1, "eps2": 1e-2, "d": 1.5}
    ),
    "lion": Case("lion", 1e-3, 0.1),
    "lion-betas": Case("lion", 1e-3, 0.0, {"beta1": 0.95, "beta2": 0.98}),
}

#: Everything together: groups, a schedule, clipping by value and averages.
EVERYTHING = Case("adamw", 3e-3, 0.05)
EVERYTHING_OPTIONS = (
    "schedule=cosine:warmup=5,total=50,end=0.1 clip-value=0.5 ema=0.9 "
    "group={{scalar|vector:lr=0.3,decay=0},{filter:lr=2.5}}"
)


def linear(step: int, warmup: int, total: int) -> float:
    """The factor of transformers' get_linear_schedule_with_warmup."""
    if step < warmup:
        return step / max(1, warmup)
    return max(0.0, (total - step) / max(1, total - warmup))


def cosine(step: int, warmup: int, total: int, end: float = 0.0) -> float:
    """The factor of transformers' get_cosine_with_min_lr_schedule_with_warmup."""
    if step < warmup:
        return step / max(1, warmup)
    progress = (step - warmup) / max(1, total - warmup)
    factor = 0.5 * (1.0 + math.cos(math.pi * 0.5 * 2.0 * progress))
    return max(0.0, factor * (1 - end) + end)


def initial_parameters(shapes: Mapping[str, tuple[int, ...]] = SHAPES) -> Arrays:
    rng = np.random.default_rng(7)
    return {name: np.asarray(rng.normal(size=shape), np.float32) for name, shape in shapes.items()}


def random_gradients(
    steps: int, shapes: Mapping[str, tuple[int, ...]] = SHAPES, seed: int = 1
) -> list[Arrays]:
    """Of all magnitudes from step to step."""
    rng = np.random.default_rng(seed)
    return [
        {
            name: np.asarray(rng.normal(size=shape) * 10.0 ** rng.uniform(-3, 1), np.float32)
            for name, shape in shapes.items()
        }
        for _ in range(steps)
    ]


def gradient_model(parameters: Arrays) -> onnx.ModelProto:
    """The sum of all `X * g.X`, whose gradient by `X` is the input `g.X`."""
    inputs, nodes, terms = [], [], []
    for name, value in parameters.items():
        inputs.append(
            helper.make_tensor_value_info(f"g.{name}", TensorProto.FLOAT, list(value.shape))
        )
        nodes.append(helper.make_node("Mul", [name, f"g.{name}"], [f"{name}.product"]))
        nodes.append(
            helper.make_node("ReduceSum", [f"{name}.product"], [f"{name}.sum"], keepdims=0)
        )
        terms.append(f"{name}.sum")
    nodes.append(helper.make_node("Sum", terms, ["loss"]))
    graph = helper.make_graph(
        nodes,
        "gradients",
        inputs,
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(value, name) for name, value in parameters.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class Optimizer:
    """A step of an optimizer in ONNX Runtime, with the state that it is fed back."""

    def __init__(self, options: str, parameters: Arrays | None = None, scale: float = 0) -> None:
        """`options` are those of amp-attach-optimizer; a `scale` is that of the loss."""
        model = gradient_model(parameters if parameters is not None else initial_parameters())
        if scale:
            model.graph.input.append(helper.make_tensor_value_info("scale", TensorProto.FLOAT, []))
            options += " seed=scale"
        passes = [
            "--onnx-infer-types",
            "--amp-make-parameters=loss=loss",
            f"--amp-differentiate=loss=loss{' seed=scale' if scale else ''}",
            f"--amp-attach-optimizer={options}",
            *(["--amp-attach-scaler=seed=scale"] if scale else []),
            "--amp-to-onnx",
        ]
        self.model = run_passes(model, *passes)
        self.session = StatefulSession(self.model)
        if scale:
            self.session.state["scale"] = np.array(scale, np.float32)

    @property
    def state(self) -> Arrays:
        """What the next step begins with."""
        return self.session.state

    def step(self, gradients: Arrays, **feeds: Any) -> Arrays:
        """The outputs of a step."""
        given = {f"g.{name}": value for name, value in gradients.items()}
        return self.session.run(given, **feeds)

    def run(self, gradients: Sequence[Arrays]) -> Arrays:
        """The state after all of these steps."""
        for each in gradients:
            self.step(each)
        return self.state
