"""Runs a model's `training_info` as onnx.proto says what it means, in ONNX Runtime.

An algorithm runs as one graph with the inference graph: the lists of both, one behind the other.
Initializers that bindings assign to are state, which lives outside of the graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from stateful import StatefulSession


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """One thread: sums are added up in one order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(
    runner: onnxruntime.InferenceSession, feeds: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What a model returns, by name; it is fed with what it asks for."""
    known = {value.name for value in (*runner.get_inputs(), *runner.get_overridable_initializers())}
    inputs = {name: value for name, value in feeds.items() if name in known}
    names = [value.name for value in runner.get_outputs()]
    return dict(zip(names, runner.run(names, inputs), strict=True))


def with_graph(model: onnx.ModelProto, graph: onnx.GraphProto) -> onnx.ModelProto:
    """A model of this graph alone, that has the opsets and functions of `model`."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.training_info[:]
    result.graph.CopyFrom(graph)
    return result


def combine(main: onnx.GraphProto, algorithm: onnx.GraphProto) -> onnx.GraphProto:
    """The graph that a training step runs."""
    graph = onnx.GraphProto()
    graph.name = "combined"
    for part in (main, algorithm):
        for field in ("input", "initializer", "sparse_initializer", "node", "output", "value_info"):
            getattr(graph, field).extend(getattr(part, field))
    return graph


def combined_models(model: onnx.ModelProto) -> list[onnx.ModelProto]:
    """For each algorithm, the model that onnx.checker is to accept."""
    return [with_graph(model, combine(model.graph, info.algorithm)) for info in model.training_info]


def without_initializers(graph: onnx.GraphProto, names: Iterable[str]) -> onnx.GraphProto:
    """The graph with these initializers as inputs."""
    gone = set(names)
    result = onnx.GraphProto()
    result.CopyFrom(graph)
    kept = [tensor for tensor in graph.initializer if tensor.name not in gone]
    del result.initializer[:]
    result.initializer.extend(kept)
    known = {value.name for value in graph.input}
    for tensor in graph.initializer:
        if tensor.name in gone - known:
            result.input.append(
                helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    return result


class Training:
    """A model that is being trained. Keys of the state of algorithm i are (i, name), of the model (-1, name)."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.places: list[dict[str, int]] = []
        runners = []
        for index, info in enumerate(model.training_info):
            own = {tensor.name for tensor in info.algorithm.initializer}
            keys = [item.key for item in (*info.update_binding, *info.initialization_binding)]
            self.places.append({key: index if key in own else -1 for key in keys})
        shared = {key for places in self.places for key, place in places.items() if place == -1}
        for info, places in zip(model.training_info, self.places, strict=True):
            graph = combine(model.graph, info.algorithm)
            runners.append(
                session(with_graph(model, without_initializers(graph, shared | set(places))))
            )
        self.shared = shared
        self.runners = runners
        self.state: dict[tuple[int, str], np.ndarray] = {}
        self.reset()

    def reset(self) -> None:
        """The values of the initializers."""
        main = {tensor.name: tensor for tensor in self.model.graph.initializer}
        self.state = {(-1, name): numpy_helper.to_array(main[name]) for name in self.shared}
        for index, info in enumerate(self.model.training_info):
            for tensor in info.algorithm.initializer:
                if self.places[index].get(tensor.name) == index:
                    self.state[index, tensor.name] = numpy_helper.to_array(tensor)

    def initialize(self) -> None:
        """The values of the initializers, then what the initialization graphs make."""
        self.reset()
        for index, info in enumerate(self.model.training_info):
            if not info.initialization_binding:
                continue
            outputs = run(session(with_graph(self.model, info.initialization)), {})
            for item in info.initialization_binding:
                self.state[self.places[index][item.key], item.key] = outputs[item.value]

    def step(self, feeds: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
        """One iteration: what each algorithm, with the inference graph, returned."""
        results = []
        for index, (info, runner) in enumerate(
            zip(self.model.training_info, self.runners, strict=True)
        ):
            state = {
                name: value for (place, name), value in self.state.items() if place in (-1, index)
            }
            outputs = run(runner, {**feeds, **state})
            for item in info.update_binding:
                self.state[self.places[index][item.key], item.key] = outputs[item.value]
            results.append(outputs)
        return results


class Step(StatefulSession):
    """A flat training step, whose metadata pairs its state."""
