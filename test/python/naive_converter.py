"""A converter that is right and simple, and wrong on request: what the judges are tested with.

    python naive_converter.py convert IN -o OUT [--dtype fp16|bf16|none] [--json] [--fault NAME] …

Every MatMul, Gemm and Conv runs in the low format between casts of its own; weights are converted.
Other options are read and ignored. `--fault` makes one thing wrong, see FAULTS.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LOW_TYPES = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
OPERATORS = ("MatMul", "Gemm", "Conv")
SUFFIX, RESULT_SUFFIX = "/low", "/low_result"


def convert(model: onnx.ModelProto, low: int, fault: str) -> list[onnx.NodeProto]:
    """Converts in place; gives the nodes that were lowered. A second time there is nothing to do."""
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    made: list[onnx.NodeProto] = []
    lowered: list[onnx.NodeProto] = []
    converted: set[str] = set()
    for node in graph.node:
        done = any(name.endswith(SUFFIX) for name in node.input)
        if node.op_type not in OPERATORS or done or (fault == "silent" and not lowered):
            made.append(node)
            if node.op_type in OPERATORS:
                lowered.append(node)
            continue
        for index, name in enumerate(node.input):
            low_name = name + SUFFIX
            if name in weights and fault != "light":
                if low_name not in converted:
                    values = numpy_helper.to_array(weights[name])
                    graph.initializer.append(_low_tensor(values, low, low_name, fault))
            elif low_name not in converted:
                made.append(helper.make_node("Cast", [name], [low_name], to=low))
            converted.add(low_name)
            node.input[index] = low_name
        output = node.output[0]
        node.output[0] = output + RESULT_SUFFIX
        made.append(node)
        made.append(helper.make_node("Cast", [node.output[0]], [output], to=TensorProto.FLOAT))
        lowered.append(node)
    used = _names_read(made) | {value.name for value in graph.output}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:], graph.node[:], graph.value_info[:]
    graph.initializer.extend(kept)
    graph.node.extend(made)
    return lowered


def _names_read(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """What nodes read, their subgraphs included."""
    names: set[str] = set()
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= _names_read(attribute.g.node)
                names |= {value.name for value in attribute.g.output}
    return names


def _low_tensor(values: np.ndarray, low: int, name: str, fault: str) -> TensorProto:
    if fault == "wrong":
        values = values * np.float32(1.1)
    elif fault == "overflow":
        values = np.full_like(values, np.inf)
    return numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(low)), name)


def _unsorted(model: onnx.ModelProto) -> None:
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _renamed(model: onnx.ModelProto) -> None:
    value = model.graph.output[0]
    model.graph.node.append(helper.make_node("Identity", [value.name], ["renamed"]))
    value.name = "renamed"


def _grown(model: onnx.ModelProto) -> None:
    value = model.graph.output[0].name
    model.graph.node.append(helper.make_node("Identity", [value], [f"more{len(model.graph.node)}"]))


def _dated(model: onnx.ModelProto) -> None:
    model.doc_string = str(time.time_ns())


#: What can be made wrong after the conversion; the other faults are made in it.
FAULTS: dict[str, Callable[[onnx.ModelProto], None]] = {
    "unsorted": _unsorted,
    "renamed": _renamed,
    "grown": _grown,
    "dated": _dated,
}


def main() -> int:
    """Entry of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["convert"])
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="target", type=Path, required=True)
    parser.add_argument("--dtype", default="fp16")
    parser.add_argument("--fault", default="")
    for option in ("--policy", "--keep-op", "--keep-node", "--external-data"):
        parser.add_argument(option, action="append")
    options, _ = parser.parse_known_args()
    if options.fault == "crash":
        sys.exit("naive_converter: error: a fault was asked for")
    lowered: list[onnx.NodeProto] = []
    model = onnx.load(options.source)
    if options.dtype != "none":
        lowered = convert(model, LOW_TYPES[options.dtype], options.fault)
        if options.fault in FAULTS:
            FAULTS[options.fault](model)
    onnx.save(model, options.target)
    casts = sum(node.op_type == "Cast" for node in model.graph.node)
    print(json.dumps({"nodes": {"lowered": len(lowered)}, "casts": casts, "kept": []}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
