"""Kernels of the runtime's library on all types of elements: what ONNX's node tests, mostly of float32, leave open."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_process import KernelError, KernelProcess
from onnx import TensorProto, helper
from philox import draws

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("AMP_RUN_KERNEL", ROOT / "build/release/test/unit/run-kernel"))

FLOAT16 = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
SMALL_FLOATS = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float4_e2m1fn",
    )
)
INTEGERS = tuple(
    np.dtype(name)
    for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
SMALL_INTEGERS = tuple(
    np.dtype(getattr(ml_dtypes, name)) for name in ("int4", "uint4", "int2", "uint2")
)

UNARY_FLOAT = [
    "abs",
    "neg",
    "sign",
    "relu",
    "reciprocal",
    "ceil",
    "floor",
    "round",
    "sqrt",
    "exp",
    "log",
    "erf",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "softplus",
    "softsign",
    "mish",
    "hard_swish",
    "gelu",
    "leaky_relu",
    "thresholded_relu",
    "elu",
    "celu",
    "selu",
    "hard_sigmoid",
    "swish",
    "shrink",
]


@pytest.fixture(scope="module")
def kernels() -> Iterator[KernelProcess]:
    """One process for all cases."""
    process = KernelProcess(PROGRAM)
    yield process
    assert process.close() == 0


def type_number(dtype: Any) -> int:
    """ONNX's number of a type."""
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def all_values(dtype: np.dtype) -> np.ndarray:
    """Every value of a type of 16 bits at most."""
    if dtype in SMALL_INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        return np.arange(int(info.min), int(info.max) + 1).astype(dtype)
    if dtype == np.dtype(ml_dtypes.float4_e2m1fn):
        return np.arange(16, dtype=np.uint8).view(dtype)
    return np.arange(1 << (8 * dtype.itemsize)).astype(f"u{dtype.itemsize}").view(dtype)


def odd_values(dtype: np.dtype) -> np.ndarray:
    """Values of a wide type that rounding can get wrong."""
    generator = np.random.default_rng(7)
    if dtype.kind == "f":
        word = f"u{dtype.itemsize}"
        bits = generator.integers(0, 1 << (8 * dtype.itemsize), 1 << 16, word, endpoint=False)
        near = all_values(FLOAT16[0]).astype(dtype)
        near = np.concatenate([near, all_values(FLOAT16[1]).astype(dtype)])
        near = near[np.isfinite(near)]
        middles = (near[1:] / 2 + near[:-1] / 2).astype(dtype)
        around = [
            middles,
            np.nextafter(middles, dtype.type(np.inf)),
            np.nextafter(middles, dtype.type(-np.inf)),
        ]
        return np.concatenate([bits.view(dtype), near, *around])
    info = np.iinfo(dtype)
    values = generator.integers(info.min, info.max, 1 << 14, dtype, endpoint=True)
    shifts = generator.integers(0, 8 * dtype.itemsize, values.size).astype(dtype)
    return np.concatenate([values >> shifts, np.array([info.min, info.max, 0, 1], dtype)])


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """The same numbers, signs of zeros included; one NaN is as good as another."""
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    different = ~(
        (got == expected) & (np.signbit(got) == np.signbit(expected))
        | np.isnan(got) & np.isnan(expected)
    )
    assert not different.any(), (different.sum(), got[different][:5], expected[different][:5])


@pytest.mark.parametrize("target", FLOAT16, ids=str)
@pytest.mark.parametrize("source", [np.dtype(np.float32), np.dtype(np.float64), *INTEGERS], ids=str)
def test_rounding_to_16_bits(kernels: KernelProcess, source: np.dtype, target: np.dtype) -> None:
    """One rounding to nearest, ties to even, from every type; the oracle works on exact fractions of float64."""
    values = odd_values(source)
    (got,) = kernels.run("cast", [values], [type_number(target)])
    # Sorted finite values of the target: the nearest two, in Python's exact arithmetic.
    table = all_values(target).astype(np.float64)
    table = np.unique(table[np.isfinite(table)])
    largest = float(table[-1])
    beyond = largest + (largest - float(table[-2])) / 2
    for value, result in random.Random(1).sample(
        list(zip(values, got.astype(np.float64), strict=True)), 4000
    ):
        exact = int(value) if source.kind in "iu" else float(value)
        if exact != exact:
            assert result != result
        elif abs(exact) >= beyond:
            assert result == (np.inf if exact > 0 else -np.inf)
        else:
            right = int(np.searchsorted(table, float(exact)))
            near = table[max(right - 2, 0) : right + 2]
            distance = min(abs(Fraction(x) - Fraction(exact)) for x in near)
            nearest = [x for x in near if abs(Fraction(x) - Fraction(exact)) == distance]
            if len(nearest) == 2:
                nearest = [x for x in nearest if is_even(x, target)]
            assert result in nearest, (value, result, nearest)


