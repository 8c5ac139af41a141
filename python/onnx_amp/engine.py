"""Runs models on data for onnx-amp: ranges of values, and how far two models are apart.

`engine.py FOLDER PARENT` reads FOLDER/request.json and writes FOLDER/response.json, which holds `error`, one line, or
what was asked for; it ends when the process PARENT does.

Models come widened (pass onnx-widen): they compute in float32, and what is stored in 16 bits is rounded by Cast nodes.
ONNX Runtime's CPU provider runs them with its optimisations off, which would hide roundings.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


class EngineError(Exception):
    """One line for the user."""


def remove_without_parent(folder: Path, parent: int) -> bool:
    """Removes the folder if nobody waits for the answer any more, and says so."""
    if os.getppid() == parent:
        return False
    # The other thread may be writing to it.
    for _ in range(10):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(0.1)
    return True


def stop_without_parent(folder: Path, parent: int) -> None:
    """Ends the process, and removes the folder, when the parent ends."""

    def watch() -> None:
        while not remove_without_parent(folder, parent):
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    # What ONNX Runtime leaves in the folder of temporary files goes with ours.
    os.environ["TMPDIR"] = sys.argv[1]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's end is ours
    stop_without_parent(Path(sys.argv[1]), int(sys.argv[2]))  # the imports below take long

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    _MISSING: str | None = (missing.name or str(missing)).partition(".")[0]
else:
    _MISSING = None

# Outputs of one run are kept in memory until they have been looked at: at most about so many bytes.
CHUNK_BYTES = 256 << 20
FIRST_CHUNK = 64

# What names of values get that are asked for in another form.
HANDED, WIDE = "_onnx_amp_handed", "_onnx_amp_wide"
NUMPY_FLOATS = ("tensor(float16)", "tensor(float)", "tensor(double)")

# Mantissa bits and the exponent of the smallest normal number.
FORMATS = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126)}


# Operators whose third input is multiplied, too.
FACTORS_THIRD = {
    *(("", name) for name in ("RNN", "GRU", "LSTM", "Attention")),
    *(("com.microsoft", name) for name in ("MultiHeadAttention", "GroupQueryAttention")),
}


def one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:400].rstrip(".")


# ---- data


def describe(dtype: str, dims: Sequence[Any]) -> str:
    """As onnx-amp spells types: float32[N,3]."""
    return f"{dtype}[{','.join(map(str, dims))}]"


def convert(array: np.ndarray, wanted: str) -> np.ndarray | None:
    """The array as a widened model takes an input of the type `wanted`; None if it is of another type."""
    if wanted not in ("float16", "bfloat16"):
        if wanted == "string" and array.dtype.kind in "US":
            return array.astype(object)
        return array if str(array.dtype) == wanted else None
    if array.dtype == np.float32:
        return array  # rounded in the model
    if wanted == "float16":
        return array.astype(np.float32) if array.dtype == np.float16 else None
    # NumPy has no bfloat16: what ml_dtypes saves is two bytes without a type.
    if array.dtype.itemsize == 2 and array.dtype.kind in "Vu":
        bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).reshape(array.shape)
    return None


def load_data(path: str, inputs: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """One array for each input of the model; whatever is wrong with them is an EngineError."""
    try:
        if not zipfile.is_zipfile(path):
            raise EngineError(f"'{path}' is no .npz file")
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise EngineError(f"cannot read '{path}' as .npz: {one_line(error)}") from error
    names = [each["name"] for each in inputs]
    expected = ", ".join(
        f"'{each['name']}' {describe(each['type'], each['dims'])}" for each in inputs
    )
    for name in arrays:
        if name not in names:
            raise EngineError(
                f"'{path}' has '{name}', which is no input of the model; expected {expected}"
            )
    feeds = {}
    for each in inputs:
        name, dims = each["name"], each["dims"]
        if name not in arrays:
            if each["optional"]:
                continue
            raise EngineError(f"'{path}' lacks input '{name}'; expected {expected}")
        array = convert(arrays[name], each["type"])
        fits = dims is None or (
            arrays[name].ndim == len(dims)
            and all(
                not isinstance(d, int) or d == n
                for d, n in zip(dims, arrays[name].shape, strict=True)
            )
        )
        if array is None or not fits:
            found = describe(str(arrays[name].dtype), arrays[name].shape)
            raise EngineError(
                f"'{path}' has '{name}' as {found}, expected {describe(each['type'], dims or ['...'])}"
            )
        feeds[name] = array
    return feeds


class Samples:
    """The data files, read one at a time."""

    def __init__(self, paths: Sequence[str], inputs: Sequence[dict[str, Any]]) -> None:
        self.paths, self.inputs = paths, inputs

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for path in self.paths:
            yield load_data(path, self.inputs)


# ---- models


class Model:
    """A model file that can be asked for any of the values of its main graph."""

    def __init__(self, path: str, threads: int, bfloat16: Sequence[str] = ()) -> None:
        """`bfloat16` names values of this type, which NumPy lacks: they are given as float32."""
        self.path, self.threads, self.bfloat16 = Path(path), threads, set(bfloat16)
        self.proto = onnx.load(path, load_external_data=False)
        self.outputs = {output.name: output for output in self.proto.graph.output}
        self.session: Any = None
        self.asked: list[str] = []

    def ask(self, names: Sequence[str]) -> None:
        """What run() gives from now on."""
        if self.session is not None and self.asked == list(names):
            return
        self.asked = list(names)
        graph = self.proto.graph
        numbers = len(graph.node)
        del graph.output[:]
        for i, name in enumerate(names):
            output = self.outputs.get(name) or onnx.ValueInfoProto(name=name)
            if name in self.bfloat16:
                output = onnx.ValueInfoProto(name=f"onnx_amp_asked_{i}")
                graph.node.append(
                    onnx.helper.make_node("Cast", [name], [output.name], to=onnx.TensorProto.FLOAT)
                )
            graph.output.append(output)
        # Beside the model, where its external data is.
        path = self.path.with_suffix(".asked.onnx")
        path.write_bytes(self.proto.SerializeToString())
        del graph.node[numbers:]
        self.session = None
        self.session = self.make_session(path)

    def make_session(self, path: Path) -> Any:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.enable_mem_pattern = False
        options.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise EngineError(f"ONNX Runtime can't load the model: {one_line(error)}") from error

    def run(self, feeds: dict[str, np.ndarray]) -> dict[str, Any]:
        known = {value.name for value in self.session.get_inputs()}
        try:
            results = self.session.run(None, {k: v for k, v in feeds.items() if k in known})
        except Exception as error:
            raise EngineError(f"ONNX Runtime can't run the model: {one_line(error)}") from error
        return dict(zip(self.asked, results, strict=True))

    def round_to_tf32(self, values: set[str]) -> None:
        """Rounds the float operands of the nodes that give these values to TF32, as tensor cores do."""
        graph = self.proto.graph
        # x * c - (x * c - x) has the 11 leading bits of x (Veltkamp).
        factor = "tf32_factor"
        graph.initializer.append(
            onnx.numpy_helper.from_array(np.array(2**13 + 1, np.float32), factor)
        )
        nodes, rounded = [], {}
        for node in graph.node:
            if values.intersection(node.output):
                # The data and the weights, or query, key and value: not the bias, which is added.
                third = (node.domain, node.op_type) in FACTORS_THIRD
                for i, name in enumerate(node.input[: 3 if third else 2]):
                    if name and name not in rounded:
                        a, b, c = (f"{name}_tf32_{part}" for part in "abc")
                        nodes += [
                            onnx.helper.make_node("Mul", [name, factor], [a]),
                            onnx.helper.make_node("Sub", [a, name], [b]),
                            onnx.helper.make_node("Sub", [a, b], [c]),
                        ]
                        rounded[name] = c
                    if name:
                        node.input[i] = rounded[name]
            nodes.append(node)
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)


def chunks(models: Sequence[Model], names: Sequence[str], data: Samples) -> Iterator[Any]:
    """Pairs of a sample's number and, for a part of the values at a time, the results of each model."""
    start, size = 0, FIRST_CHUNK
    while start < len(names):
        part = names[start : start + size]
        most = 1
        for model in models:
            model.ask(part)
        for number, feeds in enumerate(data):
            results = [model.run(feeds) for model in models]
            most = max(
                most, sum(getattr(v, "nbytes", 0) for result in results for v in result.values())
            )
            yield number, results
        start += len(part)
        size = max(1, min(512, int(len(part) * CHUNK_BYTES / most)))


