"""Gradients of operators that move data, and of gathers and scatters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from finite_differences import SHAPES, Node, problems
from gradients import differentiate
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from running import run_in_onnxruntime

RANDOM = np.random.default_rng(12)
LOWEST = np.iinfo(np.int64).min


def floats(*shape: int) -> np.ndarray:
    """Numbers that float16 holds, no two alike."""
    count = int(np.prod(shape))
    numbers = RANDOM.permutation(np.arange(1, count + 1)) / 32 - count / 64
    return np.where(numbers == 0, count, numbers).reshape(shape)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def crop(x: np.ndarray, size: int, axis: int) -> np.ndarray:
    """CenterCropPad of one axis."""
    change = size - x.shape[axis]
    if change >= 0:
        pads = [(0, 0)] * x.ndim
        pads[axis] = (change // 2, change - change // 2)
        return np.pad(x, pads)
    return np.take(x, np.arange(size) + -change // 2, axis)


def blocks(x: np.ndarray) -> np.ndarray:
    """SpaceToDepth of blocks of 2."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // 2, 2, w // 2, 2)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


def pixels(x: np.ndarray, order: tuple[int, ...], split: str) -> np.ndarray:
    """DepthToSpace of blocks of 2."""
    n, c, h, w = x.shape
    shape = (n, 2, 2, c // 4, h, w) if split == "DCR" else (n, c // 4, 2, 2, h, w)
    return x.reshape(shape).transpose(order).reshape(n, c // 4, 2 * h, 2 * w)


def reverse_sequence(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Along axis 0, batches along axis 1."""
    y = x.copy()
    for batch, length in enumerate(lengths):
        y[:length, batch] = x[:length, batch][::-1]
    return y


def padded(mode: Any, *widths: tuple[int, int]) -> Any:
    return lambda x, *_: np.pad(x, widths, mode=mode)


MOVES = [
    Node("Reshape", lambda x, s: x.reshape(2, 12), [floats(2, 3, 4), ints(0, -1)]),
    Node("Flatten", lambda x: x.reshape(6, 4), [floats(2, 3, 4)], {"axis": 2}),
    Node("Flatten", lambda x: x.reshape(1, 24), [floats(2, 3, 4)], {"axis": 0}),
    Node("Squeeze", lambda x: x.reshape(3, 4), [floats(1, 3, 1, 4)]),
    Node("Squeeze", lambda x, a: x.reshape(1, 3, 4), [floats(1, 3, 1, 4), ints(-2)]),
    Node("Unsqueeze", lambda x, a: x.reshape(1, 3, 4, 1), [floats(3, 4), ints(0, -1)]),
    Node("Transpose", lambda x: x.transpose(2, 0, 1), [floats(2, 3, 4)], {"perm": [2, 0, 1]}),
    Node("Transpose", lambda x: x.transpose(), [floats(2, 3, 4)]),
    Node(
        "Concat",
        lambda *x: np.concatenate(x, -1),
        [floats(2, 3), floats(2, 1), floats(2, 4)],
        {"axis": -1},
    ),
    Node(
        "Concat",
        lambda *x: np.concatenate(x, 1),
        [floats(2, 3), floats(2, 1), floats(2, 4)],
        {"axis": 1},
        fixed=(0, 2),
    ),
    Node("Concat", lambda x: x, [floats(2, 3)], {"axis": 0}),
    Node("Slice", lambda x, *_: x[1:3], [floats(4, 3), ints(1), ints(3)]),
    Node("Slice", lambda x, *_: x[1:3, -2:], [floats(4, 3), ints(1, -2), ints(3, 100)]),
    Node(
        "Slice",
        lambda x, *_: x[:, ::-1, :2],
        [floats(3, 4, 5), ints(-1, 0), ints(LOWEST, 2), ints(1, 2), ints(-1, 1)],
    ),
    Node(
        "Slice",
        lambda x, *_: x[1::2, ..., 4:0:-3],
        [floats(4, 2, 5), ints(1, 4), ints(9, 0), ints(0, -1), ints(2, -3)],
    ),
    Node(
        "Slice",
        lambda x, *_: x[::2, 100::-2],
        [floats(5, 4), ints(0, 100), ints(5, -100), ints(0, 1), ints(2, -2)],
    ),
    Node("Slice", lambda x, *_: x[:, 5:], [floats(2, 3), ints(5), ints(9), ints(1)]),
    Node("Slice", lambda x, *_: x[0:0:-2], [floats(3, 2), ints(0), ints(0), ints(0), ints(-2)]),
    Node(
        "Slice",
        lambda x, *_: x[1:3],
        [floats(4, 3), *(ints(i).astype(np.int32) for i in (1, 3, 0, 1))],
    ),
    Node(
        "Pad",
        lambda x, p, v: np.pad(x, [(1, 0), (0, 2)], constant_values=v),
        [floats(2, 3), ints(1, 0, 0, 2), np.array(1.5)],
    ),
    Node(
        "Pad",
        lambda x, p, v, a: np.pad(x, [(0, 0), (2, 1)], constant_values=v),
        [floats(2, 3), ints(2, 1), np.array(0.5), ints(-1)],
    ),
    Node(
        "Pad", lambda x, p: np.pad(x[1:, :-1], [(0, 2), (0, 0)]), [floats(3, 3), ints(-1, 0, 2, -1)]
    ),
    Node("Pad", padded("edge", (2, 1), (0, 1)), [floats(3, 3), ints(2, 0, 1, 1)], {"mode": "edge"}),
    Node("Pad", padded("wrap", (2, 1), (0, 1)), [floats(3, 3), ints(2, 0, 1, 1)], {"mode": "wrap"}),
    Node(
        "Pad",
        padded("reflect", (0, 0), (2, 1)),
        [floats(3, 3), ints(2, 1), None, ints(1)],
        {"mode": "reflect"},
    ),
    Node("Tile", lambda x, r: np.tile(x, (1, 3, 2)), [floats(2, 3, 2), ints(1, 3, 2)]),
    Node("Tile", lambda x, r: x, [floats(2, 3), ints(1, 1)]),
    Node("Expand", lambda x, s: np.broadcast_to(x, (2, 3, 4)), [floats(3, 1), ints(2, 1, 4)]),
    Node(
        "DepthToSpace",
        lambda x: pixels(x, (0, 3, 4, 1, 5, 2), "DCR"),
        [floats(1, 8, 2, 3)],
        {"blocksize": 2},
    ),
    Node(
        "DepthToSpace",
        lambda x: pixels(x, (0, 1, 4, 2, 5, 3), "CRD"),
        [floats(1, 8, 2, 3)],
        {"blocksize": 2, "mode": "CRD"},
    ),
    Node("SpaceToDepth", blocks, [floats(1, 2, 4, 6)], {"blocksize": 2}),
    Node("Trilu", lambda x, k: np.triu(x, 1), [floats(2, 3, 4), np.array(1)]),
    Node("Trilu", lambda x, k: np.tril(x, -1), [floats(4, 3), np.array(-1)], {"upper": 0}),
    Node(
        "CenterCropPad",
        lambda x, s: crop(crop(x, 6, 2), 2, 0),
        [floats(5, 2, 3), ints(6, 2)],
        {"axes": [-1, 0]},
    ),
    Node("CenterCropPad", lambda x, s: crop(crop(x, 3, 0), 4, 1), [floats(4, 3), ints(3, 4)]),
    Node("ReverseSequence", reverse_sequence, [floats(4, 3, 2), ints(1, 4, 3)]),
    Node(
        "Compress",
        lambda x, c: np.compress(c, x, 1),
        [floats(2, 3, 2), np.array([True, False, True])],
        {"axis": -2},
    ),
    Node(
        "Compress",
        lambda x, c: np.compress(c, x),
        [floats(2, 3), np.array([True, False, False, True])],
    ),
]


def gather_nd(x: np.ndarray, indices: np.ndarray, batch: int) -> np.ndarray:
    if batch:
        return np.stack([gather_nd(a, i, batch - 1) for a, i in zip(x, indices, strict=True)])
    return x[tuple(np.moveaxis(indices, -1, 0))]


FUNCTIONS: dict[str, Any] = {
    "none": lambda a, b: b,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
}


def scatter_elements(reduction: str, axis: int) -> Any:
    def run(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        y = x.copy()
        for place in np.ndindex(indices.shape):
            target = list(place)
            target[axis] = indices[place]
            y[tuple(target)] = FUNCTIONS[reduction](y[tuple(target)], updates[place])
        return y

    return run


def scatter_nd(reduction: str) -> Any:
    def run(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        y = x.copy()
        for place in np.ndindex(indices.shape[:-1]):
            target, update = tuple(indices[place]), updates[place]
            rows = [
                FUNCTIONS[reduction](a, b)
                for a, b in zip(y[target].ravel(), update.ravel(), strict=True)
            ]
            y[target] = np.reshape(rows, update.shape)
        return y

    return run


def one_hot(indices: np.ndarray, depth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Along axis 1."""
    is_on = indices[:, None] % depth == np.arange(int(depth))[:, None]
    return np.where(is_on, values[1], values[0])


REDUCTIONS = ("none", "add", "mul", "min", "max")
ELEMENTS = np.array([[0, 2], [-1, 1], [1, 0]])
ROWS = np.array([[0], [-1]])
REPEATED = ("add", "mul", "min", "max")

INDEXING = [
    Node("Gather", lambda x, i: x[i], [floats(3, 2), ints(0, 2, 0, -1)]),
    Node("Gather", lambda x, i: x[i], [floats(3, 2), np.array([[1, 1], [0, -3]], np.int32)]),
    Node("Gather", lambda x, i: x[i], [floats(3, 2), np.array(-1)]),
    Node("Gather", lambda x, i: x[i], [floats(3), ints(2, 2)]),
    Node(
        "Gather", lambda x, i: x[:, i], [floats(2, 3, 2), np.array([[1, 1], [0, -3]])], {"axis": 1}
    ),
    Node("Gather", lambda x, i: x[:, :, i], [floats(2, 3, 2), np.array(1)], {"axis": 2}),
    Node(
        "GatherElements",
        lambda x, i: np.take_along_axis(x, i, 1),
        [floats(3, 3), ELEMENTS],
        {"axis": -1},
    ),
    Node(
        "GatherElements",
        lambda x, i: np.take_along_axis(x[:1], i, 0)[:, :1],
        [floats(1, 2), np.zeros((4, 1), np.int64)],
    ),
    Node(
        "GatherND",
        lambda x, i: gather_nd(x, i, 0),
        [floats(3, 2, 2), np.array([[[0, 1], [0, 1]], [[-1, 0], [2, -2]]])],
    ),
    Node("GatherND", lambda x, i: gather_nd(x, i, 0), [floats(3, 2), ints(1)]),
    Node(
        "GatherND",
        lambda x, i: gather_nd(x, i, 1),
        [floats(2, 3, 2), np.array([[[1], [-1]], [[0], [0]]])],
        {"batch_dims": 1},
    ),
    Node(
        "GatherND",
        lambda x, i: gather_nd(x, i, 2),
        [floats(2, 2, 3, 2), RANDOM.integers(-2, 2, (2, 2, 4, 2))],
        {"batch_dims": 2},
    ),
    *(
        Node(
            "ScatterElements",
            scatter_elements(reduction, 1),
            [floats(3, 4), ELEMENTS, floats(3, 2) / 2 + 0.3125],
            {"axis": 1, "reduction": reduction},
        )
        for reduction in REDUCTIONS
    ),
    *(
        Node(
            "ScatterElements",
            scatter_elements(reduction, 0),
            [
                floats(2, 3),
                np.array([[0, 1, 1], [0, -1, 0], [-2, 1, 1]]),
                floats(3, 3) / 2 + 0.3125,
            ],
            {"reduction": reduction},
        )
        for reduction in REPEATED
    ),
    *(
        Node(
            "ScatterND",
            scatter_nd(reduction),
            [floats(3, 2), ROWS, floats(2, 2) / 2 + 0.3125],
            {"reduction": reduction},
        )
        for reduction in REDUCTIONS
    ),
    *(
        Node(
            "ScatterND",
            scatter_nd(reduction),
            [floats(3, 2), np.array([[0, 1], [2, 0], [0, 1]]), floats(3) / 2 + 0.3125],
            {"reduction": reduction},
        )
        for reduction in REPEATED
    ),
    # One zero, whose factor has a gradient, and two, where none has.
    Node(
        "ScatterElements",
        scatter_elements("mul", 0),
        [floats(2), ints(0, 0, 1, 1, 1), np.array([0.0, 2.0, 0.0, 3.0, 0.0])],
        {"reduction": "mul"},
    ),
    Node(
        "OneHot",
        one_hot,
        [np.array([[0, -1], [2, 2]]), np.array(3), np.array([0.25, 1.5])],
        {"axis": 1},
    ),
]


def tensor_scatter(mode: str) -> Any:
    def run(cache: np.ndarray, update: np.ndarray, starts: np.ndarray | None) -> np.ndarray:
        y = cache.copy()
        starts = np.zeros(len(cache), np.int64) if starts is None else starts
        for batch, start in enumerate(starts):
            for i in range(update.shape[2]):
                y[batch, :, (start + i) % cache.shape[2]] = update[batch, :, i]
        return y

    return run


CACHES = [
    Node(
        "TensorScatter",
        tensor_scatter("linear"),
        [floats(2, 1, 4, 2), floats(2, 1, 2, 2), ints(1, 2)],
    ),
    Node(
        "TensorScatter",
        tensor_scatter("circular"),
        [floats(2, 1, 4, 2), floats(2, 1, 2, 2), ints(3, 0)],
        {"mode": "circular"},
    ),
    Node("TensorScatter", tensor_scatter("linear"), [floats(2, 1, 4, 2), floats(2, 1, 2, 2), None]),
]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("constants", [True, False], ids=["constants", "inputs"])
@pytest.mark.parametrize("nodes", [MOVES, INDEXING], ids=["moves", "indexing"])
def test_differences(nodes: list[Node], shapes: str, constants: bool, tmp_path: Path) -> None:
    """Parameters are constants, or known when the model runs alone."""
    if shapes != "sizes" and not constants:
        # The size of a tuple of indices must be known.
        nodes = [node for node in nodes if node.op != "GatherND"]
    assert not problems(nodes, tmp_path, shapes=shapes, constants=constants)


@pytest.mark.parametrize("opset", [19, 25])
@pytest.mark.parametrize("nodes", [MOVES, INDEXING], ids=["moves", "indexing"])
def test_opsets(nodes: list[Node], opset: int, tmp_path: Path) -> None:
    assert not problems(nodes, tmp_path, opset=opset)


@pytest.mark.parametrize("shapes", SHAPES[:2])
def test_caches(shapes: str, tmp_path: Path) -> None:
    assert not problems(CACHES, tmp_path, shapes=shapes, opset=24)


@pytest.mark.parametrize("nodes", [MOVES, INDEXING], ids=["moves", "indexing"])
def test_float16(nodes: list[Node], tmp_path: Path) -> None:
    """Without what ONNX Runtime does not take in float16."""
    nodes = [
        node
        for node in nodes
        if not node.op.startswith("Scatter") or node.attributes["reduction"] == "none"
    ]
    assert not problems(nodes, tmp_path, dtype=np.float16, tolerance=2e-3)


def model(
    text: str, shapes: dict[str, Any], opset: int = 20, element: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    """Nodes in ONNX's text form between float inputs and `loss`."""
    inputs = [helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()]
    graph = onnx.parser.parse_graph(f"g () => () {{ {text} }}")
    graph.input.extend(inputs)
    graph.output.append(helper.make_tensor_value_info("loss", element, []))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def gradient(source: onnx.ModelProto, wrt: str, feeds: dict[str, Any], folder: Path) -> np.ndarray:
    differentiate(source, ["loss"], [wrt], folder)
    return run_in_onnxruntime(folder / "gradient.onnx", feeds)[f"{wrt}_grad"]


@pytest.mark.parametrize("shape", [[7, 2], [None, 2], None])
def test_split_outputs_without_gradient(shape: Any, tmp_path: Path) -> None:
    """Outputs that are not read, that have no name, and that are read twice."""
    for text, expected in {
        "a, b, c = Split <num_outputs = 3> (x) d = Mul (b, b) loss = ReduceSum <keepdims = 0> (d)": (
            3,
            6,
        ),
        's = Constant <value_ints = [1, 2, 4]> () "", b, "" = Split (x, s) d = Mul (b, b) '
        "loss = ReduceSum <keepdims = 0> (d)": (1, 3),
    }.items():
        x = np.arange(14, dtype=np.float32).reshape(7, 2)
        result = differentiate(model(text, {"x": shape}), ["loss"], ["x"], tmp_path)
        # ONNX Runtime crashes where an output has no name.
        (found,) = ReferenceEvaluator(result).run(["x_grad"], {"x": x})
        expected_gradient = np.zeros_like(x)
        expected_gradient[slice(*expected)] = 2 * x[slice(*expected)]
        np.testing.assert_array_equal(found, expected_gradient)


def test_topk(tmp_path: Path) -> None:
    text = "k = Constant <value_ints = [2]> () y, i = TopK <axis = 0> (x, k) z = Mul (y, y) "
    source = model(text + "loss = ReduceSum <keepdims = 0> (z)", {"x": ["n", 2]})
    x = np.array([[1, 4], [3, -1], [2, 5], [-6, 0]], np.float32)
    found = gradient(source, "x", {"x": x}, tmp_path)
    np.testing.assert_array_equal(found, [[0, 8], [6, 0], [4, 10], [0, 0]])


def test_gather_many(tmp_path: Path) -> None:
    """Many indices that are alike, so that threads of ONNX Runtime would meet at one row; more of them than rows."""
    count, width = 200_000, 64
    text = "y = Gather (x, i) loss = ReduceSum <keepdims = 0> (y)"
    source = model(text, {"x": [3, width]})
    source.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, ["n"]))
    feeds = {"x": np.zeros((3, width), np.float32), "i": np.arange(count) % 2}
    found = gradient(source, "x", feeds, tmp_path)
    np.testing.assert_array_equal(found, np.repeat([[count / 2], [count / 2], [0]], width, 1))


def test_float16_sums(tmp_path: Path) -> None:
    """10,000 ones for one row: float16 would stop at 2,048."""
    text = "y = Gather (x, i) loss = ReduceSum <keepdims = 0> (y)"
    source = model(text, {"x": [3, 2]}, element=TensorProto.FLOAT16)
    source.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, [10_000]))
    feeds = {"x": np.zeros((3, 2), np.float16), "i": np.zeros(10_000, np.int64)}
    found = gradient(source, "x", feeds, tmp_path)
    np.testing.assert_array_equal(found, np.array([[10_000] * 2, [0] * 2, [0] * 2], np.float16))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "y = Gather <axis = -1> (x, i) loss = ReduceSum <keepdims = 0> (y)",
            "has no gradient where the rank of input 0 is not known: declare its shape",
        ),
        (
            "y = GatherND (x, i) loss = ReduceSum <keepdims = 0> (y)",
            "has no gradient where the last size of indices is not known",
        ),
    ],
)
def test_unknown_shapes(text: str, message: str, tmp_path: Path) -> None:
    source = model(text, {"x": None})
    source.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, None))
    with pytest.raises(AssertionError, match=message):
        differentiate(source, ["loss"], ["x"], tmp_path)