def is_even(value: float, target: np.dtype) -> bool:
    """Whether the last bit of the value is 0."""
    return not int(np.array(value).astype(target).view(np.uint16)) & 1


@pytest.mark.parametrize("target", SMALL_FLOATS, ids=str)
@pytest.mark.parametrize("source", [np.dtype(np.float32), *FLOAT16], ids=str)
@pytest.mark.parametrize("saturate", [0, 1])
def test_rounding_to_small_floats(
    kernels: KernelProcess, source: np.dtype, target: np.dtype, saturate: int
) -> None:
    """As ml_dtypes rounds, but for what saturates."""
    values = odd_values(source) if source.itemsize == 4 else all_values(source)
    (got,) = kernels.run("cast", [values], [type_number(target)], {"saturate": saturate})
    wide = values.astype(np.float32)
    largest = float(ml_dtypes.finfo(target).max)
    if saturate:
        wide = np.clip(wide, -largest, largest)
    keep = ~np.isnan(wide) if target == SMALL_FLOATS[-1] else np.ones(wide.shape, bool)
    same(got[keep], wide[keep].astype(target))


@pytest.mark.parametrize(
    "source", [*FLOAT16, *SMALL_FLOATS, *SMALL_INTEGERS, *INTEGERS[:2]], ids=str
)
@pytest.mark.parametrize("target", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
def test_widening(kernels: KernelProcess, source: np.dtype, target: np.dtype) -> None:
    """Every value is kept."""
    values = all_values(source)
    (got,) = kernels.run("cast", [values], [type_number(target)])
    same(got, values.astype(target))


@pytest.mark.parametrize("source", INTEGERS, ids=str)
@pytest.mark.parametrize("target", [*INTEGERS, *SMALL_INTEGERS, np.dtype(bool)], ids=str)
def test_integers_to_integers(kernels: KernelProcess, source: np.dtype, target: np.dtype) -> None:
    """Higher bits are dropped."""
    values = odd_values(source)
    (got,) = kernels.run("cast", [values], [type_number(target)])
    expected = (
        values.astype(np.int8).astype(target) if target in SMALL_INTEGERS else values.astype(target)
    )
    np.testing.assert_array_equal(got.astype(object), expected.astype(object))


def test_payloads_stay(kernels: KernelProcess) -> None:
    """A NaN keeps its sign and the top bits of its payload."""
    nans = np.array([0x7F812345, 0xFFC00001, 0x7FC02000], np.uint32).view(np.float32)
    (half,) = kernels.run("cast", [nans], [TensorProto.FLOAT16])
    assert list(half.view(np.uint16)) == [0x7E09, 0xFE00, 0x7E01]
    (brain,) = kernels.run("cast", [nans], [TensorProto.BFLOAT16])
    assert list(brain.view(np.uint16)) == [0x7FC1, 0xFFC0, 0x7FC0]


def test_numbers_as_text(kernels: KernelProcess) -> None:
    """Numbers are written with the fewest digits, as Python does, and read back."""
    generator = np.random.default_rng(3)
    for dtype in (np.float32, np.float64, np.float16):
        word = f"u{np.dtype(dtype).itemsize}"
        bits = generator.integers(0, np.iinfo(word).max, 2000, word, endpoint=True)
        values = np.concatenate(
            [bits.view(dtype), np.array([0, -0.0, 1, 1e4, 0.5, 123456, 1e-4, 1e-5, np.inf], dtype)]
        )
        (texts,) = kernels.run("cast", [values], [TensorProto.STRING])
        if dtype == np.float64:
            assert list(texts) == [str(value) for value in values]
        for text, value in zip(texts, values, strict=True):
            if np.isfinite(value):
                fewest = np.format_float_scientific(value, trim="-").split("e")[0]
                digits = text.split("e")[0].replace(".", "").strip("-").strip("0")
                assert digits == fewest.replace(".", "").strip("-").strip("0")
        (again,) = kernels.run("cast", [texts], [type_number(dtype)])
        same(again, values)
    (numbers,) = kernels.run(
        "cast", [np.array(["9223372036854775807", "-3", " +7 "], object)], [TensorProto.INT64]
    )
    assert list(numbers) == [9223372036854775807, -3, 7]


@pytest.mark.parametrize("dtype", FLOAT16, ids=str)
@pytest.mark.parametrize("kernel", UNARY_FLOAT)
def test_16_bits_are_computed_in_float32(
    kernels: KernelProcess, kernel: str, dtype: np.dtype
) -> None:
    """One rounding at the end, for each of the 65,536 values."""
    values = all_values(dtype)
    (got,) = kernels.run(kernel, [values], [type_number(dtype)])
    (wide,) = kernels.run(kernel, [values.astype(np.float32)], [TensorProto.FLOAT])
    same(got, wide.astype(dtype))


@pytest.mark.parametrize("kernel", UNARY_FLOAT)
def test_float64_agrees_with_float32(kernels: KernelProcess, kernel: str) -> None:
    """Within a few units of float32's last place."""
    values = np.concatenate([np.linspace(-20, 20, 4001), np.linspace(-1, 1, 999)])
    (wide,) = kernels.run(
        kernel, [values.astype(np.float32).astype(np.float64)], [TensorProto.DOUBLE]
    )
    (got,) = kernels.run(kernel, [values.astype(np.float32)], [TensorProto.FLOAT])
    np.testing.assert_allclose(got, wide, rtol=2e-6, atol=1e-6)


SHAPES = [
    ((3, 1, 5), (4, 1)),
    ((), (2, 3)),
    ((7,), (1,)),
    ((2, 600), (600,)),
    ((600, 2), (600, 1)),
    ((0, 3), (1, 3)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64), *INTEGERS], ids=str)
