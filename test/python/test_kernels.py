"""Compiled kernels compute what NumPy does: the same bits on every CPU, in any pieces, in place or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernels import TYPES, Module, host_cpus, run_everywhere, same_bits
from random_kernels import ElementwiseKernel
from reduction_kernels import Text, random_case


@pytest.fixture(scope="session")
def amp_opt(build_dir: Path) -> Path:
    """The optimizer."""
    path = build_dir / "bin" / "amp-opt"
    assert path.exists(), f"{path} has not been built; run `tools/dev build`"
    return path


@pytest.mark.parametrize("seed", range(4))
def test_elementwise_kernels_are_numpy_bit_for_bit(amp_opt: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        kernels = [ElementwiseKernel(f"k{index}", random) for index in range(40)]
        module = Module(amp_opt, "".join(kernel.text for kernel in kernels), host_cpus())
        for kernel in kernels:
            compiled = module.kernels.get(kernel.name)
            if compiled is None:
                continue  # Equal to another.
            actual = run_everywhere(compiled, kernel.arguments, kernel.results, random)
            for index, (a, b) in enumerate(zip(actual, kernel.expected, strict=True)):
                assert same_bits(a, b), (
                    f"result {index} of\n{kernel.text}\nis\n{a}\nbut should be\n{b}"
                )


@pytest.mark.parametrize("seed", range(4))
def test_reductions_are_right(amp_opt: Path, seed: int) -> None:
    random = np.random.default_rng(1000 + seed)
    cases = [random_case(f"k{index}", random) for index in range(30)]
    module = Module(amp_opt, "".join(case[0] for case in cases), host_cpus())
    for index, (text, arguments, expected, slack) in enumerate(cases):
        compiled = module.kernels.get(f"k{index}")
        if compiled is None:
            continue  # Equal to another.
        shapes = [(array.shape, array.dtype) for array in expected]
        for a, b in zip(run_everywhere(compiled, arguments, shapes, random), expected, strict=True):
            if slack == 0:
                assert same_bits(a, b), f"{text}\ngives\n{a}\nbut should give\n{b}"
                continue
            wrong = np.abs(a.astype(np.float64) - b.astype(np.float64)) > slack * (
                1 + np.abs(b.astype(np.float64))
            )
            assert not wrong.any(), (
                f"{text}\nat {np.argwhere(wrong)[:4]} gives\n{a}\nbut should give\n{b}"
            )


IDENTITY = "affine_map<(i) -> (i)>"


def elementwise(name: str, inputs: list[str], result: str, body: str) -> str:
    """A kernel on vectors, whose body has %x0, %x1 … and yields %r."""
    arguments = ", ".join(f"%a{index}: tensor<?x{type_}>" for index, type_ in enumerate(inputs))
    operands = ", ".join(f"%a{index}" for index in range(len(inputs)))
    types = ", ".join(f"tensor<?x{type_}>" for type_ in inputs)
    block = ", ".join(f"%x{index}: {type_}" for index, type_ in enumerate(inputs))
    maps = ", ".join([IDENTITY] * (len(inputs) + 1))
    return f"""
      func.func private @{name}({arguments}) -> tensor<?x{result}> attributes {{amprt.kernel}} {{
        %c0 = arith.constant 0 : index
        %d = tensor.dim %a0, %c0 : tensor<?x{inputs[0]}>
        %e = tensor.empty(%d) : tensor<?x{result}>
        %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
            ins({operands} : {types}) outs(%e : tensor<?x{result}>) {{
        ^bb0({block}, %o: {result}):
          {body}
          linalg.yield %r : {result}
        }} -> tensor<?x{result}>
        return %y : tensor<?x{result}>
      }}
    """


def run_one(
    amp_opt: Path, text: str, arguments: list[np.ndarray], expected: list[np.ndarray]
) -> list[np.ndarray]:
    """What the only kernel of a module gives."""
    (kernel,) = Module(amp_opt, text, host_cpus()).kernels.values()
    shapes = [(array.shape, array.dtype) for array in expected]
    return run_everywhere(kernel, arguments, shapes, np.random.default_rng(0))


def test_integers_without_sign(amp_opt: Path) -> None:
    text = elementwise(
        "k",
        ["ui8"],
        "ui8",
        """%s = builtin.unrealized_conversion_cast %x0 : ui8 to i8
          %f = arith.uitofp %s : i8 to f32
          %h = arith.constant 0.5 : f32
          %m = arith.mulf %f, %h : f32
          %t = arith.fptoui %m : f32 to i8
          %r = builtin.unrealized_conversion_cast %t : i8 to ui8""",
    )
    x = np.arange(256, dtype=np.uint8)
    (y,) = run_one(amp_opt, text, [x], [x])
    assert (y == x // 2).all()


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", ["divsi", "remsi", "divui", "remui"])
def test_integers_divide_without_a_trap(amp_opt: Path, name: str, type_: str) -> None:
    text = elementwise("k", [type_, type_], type_, f"%r = arith.{name} %x0, %x1 : {type_}")
    dtype = TYPES[type_]
    edges = np.array(
        [np.iinfo(dtype).min, np.iinfo(dtype).max, -1, 0, 1, 2, 3, 7, 100, -100], dtype
    )
    x, y = (np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(edges, edges))
    (actual,) = run_one(amp_opt, text, [x, y], [x])
    signed = name.endswith("si")
    for a, b, r in zip(x.tolist(), y.tolist(), actual.tolist(), strict=True):
        if not signed:
            a, b, r = (value % 2 ** (8 * dtype.itemsize) for value in (a, b, r))
        divisor = b if b != 0 else 1
        quotient = abs(a) // abs(divisor) * (1 if (a < 0) == (divisor < 0) else -1)
        right = quotient if name.startswith("div") else a - quotient * divisor
        if signed and right > np.iinfo(dtype).max:
            right -= 2 ** (8 * dtype.itemsize)
        assert r == right, (a, b, r, right)


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
def test_floats_become_integers_towards_zero(amp_opt: Path, type_: str) -> None:
    text = elementwise("k", ["f32"], type_, f"%r = arith.fptosi %x0 : f32 to {type_}")
    x = np.linspace(-120, 120, 777, dtype=np.float32)
    expected = x.astype(TYPES[type_])
    (y,) = run_one(amp_opt, text, [x], [expected])
    assert (y == expected).all()


def test_a_sum_in_chunks(amp_opt: Path) -> None:
    text = """
      func.func private @k(%x: tensor<960x50xf32>) -> tensor<4x50xf32> attributes {amprt.kernel} {
        %zero = arith.constant 0.0 : f32
        %c = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 240, 50]
            : tensor<960x50xf32> into tensor<4x240x50xf32>
        %e = tensor.empty() : tensor<4x50xf32>
        %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x50xf32>) -> tensor<4x50xf32>
        %y = linalg.generic {indexing_maps = [affine_map<(c, r, j) -> (c, r, j)>, affine_map<(c, r, j) -> (c, j)>],
                             iterator_types = ["parallel", "reduction", "parallel"]}
            ins(%c : tensor<4x240x50xf32>) outs(%z : tensor<4x50xf32>) {
        ^bb0(%in: f32, %out: f32):
          %r = arith.addf %out, %in : f32
          linalg.yield %r : f32
        } -> tensor<4x50xf32>
        return %y : tensor<4x50xf32>
      }
    """
    x = np.random.default_rng(0).standard_normal((960, 50)).astype(np.float32)
    right = x.reshape(4, 240, 50).astype(np.float64).sum(axis=1)
    (y,) = run_one(amp_opt, text, [x], [right.astype(np.float32)])
    assert np.allclose(y, right, atol=1e-4)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_result_that_later_passes_need_is_read_again(amp_opt: Path, dynamic: bool) -> None:
    shape = (5, 77)
    text = Text("k", shape, [dynamic, dynamic])
    x = text.argument([0, 1], "f32")
    e = text.generic([x], [0, 1], "f32", ["%r = math.exp %0 : f32"])
    total = text.generic([e], [0], "f32", ["%r = arith.addf %o, %0 : f32"], "0.0")
    y = text.generic([e, total], [0, 1], "f32", ["%r = arith.divf %0, %1 : f32"])
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    right = np.exp(array.astype(np.float64))
    actual = run_one(amp_opt, text.finish(e, y), [array], [array, array])
    assert np.allclose(actual[0], right, rtol=1e-6)
    assert np.allclose(actual[1], right / right.sum(axis=1, keepdims=True), rtol=1e-6)


def test_parts_that_have_nothing_in_common(amp_opt: Path) -> None:
    text = Text("k", (6, 35), [False, False])
    a, b = text.argument([0, 1], "f32"), text.argument([0, 1], "f32")
    negative = text.generic([a], [0, 1], "f32", ["%r = arith.negf %0 : f32"])
    total = text.generic([b], [0], "f32", ["%r = arith.addf %o, %0 : f32"], "0.0")
    x, y = np.random.default_rng(0).standard_normal((2, 6, 35)).astype(np.float32)
    right = y.astype(np.float64).sum(axis=1)
    actual = run_one(amp_opt, text.finish(negative, total), [x, y], [x, right.astype(np.float32)])
    assert (actual[0] == -x).all()
    assert np.allclose(actual[1], right, atol=1e-5)


def test_integers_round_once_to_bfloat16(amp_opt: Path) -> None:
    text = elementwise("k", ["i64"], "bf16", "%r = arith.sitofp %x0 : i64 to bf16")
    # On the middle between two numbers, and beside it, by less than float or double see.
    middles = [(0x81 << 54) + (1 << 53) + offset for offset in (-1, 0, 1)]
    middles += [(0x81 << 24) + (1 << 23) + offset for offset in (-1, 0, 1)]
    x = np.array([*middles, *(-value for value in middles), 0, 1, -1, 257, 2**63 - 1], np.int64)
    (y,) = run_one(amp_opt, text, [x], [x.astype(TYPES["bf16"])])
    below, above = 0x81 << 54, 0x82 << 54
    assert y[:3].astype(np.float64).tolist() == [below, above, above]
    below, above = 0x81 << 24, 0x82 << 24
    assert y[3:6].astype(np.float64).tolist() == [below, above, above]
    assert (y[6:12].astype(np.float64) == -y[:6].astype(np.float64)).all()
    assert y[12:].astype(np.float64).tolist() == [0, 1, -1, 256, 2.0**63]
