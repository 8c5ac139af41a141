"""Training steps that are run with other state than they begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from stateful import StatefulSession, initial_state, state_pairs

#: Behind the passes of a step.
FINISH = ("--amp-to-onnx", "--onnx-infer-types")


def with_float32_state(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same step with casts around its bfloat16 state, which ONNX Runtime's Python API does not
    give as arrays: they change no value."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    names = [*state_pairs(model), *state_pairs(model).values()]
    for value in [*graph.input, *graph.output]:
        element = value.type.tensor_type
        if value.name not in names or element.elem_type != TensorProto.BFLOAT16:
            continue
        inner = f"{value.name}/bfloat16"
        is_input = value.name in state_pairs(model)
        for node in graph.node:
            for list_of_names in (node.input, node.output):
                for i, name in enumerate(list_of_names):
                    if name == value.name:
                        list_of_names[i] = inner
        element.elem_type = TensorProto.FLOAT
        if is_input:
            graph.node.insert(
                0, helper.make_node("Cast", [value.name], [inner], to=TensorProto.BFLOAT16)
            )
            tensor = next(tensor for tensor in graph.initializer if tensor.name == value.name)
            wide = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(wide, value.name))
        else:
            graph.node.append(helper.make_node("Cast", [inner], [value.name], to=TensorProto.FLOAT))
    return result


class Run(StatefulSession):
    """A step with some of its state other than the defaults."""

    def __init__(self, model: onnx.ModelProto, **state: Any) -> None:
        initial = initial_state(model)
        for name, value in state.items():
            initial[name] = np.asarray(value, initial[name].dtype)
        super().__init__(model, state=initial)