# ---- ranges


class Range:
    """What the values of one tensor were like, in all samples together."""

    def __init__(self) -> None:
        self.shape: list[int] = []
        self.count = self.zeros = self.nan = self.infinite = 0
        self.absmax = 0.0
        self.exponents: dict[int, int] = {}

    def add(self, array: np.ndarray) -> None:
        self.shape = list(array.shape)
        magnitude = np.abs(array.astype(np.float32, copy=False)).ravel()
        finite = magnitude[np.isfinite(magnitude)]
        nan = int(np.isnan(magnitude).sum())
        self.count += magnitude.size
        self.nan += nan
        self.infinite += magnitude.size - finite.size - nan
        nonzero = finite[finite > 0]
        self.zeros += finite.size - nonzero.size
        if nonzero.size == 0:
            return
        self.absmax = max(self.absmax, float(nonzero.max()))
        exponents = np.frexp(nonzero)[1] - 1
        lowest = int(exponents.min())
        for i, count in enumerate(np.bincount(exponents - lowest)):
            if count:
                self.exponents[lowest + i] = self.exponents.get(lowest + i, 0) + int(count)

    def to_json(self, name: str) -> dict[str, Any]:
        lowest = min(self.exponents, default=0)
        highest = max(self.exponents, default=-1)
        return {
            "name": name,
            "shape": self.shape,
            "count": self.count,
            "zeros": self.zeros,
            "nan": self.nan,
            "infinite": self.infinite,
            "absmax": self.absmax,
            "lowest_exponent": lowest,
            "histogram": [self.exponents.get(e, 0) for e in range(lowest, highest + 1)],
        }


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


