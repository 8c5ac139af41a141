"""Elementwise operations and reductions, as shares of the bandwidth of a copy.

A step's bytes are those of the model's inputs and outputs: what a kernel writes for the next one
counts against us. The copy is STREAM's: two threads, ordinary stores, twice the bytes of the array. The C
library's memmove, whose stores leave the caches out, is printed beside it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import onnx
from cpu.executable import Executable, ToolError
from cpu.results import Result, Settings, in_turn, median_of
from onnx import TensorProto, helper, numpy_helper

GOAL = 0.8
COLUMNS = 1024


@dataclass(frozen=True)
class Operation:
    """Nodes from x (and y) to z, with the shape of z: rows, columns, or their numbers reduced to 1."""

    nodes: tuple[tuple[str, tuple[str, ...], str, tuple[tuple[str, Any], ...]], ...]
    shape: str = "rc"
    output: int = TensorProto.FLOAT
    inputs: tuple[str, ...] = ("x",)


def one(name: str, *inputs: str, **attributes: Any) -> Operation:
    """A node of x alone."""
    return Operation(((name, ("x", *inputs), "z", tuple(attributes.items())),))


def reduction(name: str, axes: str, shape: str) -> Operation:
    """A reduction over rows, columns or both."""
    return Operation(((name, ("x", axes), "z", (("keepdims", 1),)),), shape)


OPERATIONS = {
    "Relu": one("Relu"),
    "Exp": one("Exp"),
    "Gelu (erf)": one("Gelu"),
    "Add": Operation((("Add", ("x", "y"), "z", ()),), inputs=("x", "y")),
    "Add, Gelu, Mul fused": Operation(
        (
            ("Add", ("x", "y"), "a", ()),
            ("Gelu", ("a",), "b", (("approximate", "tanh"),)),
            ("Mul", ("b", "y"), "z", ()),
        ),
        inputs=("x", "y"),
    ),
    "Cast to float16": Operation(
        (("Cast", ("x",), "z", (("to", TensorProto.FLOAT16),)),), output=TensorProto.FLOAT16
    ),
    "ReduceSum of all": reduction("ReduceSum", "both", "11"),
    "ReduceSum of rows": reduction("ReduceSum", "last", "r1"),
    "ReduceSum of columns": reduction("ReduceSum", "first", "1c"),
    "ReduceMax of rows": reduction("ReduceMax", "last", "r1"),
    "Softmax": one("Softmax", axis=-1),
    "LayerNormalization": one("LayerNormalization", "scale", "bias", axis=-1),
}


def model_of(operation: Operation, rows: int) -> onnx.ModelProto:
    """The model of an operation."""
    sizes = {"r": rows, "c": COLUMNS, "1": 1}
    whole = [rows, COLUMNS]
    constants = {
        "both": np.array([0, 1]),
        "last": np.array([1]),
        "first": np.array([0]),
        "scale": np.ones(COLUMNS, np.float32),
        "bias": np.zeros(COLUMNS, np.float32),
    }
    nodes = [
        helper.make_node(name, list(inputs), [output], **dict(attributes))
        for name, inputs, output, attributes in operation.nodes
    ]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "operation",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, whole)
            for name in operation.inputs
        ],
        [
            helper.make_tensor_value_info(
                "z", operation.output, [sizes[letter] for letter in operation.shape]
            )
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items() if name in used],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def bytes_of(operation: Operation, rows: int) -> int:
    """Of inputs and outputs."""
    elements = 1
    for letter in operation.shape:
        elements *= {"r": rows, "c": COLUMNS, "1": 1}[letter]
    size = 2 if operation.output == TensorProto.FLOAT16 else 4
    return 4 * rows * COLUMNS * len(operation.inputs) + size * elements


class Copies:
    """Copies of an array by threads."""

    def __init__(self, elements: int, threads: int) -> None:
        source, target = np.ones(elements, np.float32), np.zeros(elements, np.float32)
        self.parts = list(
            zip(np.array_split(source, threads), np.array_split(target, threads), strict=True)
        )
        self.pool = ThreadPoolExecutor(threads)
        self.bytes = 2 * source.nbytes

    def run(self, copy: Callable[[tuple[np.ndarray, np.ndarray]], object]) -> None:
        """A copy by all threads."""
        list(self.pool.map(copy, self.parts))

    @staticmethod
    def store(part: tuple[np.ndarray, np.ndarray]) -> None:
        """With ordinary stores: NumPy copies with memmove, but adds 0 with them."""
        np.add(part[0], np.float32(0), out=part[1])

    @staticmethod
    def move(part: tuple[np.ndarray, np.ndarray]) -> None:
        """As the C library has it."""
        ctypes.memmove(part[1].ctypes.data, part[0].ctypes.data, part[0].nbytes)


def report(settings: Settings) -> Iterator[Result]:
    """A line for each operation."""
    rows = 16 * 1024 if settings.quick else 64 * 1024
    copies = Copies(rows * COLUMNS, settings.threads)
    random = np.random.default_rng(0)
    arrays = {name: random.random((rows, COLUMNS), np.float32) for name in ("x", "y")}
    for number, (name, operation) in enumerate(OPERATIONS.items()):
        path = settings.work / f"operation{number}.onnx"
        onnx.save(model_of(operation, rows), path)
        inputs = {key: arrays[key] for key in operation.inputs}
        try:
            ours = Executable(settings.tools, path, inputs, settings.threads).contestant()
        except ToolError as error:
            yield Result("bandwidth", name, problem=str(error))
            continue
        times = in_turn(
            {
                "onnx-amp": ours,
                "copy": lambda seconds: median_of(lambda: copies.run(copies.store), seconds),
                "memmove": lambda seconds: median_of(lambda: copies.run(copies.move), seconds),
            },
            settings.rounds,
            settings.seconds / 3,
        )
        path.with_suffix(".in.npz").unlink()
        sizes = {
            "onnx-amp": bytes_of(operation, rows),
            "copy": copies.bytes,
            "memmove": copies.bytes,
        }
        rates = {key: [sizes[key] / one / 1e9 for one in each] for key, each in times.items()}
        share = median(a / b for a, b in zip(rates["onnx-amp"], rates["copy"], strict=True))
        text = ", ".join(f"{key} {median(each):.1f} GB/s" for key, each in rates.items())
        yield Result("bandwidth", name, share, GOAL, at_least=True, text=text, measured=times)
