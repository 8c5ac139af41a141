"""Gradients of elementwise operators and activation functions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from finite_differences import SHAPES, Node, build, problems
from gradients import differentiate
from onnx import TensorProto, helper, numpy_helper
from running import run_in_onnxruntime

RANDOM = np.random.default_rng(11)
BFLOAT16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)


def around(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Numbers that float16 holds, none near 0."""
    numbers = RANDOM.uniform(low, high, shape).astype(np.float16).astype(np.float64)
    return np.where(np.abs(numbers) < 0.1, 0.125, numbers)


erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


UNARY = [
    Node("Abs", np.abs, [around(2, 3)]),
    Node("Acos", np.arccos, [around(2, 3, low=-0.9, high=0.9)]),
    Node("Acosh", np.arccosh, [around(2, 3, low=1.5, high=3)]),
    Node("Asin", np.arcsin, [around(2, 3, low=-0.9, high=0.9)]),
    Node("Asinh", np.arcsinh, [around(2, 3)]),
    Node("Atan", np.arctan, [around(2, 3)]),
    Node("Atanh", np.arctanh, [around(2, 3, low=-0.9, high=0.9)]),
    Node("Ceil", np.ceil, [around(2, 3, low=0.1, high=0.9)]),
    Node("Cos", np.cos, [around(2, 3)]),
    Node("Cosh", np.cosh, [around(2, 3)]),
    Node("Erf", erf, [around(2, 3)]),
    Node("Exp", np.exp, [around(2, 3)]),
    Node("Floor", np.floor, [around(2, 3, low=0.1, high=0.9)]),
    Node("Identity", np.positive, [around(2, 3)]),
    Node("Log", np.log, [around(2, 3, low=0.5)]),
    Node("Neg", np.negative, [around(2, 3)]),
    Node("Reciprocal", np.reciprocal, [around(2, 3, low=0.5)]),
    Node("Round", np.round, [around(2, 3, low=0.1, high=0.4)]),
    Node("Sign", np.sign, [around(2, 3)]),
    Node("Sin", np.sin, [around(2, 3)]),
    Node("Sinh", np.sinh, [around(2, 3)]),
    Node("Sqrt", np.sqrt, [around(2, 3, low=0.5)]),
    Node("Tan", np.tan, [around(2, 3, low=-1, high=1)]),
    # Activations
    Node("Celu", lambda x: np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(x / 2)), [around(9)], {"alpha": 2.0}),
    Node("Elu", lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)), [around(9)], {"alpha": 0.5}),
    Node("Gelu", lambda x: x / 2 * (1 + erf(x / np.sqrt(2))), [around(9)]),
    Node("Gelu", gelu_tanh, [around(9)], {"approximate": "tanh"}),
    Node("HardSigmoid", lambda x: np.clip(0.25 * x + 0.25, 0, 1), [around(9, low=-4, high=4)],
         {"alpha": 0.25, "beta": 0.25}),
    Node("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), [around(9, low=-4, high=4)]),
    Node("LeakyRelu", lambda x: np.where(x > 0, x, 0.01 * x), [around(9)]),
    Node("LeakyRelu", lambda x: np.where(x > 0, x, -0.5 * x), [around(9)], {"alpha": -0.5}),
    Node("LogSoftmax", lambda x: x - np.log(np.exp(x).sum(0)), [around(3, 2)], {"axis": 0}),
    Node("Mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), [around(9)]),
    Node("Relu", lambda x: np.maximum(x, 0), [around(9)]),
    Node("Selu", lambda x: 1.5 * np.where(x > 0, x, 2 * np.expm1(x)), [around(9)], {"alpha": 2.0, "gamma": 1.5}),
    Node("Shrink", lambda x: np.where(np.abs(x) > 0.75, x - 0.25 * np.sign(x), 0), [around(9)],
         {"lambd": 0.75, "bias": 0.25}),
    Node("Sigmoid", sigmoid, [around(9)]),
    Node("Softmax", lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), [around(3, 2)]),
    Node("Softmax", lambda x: np.exp(x) / np.exp(x).sum(-2, keepdims=True), [around(2, 3, 2)], {"axis": -2}),
    Node("Softplus", lambda x: np.log1p(np.exp(x)), [around(9)]),
    Node("Softsign", lambda x: x / (1 + np.abs(x)), [around(9)]),
    Node("Tanh", np.tanh, [around(9)]),
    Node("ThresholdedRelu", lambda x: np.where(x > 0.75, x, 0), [around(9)], {"alpha": 0.75}),
]  # fmt: skip


