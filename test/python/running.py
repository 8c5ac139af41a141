"""Looks into models, runs them, and compares what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tool  # noqa: F401 - makes test/cases importable


def graphs_of(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph and all graphs inside."""
    stack = [model.graph]
    while stack:
        graph = stack.pop()
        yield graph
        for node in graph.node:
            stack.extend(_subgraphs(node))


def nodes_of(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes, of subgraphs and functions too."""
    for graph in graphs_of(model):
        yield from graph.node
    for function in model.functions:
        stack = list(function.node)
        while stack:
            node = stack.pop()
            yield node
            for graph in _subgraphs(node):
                stack.extend(graph.node)


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def checker_problem(path: Path) -> str | None:
    """What onnx.checker says with full_check; None if it says nothing."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        return str(error).strip().splitlines()[0][:300] or type(error).__name__
    return None


def size_on_disk(path: Path) -> int:
    """Bytes of a model and the data files beside it that it names."""
    model = onnx.load(path, load_external_data=False)
    names = {
        entry.value
        for graph in graphs_of(model)
        for tensor in graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return path.stat().st_size + sum((path.parent / name).stat().st_size for name in names)


def run_in_onnxruntime(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Runs a model on ONNX Runtime's CPU provider with its default optimisations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = {value.name for value in session.get_inputs()}
    feeds = {name: value for name, value in inputs.items() if name in wanted}
    return dict(zip(names, session.run(names, feeds), strict=True))


def run_strictly(
    model: onnx.ModelProto, inputs: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Runs node by node, every low tensor rounded; also gives the types that each node saw."""
    from emu import Emu

    class NamingEmu(Emu):
        """Notes the outputs too: nodes need not have names."""

        def note(self, node: onnx.NodeProto, ins: list[Any], outs: list[Any]) -> None:
            super().note(node, ins, outs)
            self.trace[-1]["outputs"] = list(node.output)

    emulator = NamingEmu(model)
    known = {value.name for value in model.graph.input}
    outputs = emulator.run({name: value for name, value in inputs.items() if name in known})
    return outputs, emulator.trace


def relative_error(reference: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> float:
    """The largest max|d| / max|reference| of all outputs; infinite for values that are not finite.

    Integers and booleans count as wrong elements per element.
    """
    worst = 0.0
    for name, expected in reference.items():
        if isinstance(expected, list):
            pairs = list(zip(expected, outputs[name], strict=True))
        else:
            pairs = [(expected, outputs[name])]
        for one, other in pairs:
            worst = max(worst, _array_error(np.asarray(one), np.asarray(other)))
    return worst


def _array_error(expected: np.ndarray, found: np.ndarray) -> float:
    if expected.shape != found.shape:
        raise ValueError(f"shape {found.shape}, expected {expected.shape}")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind != "f":
        return float(np.mean(expected != found))
    one, other = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(one)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(other[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    largest = np.abs(one[finite]).max()
    return float(np.abs(one[finite] - other[finite]).max() / (largest or 1.0))
