"""Cases of one node each, whose gradients are compared with differences of the forward pass.

All cases of a list are one model: amp-differentiate runs once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from gradients import differentiate
from onnx import TensorProto, helper, numpy_helper
from running import run_in_onnxruntime


@dataclass(frozen=True)
class NodeCase:
    """A node with inputs by position, None for those that are left out."""

    name: str
    op: str
    inputs: Sequence[np.ndarray | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    #: Positions of the inputs to differentiate; all that are floats.
    wrt: Sequence[int] | None = None
    #: Declared dimensions of inputs, where they are not those that they have; None for no shape.
    dims: dict[int, list[str | int | None] | None] = field(default_factory=dict)
    #: Positions of inputs that are initializers.
    constants: Sequence[int] = ()
    #: The size of the differences: 1 is exact for what is linear in each input.
    step: float = 1.0
    tolerance: float = 1e-5
    outputs: int = 1

    def name_of(self, position: int) -> str:
        return f"{self.name}_{position}"

    @property
    def differentiated(self) -> list[int]:
        if self.wrt is not None:
            return list(self.wrt)
        return [
            i
            for i, array in enumerate(self.inputs)
            if array is not None and array.dtype.kind == "f" and i not in self.constants
        ]

    def feeds(self) -> dict[str, np.ndarray]:
        return {
            self.name_of(i): array
            for i, array in enumerate(self.inputs)
            if array is not None and i not in self.constants
        }

    def add_to(self, graph: onnx.GraphProto) -> str:
        """Adds the node; returns the name of its first output."""
        names = ["" if array is None else self.name_of(i) for i, array in enumerate(self.inputs)]
        for i, array in enumerate(self.inputs):
            if array is None:
                continue
            if i in self.constants:
                graph.initializer.append(numpy_helper.from_array(array, names[i]))
                continue
            dims = self.dims.get(i, list(array.shape))
            if dims is not None:  # a name is one size in the whole model
                dims = [f"{self.name}_{dim}" if isinstance(dim, str) else dim for dim in dims]
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(names[i], element, dims))
        outputs = [f"{self.name}_out{i}" for i in range(self.outputs)]
        graph.node.append(helper.make_node(self.op, names, outputs, **self.attributes))
        return outputs[0]


def forward(case: NodeCase, opset: int) -> onnx.ModelProto:
    """The node alone."""
    graph = onnx.GraphProto(name="forward")
    output = case.add_to(graph)
    graph.output.append(onnx.ValueInfoProto(name=output))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def differences(
    case: NodeCase, cotangent: np.ndarray, opset: int, session: onnxruntime.InferenceSession
) -> dict[str, np.ndarray]:
    """Gradients of sum(output * cotangent) by central differences, in ONNX Runtime."""
    feeds = case.feeds()
    result = {}
    for position in case.differentiated:
        name = case.name_of(position)
        array = feeds[name]
        gradient = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = array.copy()
                moved[index] += sign * case.step
                out = session.run([f"{case.name}_out0"], {**feeds, name: moved})[0]
                sides.append((out.astype(np.float64) * cotangent).sum())
            gradient[index] = (sides[0] - sides[1]) / (2 * case.step)
        result[name] = gradient
    return result


def problems(cases: Sequence[NodeCase], folder: Path, opset: int = 20) -> dict[str, str]:
    """What is wrong with the gradients of each case; nothing for those that are right."""
    graph = onnx.GraphProto(name="cases")
    feeds: dict[str, np.ndarray] = {}
    expected: dict[str, dict[str, np.ndarray]] = {}
    random = np.random.default_rng(0)
    losses = []
    for case in cases:
        output = case.add_to(graph)
        model = forward(case, opset)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        out = session.run([output], case.feeds())[0]
        cotangent = random.standard_normal(out.shape).astype(out.dtype)
        expected[case.name] = differences(case, cotangent, opset, session)
        feeds |= case.feeds()
        graph.initializer.append(numpy_helper.from_array(cotangent, f"{case.name}_cot"))
        graph.node.extend(
            [
                helper.make_node("Mul", [output, f"{case.name}_cot"], [f"{case.name}_part"]),
                helper.make_node(
                    "ReduceSum", [f"{case.name}_part"], [f"{case.name}_loss"], keepdims=0
                ),
            ]
        )
        element = helper.np_dtype_to_tensor_dtype(out.dtype)
        graph.output.append(helper.make_tensor_value_info(f"{case.name}_loss", element, []))
        losses.append(f"{case.name}_loss")
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    wrt = [case.name_of(position) for case in cases for position in case.differentiated]
    result = differentiate(whole, losses, wrt, folder)
    if all(dims is not None for case in cases for dims in case.dims.values()):
        onnx.checker.check_model(result, full_check=True)  # asks for the shape of an input
    outputs = run_in_onnxruntime(folder / "gradient.onnx", feeds)
    found = {}
    for case in cases:
        for name, gradient in expected[case.name].items():
            actual = outputs[f"{name}_grad"]
            if actual.shape != gradient.shape or actual.dtype != feeds[name].dtype:
                found[case.name] = f"{name}: {actual.dtype}{actual.shape}"
                continue
            scale = max(float(np.abs(gradient).max(initial=0)), 1e-3)
            error = float(np.abs(actual - gradient).max(initial=0)) / scale
            if not error <= case.tolerance:
                found[case.name] = f"{name}: error {error:.3g}"
    return found


def refusal(case: NodeCase, folder: Path, opset: int = 20) -> str:
    """What is said of a case that has no gradient."""
    graph = onnx.GraphProto(name="refused")
    output = case.add_to(graph)
    graph.node.append(helper.make_node("ReduceSum", [output], ["loss"], keepdims=0))
    graph.output.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    try:
        differentiate(model, ["loss"], [case.name_of(i) for i in case.differentiated], folder)
    except AssertionError as error:
        return str(error)
    return ""