# ---- inside of subgraphs and functions


class Unmeasurable(Exception):
    """What the engine cannot run by itself: its values have no ranges."""


def used_names(nodes: Sequence[Any], outputs: Sequence[str]) -> set[str]:
    """What nodes, with all in their subgraphs, and outputs read from around them."""
    names = set(outputs)
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                defined = {value.name for value in graph.input}
                defined.update(tensor.name for tensor in graph.initializer)
                names |= used_names(graph.node, [o.name for o in graph.output]) - defined
    return names - {name for node in nodes for name in node.output} - {""}


def overload(proto: Any) -> str:
    """Of a function, or of the one that a node calls; older packages of ONNX do not know them."""
    return getattr(proto, "overload", "")


def type_of(value: Any) -> Any:
    """The type, without a shape, of an OrtValue."""
    text = value.data_type()
    inner = text.removeprefix("seq(").removesuffix(")") if text.startswith("seq(") else text
    element = inner.removeprefix("tensor(").removesuffix(")")
    numbers = {name.lower(): number for name, number in onnx.TensorProto.DataType.items()}
    if not inner.startswith("tensor(") or element not in numbers:
        raise Unmeasurable
    tensor = onnx.helper.make_tensor_type_proto(numbers[element], None)
    return tensor if inner == text else onnx.helper.make_sequence_type_proto(tensor)


def to_value(array: np.ndarray) -> Any:
    if array.dtype.kind not in "fiub":
        raise Unmeasurable
    return onnxruntime.OrtValue.ortvalue_from_numpy(
        np.ascontiguousarray(array).reshape(array.shape)
    )


class Body:
    """The main graph, a subgraph or a call of a function, that runs as a model of its own."""

    def __init__(self, nodes: Sequence[Any], outputs: Sequence[str], opsets: Any) -> None:
        self.nodes, self.outputs, self.opsets = nodes, outputs, opsets
        self.used = used_names(nodes, outputs)
        self.defined = {name for node in nodes for name in node.output if name}
        self.is_loaded = False
        self.session: Any = None
        self.asked: dict[str, str] = {}
        self.measured: list[str] = []