def test_arithmetic_is_numpys(kernels: KernelProcess, dtype: np.dtype, shapes: tuple) -> None:
    """Broadcasting, wrapping integers, remainders of both kinds."""
    generator = np.random.default_rng(5)
    if dtype.kind == "f":
        x, y = (generator.normal(size=shape).astype(dtype) for shape in shapes)
    else:
        info = np.iinfo(dtype)
        x, y = (
            generator.integers(info.min, info.max, shape, dtype, endpoint=True) for shape in shapes
        )
        y = np.where(y == 0, dtype.type(3), y).astype(dtype)
    number = type_number(dtype)
    with np.errstate(all="ignore"):
        quotient = x / y if dtype.kind == "f" else truncating_quotient(x, y)
        for kernel, attributes, expected in [
            ("add", {}, x + y),
            ("sub", {}, x - y),
            ("mul", {}, x * y),
            ("div", {}, quotient),
            ("mod", {}, np.mod(x, y)),
            ("mod", {"fmod": 1}, np.fmod(x, y)),
            ("max", {}, np.maximum(x, y)),
            ("min", {}, np.minimum(x, y)),
            ("sum", {}, x + y),
        ]:
            (got,) = kernels.run(kernel, [x, y], [number], attributes)
            np.testing.assert_array_equal(got, expected, err_msg=kernel)
        for kernel in ("equal", "greater", "less", "greater_or_equal", "less_or_equal"):
            function = {"greater_or_equal": "greater_equal", "less_or_equal": "less_equal"}.get(
                kernel, kernel
            )
            (got,) = kernels.run(kernel, [x, y], [TensorProto.BOOL])
            np.testing.assert_array_equal(got, getattr(np, function)(x, y), err_msg=kernel)


