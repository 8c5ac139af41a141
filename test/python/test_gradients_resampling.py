"""Gradients of Resize and GridSample against differences of the forward pass."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from gradient_cases import NodeCase, problems, refusal
from gradients import differentiate
from onnx import helper

RANDOM = np.random.default_rng(13)
Shape = tuple[int, ...]


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def resize(
    name: str,
    x: Shape,
    scales: list[float] | None = None,
    sizes: list[int] | None = None,
    roi: list[float] | None = None,
    constants: tuple[int, ...] = (1, 2, 3),
    dims: dict[int, Any] | None = None,
    **attributes: Any,
) -> NodeCase:
    inputs = [
        array(*x),
        None if roi is None else np.array(roi, np.float32),
        None if scales is None else np.array(scales, np.float32),
        None if sizes is None else np.array(sizes),
    ]
    return NodeCase(
        f"resize_{name}",
        "Resize",
        inputs,
        attributes,
        wrt=[0],
        constants=constants,
        dims=dims or {},
    )


COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
SCALES = {"double": [1.0, 1.0, 2.0, 3.0], "up": [1.0, 1.0, 1.6, 2.5], "down": [1.0, 1.0, 0.6, 0.5]}
SIZES = {"up": [1, 2, 7, 6], "down": [1, 2, 3, 2], "double": [1, 2, 10, 8]}
IMAGE = (1, 2, 5, 4)

NEAREST = [
    *(
        resize(
            f"{coordinates}_{rounding}_{name}",
            IMAGE,
            scales=scales,
            mode="nearest",
            coordinate_transformation_mode=coordinates,
            nearest_mode=rounding,
        )
        for coordinates, rounding, (name, scales) in product(COORDINATES, ROUNDINGS, SCALES.items())
    ),
    *(
        resize(
            f"sizes_{coordinates}_{rounding}",
            IMAGE,
            sizes=sizes,
            mode="nearest",
            coordinate_transformation_mode=coordinates,
            nearest_mode=rounding,
        )
        for (coordinates, rounding), sizes in zip(
            product(COORDINATES, ROUNDINGS), list(SIZES.values()) * 7, strict=False
        )
    ),
    resize("default", IMAGE, scales=[1.0, 1.0, 2.0, 2.0]),
    resize("all_axes", (2, 2, 3), scales=[2.0, 1.5, 0.7], mode="nearest"),
    resize("axes", IMAGE, scales=[2.0, 2.0], axes=[-1, 2], mode="nearest"),
]

SMOOTH = [
    *(
        resize(
            f"{mode}_{coordinates}_{name}",
            IMAGE,
            scales=scales,
            mode=mode,
            coordinate_transformation_mode=coordinates,
        )
        for mode, coordinates, (name, scales) in product(
            ["linear", "cubic"], COORDINATES, SCALES.items()
        )
    ),
    *(
        resize(f"{mode}_antialias_{name}", IMAGE, sizes=sizes, mode=mode, antialias=1)
        for mode, (name, sizes) in product(["linear", "cubic"], SIZES.items())
    ),
    resize(
        "cubic_exclude",
        IMAGE,
        sizes=SIZES["up"],
        mode="cubic",
        exclude_outside=1,
        cubic_coeff_a=-0.5,
    ),
    resize(
        "crop",
        IMAGE,
        sizes=SIZES["up"],
        mode="linear",
        roi=[0, 0, 0.2, -0.1, 1, 1, 0.8, 1.1],
        extrapolation_value=7.0,
        coordinate_transformation_mode="tf_crop_and_resize",
    ),
    resize(
        "crop_same_size",
        IMAGE,
        sizes=list(IMAGE),
        mode="linear",
        roi=[0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9],
        coordinate_transformation_mode="tf_crop_and_resize",
    ),
    resize("1d", (2, 3, 5), scales=[1.0, 1.0, 1.7], mode="linear"),
    resize("3d", (1, 2, 3, 4, 2), scales=[1.0, 1.0, 2.0, 0.6, 1.5], mode="linear"),
    resize("axes", IMAGE, sizes=[7, 3], axes=[3, 2], mode="linear"),
    resize("same", IMAGE, sizes=list(IMAGE), mode="linear"),
]

NAMED: dict[int, Any] = {0: ["N", 2, "H", "W"]}
DYNAMIC = [
    resize("repeated", IMAGE, scales=[1.0, 1.0, 2.0, 2.0], dims=NAMED),
    resize("linear", IMAGE, scales=[1.0, 1.0, 1.6, 0.5], mode="linear", dims=NAMED),
    resize("sizes", (1, 2, 5, 4), sizes=[1, 2, 7, 6], mode="linear", dims=NAMED),
    resize("input_scales", IMAGE, scales=[1.0, 1.0, 1.6, 0.5], mode="linear", constants=()),
    resize("input_scales_nearest", IMAGE, scales=[1.0, 1.0, 2.0, 0.5], constants=(), dims=NAMED),
    resize("input_sizes", IMAGE, sizes=[1, 2, 7, 3], mode="linear", constants=(), dims=NAMED),
    resize(
        "input_roi",
        IMAGE,
        scales=[1.0, 1.0, 1.6, 0.5],
        mode="linear",
        roi=[0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9],
        constants=(),
        coordinate_transformation_mode="tf_crop_and_resize",
    ),
]

MODES = {16: ["nearest", "bilinear", "bicubic"], 20: ["nearest", "linear", "cubic"]}


def samples(opset: int) -> list[NodeCase]:
    """With points inside and outside; in double precision where ONNX Runtime has that."""
    cases = []
    old = opset < 20
    dtype = np.float32 if old else np.float64
    for mode, padding, corners in product(MODES[opset], ["zeros", "border", "reflection"], [0, 1]):
        cases.append(
            NodeCase(
                f"{mode}_{padding}_{corners}",
                "GridSample",
                [
                    array(2, 2, 4, 3).astype(dtype),
                    RANDOM.uniform(-2.3, 2.3, (2, 3, 2, 2)).astype(dtype),
                ],
                {"mode": mode, "padding_mode": padding, "align_corners": corners},
                # The nearest element changes in jumps.
                wrt=[0] if mode == "nearest" or old else None,
                step=1.0 if old else 1e-5,
                tolerance=1e-5 if old else 1e-6,
            )
        )
    return cases


VOLUMES = [
    NodeCase(
        "volume",
        "GridSample",
        [array(1, 2, 3, 4, 2).astype(np.float64), RANDOM.uniform(-1.2, 1.2, (1, 2, 2, 2, 3))],
        {"padding_mode": "border"},
        step=1e-5,
        tolerance=1e-6,
    ),
    NodeCase(
        "dynamic",
        "GridSample",
        [array(2, 2, 4, 3).astype(np.float64), RANDOM.uniform(-1.2, 1.2, (2, 3, 2, 2))],
        step=1e-5,
        tolerance=1e-6,
        dims={0: [None] * 4, 1: [None, None, None, 2]},
    ),
]


GRIDS = [
    NodeCase("plane", "AffineGrid", [array(2, 2, 3), np.array([2, 3, 4, 5])], constants=[1]),
    NodeCase(
        "corners",
        "AffineGrid",
        [array(2, 2, 3), np.array([2, 3, 4, 5])],
        {"align_corners": 1},
        wrt=[0],
    ),
    NodeCase("space", "AffineGrid", [array(2, 3, 4), np.array([2, 1, 2, 3, 4])], constants=[1]),
]


@pytest.mark.parametrize("cases", [NEAREST, SMOOTH, DYNAMIC], ids=["nearest", "smooth", "dynamic"])
def test_resize(cases: list[NodeCase], tmp_path: Path) -> None:
    assert problems(cases, tmp_path) == {}


@pytest.mark.parametrize("opset", [18, 24])
def test_resize_opsets(opset: int, tmp_path: Path) -> None:
    assert problems([NEAREST[0], SMOOTH[1]], tmp_path, opset) == {}


@pytest.mark.parametrize("opset", [18, 20])
def test_grid_sample(opset: int, tmp_path: Path) -> None:
    cases = samples(16 if opset == 18 else 20) + (VOLUMES if opset == 20 else [])
    assert problems(cases, tmp_path, opset) == {}


def test_affine_grid(tmp_path: Path) -> None:
    assert problems(GRIDS, tmp_path) == {}


def test_nearest_grid_has_zero_gradient(tmp_path: Path) -> None:
    case = NodeCase(
        "near",
        "GridSample",
        [array(1, 1, 3, 3), RANDOM.uniform(-1, 1, (1, 2, 2, 2)).astype(np.float32)],
        {"mode": "nearest"},
        wrt=[1],
        step=1e-4,
    )
    assert problems([case], tmp_path) == {}


def test_repeating_is_a_sum(tmp_path: Path) -> None:
    """Whole factors of the nearest element take no product of matrices."""
    graph = onnx.GraphProto(name="resize")
    output = resize("twice", IMAGE, scales=[1.0, 1.0, 2.0, 2.0]).add_to(graph)
    graph.node.append(helper.make_node("ReduceSum", [output], ["loss"], keepdims=0))
    graph.output.append(helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, []))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    result = differentiate(model, ["loss"], ["resize_twice_0"], tmp_path)
    assert "MatMul" not in [node.op_type for node in result.graph.node]


def test_batch_is_left_alone(tmp_path: Path) -> None:
    """Sizes that are read from the input's shape are not those of an axis that changes."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 20]>
        resize (float[N, 2, H, W] x) => (float loss) {
          same = Shape <end = 2> (x)
          new = Constant <value_ints = [7, 6]> ()
          sizes = Concat <axis = 0> (same, new)
          y = Resize <mode = "linear"> (x, , , sizes)
          loss = ReduceSum <keepdims = 0> (y)
        }""")
    result = differentiate(model, ["loss"], ["x"], tmp_path)
    assert [node.op_type for node in result.graph.node].count("MatMul") == 2


def test_refusals(tmp_path: Path) -> None:
    policy = resize(
        "policy",
        IMAGE,
        sizes=[7, 9],
        axes=[2, 3],
        mode="linear",
        keep_aspect_ratio_policy="not_larger",
    )
    assert "with keep_aspect_ratio_policy 'not_larger'" in refusal(policy, tmp_path)
    nothing = NodeCase("nothing", "Resize", [array(*IMAGE)])
    assert "without 'scales' and 'sizes'" in refusal(nothing, tmp_path)
    beyond = resize("beyond", IMAGE, scales=[2.0], axes=[4])
    assert "along an axis that the input has not" in refusal(beyond, tmp_path)
    flat = NodeCase("flat", "GridSample", [array(2, 3), array(2, 3)])
    assert "without spatial dimensions" in refusal(flat, tmp_path)
    theta = NodeCase("theta", "AffineGrid", GRIDS[0].inputs, dims={0: [None] * 3}, wrt=[0])
    assert "where the number of spatial dimensions is not known" in refusal(theta, tmp_path)
