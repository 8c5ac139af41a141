"""Runs PyTorch's optimizers, for test_optimizers.py: `torch_optimizers.py OUTPUT STEPS`.

A process of its own, since ATEN_CPU_CAPABILITY, which chooses PyTorch's kernels, is read once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from optimizer_steps import CASES, EVERYTHING, Case, cosine, initial_parameters, random_gradients
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def rounded_sqrt(tensor: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(np.sqrt(tensor.numpy())))


class Lion(torch.optim.Optimizer):
    """Program 2 of Chen et al. 2023, which PyTorch does not have."""

    def __init__(self, params: Any, lr: float, weight_decay: float, betas: tuple[float, float]):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "betas": betas})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                mean = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = mean.clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_()
                p.add_(update, alpha=-group["lr"])
                mean.mul_(beta2).add_(p.grad, alpha=1 - beta2)


CLASSES: dict[str, Any] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adagrad": torch.optim.Adagrad,
    "adafactor": torch.optim.Adafactor,
    "lion": Lion,
}


def create(case: Case, params: Any) -> Any:
    given: dict[str, Any] = dict(case.settings)
    if case.optimizer in ("adam", "adamw", "lion"):
        beta2 = 0.99 if case.optimizer == "lion" else 0.999
        given["betas"] = (given.pop("beta1", 0.9), given.pop("beta2", beta2))
    if case.optimizer == "adafactor":
        given["eps"] = (given.pop("eps1", None), given.pop("eps2", 1e-3))
    for flag in ("nesterov", "amsgrad"):
        if flag in given:
            given[flag] = bool(given[flag])
    return CLASSES[case.optimizer](params, lr=case.lr, weight_decay=case.weight_decay, **given)


def run_case(case: Case, steps: int) -> dict[str, np.ndarray]:
    parameters = {
        name: torch.nn.Parameter(torch.tensor(value))
        for name, value in initial_parameters().items()
    }
    optimizer = create(case, list(parameters.values()))
    for gradients in random_gradients(steps):
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(gradients[name])
        optimizer.step()
    return {name: parameter.detach().numpy() for name, parameter in parameters.items()}


def run_everything(steps: int) -> dict[str, np.ndarray]:
    """Groups, a schedule, clipping by value and averages, together."""
    module = torch.nn.Module()
    for name, value in initial_parameters().items():
        module.register_parameter(name, torch.nn.Parameter(torch.tensor(value)))
    parameters = dict(module.named_parameters())
    tensors = [parameters.pop("scalar"), parameters.pop("vector")]
    lr = EVERYTHING.lr
    optimizer = torch.optim.AdamW(
        [
            {"params": tensors, "lr": lr * 0.3, "weight_decay": 0.0},
            {"params": [parameters.pop("filter")], "lr": lr * 2.5},
            {"params": list(parameters.values())},
        ],
        lr=lr,
        weight_decay=EVERYTHING.weight_decay,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: cosine(step, 5, 50, 0.1))
    averages = AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    averages.update_parameters(module)  # the first call copies
    for gradients in random_gradients(steps):
        for name, parameter in module.named_parameters():
            parameter.grad = torch.tensor(gradients[name])
        torch.nn.utils.clip_grad_value_(module.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        averages.update_parameters(module)
    found = {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}
    for name, parameter in averages.module.named_parameters():
        found[f"{name}.ema"] = parameter.detach().numpy()
    return found


def main(output: Path, steps: int) -> None:
    torch.set_num_threads(1)
    if os.environ.get("ATEN_CPU_CAPABILITY") == "default":
        # MKL's root, which PyTorch takes for many elements, is off by one in the last place for
        # one number of 140; that of ONNX Runtime and of the CPU is not.
        setattr(torch.Tensor, "sqrt", rounded_sqrt)  # noqa: B010 (mypy knows no other way)
    arrays = {}
    for label, case in CASES.items():
        for name, value in run_case(case, steps).items():
            arrays[f"{label}/{name}"] = value
    for name, value in run_everything(steps).items():
        arrays[f"everything/{name}"] = value
    np.savez(output, **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
