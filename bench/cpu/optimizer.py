"""AdamW with unscaling and clipping beside PyTorch's fused and foreach ones.

Ours is the part of a step that `train-graph --accumulate --apply-output` parts from the rest: it takes
gradients that are there, scaled, and sets them to zero for the next ones. PyTorch does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
import torch
from cpu.executable import Executable, ToolError, call
from cpu.results import Result, Settings, in_turn, median_of, milliseconds, ratio_of
from onnx import TensorProto, helper, numpy_helper

GOAL = 0.6
WIDTH = 2000
TENSORS, QUICK_TENSORS = 25, 3


def model_of(tensors: int) -> onnx.ModelProto:
    """Parameters of 4 million elements each."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.random((WIDTH, WIDTH), np.float32) - 0.5, f"w{index}")
        for index in range(tensors)
    ]
    names = ["x", *(f"h{index}" for index in range(tensors))]
    nodes = [
        helper.make_node("MatMul", [names[index], f"w{index}"], [names[index + 1]])
        for index in range(tensors)
    ]
    nodes.append(helper.make_node("ReduceMean", [names[-1]], ["loss"], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "parameters",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def make_ours(settings: Settings, tensors: int) -> Executable:
    """The executable that applies gradients."""
    forward, step = settings.work / "parameters.onnx", settings.work / "accumulate.onnx"
    apply = settings.work / "apply.onnx"
    onnx.save(model_of(tensors), forward)
    command = [settings.tools / "onnx-amp", "train-graph", forward, "-o", step, "--quiet"]
    command += ["--apply-output", apply, "--accumulate=2", "--loss=loss", "--optimizer=adamw"]
    call(*command, "--lr=1e-3", "--dtype=fp16", "--loss-scale=dynamic", "--clip-norm=1")
    step.unlink()
    forward.unlink()
    return Executable(settings.tools, apply, {}, settings.threads)


def make_theirs(tensors: int, kind: str) -> Callable[[], None]:
    """PyTorch's step, fused or foreach."""
    parameters = [torch.nn.Parameter(torch.rand(WIDTH, WIDTH) - 0.5) for _ in range(tensors)]
    for parameter in parameters:
        parameter.grad = torch.rand(WIDTH, WIDTH)
    optimizer = torch.optim.AdamW(
        parameters, lr=1e-3, fused=kind == "fused", foreach=kind == "foreach"
    )
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.zeros(()))

    def step() -> None:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=False)

    return step


def report(settings: Settings) -> Iterator[Result]:
    """One line."""
    torch.set_num_threads(settings.threads)
    tensors = QUICK_TENSORS if settings.quick else TENSORS
    label = f"AdamW of {tensors * WIDTH * WIDTH / 1e6:.0f} M"
    try:
        ours = make_ours(settings, tensors)
        contestants = {"onnx-amp": ours.contestant()}
    except ToolError as error:
        yield Result("optimizer", label, problem=str(error))
        return
    times: dict[str, list[float]] = {}
    for kind in ("fused", "foreach"):
        # One of theirs at a time: the memory of both may be too much.
        step = make_theirs(tensors, kind)
        contestants[kind] = lambda seconds, step=step: median_of(step, seconds)
        found = in_turn(contestants, settings.rounds, settings.seconds)
        del contestants[kind], step
        times[kind] = found[kind]
        ratio = ratio_of(found["onnx-amp"], found[kind])
        yield Result(
            "optimizer", f"{label} / {kind}", ratio, GOAL, text=milliseconds(found), measured=found
        )