class Inside:
    """Runs what is inside of control flow and functions as often as the model does, and looks at its values.

    A scope is the name of a function, if it is inside one, and for each subgraph "NODE.ATTRIBUTE". (onnx-amp names
    these nodes for their first outputs.)
    """

    def __init__(self, model: Model) -> None:
        self.proto, self.model = model.proto, model
        self.ranges: dict[tuple[tuple[str, ...], str], Range] = {}
        self.bodies: dict[tuple[str, ...], Body] = {}
        self.functions = {(f.domain, f.name, overload(f)): f for f in self.proto.functions}
        graph = self.proto.graph
        self.initializers = {tensor.name: tensor for tensor in graph.initializer}
        self.main = Body(list(graph.node), [], self.proto.opset_import)

    def measure(self, data: Samples) -> None:
        if not any(map(self.is_entered, self.main.nodes)):
            return
        for feeds in data:
            with contextlib.suppress(Unmeasurable):
                values = {name: to_value(array) for name, array in feeds.items()}
                self.run(self.main, values, self.initializers, (), ())

    def is_entered(self, node: Any) -> bool:
        return (node.domain, node.op_type, overload(node)) in self.functions or (
            node.domain in ("", "ai.onnx") and node.op_type in ("If", "Loop", "Scan")
        )

    def add(self, scope: tuple[str, ...], name: str, value: np.ndarray) -> None:
        self.ranges.setdefault((scope, name), Range()).add(value)

    def run(
        self,
        body: Body,
        values: dict[str, Any],
        initializers: dict[str, Any],
        scope: tuple[str, ...],
        place: tuple[str, ...],
    ) -> dict[str, Any]:
        """What the body gives. `values` and `initializers` are what it may read; `place` tells calls apart."""
        feeds = {name: values[name] for name in body.used if name in values}
        constants = [initializers[n] for n in body.used if n in initializers and n not in feeds]
        if not body.is_loaded:
            self.load(body, feeds, constants, bool(scope))
        asked = list(body.asked.values())
        try:
            given = body.session.run_with_ort_values(asked, feeds) if asked else []
        except Exception as error:
            raise EngineError(f"ONNX Runtime can't run the model: {one_line(error)}") from error
        results = dict(zip(body.asked, given, strict=True))
        for name in body.measured:
            self.add(scope, name.removesuffix(WIDE), results[name].numpy())
        known = {**values, **results}
        for node in filter(self.is_entered, body.nodes):
            with contextlib.suppress(Unmeasurable):
                self.enter(node, body, known, initializers, scope, place)
        return {name: known[name] for name in body.outputs}

    def load(
        self, body: Body, feeds: dict[str, Any], constants: list[Any], is_inside: bool
    ) -> None:
        inputs = [onnx.helper.make_value_info(name, type_of(feeds[name])) for name in sorted(feeds)]
        entered = list(filter(self.is_entered, body.nodes))
        wanted = [n for n in body.outputs if n in body.defined]
        read = set().union(*(used_names([node], []) for node in entered))
        wanted += sorted(read & body.defined)
        if is_inside:
            wanted += [name for node in body.nodes for name in node.output if name]
        # An output that the body only hands on.
        handed = [n for n in body.outputs if n not in body.defined and n not in feeds]
        nodes = [
            *body.nodes,
            *(onnx.helper.make_node("Identity", [n], [n + HANDED]) for n in handed),
        ]
        body.asked = {**{n: n for n in wanted}, **{n: n + HANDED for n in handed}}
        body.is_loaded = True
        if not body.asked:
            return
        body.session = self.make_session(body, nodes, inputs, constants)
        types = {output.name: output.type for output in body.session.get_outputs()}
        if not is_inside:
            return
        low = [n for n in wanted if types[n] == "tensor(bfloat16)"]
        body.measured = [n for n in dict.fromkeys(wanted) if types[n] in NUMPY_FLOATS]
        if low:  # NumPy lacks it
            for name in dict.fromkeys(low):
                nodes.append(
                    onnx.helper.make_node("Cast", [name], [name + WIDE], to=onnx.TensorProto.FLOAT)
                )
                body.asked[name + WIDE] = name + WIDE
                body.measured.append(name + WIDE)
            body.session = self.make_session(body, nodes, inputs, constants)

    def make_session(
        self, body: Body, nodes: list[Any], inputs: list[Any], constants: list[Any]
    ) -> Any:
        outputs = [onnx.ValueInfoProto(name=name) for name in body.asked.values()]
        graph = onnx.helper.make_graph(nodes, "inside", inputs, outputs, constants)
        model = onnx.helper.make_model(
            graph,
            ir_version=self.proto.ir_version,
            opset_imports=body.opsets,
            functions=self.proto.functions,
        )
        path = self.model.path.with_suffix(".inside.onnx")
        path.write_bytes(model.SerializeToString())
        return self.model.make_session(path)

    def enter(
        self,
        node: Any,
        body: Body,
        values: dict[str, Any],
        initializers: dict[str, Any],
        scope: tuple[str, ...],
        place: tuple[str, ...],
    ) -> None:
        """Runs what is inside of a node."""
        name = next(filter(None, node.output), "")
        attributes = {attribute.name: attribute for attribute in node.attribute}

        def get(name: str) -> Any:
            if name in values:
                return values[name]
            if name not in initializers:
                raise Unmeasurable
            folder = str(self.model.path.parent)
            return to_value(onnx.numpy_helper.to_array(initializers[name], folder))

        def run_graph(attribute: str, arguments: Sequence[Any]) -> list[Any]:
            graph = attributes[attribute].g
            part = f"{name}.{attribute}"
            inner = self.bodies.get((*place, part))
            if inner is None:
                inner = Body(list(graph.node), [o.name for o in graph.output], body.opsets)
                self.bodies[*place, part] = inner
            constants = {**initializers, **{t.name: t for t in graph.initializer}}
            bound = {i.name: value for i, value in zip(graph.input, arguments, strict=True)}
            own = {n: v for n, v in values.items() if n not in {t.name for t in graph.initializer}}
            inside = (*scope, f"{node.name}.{attribute}")
            results = self.run(inner, {**own, **bound}, constants, inside, (*place, part))
            return [results[output] for output in inner.outputs]

        if (
            function := self.functions.get((node.domain, node.op_type, overload(node)))
        ) is not None:
            self.call(function, node, [get(n) if n else None for n in node.input], (*place, name))
        elif node.op_type == "If":
            taken = bool(get(node.input[0]).numpy().item())
            run_graph("then_branch" if taken else "else_branch", [])
        elif node.op_type == "Loop":
            trips = int(get(node.input[0]).numpy().item()) if node.input[0] else sys.maxsize
            goes_on = (
                len(node.input) < 2 or not node.input[1] or bool(get(node.input[1]).numpy().item())
            )
            states = [get(n) for n in node.input[2:]]
            number = attributes["body"].g.input[0].type.tensor_type.shape.dim
            i = 0
            while i < trips and goes_on:
                index = np.full((1,) * len(number), i, np.int64)
                results = run_graph("body", [to_value(index), to_value(np.array(True)), *states])
                goes_on = bool(results[0].numpy().item())
                states = results[1 : 1 + len(states)]
                i += 1
        else:
            self.scan(attributes, [get(n) for n in node.input if n], run_graph)

    @staticmethod
    def scan(attributes: dict[str, Any], inputs: list[Any], run_graph: Any) -> None:
        count = attributes["num_scan_inputs"].i
        states, scanned = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
        if len(attributes["body"].g.input) != len(inputs) or any(
            value.data_type() == "tensor(bfloat16)" for value in scanned
        ):
            raise Unmeasurable  # as before opset 9; NumPy lacks it
        axes = list(attributes["scan_input_axes"].ints) if "scan_input_axes" in attributes else []
        back = (
            list(attributes["scan_input_directions"].ints)
            if "scan_input_directions" in attributes
            else []
        )
        arrays = [np.moveaxis(v.numpy(), axes[i] if axes else 0, 0) for i, v in enumerate(scanned)]
        for i in range(len(arrays[0])):
            slices = [a[-1 - i if back and back[k] else i] for k, a in enumerate(arrays)]
            states = run_graph("body", [*states, *map(to_value, map(np.asarray, slices))])[
                : len(states)
            ]

    def call(self, function: Any, node: Any, arguments: list[Any], place: tuple[str, ...]) -> None:
        body = self.bodies.get(place)
        if body is None:
            given = {a.name: a for a in [*function.attribute_proto, *node.attribute]}
            nodes = [substitute(inner, given) for inner in function.node]
            body = Body(nodes, list(function.output), function.opset_import)
            self.bodies[place] = body
        scope = ("::".join(filter(None, [function.domain, function.name, overload(function)])),)
        bound = {n: v for n, v in zip(function.input, arguments, strict=False) if v is not None}
        for name, value in bound.items():
            if value.data_type() in NUMPY_FLOATS:
                self.add(scope, name, value.numpy())
        self.run(body, bound, {}, scope, place)


