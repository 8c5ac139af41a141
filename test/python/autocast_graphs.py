"""Random graphs of operators on 4x4 matrices that PyTorch has as well, for eager placement.

A graph is a list of nodes: an operator and the numbers of its inputs, where 0 is the graph's input and n the result of
node n. What each node runs in under `torch.autocast` is in autocast_graphs.json; `test_torch.py` makes the file.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

GOLDEN = Path(__file__).with_suffix(".json")
COUNT = 300

ONE_INPUT = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Transpose",
    "Trilu",
]
#: Celu is not one of them: it has no float16 before opset 28.
#: By name: the inputs that are values, the constants behind them, and attributes.
OPERATORS: dict[str, tuple[int, list[str], dict[str, object]]] = {
    **{name: (1, [], {}) for name in ONE_INPUT},
    **{name: (2, [], {}) for name in ["Add", "Div", "MatMul", "Max", "Min", "Mul", "Sub", "Sum"]},
    "Clip": (1, ["low", "high"], {}),
    "CumSum": (1, ["axis"], {}),
    "Einsum": (2, [], {"equation": "ij,jk->ik"}),
    "Gemm": (3, [], {}),
    "LayerNormalization": (1, ["ones"], {}),
    "LogSoftmax": (1, [], {}),
    "PRelu": (1, ["ones"], {}),
    "Pow": (1, ["two"], {}),
    "Softmax": (1, [], {}),
}
CONSTANTS = {
    "low": np.float32(-1),
    "high": np.float32(1),
    "two": np.float32(2),
    "axis": np.int64(0),
    "ones": np.full(4, 0.5, np.float32),
}
#: Often enough that low and float32 values meet.
FREQUENT = ["MatMul", "Add", "Mul", "Sum", "Softmax", "Relu"]

Graph = list[tuple[str, list[int]]]


def graph(seed: int) -> Graph:
    """A graph of up to 14 nodes; later values are read more often."""
    rng = random.Random(seed)
    nodes: Graph = []
    for number in range(rng.randint(2, 14)):
        name = rng.choice(FREQUENT if rng.random() < 0.5 else sorted(OPERATORS))
        inputs = [
            max(rng.randint(0, number), rng.randint(0, number)) for _ in range(OPERATORS[name][0])
        ]
        nodes.append((name, inputs))
    return nodes


def model(nodes: Graph) -> onnx.ModelProto:
    """The graph in ONNX; node n is called n and gives v(n)."""
    protos = []
    for number, (name, inputs) in enumerate(nodes, start=1):
        _, constants, attributes = OPERATORS[name]
        protos.append(
            helper.make_node(
                name,
                [*(f"v{value}" for value in inputs), *constants],
                [f"v{number}"],
                str(number),
                **attributes,  # type: ignore[arg-type]
            )
        )
    result = helper.make_graph(
        protos,
        "g",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info(f"v{len(nodes)}", TensorProto.FLOAT, [4, 4])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items()],
    )
    return helper.make_model(result, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


def golden() -> dict[str, list[str]]:
    """Per seed what each node runs in: "f16" or "f32"."""
    found: dict[str, list[str]] = json.loads(GOLDEN.read_text())
    return found
