"""Optimizers follow the formulas of their papers in float64, and PyTorch's bits in float32."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optimizer_steps import (
    CASES,
    EVERYTHING,
    EVERYTHING_OPTIONS,
    SHAPES,
    Arrays,
    Case,
    Optimizer,
    cosine,
    initial_parameters,
    linear,
    random_gradients,
)

STEPS = 40
#: Of the largest weight, after all steps: twice what is measured. Most comes from the factor by
#: which weights decay, which is rounded to float32, as PyTorch's is.
FLOAT32 = 4e-6


def bits(arrays: Arrays) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in arrays.items()}


# ---- float64


class Reference:
    """One parameter in float64; `update` is the formula of a paper, with torch.optim's settings."""

    def __init__(self, case: Case, value: np.ndarray) -> None:
        self.case, self.p, self.t = case, value.astype(np.float64), 0
        self.m = np.zeros_like(self.p)
        self.v: Any = np.zeros_like(self.p)
        self.most = np.zeros_like(self.p)

    def get(self, name: str, default: float) -> float:
        return self.case.settings.get(name, default)

    def update(self, gradient: np.ndarray) -> None:
        self.t += 1
        getattr(self, self.case.optimizer)(gradient.astype(np.float64))

    def sgd(self, g: np.ndarray) -> None:
        g = g + self.case.weight_decay * self.p
        momentum = self.get("momentum", 0)
        if momentum:
            self.m = g if self.t == 1 else momentum * self.m + (1 - self.get("dampening", 0)) * g
            g = g + momentum * self.m if self.get("nesterov", 0) else self.m
        self.p = self.p - self.case.lr * g

    def adam(self, g: np.ndarray, decoupled: bool = False) -> None:
        decay, lr = self.case.weight_decay, self.case.lr
        if decoupled:
            self.p = self.p - lr * decay * self.p
        else:
            g = g + decay * self.p
        beta1, beta2 = self.get("beta1", 0.9), self.get("beta2", 0.999)
        self.m = beta1 * self.m + (1 - beta1) * g
        self.v = beta2 * self.v + (1 - beta2) * g**2
        self.most = np.maximum(self.most, self.v)
        second = self.most if self.get("amsgrad", 0) else self.v
        m = self.m / (1 - beta1**self.t)
        v = second / (1 - beta2**self.t)
        self.p = self.p - lr * m / (np.sqrt(v) + self.get("eps", 1e-8))

    def adamw(self, g: np.ndarray) -> None:
        self.adam(g, decoupled=True)

    def adagrad(self, g: np.ndarray) -> None:
        g = g + self.case.weight_decay * self.p
        if self.t == 1:
            self.v = np.full_like(self.p, self.get("initial_accumulator_value", 0))
        self.v = self.v + g**2
        rate = self.case.lr / (1 + (self.t - 1) * self.get("lr_decay", 0))
        self.p = self.p - rate * g / (np.sqrt(self.v) + self.get("eps", 1e-10))

    def adafactor(self, g: np.ndarray) -> None:
        eps1, eps2 = self.get("eps1", 2.0**-23), self.get("eps2", 1e-3)
        rms = lambda x: math.sqrt(np.mean(x**2))  # noqa: E731
        rate = max(eps2, rms(self.p)) * min(self.case.lr, 1 / math.sqrt(self.t))
        beta = 1 - self.t ** self.get("beta2_decay", -0.8)
        self.p = self.p * (1 - self.case.lr * self.case.weight_decay)
        if g.ndim < 2:
            self.v = beta * self.v + (1 - beta) * g**2
            v = self.v
        else:
            rows, columns = self.v if self.t > 1 else (0.0, 0.0)
            rows = beta * rows + (1 - beta) * np.mean(g**2, -1, keepdims=True)
            columns = beta * columns + (1 - beta) * np.mean(g**2, -2, keepdims=True)
            self.v = (rows, columns)
            v = rows * columns / np.maximum(np.mean(rows, -2, keepdims=True), eps1)
        u = g / np.sqrt(np.maximum(v, eps1**2))
        self.p = self.p - rate * u / max(1, rms(u) / self.get("d", 1))

    def lion(self, g: np.ndarray) -> None:
        beta1, beta2 = self.get("beta1", 0.9), self.get("beta2", 0.99)
        direction = np.sign(beta1 * self.m + (1 - beta1) * g)
        self.p = self.p - self.case.lr * (direction + self.case.weight_decay * self.p)
        self.m = beta2 * self.m + (1 - beta2) * g