def truncating_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integer division towards zero."""
    x, y = np.broadcast_arrays(x, y)
    wide = [
        int(abs(int(a)) // abs(int(b))) * (1 if (a < 0) == (b < 0) else -1)
        for a, b in zip(x.flat, y.flat, strict=True)
    ]
    bits = 8 * x.dtype.itemsize
    wrapped = [value & ((1 << bits) - 1) for value in wide]
    return np.array(wrapped, dtype=f"u{x.dtype.itemsize}").view(x.dtype).reshape(x.shape)


REDUCTIONS: dict[str, Any] = {
    "reduce_sum": np.sum,
    "reduce_mean": np.mean,
    "reduce_prod": np.prod,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_l1": lambda x, **k: np.sum(np.abs(x), **k),
    "reduce_l2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "reduce_sum_square": lambda x, **k: np.sum(x * x, **k),
    "reduce_log_sum_exp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
}


@pytest.mark.parametrize("kernel", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64), *FLOAT16], ids=str)
def test_reductions(kernels: KernelProcess, kernel: str, dtype: np.dtype) -> None:
    """All subsets of axes, large and small; 16 bits are rounded once."""
    generator = np.random.default_rng(9)
    for shape in [(3, 5, 70, 2), (4, 300), (300, 4), (33000,), (2, 1, 3)]:
        x = generator.uniform(0.9, 1.1, shape).astype(dtype)
        for mask in range(1, 1 << len(shape)):
            axes = tuple(i for i in range(len(shape)) if mask >> i & 1)
            (got,) = kernels.run(
                kernel, [x, np.array(axes, np.int64)], [type_number(dtype)], {"keepdims": 0}
            )
            with np.errstate(over="ignore"):
                expected = REDUCTIONS[kernel](x.astype(np.float64), axis=axes)
            if dtype.itemsize == 2:
                expected = np.asarray(expected, np.float64).astype(np.float32).astype(dtype)
                same(got, expected)
            else:
                np.testing.assert_allclose(got, np.asarray(expected).astype(dtype), rtol=1e-6)


MOVES: list[tuple[str, Any, dict, Any]] = [
    ("transpose", [], {"perm": [2, 0, 1]}, lambda x: x.transpose(2, 0, 1)),
    ("transpose", [], {"perm": [0, 2, 1]}, lambda x: x.transpose(0, 2, 1)),
    ("transpose", [], {}, lambda x: x.T),
    (
        "slice",
        [[9, -1, 0], [-100, -30, 7], [0, 1, 2], [-2, -3, 5]],
        {},
        lambda x: x[9:-100:-2, -1:-30:-3, 0:7:5],
    ),
    ("tile", [[2, 1, 3]], {}, lambda x: np.tile(x, (2, 1, 3))),
    ("expand", [[2, 1, 17, 1]], {}, lambda x: np.broadcast_to(x, (2, *x.shape))),
    ("gather", [[[3, -1], [0, 2]]], {"axis": 1}, lambda x: np.take(x, [[3, -1], [0, 2]], axis=1)),
    ("pad", [[1, -1, 3, 0, 2, -2]], {"mode": "constant"}, None),
    (
        "pad",
        [[3, 20, 5, 1, 40, 9]],
        {"mode": "reflect"},
        lambda x: np.pad(x, [(3, 1), (20, 40), (5, 9)], "reflect"),
    ),
    (
        "pad",
        [[3, 20, 5, 1, 40, 9]],
        {"mode": "wrap"},
        lambda x: np.pad(x, [(3, 1), (20, 40), (5, 9)], "wrap"),
    ),
    (
        "pad",
        [[3, 2, 5, 1, 4, 9]],
        {"mode": "edge"},
        lambda x: np.pad(x, [(3, 1), (2, 4), (5, 9)], "edge"),
    ),
    ("trilu", [np.array(-2)], {"upper": 1}, lambda x: np.triu(x, -2)),
    ("concat", None, {"axis": 1}, lambda x: np.concatenate([x, x], 1)),
    ("reshape", [[0, -1]], {}, lambda x: x.reshape(x.shape[0], -1)),
]


@pytest.mark.parametrize("case", range(len(MOVES)), ids=lambda i: f"{MOVES[i][0]}-{i}")
@pytest.mark.parametrize(
    "name", ["uint8", "float16", "float32", "int64", "complex128", "string", "bool"]
)
def test_data_moves_whatever_it_is(kernels: KernelProcess, case: int, name: str) -> None:
    """By the size of elements, and texts."""
    kernel, lists, attributes, function = MOVES[case]
    x = np.arange(10 * 17 * 19).reshape(10, 17, 19)
    if kernel == "trilu" and name == "string":
        pytest.skip("NumPy has no triu of texts")
    x = x.astype(str).astype(object) if name == "string" else x.astype(name)
    inputs = [x, x] if lists is None else [x, *(np.array(values, np.int64) for values in lists)]
    if kernel == "slice":
        inputs = [x, *(np.array(values, np.int64) for values in lists)]
    number = TensorProto.STRING if name == "string" else type_number(x.dtype)
    (got,) = kernels.run(kernel, inputs, [number], attributes)
    if function is None:  # padded and cut
        zero = "" if name == "string" else x.dtype.type(0)
        expected = np.full((11, 18, 20), zero, x.dtype)
        expected[1:, :16, 3:] = x[:, 1:, :17]
        expected[:, 16:] = zero
    else:
        expected = function(x)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64], ids=str)
def test_transposes_of_many_shapes(kernels: KernelProcess, dtype: type) -> None:
    """Tiles, their edges, and axes that act as one."""
    generator = np.random.default_rng(2)
    for _ in range(150):
        rank = int(generator.integers(1, 6))
        shape = generator.choice(
            [1, 2, 3, 4, 5, 8, 9, 17, 33] if rank > 3 else [1, 3, 8, 64, 65, 130], rank
        )
        if np.prod(shape) > 1 << 20:
            continue
        perm = generator.permutation(rank)
        x: Any = generator.integers(0, 200, shape).astype(dtype)
        (got,) = kernels.run(
            "transpose", [x], [type_number(dtype)], {"perm": [int(p) for p in perm]}
        )
        np.testing.assert_array_equal(got, x.transpose(perm))


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.int32), *FLOAT16], ids=str)
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatters(kernels: KernelProcess, dtype: np.dtype, reduction: str) -> None:
    """Duplicates are applied in order; sums of 16 bits are rounded once."""
    generator = np.random.default_rng(4)
    combine: Any = {
        "none": lambda a, b: b,
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "max": np.maximum,
        "min": np.minimum,
    }[reduction]
    number = type_number(dtype)
    compute = np.float32 if dtype.itemsize == 2 else dtype
    for axis in range(3):
        data = generator.integers(-4, 5, (5, 6, 300)).astype(dtype)
        indices = generator.integers(-data.shape[axis], data.shape[axis], (4, 6, 290))
        updates = generator.integers(-2, 3, indices.shape).astype(dtype)
        expected = data.astype(compute)
        for at in np.ndindex(*indices.shape):
            to = list(at)
            to[axis] = indices[at]
            expected[tuple(to)] = combine(expected[tuple(to)], updates[at].astype(compute))
        attributes = {"axis": axis, "reduction": reduction}
        (got,) = kernels.run("scatter_elements", [data, indices, updates], [number], attributes)
        np.testing.assert_array_equal(got, expected.astype(dtype))
    data = generator.integers(-4, 5, (7, 3, 40)).astype(dtype)
    indices = generator.integers(-7, 7, (30, 1))
    updates = generator.integers(-2, 3, (30, 3, 40)).astype(dtype)
    expected = data.astype(compute)
    for i, (at,) in enumerate(indices):
        expected[at] = combine(expected[at], updates[i].astype(compute))
    (got,) = kernels.run("scatter_nd", [data, indices, updates], [number], {"reduction": reduction})
    np.testing.assert_array_equal(got, expected.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.float16], ids=str)
def test_orders(kernels: KernelProcess, dtype: type) -> None:
    """TopK, ArgMax, Unique and sums along axes, with ties and NaN."""
    generator = np.random.default_rng(6)
    x: Any = generator.integers(0, 20, (4, 50, 3)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[1, 4, 2] = x[1, 9, 2] = np.nan
    number = type_number(dtype)
    for largest in (0, 1):
        for k in (1, 7, 50):
            values, indices = kernels.run(
                "top_k",
                [x, np.array([k])],
                [number, TensorProto.INT64],
                {"axis": 1, "largest": largest},
            )
            key = x.astype(np.float64)
            key = np.where(np.isnan(key), np.inf, key) * (-1 if largest else 1)
            order = np.argsort(key, axis=1, kind="stable")[:, :k]
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    extremes: list[tuple[str, Any]] = [("arg_max", np.argmax), ("arg_min", np.argmin)]
    for kernel, function in extremes:
        (got,) = kernels.run(kernel, [x], [TensorProto.INT64], {"axis": 1, "keepdims": 0})
        np.testing.assert_array_equal(got, function(x, 1))
    got = kernels.run("unique", [x], [number, *[TensorProto.INT64] * 3])
    for ours, theirs in zip(got, np.unique(x, True, True, True), strict=True):
        np.testing.assert_array_equal(ours, theirs.ravel())
    got = kernels.run(
        "unique", [x], [number, TensorProto.UNDEFINED, TensorProto.INT64], {"axis": 1}
    )
    slices = np.unique(x, return_inverse=True, axis=1)
    if np.dtype(dtype).kind != "f":  # NumPy's slices with NaN are never equal
        np.testing.assert_array_equal(got[0], slices[0])
        np.testing.assert_array_equal(got[2], slices[1].ravel())


def test_scans_in_16_bits(kernels: KernelProcess) -> None:
    """Sums go on in float32."""
    x = np.random.default_rng(1).normal(size=(3, 400, 70)).astype(np.float16)
    (got,) = kernels.run("cum_sum", [x, np.array(1)], [TensorProto.FLOAT16])
    np.testing.assert_array_equal(
        got, np.cumsum(x.astype(np.float32), 1, dtype=np.float32).astype(np.float16)
    )


@pytest.mark.parametrize("dtype", FLOAT16, ids=str)
def test_lines_in_16_bits(kernels: KernelProcess, dtype: np.dtype) -> None:
    """Softmax and the normalizations give what float32 gives, rounded once."""
    generator = np.random.default_rng(8)
    x = generator.normal(size=(4, 6, 5, 8)).astype(dtype)
    channel = [generator.normal(size=6).astype(dtype) for _ in range(3)]
    row = generator.normal(size=8).astype(dtype)
    cases = [
        ("softmax", [x], {"axis": 1}),
        ("log_softmax", [x], {}),
        ("lp_normalization", [x], {"axis": 2}),
        ("layer_normalization", [x, row, row], {}),
        ("rms_normalization", [x, row], {}),
        ("instance_normalization", [x, channel[0], channel[1]], {}),
        ("group_normalization", [x, channel[0], channel[1]], {"num_groups": 3}),
        ("batch_normalization", [x, *channel, np.abs(channel[0])], {}),
    ]
    for kernel, inputs, attributes in cases:
        (got,) = kernels.run(kernel, inputs, [type_number(dtype)], attributes)
        wide = [array.astype(np.float32) for array in inputs]
        (expected,) = kernels.run(kernel, wide, [TensorProto.FLOAT], attributes)
        same(got, expected.astype(dtype))


def test_distributions(kernels: KernelProcess) -> None:
    """Random tensors have the moments they should, repeat with their seed and differ with the step."""
    step = [np.array(value, np.uint64) for value in (0, 1)]
    shape = {"shape": [100000], "seed": 7.0}
    (normal,) = kernels.run(
        "random_normal", [step[0]], [TensorProto.FLOAT], {**shape, "mean": 3.0, "scale": 2.0}
    )
    assert abs(normal.mean() - 3) < 0.03 and abs(normal.std() - 2) < 0.03
    (uniform,) = kernels.run(
        "random_uniform", [step[0]], [TensorProto.FLOAT], {**shape, "low": -1.0, "high": 1.0}
    )
    assert abs(uniform.mean()) < 0.01 and abs(uniform.var() - 1 / 3) < 0.01
    assert uniform.min() >= -1 and uniform.max() < 1
    (again,) = kernels.run(
        "random_uniform", [step[0]], [TensorProto.FLOAT], {**shape, "low": -1.0, "high": 1.0}
    )
    (other,) = kernels.run(
        "random_uniform", [step[1]], [TensorProto.FLOAT], {**shape, "low": -1.0, "high": 1.0}
    )
    assert (again == uniform).all() and (other != uniform).mean() > 0.99
    chances = np.full(100000, 0.3, np.float32)
    (drawn,) = kernels.run("bernoulli", [chances], [TensorProto.INT32])
    assert abs(drawn.mean() - 0.3) < 0.01
    logits = np.log(np.array([[0.1, 0.6, 0.3]], np.float32))
    (classes,) = kernels.run("multinomial", [logits], [TensorProto.INT64], {"sample_size": 50000})
    np.testing.assert_allclose(np.bincount(classes[0]) / 50000, [0.1, 0.6, 0.3], atol=0.01)


def test_dropout(kernels: KernelProcess) -> None:
    """Kept elements are scaled; the mask is that of the passes' Philox."""
    x = np.random.default_rng(0).normal(size=1003).astype(np.float32)
    inputs = [x, np.array(0.25, np.float32), np.array(True), np.array(5, np.uint64)]
    y, mask = kernels.run(
        "dropout", inputs, [TensorProto.FLOAT, TensorProto.BOOL], {"seed": 11, "stream": 3}
    )
    np.testing.assert_array_equal(y, np.where(mask, x / np.float32(0.75), 0).astype(np.float32))
    np.testing.assert_array_equal(mask, draws(1003, seed=11, step=5, stream=3) < 0.75 * 65536)


