"""Gradients of MatMul, Gemm and Einsum against differences of the forward pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from gradient_cases import NodeCase, problems, refusal
from gradients import differentiate
from onnx import helper

Shape = tuple[int, ...]
RANDOM = np.random.default_rng(7)


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def matmul(name: str, left: Shape, right: Shape, **dims: Any) -> NodeCase:
    declared = {"ab".index(key): value for key, value in dims.items()}
    return NodeCase(f"matmul_{name}", "MatMul", [array(*left), array(*right)], dims=declared)


MATMULS = [
    matmul("2d", (3, 4), (4, 2)),
    matmul("vector_2d", (4,), (4, 3)),
    matmul("vector_vector", (4,), (4,)),
    matmul("4d_2d", (2, 3, 2, 4), (4, 3)),
    matmul("2d_3d", (3, 4), (5, 4, 2)),
    matmul("vector_4d", (4,), (2, 3, 4, 2)),
    matmul("4d_vector", (2, 3, 2, 4), (4,)),
    matmul("batches", (2, 3, 4), (2, 4, 3)),
    matmul("batches_both_ways", (2, 1, 2, 3), (3, 3, 2)),
    matmul("one_batch_left", (1, 1, 3, 4), (2, 4, 3)),
    matmul("one_batch_right", (2, 3, 4), (1, 4, 3)),
    matmul("vector_one_batch", (4,), (1, 4, 3)),
    matmul("one_column", (2, 3, 1), (1, 4)),
    matmul("named", (2, 3, 4), (4, 2), a=["N", "S", 4]),
    matmul("unnamed", (2, 3, 4), (4, 2), a=[None, None, None], b=[None, None]),
    matmul("unnamed_batches", (1, 3, 4), (2, 4, 2), a=[None] * 3, b=[None] * 3),
    matmul("unnamed_left_2d", (3, 4), (2, 4, 2), a=[None] * 2, b=[None] * 3),
]


def gemm(name: str, a: Shape, b: Shape, c: Shape | None, **attributes: Any) -> NodeCase:
    bias = None if c is None else array(*c)
    return NodeCase(f"gemm_{name}", "Gemm", [array(*a), array(*b), bias], attributes)


GEMMS = [
    *(
        gemm(
            f"{ta}{tb}",
            (4, 3) if ta else (3, 4),
            (2, 4) if tb else (4, 2),
            (1, 2),
            transA=ta,
            transB=tb,
            alpha=0.5,
            beta=2.0,
        )
        for ta in (0, 1)
        for tb in (0, 1)
    ),
    gemm("scalar_c", (3, 4), (4, 2), ()),
    gemm("column_c", (3, 4), (4, 2), (3, 1), beta=0.25),
]


def einsum(name: str, equation: str, *shapes: Shape, **more: Any) -> NodeCase:
    return NodeCase(
        f"einsum_{name}",
        "Einsum",
        [array(*shape) for shape in shapes],
        {"equation": equation},
        **more,
    )


EINSUMS = [
    einsum("chain_of_four", "ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 2), (2, 3)),
    einsum("spaces", " b i j , b j k -> b i k ", (2, 3, 2), (2, 2, 3)),
    einsum("implicit_upper", "bA,Ac", (2, 3), (3, 2)),
    einsum("implicit_ellipsis", "...ij,...jk", (2, 2, 3), (2, 3, 2)),
    einsum("ellipsis_ranks", "...ij,jk...->...ik", (2, 3, 2, 4), (4, 2, 1, 3)),
    einsum("ellipsis_summed_within", "...i->...", (2, 3, 4)),
    einsum("diagonal_of_product", "iij,jk->ik", (3, 3, 2), (2, 4)),
    einsum("trace", "ii->", (4, 4)),
    einsum("trace_of_batches", "bii,b->b", (2, 3, 3), (2,)),
    einsum("three_times", "iii->i", (3, 3, 3)),
    einsum("sum_of_one", "ij,k->k", (2, 3), (4,)),
    einsum("scalar", ",ij->ji", (), (2, 3)),
    einsum("transposed", "abc->cab", (2, 3, 4)),
    einsum("size_one", "ij,ij->j", (1, 3), (4, 3)),
    einsum("size_one_outer", "ij,jk->ik", (2, 1), (3, 4)),
    einsum("unnamed", "bij,bjk->bik", (2, 3, 4), (2, 4, 2), dims={0: [None] * 3, 1: [None] * 3}),
    einsum("unnamed_diagonal", "ii,i->i", (3, 3), (3,), dims={0: [None] * 2}),
    einsum("third_alone", "ij,jk,kl->il", (2, 3), (3, 4), (4, 2), wrt=[2]),
]

UNKNOWN_RANK = [einsum("unknown_rank", "ij,jk->ik", (2, 3), (3, 4), dims={0: None, 1: None})]


def dft(name: str, x: Shape, *more: np.ndarray | None, **attributes: Any) -> NodeCase:
    constants = [i for i, given in enumerate(more, 1) if given is not None]
    return NodeCase(f"dft_{name}", "DFT", [array(*x), *more], attributes, constants=constants)


DFTS = [
    dft("real", (2, 6, 1)),
    dft("complex", (2, 5, 2)),
    dft("inverse", (2, 5, 2), inverse=1),
    dft("inverse_of_real", (2, 5, 1), inverse=1),
    dft("one_side", (2, 6, 1), onesided=1),
    dft("one_side_odd", (2, 5, 1), onesided=1),
    dft("longer", (2, 5, 2), np.array(8)),
    dft("shorter", (2, 5, 1), np.array(3), onesided=1),
    dft("axis", (3, 4, 2), None, np.array(0)),
    NodeCase("dft_dynamic", "DFT", [array(2, 5, 2)], dims={0: [None, None, 2]}),
]
OLD_DFTS = [
    dft("real", (2, 6, 3, 1)),
    dft("axis", (2, 6, 3, 2), axis=2),
    dft("longer_inverse", (2, 5, 2), np.array(7), inverse=1),
]

HALF = [
    NodeCase(
        "half_matmul",
        "MatMul",
        [array(2, 3, 4).astype(np.float16), array(4, 2).astype(np.float16)],
        tolerance=1e-2,
    ),
    NodeCase(
        "half_gemm",
        "Gemm",
        [
            array(3, 4).astype(np.float16),
            array(4, 2).astype(np.float16),
            array(2).astype(np.float16),
        ],
        tolerance=1e-2,
    ),
    NodeCase(
        "half_einsum",
        "Einsum",
        [array(3, 4).astype(np.float16), array(4, 2).astype(np.float16)],
        {"equation": "ij,jk->ik"},
        tolerance=1e-2,
    ),
]


@pytest.mark.parametrize(
    "cases",
    [MATMULS, GEMMS, EINSUMS, UNKNOWN_RANK, DFTS, HALF],
    ids=["matmul", "gemm", "einsum", "unknown_rank", "dft", "half"],
)
def test_gradients(cases: list[NodeCase], tmp_path: Path) -> None:
    assert problems(cases, tmp_path) == {}


@pytest.mark.parametrize("opset", [18, 24])
def test_opsets(opset: int, tmp_path: Path) -> None:
    assert problems([MATMULS[0], MATMULS[8], GEMMS[0], EINSUMS[0]], tmp_path, opset) == {}


def test_dft_with_attribute(tmp_path: Path) -> None:
    assert problems(OLD_DFTS, tmp_path, opset=18) == {}


def test_one_product_each(tmp_path: Path) -> None:
    """A weight that all batches share has a gradient of one product, without a sum."""
    graph = onnx.GraphProto(name="linear")
    output = NodeCase("linear", "MatMul", [array(2, 3, 4), array(4, 2)]).add_to(graph)
    graph.node.append(helper.make_node("ReduceSum", [output], ["loss"], keepdims=0))
    graph.output.append(helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, []))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    result = differentiate(model, ["loss"], ["linear_0", "linear_1"], tmp_path)
    ops = [node.op_type for node in result.graph.node]
    assert [op for op in ops if op in ("MatMul", "Gemm")] == ["MatMul", "Gemm", "Gemm"]
    assert ops.count("ReduceSum") == 1


def test_refusals(tmp_path: Path) -> None:
    unknown = NodeCase("a", "MatMul", [array(2, 3), array(3, 2)], dims={0: None})
    assert "has no gradient where the rank of input 0 is not known" in refusal(unknown, tmp_path)
    scalar = NodeCase("s", "MatMul", [array(), array(3, 2)], wrt=[1])
    assert "with a scalar" in refusal(scalar, tmp_path)
    lacking = einsum("l", "ij,jk->ik", (2, 3))
    assert "of 2 inputs for 1" in refusal(lacking, tmp_path)
    side = dft("side", (2, 5, 2), inverse=1, onesided=1)
    assert "of an inverse with one side" in refusal(side, tmp_path)
    axis = NodeCase("axis", "DFT", [array(2, 5, 2), None, np.array(1)])
    assert "where the axis is no constant" in refusal(axis, tmp_path)
    real = NodeCase("real", "DFT", [array(2, 5, 2)], dims={0: [2, 5, "C"]})
    assert "where it is not known if the input is real" in refusal(real, tmp_path)
    ellipsis = einsum("b", "...i->...", (2, 3), dims={0: None})
    assert "where the rank of input 0 is not known" in refusal(ellipsis, tmp_path)
    letters = "".join(chr(i) for i in range(65, 91)) + "".join(chr(i) for i in range(97, 123))
    full = einsum("c", f"...,{letters}->...", (2,), (1,) * 52)
    assert "leaves no letters for the dimensions of '...'" in refusal(full, tmp_path)