@lru_cache
def final_state(options: str) -> Arrays:
    """After all steps."""
    return Optimizer(options).run(random_gradients(STEPS))


@pytest.mark.parametrize("label", CASES)
def test_follows_the_formula(label: str) -> None:
    case = CASES[label]
    gradients = random_gradients(STEPS)
    state = final_state(case.options())
    for name, value in initial_parameters().items():
        reference = Reference(case, value)
        for each in gradients:
            reference.update(each[name])
        error = np.abs(state[name] - reference.p).max()
        assert error <= FLOAT32 * max(np.abs(value).max(), np.abs(reference.p).max()), name
    assert state["amp.step"] == STEPS


# ---- The learning rate


def rates(options: str, steps: int, **feeds: Any) -> list[np.float32]:
    """The learning rates of the first steps, as they are multiplied in float32."""
    shapes: Mapping[str, tuple[int, ...]] = {"w": ()}
    optimizer = Optimizer(f"optimizer=sgd {options}", {"w": np.zeros((), np.float32)})
    found = []
    for _ in range(steps):
        optimizer.state["w"] = np.zeros(shapes["w"], np.float32)
        after = optimizer.step({"w": np.ones(shapes["w"], np.float32)}, **feeds)
        found.append(-np.float32(after["w_next"]))
    return found