def test_regular_expressions(kernels: KernelProcess) -> None:
    """Random patterns match the same random texts as Python's."""
    generator = random.Random(12)

    def pattern(depth: int) -> str:
        kind = generator.randrange(9 if depth else 5)
        if kind < 3:
            return generator.choice(["a", "b", "c", ".", "é"])
        if kind == 3:
            return generator.choice(["[ab]", "[^a]", "[a-c]", r"\w", r"\d", "[[.]", r"[\s_]"])
        if kind == 4:
            return generator.choice(["^", "$", r"\b", r"\B", "", r"\.", "a?"])
        if kind < 7:
            return pattern(depth - 1) + pattern(depth - 1)
        if kind == 7:
            return f"({pattern(depth - 1)}|{pattern(depth - 1)})"
        return f"(?:{pattern(depth - 1)}){generator.choice(['*', '+', '?', '{2}', '{1,3}', '{2,}', '*?'])}"

    texts = [
        "".join(generator.choice("abcé_ 1.\n") for _ in range(generator.randrange(9)))
        for _ in range(60)
    ]
    texts += ["a" * n for n in range(5)] + ["ab" * n for n in range(4)]
    for _ in range(400):
        expression = pattern(4).replace("$", r"\Z")
        ours = expression.replace(r"\Z", r"\z")
        flags = re.ASCII
        (got,) = kernels.run(
            "regex_full_match", [np.array(texts, object)], [TensorProto.BOOL], {"pattern": ours}
        )
        for text, ours_matches in zip(texts, got, strict=True):
            if text or r"\B" not in expression:  # before Python 3.14 no \B is in an empty text
                assert ours_matches == bool(re.fullmatch(expression, text, flags)), (
                    expression,
                    text,
                )
    # Backtracking would take for ever.
    (got,) = kernels.run(
        "regex_full_match",
        [np.array(["a" * 5000 + "b"], object)],
        [TensorProto.BOOL],
        {"pattern": "(a*)*(a|aa)*c"},
    )
    assert not got[0]
    for bad in [
        "(",
        "a)",
        "[a",
        "*",
        "a{3,2}",
        r"\p{L}",
        "(?=a)",
        r"(a)\1",
        "((((a{99}){99}){99}){99})",
    ]:
        with pytest.raises(KernelError):
            kernels.run(
                "regex_full_match", [np.array([""], object)], [TensorProto.BOOL], {"pattern": bad}
            )
