"""Runs models on data for onnx-amp: ranges of values, and how far two models are apart.

`engine.py FOLDER PARENT` reads FOLDER/request.json and writes FOLDER/response.json, which holds `error`, one line, or
what was asked for; it ends when the process PARENT does.

Models come widened (pass onnx-widen): they compute in float32, and what is stored in 16 bits is rounded by Cast nodes.
ONNX Runtime's CPU provider runs them with its optimisations off, which would hide roundings.
"""

from __future__ import annotations

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


if __name__ == "__main__":
    # What ONNX Runtime leaves in the folder of temporary files goes with ours.
    os.environ["TMPDIR"] = sys.argv[1]

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

# Mantissa bits and the exponent of the smallest normal number.
FORMATS = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126)}


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
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.enable_mem_pattern = False
        options.log_severity_level = 4
        self.session = None
        try:
            self.session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
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
                # The data and the weights: not the bias, which is added.
                recurrent = node.op_type in ("RNN", "GRU", "LSTM")
                for i, name in enumerate(node.input[: 3 if recurrent else 2]):
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


def measure_ranges(request: dict[str, Any], data: Samples) -> dict[str, Any]:
    model = Model(request["models"][0], request["threads"], request["bfloat16"][0])
    ranges: dict[str, Range] = {}
    for _, (results,) in chunks([model], request["values"], data):
        for name, value in results.items():
            if is_float(value):
                ranges.setdefault(name, Range()).add(value)
    arguments: dict[str, Range] = {}
    for feeds in data:
        for name, value in feeds.items():
            if is_float(value):
                arguments.setdefault(name, Range()).add(value)
    return {
        "ranges": [entry.to_json(name) for name, entry in ranges.items()],
        "inputs": [entry.to_json(name) for name, entry in arguments.items()],
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


def stop_without_parent(folder: Path, parent: int) -> None:
    """Ends the process, and removes the folder, when nobody waits for the answer any more."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        # The main thread may be writing to it.
        for _ in range(10):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's end is ours
    stop_without_parent(Path(sys.argv[1]), int(sys.argv[2]))
    sys.exit(main())