def spread(*shape: int) -> np.ndarray:
    """Different numbers, 0.5 apart at least, in any order."""
    count = int(np.prod(shape))
    return (RANDOM.permutation(count).reshape(shape) - count / 2 + 0.25) / 2


def number(value: float) -> np.ndarray:
    return np.array(value, np.float64)


MASK = np.array([[True], [False]])
SEVERAL = [
    Node("Add", np.add, [around(2, 3), around(3)]),
    Node("Sub", np.subtract, [around(2, 1), around(2, 3)]),
    Node("Mul", np.multiply, [around(2, 3), around(1, 3)]),
    Node("Div", np.divide, [around(2, 3), around(2, 1, low=0.5)]),
    Node("Div", np.divide, [number(1.5), around(2, 3, low=0.5)]),
    Node("Pow", np.power, [around(2, 3, low=0.5), around(3)]),
    Node("Pow", np.power, [around(2, 1, low=0.5), number(1.75)]),
    Node("Pow", np.power, [around(2, 3), np.array([[2], [3]])]),
    *(
        Node("Pow", np.power, [around(2, 3, low=0.5), number(exponent)], fixed=[1])
        for exponent in (-1, -0.5, 0, 0.5, 1, 2, 3, 4, 2.5)
    ),
    Node("Pow", np.power, [number(2), around(2, 3)], fixed=[0]),
    Node("Mod", np.fmod, [around(2, 3, low=3, high=7), number(-1.75)], {"fmod": 1}),
    Node("Max", lambda a: a, [around(2)]),
    Node("Max", lambda a, b, c, d: np.maximum(np.maximum(a, b), np.maximum(c, d)),
         [spread(2, 3), spread(3), number(0), spread(2, 1)]),
    Node("Min", np.minimum, [spread(2, 3), number(0.125)]),
    Node("Min", np.minimum, [number(0.125), spread(3, 3)], fixed=[0]),
    Node("Mean", lambda a, b: (a + b) / 2, [around(2, 3), around(3)]),
    Node("Mean", lambda a: a, [around(2)]),
    Node("Sum", lambda a, b, c: a + b + c, [around(2, 3), around(3), number(2)]),
    Node("Clip", lambda x, *bounds: np.clip(x, -0.5, 0.75), [spread(7), number(-0.5), number(0.75)], fixed=[1, 2]),
    Node("Clip", np.clip, [spread(7), number(-0.5), number(0.75)]),
    Node("Clip", lambda x, low, high: np.minimum(x, high), [spread(7), None, number(0.75)]),
    Node("Clip", lambda x: x, [spread(7)]),
    # Bounds that cross: all are the upper one.
    Node("Clip", lambda x, low, high: x * 0 + high, [spread(7), number(0.75), number(-0.5)]),
    Node("Where", np.where, [MASK, around(2, 3), around(3)]),
    Node("Where", np.where, [MASK, number(2), around(1)]),
    Node("PRelu", lambda x, slope: np.where(x > 0, x, slope * x), [around(2, 3, 2), around(3, 1)]),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("nodes", [UNARY, SEVERAL], ids=["unary", "several"])
def test_functions(nodes: list[Node], shapes: str, tmp_path: Path) -> None:
    """However much is known about shapes."""
    assert problems(nodes, tmp_path, shapes=shapes) == []


@pytest.mark.parametrize("opset", [18, 24])
def test_opsets(opset: int, tmp_path: Path) -> None:
    """Nodes are those of the model's opset; Gelu is of 20."""
    nodes = [node for node in UNARY + SEVERAL if node.op != "Gelu" or opset >= 20]
    assert problems(nodes, tmp_path, opset=opset) == []


def test_inputs_at_run_time(tmp_path: Path) -> None:
    """What is a constant elsewhere may come with the data."""
    assert problems(SEVERAL, tmp_path, constants=False) == []


@pytest.mark.parametrize("nodes", [UNARY, SEVERAL], ids=["unary", "several"])
def test_float16(nodes: list[Node], tmp_path: Path) -> None:
    """In float16, formulas are float32 and rounded once; Celu has no float16 at this opset."""
    nodes = [node for node in nodes if node.op != "Celu"]
    assert problems(nodes, tmp_path, dtype=np.float16, tolerance=4e-3) == []


@pytest.mark.parametrize("nodes", [UNARY, SEVERAL], ids=["unary", "several"])
def test_bfloat16(nodes: list[Node], tmp_path: Path) -> None:
    """Every node of a gradient admits its types; ONNX Runtime has no kernels to run them."""
    nodes = [node for node in nodes if node.op not in ("Celu", "Shrink")]
    model, _, _ = build(nodes, BFLOAT16, 24, "sizes", True)
    wrt = [f"x{n}_{i}" for n, node in enumerate(nodes) for i in node.differentiated()]
    result = differentiate(model, ["loss"], wrt, tmp_path)
    onnx.checker.check_model(result, full_check=True)
    kinds = {value.type.tensor_type.elem_type for value in result.graph.output[1:]}
    assert kinds == {TensorProto.BFLOAT16}


def test_swish(tmp_path: Path) -> None:
    """ONNX Runtime has no kernel: it becomes what it is defined by."""
    nodes = [Node("Swish", lambda x: x * sigmoid(1.5 * x), [around(9)], {"alpha": 1.5})]
    assert problems(nodes, tmp_path, opset=24) == []


def gradient_of(
    nodes: list[onnx.NodeProto],
    feeds: dict[str, np.ndarray],
    wrt: list[str],
    folder: Path,
    outputs: tuple[str, ...] = (),
    constants: dict[str, Any] | None = None,
) -> dict[str, np.ndarray]:
    """The gradients of sum(y), by name, and the values of outputs."""
    graph = helper.make_graph(
        [*nodes, helper.make_node("Cast", ["y"], ["wide"], to=TensorProto.FLOAT),
         helper.make_node("ReduceSum", ["wide"], ["loss"], keepdims=0)],
        "nodes",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
         for name, array in feeds.items()],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
         *(onnx.ValueInfoProto(name=name) for name in outputs)],
        [numpy_helper.from_array(np.array(value), name) for name, value in (constants or {}).items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    differentiate(model, ["loss"], wrt, folder)
    return run_in_onnxruntime(folder / "gradient.onnx", feeds)


def test_shares_of_ties(tmp_path: Path) -> None:
    """Three inputs that are alike share the gradient; so does one that is there twice."""
    ones: dict[str, np.ndarray] = {name: np.ones(2, np.float32) for name in "abc"}
    three = [helper.make_node("Max", ["a", "b", "c"], ["y"])]
    found = gradient_of(three, ones, ["a", "b", "c"], tmp_path)
    for name in "abc":
        np.testing.assert_allclose(found[f"{name}_grad"], 1 / 3, rtol=1e-6)
    a = {"a": ones["a"]}
    found = gradient_of([helper.make_node("Min", ["a", "a"], ["y"])], a, ["a"], tmp_path)
    np.testing.assert_array_equal(found["a_grad"], [1, 1])


def test_large_float16(tmp_path: Path) -> None:
    """No square and no exponential of a large float16 becomes infinite, or not a number."""
    x: dict[str, np.ndarray] = {"x": np.array([-60000, -300, 300, 60000], np.float16)}
    for op, attributes in [("Gelu", {}), ("Gelu", {"approximate": "tanh"}), ("Mish", {})]:
        found = gradient_of([helper.make_node(op, ["x"], ["y"], **attributes)], x, ["x"], tmp_path)
        np.testing.assert_array_equal(found["x_grad"], [0, 0, 1, 1])


def test_casts(tmp_path: Path) -> None:
    """Gradients pass casts between floats, in the type of each value, and end at integers."""
    x: dict[str, np.ndarray] = {
        "x": np.array([1.5, -2.5], np.float32),
        "like": np.ones((), np.float16),
    }
    through = [
        helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("CastLike", ["half", "x"], ["single"]),
        helper.make_node("CastLike", ["single", "like"], ["low"]),
        helper.make_node("Mul", ["low", "low"], ["y"]),
    ]
    found = gradient_of(through, x, ["x", "half"], tmp_path)
    np.testing.assert_array_equal(found["x_grad"], [3, -5])
    assert found["x_grad"].dtype == np.float32
    assert found["half_grad"].dtype == np.float16
    cut = [
        helper.make_node("Cast", ["x"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Cast", ["whole"], ["y"], to=TensorProto.FLOAT),
    ]
    for nodes, wrt in [(cut, "x"), (through, "like")]:
        with pytest.raises(AssertionError, match=f"no differentiable path leads from '{wrt}'"):
            gradient_of(nodes, x, [wrt], tmp_path)


@pytest.mark.parametrize("op", ["Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike"])
def test_random_numbers(op: str, tmp_path: Path) -> None:
    """Random numbers do not follow what their node reads."""
    x = {"x": np.full((2, 2), 0.5, np.float32)}
    nodes = [helper.make_node(op, ["x"], ["z"]), helper.make_node("Mul", ["x", "z"], ["y"])]
    found = gradient_of(nodes, x, ["x"], tmp_path, outputs=("z",))
    np.testing.assert_array_equal(found["x_grad"], found["z"])


RATIO = np.float32(0.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("inputs", "outputs", "at_run_time"),
    [
        (["x", "ratio", "training"], ["y"], False),
        (["x", "ratio", "training"], ["y", "mask"], False),
        (["x", "", "training"], ["y"], False),
        (["x", "", "training"], ["y", ""], False),
        (["x", "ratio", "training"], ["y"], True),
        (["x", "ratio", "inference"], ["y"], True),
        (["x", "ratio", "inference"], ["y"], False),
        (["x", "ratio"], ["y"], False),
        (["x"], ["y"], False),
        (["x", "none", "training"], ["y"], False),
    ],
)  # fmt: skip
def test_dropout(
    inputs: list[str], outputs: list[str], at_run_time: bool, dtype: Any, tmp_path: Path
) -> None:
    """The gradient has the mask and the scale of the result."""
    x = np.linspace(1, 2, 512, dtype=dtype)
    known = {"ratio": RATIO, "training": True, "inference": False, "none": np.float32(0)}  # fmt: skip
    others = {name: np.array(known[name]) for name in inputs[1:] if name}
    feeds = {"x": x} | (others if at_run_time else {})
    found = gradient_of(
        [helper.make_node("Dropout", inputs, outputs, name="drop")],
        feeds, ["x"], tmp_path, outputs=("y",), constants={} if at_run_time else others,
    )  # fmt: skip
    gradient = found["x_grad"]
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient * x, found["y"], rtol=2e-3 if dtype == np.float16 else 1e-6)
    drops = "training" in inputs and "none" not in inputs
    assert (gradient == 0).any() == drops
    model = onnx.load(tmp_path / "gradient.onnx")
    node = next(node for node in model.graph.node if node.op_type == "Dropout")
    assert node.name == "drop"
    assert node.output[0] == "y"
    # A mask is made where it is used.
    assert len(node.output) == (2 if "training" in inputs or at_run_time else 1)


def test_dropout_ratio(tmp_path: Path) -> None:
    """The ratio is a setting: it has no gradient."""
    nodes = [helper.make_node("Dropout", ["x", "r"], ["y"])]
    feeds = {"x": np.ones(2, np.float32), "r": np.array(0.5, np.float32)}
    with pytest.raises(AssertionError, match="no differentiable path leads from 'r'"):
        gradient_of(nodes, feeds, ["r"], tmp_path)


def test_no_rule(tmp_path: Path) -> None:
    """An operator without a gradient is an error that names it."""
    nodes = [helper.make_node("Det", ["x"], ["y"])]
    with pytest.raises(AssertionError, match=r"has no gradient rule here: leave out what is behind it"):  # fmt: skip
        gradient_of(nodes, {"x": np.eye(2, dtype=np.float32)}, ["x"], tmp_path)