SCHEDULES: dict[str, Callable[[int], float]] = {
    "constant": lambda step: 1.0,
    "constant:warmup=7": lambda step: min(1.0, step / 7),
    "linear:total=30": lambda step: linear(step, 0, 30),
    "linear:warmup=7,total=30": lambda step: linear(step, 7, 30),
    "linear:warmup=7,total=7": lambda step: linear(step, 7, 7),
    "cosine:total=30": lambda step: cosine(min(step, 30), 0, 30),
    "cosine:warmup=1,total=30": lambda step: cosine(min(step, 30), 1, 30),
    "cosine:warmup=7,total=30,end=0.1": lambda step: cosine(min(step, 30), 7, 30, 0.1),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedule(schedule: str) -> None:
    """The factors of transformers' schedules, in double, times the rate; to the last bit."""
    expected = [np.float32(0.3 * SCHEDULES[schedule](step)) for step in range(35)]
    assert rates(f"lr=0.3 schedule={schedule}", 35) == expected


def test_learning_rate_is_an_input() -> None:
    assert rates("lr=0.3 schedule=input", 1) == [np.float32(0.3)]
    assert rates("lr=0.3 schedule=input", 1, **{"amp.lr": np.array(0.7)}) == [np.float32(0.7)]
    group = "group=w:lr=0.1"
    expected = [np.float32(0.7 * 0.1)]
    assert rates(f"schedule=input {group}", 1, **{"amp.lr": np.array(0.7)}) == expected


# ---- Groups, averages, clipping


def test_groups() -> None:
    """The first group that matches the whole name: as if each were alone with its numbers."""
    options = "group={{scalar|filter:lr=0.5,decay=0},{.*l.*:decay=0.4},{vector:lr=2}}"
    gradients = random_gradients(5)
    found = Optimizer(f"{CASES['adamw'].options()} {options}").run(gradients)
    alone = {
        "scalar": Case("adamw", 3e-3 * 0.5, 0),
        "filter": Case("adamw", 3e-3 * 0.5, 0),
        "tall": Case("adamw", 3e-3, 0.4),
        "vector": Case("adamw", 3e-3 * 2, 0.05),
        "wide": Case("adamw", 3e-3, 0.05),
    }
    for name, case in alone.items():
        assert np.array_equal(found[name], Optimizer(case.options()).run(gradients)[name]), name


def test_averages() -> None:
    optimizer = Optimizer(f"{CASES['lion'].options()} ema=0.9")
    expected = {name: value.astype(np.float64) for name, value in initial_parameters().items()}
    for name, value in initial_parameters().items():
        assert np.array_equal(optimizer.state[f"{name}.ema"], value)
    for gradients in random_gradients(10):
        state = optimizer.step(gradients)
        for name, average in expected.items():
            expected[name] = 0.9 * average + (1 - 0.9) * state[f"{name}_next"]
    for name, average in expected.items():
        np.testing.assert_allclose(optimizer.state[f"{name}.ema"], average, rtol=0, atol=1e-6)


def clipped(options: str, gradient: list[float]) -> list[float]:
    parameters = {"w": np.zeros(len(gradient), np.float32)}
    optimizer = Optimizer(f"optimizer=sgd lr=1 {options}", parameters)
    state = optimizer.run([{"w": np.array(gradient, np.float32)}])
    return [-float(value) for value in state["w"]]


def test_clip_by_value() -> None:
    inf, nan = float("inf"), float("nan")
    found = clipped("clip-value=0.5", [0.25, -0.25, 0.75, -3, inf, -inf, nan])
    assert found[:-1] == [0.25, -0.25, 0.5, -0.5, 0.5, -0.5]
    assert math.isnan(found[-1])


def test_clip_by_value_comes_before_norm() -> None:
    found = clipped("clip-value=3 clip-norm=1", [300.0, -4.0])
    np.testing.assert_allclose(found, [math.sqrt(0.5), -math.sqrt(0.5)], rtol=1e-6)


def test_skipped_steps_leave_everything() -> None:
    """State with its averages, and what the schedule reads, is bit for bit what it was."""
    options = f"{EVERYTHING.options()} {EVERYTHING_OPTIONS}"
    gradients = random_gradients(6)
    overflow = {name: value.copy() for name, value in gradients[0].items()}
    overflow["wide"][3, 5] = np.inf
    straight, skipping = (Optimizer(options, scale=1024.0) for _ in range(2))
    for number, each in enumerate(gradients):
        straight.step(each)
        skipping.step(each)
        if number in (1, 2, 4):
            before = dict(skipping.state)
            after = skipping.step(overflow)
            assert after["amp.found_inf"]
            for name in ("scale", "amp.growth_tracker"):
                del before[name]
            assert bits(before) == bits({name: skipping.state[name] for name in before})
            # The scale, a power of two, does not change unscaled gradients.
    for optimizer in (straight, skipping):
        del optimizer.state["scale"], optimizer.state["amp.growth_tracker"]
    assert bits(straight.state) == bits(skipping.state)


# ---- PyTorch


def run_torch(capability: str, folder: Path) -> Arrays:
    """PyTorch's parameters after STEPS steps, by `case/parameter`; `capability` chooses kernels."""
    environment = dict(os.environ)
    if capability:
        environment["ATEN_CPU_CAPABILITY"] = capability
    script = Path(__file__).with_name("torch_optimizers.py")
    target = folder / f"{capability}.npz"
    command = [sys.executable, str(script), str(target), str(STEPS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(target) as found:
        return dict(found)


needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="needs PyTorch, which `tools/dev test --full` installs"
)


@pytest.fixture(scope="module", params=["default", ""])
def torch_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return request.param, run_torch(request.param, tmp_path_factory.mktemp("torch"))


#: Units in the last place of the largest weight, after all steps: twice what is measured (3 with
#: AVX2 and AVX-512; of Adafactor 2.5 with them, 1.5 without).
FUSED = 6


@needs_torch
@pytest.mark.full
@pytest.mark.parametrize("label", [*CASES, "everything"])
def test_pytorch(label: str, torch_run: tuple[str, Arrays]) -> None:
    """The bits of PyTorch's kernels without fused products and sums, which ONNX does not have.

    Its kernels for newer CPUs have them; and the norms of Adafactor are sums in another order.
    """
    capability, expected = torch_run
    case = CASES.get(label, EVERYTHING)
    extra = EVERYTHING_OPTIONS if label == "everything" else ""
    state = final_state(f"{case.options()} {extra}")
    names = [name.removeprefix(f"{label}/") for name in expected if name.startswith(f"{label}/")]
    assert len(names) >= len(SHAPES)
    for name in names:
        got, wanted = state[name], expected[f"{label}/{name}"]
        if capability == "default" and case.optimizer != "adafactor":
            assert got.tobytes() == wanted.tobytes(), name
        else:
            unit = np.spacing(np.abs(wanted).max())
            assert np.abs(got - wanted).max() <= FUSED * unit, name
