"""Gradients of reductions, and of running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from finite_differences import SHAPES, Node, build, problems
from gradients import differentiate
from onnx import TensorProto, helper

RANDOM = np.random.default_rng(12)
BFLOAT16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)


def axis_tuple(axes: np.ndarray | None, noop: int) -> tuple[int, ...] | None:
    """NumPy's way to say it: None is all."""
    if axes is None or axes.size == 0:
        return () if noop else None
    return tuple(int(axis) for axis in axes)


def log_sum_exp(x: np.ndarray, **how: Any) -> np.ndarray:
    return np.log(np.exp(x).sum(**how))


REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "ReduceL1": lambda x, **how: np.abs(x).sum(**how),
    "ReduceL2": lambda x, **how: np.sqrt((x * x).sum(**how)),
    "ReduceLogSum": lambda x, **how: np.log(x.sum(**how)),
    "ReduceLogSumExp": log_sum_exp,
    "ReduceMax": lambda x, **how: x.max(**how),
    "ReduceMean": lambda x, **how: x.mean(**how),
    "ReduceMin": lambda x, **how: x.min(**how),
    "ReduceProd": lambda x, **how: x.prod(**how),
    "ReduceSum": lambda x, **how: x.sum(**how),
    "ReduceSumSquare": lambda x, **how: (x * x).sum(**how),
}
AXES = [None, [], [-1], [2, 0]]


def numbers() -> np.ndarray:
    """Different positive ones, as float16 holds them."""
    return RANDOM.permutation(24).reshape(2, 3, 4) / 16 + 0.25


def reduction(op: str, axes: list[int] | None, keepdims: int, noop: int) -> Node:
    given = None if axes is None else np.array(axes, np.int64)
    how = {"axis": axis_tuple(given, noop), "keepdims": bool(keepdims)}
    attributes = {"keepdims": keepdims} | ({"noop_with_empty_axes": 1} if noop else {})
    inputs = [numbers()] if given is None else [numbers(), given]
    return Node(op, lambda x, *_: REDUCTIONS[op](x, **how), inputs, attributes)


NODES = [
    reduction(op, axes, keepdims, noop)
    for op in REDUCTIONS
    for axes in AXES
    for keepdims in (0, 1)
    for noop in ((0, 1) if not axes else (0,))
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_reductions(shapes: str, tmp_path: Path) -> None:
    """However much is known about shapes."""
    assert problems(NODES, tmp_path, shapes=shapes) == []


@pytest.mark.parametrize("shapes", SHAPES)
def test_axes_at_run_time(shapes: str, tmp_path: Path) -> None:
    """Axes may come with the data, and be none."""
    assert problems(NODES, tmp_path, constants=False, shapes=shapes) == []


@pytest.mark.parametrize("opset", [18, 24])
def test_opsets(opset: int, tmp_path: Path) -> None:
    """Nodes are those of the model's opset."""
    assert problems(NODES[::3], tmp_path, opset=opset) == []


def test_float16(tmp_path: Path) -> None:
    """Sums are made in float32; the result and its gradient are float16."""
    assert problems(NODES, tmp_path, dtype=np.float16, tolerance=4e-3) == []


def test_bfloat16(tmp_path: Path) -> None:
    """Every node of a gradient admits its types; ONNX Runtime has no kernels to run them."""
    model, _, _ = build(NODES, BFLOAT16, 24, "sizes", True)
    wrt = [f"x{number}_0" for number in range(len(NODES))]
    result = differentiate(model, ["loss"], wrt, tmp_path)
    onnx.checker.check_model(result, full_check=True)
    kinds = {value.type.tensor_type.elem_type for value in result.graph.output[1:]}
    assert kinds == {TensorProto.BFLOAT16}


def zeros_at(shape: tuple[int, ...], *places: tuple[int, ...]) -> np.ndarray:
    x = RANDOM.uniform(0.5, 1.5, shape) * RANDOM.choice([-1, 1], shape)
    for place in places:
        x[place] = 0
    return x


def test_products_of_zeros(tmp_path: Path) -> None:
    """One zero leaves a slope to itself, two leave none."""
    nodes = [
        Node("ReduceProd", lambda x, axes: x.prod(tuple(axes), keepdims=True),
             [zeros_at((2, 2, 3), (0, 1, 1)), np.array([0, 2])]),
        Node("ReduceProd", lambda x: x.prod(keepdims=True), [zeros_at((2, 3), (0, 1), (1, 2))]),
        Node("ReduceProd", lambda x: x.prod(keepdims=True), [zeros_at((2, 3), (0, 1))]),
    ]  # fmt: skip
    assert problems(nodes, tmp_path) == []
    assert problems(nodes, tmp_path, constants=False, shapes="rank") == []


@pytest.mark.parametrize("constants", [True, False])
def test_ties_over_two_axes(constants: bool, tmp_path: Path) -> None:
    """Elements that are alike share, as in amax; central differences of it do so, too, for two."""
    x = np.array([[1.0, 3.0, 2.0], [3.0, 0.0, 1.0]])
    nodes = [
        Node("ReduceMax", lambda x, axes: x.max(keepdims=True), [x, np.array([0, 1])]),
        Node("ReduceMin", lambda x: x.min(keepdims=True), [-x]),
    ]
    assert problems(nodes, tmp_path, constants=constants) == []


def running(op: str, x: np.ndarray, axis: int, exclusive: int, reverse: int) -> Node:
    """A running sum or product, as NumPy has it."""

    def function(x: np.ndarray, _: np.ndarray) -> np.ndarray:
        x = np.flip(x, axis) if reverse else x
        if exclusive:
            first = np.zeros_like if op == "CumSum" else np.ones_like
            count = x.shape[axis]
            head = np.take(x, range(count - 1), axis)
            x = np.concatenate([first(np.take(x, [0], axis)), head], axis)
        y = np.cumsum(x, axis) if op == "CumSum" else np.cumprod(x, axis)
        return np.flip(y, axis) if reverse else y

    attributes = {"exclusive": exclusive, "reverse": reverse}
    return Node(op, function, [x, np.array(axis, np.int32 if axis < 0 else np.int64)], attributes)


ZEROS = [[], [(0, 0)], [(0, 2)], [(0, 3), (1, 0)], [(0, 1), (0, 3)], [(1, 0), (1, 1), (1, 3)]]
RUNNING = [
    running(op, zeros_at((2, 4), *places), axis, exclusive, reverse)
    for op in ("CumSum", "CumProd")
    for places in (ZEROS if op == "CumProd" else [[]])
    for axis in (1, -2)
    for exclusive in (0, 1)
    for reverse in (0, 1)
]


@pytest.mark.parametrize("constants", [True, False])
@pytest.mark.parametrize("shapes", SHAPES)
def test_running(shapes: str, constants: bool, tmp_path: Path) -> None:
    """Zeros at the beginning, at the end, one and several; the axis may come with the data."""
    assert problems(RUNNING, tmp_path, opset=26, shapes=shapes, constants=constants) == []


def test_running_sum_float16(tmp_path: Path) -> None:
    """The gradient is added up in float32."""
    nodes = [node for node in RUNNING if node.op == "CumSum"]
    assert problems(nodes, tmp_path, dtype=np.float16, tolerance=4e-3) == []
    types = {
        helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        for model in [onnx.shape_inference.infer_shapes(onnx.load(tmp_path / "gradient.onnx"))]
        for node in model.graph.node
        for value in model.graph.value_info
        if node.op_type == "CumSum" and value.name in node.output and value.name[0] != "y"
    }
    assert types == {np.dtype(np.float32)}
