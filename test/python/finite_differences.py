"""Gradients by amp-differentiate against differences of functions in float64.

Many nodes go into one model, each with inputs of its own; the loss is the sum of their outputs, each times numbers
between 0.5 and 1.5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from gradients import differentiate
from onnx import TensorProto, helper, numpy_helper
from running import run_in_onnxruntime

#: How shapes of inputs are declared: with sizes, with their number alone, or not at all.
SHAPES = ("sizes", "rank", "nothing")


@dataclass(frozen=True)
class Node:
    """A node, and the function of NumPy arrays that it is."""

    op: str
    function: Callable[..., np.ndarray]
    #: Those of float64 are differentiated; None is an input that is left out.
    inputs: Sequence[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    #: Positions of float inputs that are not differentiated.
    fixed: Sequence[int] = ()

    def differentiated(self) -> list[int]:
        """Positions of the inputs whose gradients are asked for."""
        return [
            position
            for position, array in enumerate(self.inputs)
            if array is not None and array.dtype == np.float64 and position not in self.fixed
        ]


def differences(node: Node, position: int, weights: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of sum(weights * function), by central differences."""
    arrays = list(node.inputs)
    result = np.zeros_like(arrays[position])
    for index in np.ndindex(result.shape):
        values = []
        for sign in (1, -1):
            moved = arrays[position].copy()
            moved[index] += sign * step
            changed = [*arrays[:position], moved, *arrays[position + 1 :]]
            values.append(float(np.sum(weights * node.function(*changed))))
        result[index] = (values[0] - values[1]) / (2 * step)
    return result


def build(
    nodes: Sequence[Node], dtype: Any, opset: int, shapes: str, constants: bool
) -> tuple[onnx.ModelProto, dict[str, np.ndarray], list[np.ndarray]]:
    """The model, what it is fed, and the weights of each node's output."""
    random = np.random.default_rng(5)
    graph = onnx.GraphProto(name="nodes")
    feeds: dict[str, np.ndarray] = {}
    weights, parts = [], []
    for number, node in enumerate(nodes):
        names = []
        for position, array in enumerate(node.inputs):
            if array is None:
                names.append("")
                continue
            name = f"x{number}_{position}"
            names.append(name)
            is_float = array.dtype == np.float64
            array = array.astype(dtype) if is_float else array
            if position in node.differentiated() or not constants:
                sizes = {"sizes": array.shape, "rank": [None] * array.ndim, "nothing": None}[shapes]
                element = helper.np_dtype_to_tensor_dtype(array.dtype)
                graph.input.append(helper.make_tensor_value_info(name, element, sizes))
                feeds[name] = array
            else:
                graph.initializer.append(numpy_helper.from_array(array, name))
        graph.node.append(helper.make_node(node.op, names, [f"y{number}"], **node.attributes))
        shape = np.shape(node.function(*node.inputs))
        weight = random.uniform(0.5, 1.5, shape).astype(np.float16)
        weights.append(weight.astype(np.float64))
        graph.initializer.append(numpy_helper.from_array(weight.astype(np.float32), f"w{number}"))
        graph.node.append(
            helper.make_node("Cast", [f"y{number}"], [f"wide{number}"], to=TensorProto.FLOAT)
        )
        graph.node.append(
            helper.make_node("Mul", [f"wide{number}", f"w{number}"], [f"part{number}"])
        )
        parts.append(f"sum{number}")
        graph.node.append(helper.make_node("ReduceSum", [f"part{number}"], [parts[-1]], keepdims=0))
    graph.node.append(helper.make_node("Sum", parts, ["loss"]))
    graph.output.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
    version = 10 if opset < 24 else 11 if opset < 26 else 13
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=version), feeds, weights


def problems(
    nodes: Sequence[Node],
    folder: Path,
    *,
    dtype: Any = np.float32,
    opset: int = 20,
    shapes: str = "sizes",
    constants: bool = True,
    tolerance: float = 2e-5,
) -> list[str]:
    """What is wrong with the gradients of nodes. Where `constants`, inputs that are not differentiated are
    initializers. Errors are counted in parts of the largest gradient."""
    model, feeds, weights = build(nodes, dtype, opset, shapes, constants)
    wrt = [f"x{n}_{i}" for n, node in enumerate(nodes) for i in node.differentiated()]
    result = differentiate(model, ["loss"], wrt, folder)
    if shapes != "nothing":  # The checker wants one of every input.
        onnx.checker.check_model(result, full_check=True)
    outputs = run_in_onnxruntime(folder / "gradient.onnx", feeds)
    found = []
    for number, node in enumerate(nodes):
        for position in node.differentiated():
            expected = differences(node, position, weights[number])
            gradient = outputs[f"x{number}_{position}_grad"]
            where = f"{node.op} {node.attributes} of {[np.shape(x) for x in node.inputs]}, input {position}"
            if gradient.dtype != dtype or gradient.shape != expected.shape:
                found.append(f"{where}: {gradient.dtype}{gradient.shape}")
                continue
            error = np.abs(gradient.astype(np.float64) - expected).max(initial=0)
            if not error <= tolerance * max(np.abs(expected).max(initial=0), 1e-3):
                found.append(f"{where}: {gradient.ravel()[:8]}, expected {expected.ravel()[:8]}")
    return found
