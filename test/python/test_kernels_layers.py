"""Kernels of whole layers with random settings, against NumPy and ONNX's reference implementation."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_process import KernelError, KernelProcess, kernel_name
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("AMP_RUN_KERNEL", ROOT / "build/release/test/unit/run-kernel"))

FLOAT_TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]


@pytest.fixture(scope="module")
def kernels() -> Iterator[KernelProcess]:
    """One process for all cases."""
    process = KernelProcess(PROGRAM)
    yield process
    assert process.close() == 0


def reference(operator: str, inputs: list, attributes: dict, outputs: int = 1) -> list[np.ndarray]:
    """What ONNX's reference implementation gives."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    node = helper.make_node(operator, names, [f"y{i}" for i in range(outputs)], **attributes)
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if name}
    return list(ReferenceEvaluator(node).run(None, feeds))


def numbers(generator: random.Random, *shape: int) -> np.ndarray:
    """Random numbers with ties."""
    values = [generator.randrange(-40, 40) / 8 for _ in range(int(np.prod(shape)))]
    return np.array(values, np.float32).reshape(shape)


def window(generator: random.Random, shape: list[int], has_dilations: bool = True) -> dict:
    """Random attributes of a window that fits."""
    rank = len(shape)
    kernel = [generator.randrange(1, min(4, size) + 1) for size in shape]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    attributes["strides"] = [generator.randrange(1, 4) for _ in range(rank)]
    if has_dilations and generator.random() < 0.5:
        attributes["dilations"] = [
            generator.randrange(1, 3) if (size - 1) >= 2 * (k - 1) else 1
            for size, k in zip(shape, kernel, strict=True)
        ]
    if generator.random() < 0.5:
        attributes["pads"] = [generator.randrange(k) for k in kernel] * 2
    elif generator.random() < 0.5:
        attributes["auto_pad"] = generator.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    return attributes


