"""Gradients of convolutions and pools against differences of the forward pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from gradient_cases import NodeCase, problems, refusal
from gradients import differentiate
from onnx import helper, numpy_helper
from running import run_in_onnxruntime

Shape = tuple[int, ...]
RANDOM = np.random.default_rng(11)


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def distinct(*shape: int) -> np.ndarray:
    """Far from ties, and from zero."""
    numbers = np.arange(1, np.prod(shape) + 1) * RANDOM.choice([-1, 1], int(np.prod(shape)))
    return RANDOM.permutation(numbers).reshape(shape).astype(np.float32) / 10


def conv(name: str, x: Shape, w: Shape, op: str = "Conv", **attributes: Any) -> NodeCase:
    more = {key: attributes.pop(key) for key in ("dims", "wrt") if key in attributes}
    channels = w[0] if op == "Conv" else w[1] * attributes.get("group", 1)
    bias = attributes.pop("bias", True)
    inputs = [array(*x), array(*w), array(channels) if bias else None]
    return NodeCase(f"{op}_{name}", op, inputs, attributes, **more)


def transposed(name: str, x: Shape, w: Shape, **attributes: Any) -> NodeCase:
    return conv(name, x, w, op="ConvTranspose", **attributes)


SIZES: list[str | int | None] = ["N", 2, "H", "W"]

CONVS = [
    conv("plain", (2, 2, 5, 4), (3, 2, 3, 2), pads=[1, 0, 1, 1]),
    conv("unused_rows", (1, 2, 6, 6), (3, 2, 3, 3), strides=[2, 3], bias=False),
    conv("unused_rows_padded", (1, 2, 6, 7), (3, 2, 3, 3), strides=[3, 3], pads=[1, 1, 1, 1]),
    conv("point", (2, 3, 4, 3), (2, 3, 1, 1)),
    conv("point_strided", (2, 3, 4, 5), (2, 3, 1, 1), strides=[2, 2]),
    conv("point_padded", (2, 3, 4, 5), (2, 3, 1, 1), strides=[2, 2], pads=[1, 1, 0, 0]),
    conv("point_groups", (2, 4, 3, 3), (4, 2, 1, 1), group=2),
    conv("depthwise_twice", (2, 3, 5, 5), (6, 1, 3, 3), group=3, strides=[2, 2], pads=[1] * 4),
    conv("groups_dilated", (2, 4, 8, 7), (6, 2, 3, 2), group=2, dilations=[2, 3], strides=[1, 2]),
    conv("1d_same_upper", (2, 2, 7), (3, 2, 4), strides=[2], auto_pad="SAME_UPPER"),
    conv("1d_same_lower", (2, 2, 8), (3, 2, 3), strides=[2], auto_pad="SAME_LOWER"),
    conv("1d_valid", (2, 2, 7), (3, 2, 2), strides=[2], auto_pad="VALID"),
    conv("3d_groups", (1, 4, 4, 3, 5), (2, 2, 2, 2, 3), group=2, strides=[2, 1, 2]),
    conv("same_larger_stride", (1, 1, 7, 7), (1, 1, 2, 2), strides=[3, 3], auto_pad="SAME_UPPER"),
    # Sizes that are known when the model runs.
    conv("dynamic", (2, 2, 5, 4), (3, 2, 3, 2), pads=[1, 0, 1, 1], dims={0: SIZES}),
    conv(
        "dynamic_strided", (2, 2, 6, 7), (3, 2, 3, 3), pads=[1] * 4, strides=[2, 3], dims={0: SIZES}
    ),
    conv("dynamic_unpadded", (2, 2, 6, 6), (3, 2, 1, 1), strides=[2, 2], dims={0: SIZES}),
    conv(
        "dynamic_groups", (2, 4, 6, 7), (4, 2, 3, 3), group=2, strides=[2, 2], dims={0: [None] * 4}
    ),
    conv(
        "dynamic_depthwise",
        (2, 2, 6, 7),
        (2, 1, 3, 3),
        group=2,
        strides=[2, 2],
        pads=[1] * 4,
        dims={0: SIZES},
    ),
    conv(
        "dynamic_same",
        (2, 2, 6, 7),
        (3, 2, 3, 3),
        strides=[2, 2],
        auto_pad="SAME_LOWER",
        dims={0: SIZES},
    ),
    conv(
        "dynamic_same_upper",
        (2, 2, 6, 7),
        (3, 2, 3, 4),
        strides=[2, 3],
        auto_pad="SAME_UPPER",
        dims={0: SIZES},
    ),
    conv("dynamic_same_unit", (2, 2, 6, 7), (3, 2, 3, 2), auto_pad="SAME_UPPER", dims={0: SIZES}),
]

TRANSPOSED = [
    transposed("plain", (2, 2, 3, 4), (2, 3, 3, 2)),
    transposed(
        "strided", (2, 2, 3, 4), (2, 3, 3, 2), strides=[2, 3], pads=[1, 0, 0, 1], dilations=[2, 1]
    ),
    transposed(
        "output_padding",
        (1, 2, 3, 3),
        (2, 2, 3, 3),
        strides=[2, 3],
        output_padding=[1, 2],
        bias=False,
    ),
    transposed(
        "output_padding_and_pads",
        (1, 2, 3, 3),
        (2, 2, 3, 3),
        strides=[2, 2],
        output_padding=[1, 1],
        pads=[1, 1, 1, 1],
    ),
    transposed("groups", (2, 4, 3, 3), (4, 2, 3, 3), group=2, strides=[2, 2], pads=[1] * 4),
    transposed("point", (2, 3, 3, 2), (3, 2, 1, 1)),
    transposed("output_shape", (1, 2, 3, 3), (2, 2, 3, 3), strides=[2, 2], output_shape=[6, 7]),
    transposed("same_upper", (1, 2, 3, 3), (2, 2, 3, 4), strides=[2, 3], auto_pad="SAME_UPPER"),
    transposed("same_lower", (1, 2, 3, 3), (2, 2, 4, 3), strides=[1, 2], auto_pad="SAME_LOWER"),
    transposed("1d", (2, 2, 4), (2, 2, 3), strides=[2]),
    transposed("3d", (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), strides=[2, 1, 2]),
    transposed(
        "dynamic",
        (2, 2, 3, 4),
        (2, 3, 3, 2),
        strides=[2, 3],
        output_padding=[1, 2],
        pads=[1, 0, 0, 1],
        dims={0: SIZES},
    ),
    transposed(
        "dynamic_groups", (2, 4, 3, 3), (4, 2, 3, 3), group=2, strides=[2, 2], dims={0: [None] * 4}
    ),
]


def pool(name: str, x: Shape, op: str = "AveragePool", **attributes: Any) -> NodeCase:
    more = {key: attributes.pop(key) for key in ("dims",) if key in attributes}
    if op not in ("AveragePool", "GlobalAveragePool"):
        more |= {"step": 0.02, "tolerance": 5e-3}
    return NodeCase(f"{op}_{name}", op, [distinct(*x)], attributes, **more)


K33: dict[str, Any] = {"kernel_shape": [3, 3]}
K22: dict[str, Any] = {"kernel_shape": [2, 2]}
AVERAGES = [
    pool("overlapping", (1, 2, 6, 5), **K33, strides=[2, 1]),
    pool("ceil", (1, 2, 6, 7), **K33, strides=[2, 3], ceil_mode=1),
    pool("ceil_padded", (1, 1, 6, 6), **K33, strides=[2, 2], ceil_mode=1, pads=[1] * 4),
    pool(
        "ceil_padded_include",
        (1, 1, 6, 6),
        **K33,
        strides=[2, 2],
        ceil_mode=1,
        pads=[1] * 4,
        count_include_pad=1,
    ),
    pool("same_upper", (1, 1, 6, 5), **K33, strides=[2, 2], auto_pad="SAME_UPPER"),
    pool(
        "same_lower_include",
        (1, 1, 6, 5),
        **K33,
        strides=[2, 2],
        auto_pad="SAME_LOWER",
        count_include_pad=1,
    ),
    pool("dilated", (1, 2, 7, 8), **K33, dilations=[2, 1], pads=[1, 1, 1, 1]),
    pool("3d", (1, 2, 4, 4, 3), kernel_shape=[2, 3, 2], strides=[2, 1, 1]),
    pool("dynamic", (2, 2, 6, 5), **K33, strides=[2, 2], dims={0: SIZES}),
    pool("dynamic_padded", (2, 2, 6, 5), **K33, strides=[2, 2], pads=[1] * 4, dims={0: SIZES}),
    pool(
        "dynamic_include",
        (2, 2, 6, 5),
        **K33,
        strides=[2, 2],
        pads=[1] * 4,
        count_include_pad=1,
        dims={0: SIZES},
    ),
    pool(
        "dynamic_ceil",
        (2, 2, 6, 6),
        **K33,
        strides=[2, 2],
        pads=[1] * 4,
        ceil_mode=1,
        dims={0: SIZES},
    ),
    pool(
        "dynamic_ceil_include",
        (2, 2, 6, 6),
        **K33,
        strides=[2, 2],
        pads=[1] * 4,
        ceil_mode=1,
        count_include_pad=1,
        dims={0: SIZES},
    ),
    pool(
        "dynamic_same",
        (2, 2, 6, 5),
        **K33,
        strides=[2, 2],
        auto_pad="SAME_UPPER",
        dims={0: [None] * 4},
    ),
    pool("plain", (2, 2, 3, 4), op="GlobalAveragePool"),
    pool("dynamic", (2, 2, 3, 4), op="GlobalAveragePool", dims={0: SIZES}),
    pool("1d", (2, 2, 5), op="GlobalAveragePool"),
]

MAXIMA = [
    pool("overlapping", (2, 2, 6, 5), "MaxPool", **K33, strides=[2, 1], pads=[1] * 4),
    pool("apart", (2, 2, 6, 6), "MaxPool", **K33, strides=[3, 3]),
    pool("apart_unused_rows", (2, 2, 7, 6), "MaxPool", **K33, strides=[3, 3]),
    pool("apart_twos", (2, 3, 4, 6), "MaxPool", **K22, strides=[2, 2]),
    pool("apart_1d", (2, 2, 10), "MaxPool", kernel_shape=[5], strides=[5]),
    pool("apart_3d", (1, 2, 4, 3, 4), "MaxPool", kernel_shape=[2, 3, 4], strides=[2, 3, 4]),
    pool("apart_batch", (2, 2, 4, 6), "MaxPool", **K22, strides=[2, 2], dims={0: ["N", 2, 4, 6]}),
    pool("dilated", (1, 2, 7, 8), "MaxPool", **K33, dilations=[2, 1]),
    pool("same", (1, 2, 6, 7), "MaxPool", **K33, strides=[2, 2], auto_pad="SAME_LOWER"),
    pool("column_major", (1, 2, 5, 4), "MaxPool", **K33, storage_order=1),
    pool("1d_ceil", (2, 2, 6), "MaxPool", kernel_shape=[3], strides=[2], ceil_mode=1),
    pool("3d", (1, 2, 4, 4, 3), "MaxPool", kernel_shape=[2, 2, 2]),
    pool("dynamic", (2, 2, 6, 5), "MaxPool", **K33, strides=[2, 2], dims={0: SIZES}),
    NodeCase(
        "maxpool_indices",
        "MaxPool",
        [distinct(1, 2, 5, 4)],
        {"kernel_shape": [2, 2]},
        step=0.02,
        tolerance=5e-3,
        outputs=2,
    ),
    NodeCase(
        "maxpool_column_major_indices",
        "MaxPool",
        [distinct(1, 2, 5, 4)],
        {"kernel_shape": [2, 2], "storage_order": 1},
        step=0.02,
        tolerance=5e-3,
        outputs=2,
    ),
    pool("plain", (2, 2, 3, 4), "GlobalMaxPool"),
    pool("dynamic", (2, 2, 3, 4), "GlobalMaxPool", dims={0: SIZES}),
    NodeCase(
        "maxunpool",
        "MaxUnpool",
        [array(1, 1, 2, 2), np.array([[[[1, 3], [8, 10]]]])],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
]

NORMS = [
    pool("1", (1, 2, 5, 4), "LpPool", kernel_shape=[3, 2], p=1),
    pool("2", (1, 2, 5, 4), "LpPool", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
    pool("3", (1, 2, 5, 4), "LpPool", kernel_shape=[3, 2], p=3),
    pool("4_dynamic", (1, 2, 5, 4), "LpPool", kernel_shape=[3, 2], p=4, dims={0: SIZES}),
    pool("1", (2, 2, 3, 2), "GlobalLpPool", p=1),
    pool("2", (2, 2, 3, 2), "GlobalLpPool"),
    pool("3_dynamic", (2, 2, 3, 2), "GlobalLpPool", p=3, dims={0: SIZES}),
]

BLOCKS = [
    NodeCase(
        "col2im", "Col2Im", [array(1, 8, 9), np.array([4, 4]), np.array([2, 2])], constants=[1, 2]
    ),
    NodeCase(
        "col2im_all",
        "Col2Im",
        [array(2, 6, 9), np.array([5, 6]), np.array([2, 3])],
        {"pads": [1, 0, 1, 2], "strides": [2, 2], "dilations": [1, 1]},
        constants=[1, 2],
    ),
    NodeCase(
        "col2im_dilated",
        "Col2Im",
        [array(1, 4, 6), np.array([5, 3]), np.array([2, 2])],
        {"dilations": [2, 1]},
        constants=[1, 2],
    ),
]


def half(case: NodeCase) -> NodeCase:
    inputs = [None if x is None else x.astype(np.float16) for x in case.inputs]
    return NodeCase(f"half_{case.name}", case.op, inputs, case.attributes, tolerance=2e-2)


HALF = [half(CONVS[0]), half(CONVS[5]), half(TRANSPOSED[1]), half(AVERAGES[0])]


@pytest.mark.parametrize(
    "cases",
    [CONVS, TRANSPOSED, AVERAGES, MAXIMA, NORMS, BLOCKS, HALF],
    ids=["conv", "transposed", "averages", "maxima", "norms", "blocks", "half"],
)
def test_gradients(cases: list[NodeCase], tmp_path: Path) -> None:
    assert problems(cases, tmp_path) == {}


@pytest.mark.parametrize("strides", [[2, 3], [1, 3]], ids=["apart", "overlapping"])
@pytest.mark.parametrize("element", [np.float32, np.float16, np.float64])
def test_first_of_equal_maxima(element: type, strides: list[int], tmp_path: Path) -> None:
    """As in PyTorch, the first in the order of memory; zeros of both signs are equal."""
    x = RANDOM.choice(np.array([0.0, -0.0, 1.0], element), (3, 2, 6, 9))
    attributes = {"kernel_shape": [2, 3], "strides": strides}
    case = NodeCase("pool", "MaxPool", [x], attributes)
    places = (6 - 2) // strides[0] + 1, 3
    # Sums of these are exact.
    dy: np.ndarray = RANDOM.integers(-64, 64, (3, 2, *places)).astype(element)
    expected = np.zeros_like(x)
    for n, c, i, j in np.ndindex(dy.shape):
        i, j = i * strides[0], j * strides[1]
        row, column = divmod(int(x[n, c, i : i + 2, j : j + 3].argmax()), 3)
        expected[n, c, i + row, j + column] += dy[n, c, i // strides[0], j // strides[1]]

    graph = onnx.GraphProto(name="pool")
    output = case.add_to(graph)
    graph.initializer.append(numpy_helper.from_array(dy, "dy"))
    graph.node.append(helper.make_node("Mul", [output, "dy"], ["parts"]))
    graph.node.append(helper.make_node("ReduceSum", ["parts"], ["loss"], keepdims=0))
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph.output.append(helper.make_tensor_value_info("loss", kind, []))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    differentiate(model, ["loss"], ["pool_0"], tmp_path)
    outputs = run_in_onnxruntime(tmp_path / "gradient.onnx", case.feeds())
    np.testing.assert_array_equal(outputs["pool_0_grad"], expected)


@pytest.mark.parametrize("opset", [18, 24])
def test_opsets(opset: int, tmp_path: Path) -> None:
    cases = [CONVS[0], TRANSPOSED[0], AVERAGES[0], MAXIMA[0], NORMS[0]]
    assert problems(cases, tmp_path, opset) == {}


def test_refusals(tmp_path: Path) -> None:
    kernel = conv("a", (1, 2, 4, 4), (2, 2, 3, 3), dims={1: [2, 2, "K", "K"]})
    assert "where the size of the kernel is not known" in refusal(kernel, tmp_path)
    groups = conv("b", (1, 2, 4, 4), (2, 1, 3, 3), dims={1: [2, None, 3, 3]}, group=2)
    assert "where the channels of groups are not known" in refusal(groups, tmp_path)
    shape = transposed("c", (1, 2, 3, 3), (2, 2, 3, 3), output_shape=[4, 4], dims={0: SIZES})
    assert "where 'output_shape' is given" in refusal(shape, tmp_path)
    size = NodeCase(
        "d",
        "MaxUnpool",
        [array(1, 1, 2, 2), np.array([[[[1, 3], [8, 10]]]]), np.array([1, 1, 5, 5])],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
    )
    assert "with an input 'output_shape'" in refusal(size, tmp_path)
    block = NodeCase("e", "Col2Im", [array(1, 8, 9), np.array([4, 4]), np.array([2, 2])])
    assert "of the block are no constants" in refusal(block, tmp_path)
    deformed = NodeCase(
        "f", "DeformConv", [array(1, 1, 3, 3), array(1, 1, 2, 2), array(1, 8, 2, 2)]
    )
    assert "has no gradient rule here" in refusal(deformed, tmp_path)