def substitute(node: Any, given: dict[str, Any]) -> Any:
    """The node of a function with the attributes that a call gives."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in given:
                continue
            copy.attribute.add().CopyFrom(given[attribute.ref_attr_name])
            copy.attribute[-1].name = attribute.name
            continue
        copy.attribute.add().CopyFrom(attribute)
        if attribute.HasField("g"):
            graph = copy.attribute[-1].g
            nodes = [substitute(inner, given) for inner in graph.node]
            del graph.node[:]
            graph.node.extend(nodes)
    return copy


def measure_ranges(request: dict[str, Any], data: Samples) -> dict[str, Any]:
    model = Model(request["models"][0], request["threads"], request["bfloat16"][0])
    ranges: dict[str, Range] = {}
    for _, (results,) in chunks([model], request["values"], data):
        for name, value in results.items():
            if is_float(value):
                ranges.setdefault(name, Range()).add(value)
    inside = Inside(Model(request["models"][0], request["threads"]))
    inside.measure(data)
    arguments: dict[str, Range] = {}
    for feeds in data:
        for name, value in feeds.items():
            if is_float(value):
                arguments.setdefault(name, Range()).add(value)
    return {
        "ranges": [entry.to_json(name) for name, entry in ranges.items()],
        "inputs": [entry.to_json(name) for name, entry in arguments.items()],
        "inside": [
            {"scope": list(scope), **entry.to_json(name)}
            for (scope, name), entry in inside.ranges.items()
        ],
    }


# ---- differences


def ulps(difference: np.ndarray, reference: np.ndarray, form: str) -> np.ndarray:
    """Differences in units of the last place that `reference` has in a format."""
    mantissa, smallest = FORMATS[form]
    exponents = np.maximum(np.frexp(reference)[1] - 1, smallest)
    return difference / np.ldexp(1.0, exponents - mantissa)


def compare(one: np.ndarray, other: np.ndarray, form: str) -> dict[str, Any]:
    """How far `other` is from `one`. `relative` is the largest difference by the largest value, or, of what are no
    floats, the share of elements that differ."""
    if one.shape != other.shape:
        return {"shapes": [list(one.shape), list(other.shape)]}
    result: dict[str, Any] = {
        "elements": one.size,
        "nonfinite": 0,
        "relative": 0.0,
        "absolute": 0.0,
        "ulps": 0.0,
    }
    if one.size == 0:
        return result
    if one.dtype.kind != "f":
        result["relative"] = float(np.mean(one != other))
        return result
    a, b = one.astype(np.float64).ravel(), other.astype(np.float64).ravel()
    both = np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    wrong = ~both & ~same
    result["nonfinite"] = int(wrong.sum())
    difference = np.abs(np.where(both, a, 0) - np.where(both, b, 0))
    result["absolute"] = float(difference.max())
    if result["absolute"] > 0:
        largest = float(np.abs(a[both]).max())
        result["relative"] = result["absolute"] / (largest or 1.0)
        result["ulps"] = float(ulps(difference, np.where(both, a, 0), form).max())
    worst = int(np.argmax(wrong) if wrong.any() else np.argmax(difference))
    result["index"] = [int(i) for i in np.unravel_index(worst, one.shape)]
    result["pair"] = [repr(float(a[worst])), repr(float(b[worst]))]
    return result


def is_worse(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Not finite first, then by relative error."""

    def key(each: dict[str, Any]) -> tuple[bool, bool, float]:
        return "shapes" in each, bool(each.get("nonfinite")), each.get("relative", 0.0)

    return key(one) > key(other)