def pool(x: np.ndarray, attributes: dict, combine: Callable, outside: float) -> np.ndarray:
    """A pool without padding rules of its own, one window at a time; pads as resolved."""
    rank = x.ndim - 2
    kernel, strides = attributes["kernel_shape"], attributes["strides"]
    dilations = attributes.get("dilations", [1] * rank)
    pads = list(attributes.get("pads", [0] * (2 * rank)))
    ceil = attributes.get("ceil_mode", 0)
    sizes = []
    for i in range(rank):
        extent, size = (kernel[i] - 1) * dilations[i] + 1, x.shape[i + 2]
        if attributes.get("auto_pad", "").startswith("SAME"):
            count = -(-size // strides[i])
            total = max(0, (count - 1) * strides[i] + extent - size)
            small, large = total // 2, total - total // 2
            is_upper = attributes["auto_pad"] == "SAME_UPPER"
            pads[i], pads[i + rank] = (small, large) if is_upper else (large, small)
        else:
            room = size + pads[i] + pads[i + rank] - extent
            count = (-(-room // strides[i]) if ceil else room // strides[i]) + 1
            if ceil and (count - 1) * strides[i] >= size + pads[i]:
                count -= 1
        sizes.append(count)
    result = np.empty([*x.shape[:2], *sizes], np.float64)
    for at in np.ndindex(*sizes):
        values, padding = [], 0
        for offset in np.ndindex(*kernel):
            where = [at[i] * strides[i] + offset[i] * dilations[i] - pads[i] for i in range(rank)]
            if all(0 <= p < x.shape[i + 2] for i, p in enumerate(where)):
                values.append(x[(slice(None), slice(None), *where)].astype(np.float64))
            elif all(p < x.shape[i + 2] + pads[i + rank] for i, p in enumerate(where)):
                padding += 1
        result[(slice(None), slice(None), *at)] = combine(values, padding) if values else outside
    return result


@pytest.mark.parametrize("dtype", FLOAT_TYPES, ids=lambda t: np.dtype(t).name)
def test_pools(kernels: KernelProcess, dtype: Any) -> None:
    """All settings, 1 to 3 axes."""
    generator = random.Random(3)
    for _ in range(60):
        shape = [generator.randrange(1, 8) for _ in range(generator.randrange(1, 4))]
        x = numbers(generator, 2, 2, *shape).astype(dtype)
        number = helper.np_dtype_to_tensor_dtype(x.dtype)
        attributes = window(generator, shape)
        attributes["ceil_mode"] = generator.randrange(2)
        try:
            most, indices = kernels.run("max_pool", [x], [number, TensorProto.INT64], attributes)
        except KernelError as error:
            assert "doesn't fit" in str(error)
            continue
        (alone,) = kernels.run("max_pool", [x], [number], attributes)
        wanted = pool(x, attributes, lambda values, _: np.max(values, axis=0), -np.inf)
        np.testing.assert_array_equal(most.astype(np.float64), wanted)
        np.testing.assert_array_equal(most, alone)
        inside = indices >= 0
        np.testing.assert_array_equal(x.ravel()[indices[inside]], most[inside])

        rtol = 1e-5 if most.itemsize > 2 else 1e-2
        (norm,) = kernels.run("lp_pool", [x], [number], {**attributes, "p": 3})
        wanted = pool(x, attributes, lambda v, _: np.sum(np.abs(v) ** 3.0, axis=0) ** (1 / 3), 0)
        np.testing.assert_allclose(norm.astype(np.float64), wanted, rtol=rtol, atol=1e-6)
        for counts in (0, 1):
            (mean,) = kernels.run(
                "average_pool", [x], [number], {**attributes, "count_include_pad": counts}
            )
            wanted = pool(
                x,
                attributes,
                lambda v, padding, counts=counts: np.sum(v, axis=0) / (len(v) + padding * counts),
                0,
            )
            np.testing.assert_allclose(mean.astype(np.float64), wanted, rtol=rtol, atol=1e-6)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def run_cell(operator: str, inputs: list[Any], attributes: dict, direction: int) -> tuple:
    """One direction in float64: all states, the last one, LSTM's last memory."""
    arrays: list[Any] = [None if array is None else array.astype(np.float64) for array in inputs]
    x, w, r, b, lengths, h0, c0, p = arrays
    w, r = w[direction].T, r[direction].T
    hidden = r.shape[0]
    wb, rb = np.split(b[direction], 2) if b is not None else (np.zeros(w.shape[1]),) * 2
    steps, batch = x.shape[:2]
    h = np.zeros((batch, hidden)) if h0 is None else h0[direction].copy()
    c = np.zeros((batch, hidden)) if c0 is None else c0[direction].copy()
    pi, po, pf = np.split(p[direction], 3) if p is not None else (0.0,) * 3
    clip = attributes.get("clip", np.inf)
    limit = lambda value: np.clip(value, -clip, clip)  # noqa: E731
    y = np.zeros((steps, batch, hidden))
    is_reverse = direction == 1 or attributes["direction"] == "reverse"
    for i in range(batch):
        length = steps if lengths is None else int(lengths[i])
        for step in range(length):
            t = length - 1 - step if is_reverse else step
            a = x[t, i] @ w + wb
            if operator == "RNN":
                h[i] = np.tanh(limit(a + h[i] @ r + rb))
            elif operator == "GRU":
                n = hidden
                z, s = np.split(sigmoid(limit((a + h[i] @ r + rb)[: 2 * n])), 2)
                if attributes["linear_before_reset"]:
                    g = a[2 * n :] + s * (h[i] @ r[:, 2 * n :] + rb[2 * n :])
                else:
                    g = a[2 * n :] + (s * h[i]) @ r[:, 2 * n :] + rb[2 * n :]
                h[i] = (1 - z) * np.tanh(limit(g)) + z * h[i]
            else:
                gi, go, gf, gc = np.split(a + h[i] @ r + rb, 4)
                gi = sigmoid(limit(gi + pi * c[i]))
                gf = 1 - gi if attributes["input_forget"] else sigmoid(limit(gf + pf * c[i]))
                c[i] = gf * c[i] + gi * np.tanh(limit(gc))
                h[i] = sigmoid(limit(go + po * c[i])) * np.tanh(c[i])
            y[t, i] = h[i]
    return y, h, c


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("dtype", FLOAT_TYPES, ids=lambda t: np.dtype(t).name)
def test_recurrent_cells(kernels: KernelProcess, operator: str, dtype: Any) -> None:
    """Directions, layouts, lengths, optional inputs and outputs; pieces of hidden units."""
    generator = random.Random(5)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    for case in range(24):
        direction = generator.choice(["forward", "reverse", "bidirectional"])
        count = 2 if direction == "bidirectional" else 1
        steps, batch, width = (generator.randrange(1, 6) for _ in range(3))
        hidden = generator.choice([1, 3, 64, 70])
        layout = generator.randrange(2)
        maybe = lambda array: array if generator.random() < 0.6 else None  # noqa: E731
        make = lambda *shape: (numbers(generator, *shape) / 8).astype(dtype)  # noqa: E731
        inputs = [
            make(steps, batch, width),
            make(count, gates * hidden, width),
            make(count, gates * hidden, hidden),
            maybe(make(count, 2 * gates * hidden)),
            maybe(np.array([generator.randrange(steps + 1) for _ in range(batch)], np.int32)),
            maybe(make(count, batch, hidden)),
            maybe(make(count, batch, hidden)) if operator == "LSTM" else None,
            maybe(make(count, 3 * hidden)) if operator == "LSTM" else None,
        ]
        attributes: dict[str, Any] = {"direction": direction, "layout": layout}
        attributes["hidden_size"] = hidden
        attributes["linear_before_reset"] = generator.randrange(2)
        attributes["input_forget"] = generator.randrange(2)
        if generator.random() < 0.4:
            attributes["clip"] = 0.5
        results = [run_cell(operator, inputs, attributes, i) for i in range(count)]
        y, h, c = (np.stack([result[i] for result in results]) for i in range(3))
        y = y.transpose(1, 0, 2, 3)
        given = list(inputs)
        if layout:
            y, h, c = y.transpose(2, 0, 1, 3), h.transpose(1, 0, 2), c.transpose(1, 0, 2)
            for i in (0, 5, 6):
                array = given[i]
                given[i] = None if array is None else array.swapaxes(0, 1)
        number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        types = [number] * (3 if operator == "LSTM" else 2)
        if case % 4 == 0:
            types[case // 4 % len(types)] = TensorProto.UNDEFINED
        got = kernels.run(kernel_name(operator), given, types, attributes)
        tolerance = {2: 1e-2, 4: 1e-5, 8: 1e-12}[np.dtype(dtype).itemsize]
        for array, wanted in zip(got, [y, h, c], strict=False):
            if array is not None:
                np.testing.assert_allclose(
                    array.astype(np.float64), wanted, rtol=tolerance, atol=tolerance
                )


def test_resize(kernels: KernelProcess) -> None:
    """Random modes, as the reference has them."""
    generator = random.Random(7)
    for _ in range(150):
        shape = [generator.randrange(1, 7) for _ in range(generator.randrange(1, 4))]
        x = numbers(generator, *shape)
        mode = generator.choice(["nearest", "linear", "cubic"])
        attributes: dict[str, Any] = {"mode": mode}
        attributes["coordinate_transformation_mode"] = generator.choice(
            [
                "half_pixel",
                "half_pixel_symmetric",
                "align_corners",
                "asymmetric",
                "pytorch_half_pixel",
                "tf_crop_and_resize",
            ]
        )
        attributes["extrapolation_value"] = 9.0
        if mode == "nearest":
            attributes["nearest_mode"] = generator.choice(
                ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
            )
        else:
            attributes["antialias"] = generator.randrange(2)
            attributes["exclude_outside"] = generator.randrange(2)
        roi = np.array([0.25] * len(shape) + [0.875] * len(shape), np.float32)
        scales = sizes = None
        if generator.random() < 0.5:
            scales = np.array([generator.choice([0.5, 0.75, 1, 1.5, 3]) for _ in shape], np.float32)
            if any(int(s * n) == 0 for s, n in zip(scales, shape, strict=True)):
                continue
        else:
            sizes = np.array([generator.randrange(1, 9) for _ in shape], np.int64)
            attributes["keep_aspect_ratio_policy"] = generator.choice(["stretch", "not_smaller"])
        inputs = [x, roi, scales, sizes]
        (got,) = kernels.run("resize", inputs, [TensorProto.FLOAT], attributes)
        (wanted,) = reference("Resize", inputs, attributes)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4, err_msg=str(attributes))


def test_grid_sample(kernels: KernelProcess) -> None:
    """Random modes, as the reference has them, also far outside."""
    generator = random.Random(8)
    for _ in range(60):
        rank = generator.randrange(2, 4)
        mode = generator.choice(["linear", "nearest"] + ["cubic"] * (rank == 2))
        shape = [generator.randrange(2, 6) for _ in range(rank)]
        x = numbers(generator, 2, 3, *shape)
        grid = numbers(generator, 2, *[3] * rank, rank) / 2 + np.float32(0.013)
        attributes = {
            "mode": mode,
            "padding_mode": generator.choice(["zeros", "border", "reflection"]),
            "align_corners": generator.randrange(2),
        }
        (got,) = kernels.run("grid_sample", [x, grid], [TensorProto.FLOAT], attributes)
        (wanted,) = reference("GridSample", [x, grid], attributes)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3, err_msg=str(attributes))


EQUATIONS = [
    ("ij,jk->ik", [(3, 4), (4, 300)]),
    ("ij,jk->ki", [(3, 9), (9, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("i,i->i", [(5,), (5,)]),
    ("i,i->", [(5,), (5,)]),
    ("i,j->ij", [(5,), (3,)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("ba", [(3, 4)]),
    ("ijk->ki", [(3, 4, 5)]),
    ("ij,kl->i", [(3, 4), (2, 5)]),
    ("iij,jk->ik", [(3, 3, 4), (4, 2)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ("i...->...", [(3, 4, 5)]),
    ("aB,Bc", [(3, 4), (4, 2)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=lambda x: str(x)[:30])
def test_einsum(kernels: KernelProcess, equation: str, shapes: list) -> None:
    """Contractions and loops, on all kinds of types."""
    generator = random.Random(9)
    for dtype in [*FLOAT_TYPES, np.int32, np.int8]:
        inputs = [np.floor(numbers(generator, *shape)).astype(dtype) for shape in shapes]
        number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        (got,) = kernels.run("einsum", inputs, [number], {"equation": equation})
        wanted = np.einsum(equation, *[array.astype(np.int64) for array in inputs])
        np.testing.assert_array_equal(got, wanted.astype(dtype))


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 12, 17, 64, 97, 100, 128, 210])
def test_dft(kernels: KernelProcess, length: int) -> None:
    """All lengths, with what is added or cut off."""
    generator = random.Random(length)
    n = np.array(length, np.int64)
    for size in (length, length + 3, max(1, length - 2)):
        x = numbers(generator, 2, size, 3, 2).astype(np.float64)
        axis = np.array(1, np.int64)
        signal = x[..., 0] + 1j * x[..., 1]
        types = [TensorProto.DOUBLE]
        (got,) = kernels.run("dft", [x, n, axis], types)
        wanted = np.fft.fft(signal, length, axis=1)
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], wanted, atol=1e-10)
        (got,) = kernels.run("dft", [x, n, axis], types, {"inverse": 1})
        wanted = np.fft.ifft(signal, length, axis=1)
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], wanted, atol=1e-12)
        (got,) = kernels.run("dft", [x[..., :1], n, axis], types, {"onesided": 1})
        wanted = np.asarray(np.fft.rfft(x[..., 0], length, axis=1))
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], wanted, atol=1e-10)
        (got,) = kernels.run("dft", [x, n, axis], types, {"onesided": 1, "inverse": 1})
        np.testing.assert_allclose(got[..., 0], np.fft.irfft(signal, length, axis=1), atol=1e-12)


def test_integer_convolution(kernels: KernelProcess) -> None:
    """Groups, windows and zero points of channels."""
    generator = random.Random(11)
    for _ in range(20):
        shape = [generator.randrange(2, 7) for _ in range(2)]
        attributes = window(generator, shape)
        attributes.pop("auto_pad", None)
        group = generator.randrange(1, 3)
        bits = np.random.default_rng(generator.randrange(1000))
        x = bits.integers(0, 256, (2, 2 * group, *shape)).astype(np.uint8)
        w = bits.integers(-128, 128, (4, 2, *attributes["kernel_shape"])).astype(np.int8)
        zero, zeros = np.array(7, np.uint8), bits.integers(-9, 9, 4).astype(np.int8)
        attributes["group"] = group
        try:
            (got,) = kernels.run(
                "conv_integer", [x, w, zero, zeros], [TensorProto.INT32], attributes
            )
        except KernelError as error:
            assert "doesn't fit" in str(error)
            continue
        centred = w.astype(np.float64) - zeros.reshape(4, 1, 1, 1)
        (wanted,) = reference("Conv", [x.astype(np.float64) - 7, centred], attributes)
        np.testing.assert_array_equal(got, wanted.astype(np.int32))


def test_nothing(kernels: KernelProcess) -> None:
    """Dimensions of 0."""
    empty = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    kernel = {"kernel_shape": [1], "size": 1}
    for name in ("max_pool", "average_pool", "lp_pool", "global_max_pool", "lrn"):
        for shape in ((0, 2, 3), (2, 0, 3)):
            (got,) = kernels.run(name, [empty(*shape)], [TensorProto.FLOAT], kernel)
            assert got.size == 0
    for steps, batch, width in ((0, 2, 3), (2, 0, 3), (2, 2, 0)):
        inputs = [empty(steps, batch, width), empty(1, 8, width), empty(1, 8, 2)]
        y, h = kernels.run("lstm", inputs, [TensorProto.FLOAT] * 2)
        assert y.shape == (steps, 1, batch, 2)
        assert not h.any()
    for equation in ("ij,jk->ik", "ij,jk->k"):
        inputs = [empty(2, 0), empty(0, 3)]
        (got,) = kernels.run("einsum", inputs, [TensorProto.FLOAT], {"equation": equation})
        assert got.size
        assert not got.any()
    (got,) = kernels.run("resize", [empty(0, 2), None, None, np.array([0, 4])], [TensorProto.FLOAT])
    assert got.shape == (0, 4)
    scales = [np.float32(1).reshape(()), np.zeros(0, np.float32)]
    for scale in scales:
        (got,) = kernels.run("quantize_linear", [empty(3, 0), scale], [TensorProto.UINT8])
        assert got.shape == (3, 0)
    labels = np.full(2, -1, np.int64)
    (got,) = kernels.run(
        "softmax_cross_entropy_loss",
        [empty(2, 0), labels],
        [TensorProto.FLOAT],
        {"ignore_index": -1, "reduction": "none"},
    )
    assert not got.any()
    (got,) = kernels.run("det", [empty(2, 0, 0)], [TensorProto.FLOAT])
    np.testing.assert_array_equal(got, [1, 1])