def compare_models(request: dict[str, Any], data: Samples) -> dict[str, Any]:
    models = [
        Model(path, request["threads"], low)
        for path, low in zip(request["models"], request["bfloat16"], strict=True)
    ]
    forms = dict(zip(request["values"], request["formats"], strict=True))
    found: dict[str, dict[str, Any]] = {}
    for number, (first, second) in chunks(models, request["values"], data):
        for name, value in first.items():
            if not isinstance(value, np.ndarray) or not isinstance(second[name], np.ndarray):
                continue
            entry = {"name": name, "sample": number, **compare(value, second[name], forms[name])}
            if name not in found or is_worse(entry, found[name]):
                found[name] = entry
    return {"differences": [found[name] for name in request["values"] if name in found]}


def pairs_of(one: Any, other: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The tensors of two results, which may be sequences."""
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield np.zeros(len(one)), np.zeros(len(other))
        else:
            for first, second in zip(one, other, strict=True):
                yield from pairs_of(first, second)
    elif isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        yield one, other


def score(request: dict[str, Any], data: Samples) -> dict[str, Any]:
    """The worst difference of the outputs. Those of the first model are kept from one call to the next."""
    threads = request["threads"]
    folder = Path(request["models"][0]).with_suffix(".outputs")
    reference = None
    candidate = Model(request["models"][1], threads)
    if request.get("tf32"):
        candidate.round_to_tf32(set(request["tf32"]))
    candidate.ask(list(candidate.outputs))
    worst: dict[str, Any] = {"name": "", "sample": 0, "relative": 0.0, "nonfinite": 0}
    for number, feeds in enumerate(data):
        kept = folder / f"{number}.npz"
        if not kept.exists():
            if reference is None:
                reference = Model(request["models"][0], threads)
                reference.ask(list(reference.outputs))
            folder.mkdir(exist_ok=True)
            arrays: dict[str, np.ndarray] = {}
            for name, value in zip(reference.outputs, reference.run(feeds).values(), strict=True):
                tensors = [first for first, _ in pairs_of(value, value)]
                arrays |= {f"{len(tensors)}/{i}/{name}": tensor for i, tensor in enumerate(tensors)}
            np.savez(kept, *arrays.values())
            kept.with_suffix(".json").write_text(json.dumps(list(arrays)))
        keys = json.loads(kept.with_suffix(".json").read_text())
        results = candidate.run(feeds)
        with np.load(kept, allow_pickle=False) as archive:
            for place, key in enumerate(keys):
                _, index, name = key.split("/", 2)
                tensors = [first for first, _ in pairs_of(results[name], results[name])]
                first = archive[f"arr_{place}"]
                second = (
                    tensors[int(index)]
                    if int(index) < len(tensors)
                    else np.zeros((0,) * (first.ndim + 1))
                )
                entry = {"name": name, "sample": number, **compare(first, second, "float32")}
                if is_worse(entry, worst):
                    worst = entry
    return {"worst": worst}


COMMANDS = {"ranges": measure_ranges, "compare": compare_models, "score": score}


def respond(folder: Path) -> dict[str, Any]:
    request = json.loads((folder / "request.json").read_text())
    if _MISSING:
        raise EngineError(
            f"the Python that runs models, '{sys.executable}', lacks the module '{_MISSING}': "
            f"install it with '{sys.executable} -m pip install {_MISSING}', or name another Python in AMP_PYTHON"
        )
    onnxruntime.set_default_logger_severity(4)
    onnxruntime.disable_telemetry_events()
    np.seterr(all="ignore")
    return COMMANDS[request["command"]](request, Samples(request["data"], request["inputs"]))


def main() -> int:
    folder = Path(sys.argv[1])
    try:
        response = respond(folder)
    except EngineError as error:
        response = {"error": str(error)}
    except MemoryError:
        response = {"error": "running the model needs more memory than there is"}
    except Exception as error:
        response = {"error": f"the engine failed: {type(error).__name__}: {one_line(error)}"}
    (folder / "response.json").write_text(json.dumps(response, allow_nan=False))
    return 0


if __name__ == "__main__":
    try:
        status = main()
    finally:
        # The watching thread ends with this one, done or not.
        remove_without_parent(Path(sys.argv[1]), int(sys.argv[2]))
    os._exit(
        status
    )  # at once: what the interpreter does at its end takes long enough for the parent to end meanwhile
