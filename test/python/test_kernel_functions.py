"""Elementary functions in compiled kernels: how far off they are, and what they do at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernels import TYPES, Module, host_cpus, same_bits

Reference = Callable[[np.ndarray], np.ndarray]
LONG = np.longdouble
UNARY: dict[str, Reference] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": lambda x: np.vectorize(math.erf, otypes=[LONG])(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
IN_DOUBLE = [
    *("acosh", "asinh", "atan", "atanh", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2"),
    *("rsqrt", "sinh", "tanh"),
]
BINARY = {"powf": np.power, "atan2": np.arctan2}
EDGES = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    8.0,
    1e-45,
    -1e-45,
    1e-38,
]
EDGES += [
    1e10,
    -1e10,
    3.4e38,
    -3.4e38,
    88.72283,
    88.72284,
    -86.0,
    -87.33655,
    -103.97,
    -103.98,
    -104.0,
    127.99999,
]
EDGES += [
    128.0,
    -125.0,
    -126.0,
    -149.0,
    -150.0,
    9.02,
    -9.02,
    3.92,
    4.0,
    0.625,
    0.92773,
    1048576.0,
    1048577.0,
]


def function(name: str, type_: str, count: int, flags: str = "") -> str:
    """A kernel of one function."""
    tensor, map_ = f"tensor<?x{type_}>", "affine_map<(i) -> (i)>"
    inputs = ", ".join(f"%a{index}" for index in range(count))
    arguments = ", ".join(f"%a{index}: {tensor}" for index in range(count))
    operands = ", ".join(f"%x{index}" for index in range(count)) + (
        f" fastmath<{flags}>" if flags else ""
    )
    return f"""
      func.func private @{name}_{type_}{flags}({arguments}) -> {tensor}
          attributes {{amprt.kernel}} {{
        %c0 = arith.constant 0 : index
        %d = tensor.dim %a0, %c0 : {tensor}
        %e = tensor.empty(%d) : {tensor}
        %y = linalg.generic {{indexing_maps = [{", ".join([map_] * (count + 1))}], iterator_types = ["parallel"]}}
            ins({inputs} : {", ".join([tensor] * count)}) outs(%e : {tensor}) {{
        ^bb0({", ".join(f"%x{index}: {type_}" for index in range(count))}, %o: {type_}):
          %r = math.{name} {operands} : {type_}
          linalg.yield %r : {type_}
        }} -> {tensor}
        return %y : {tensor}
      }}
    """


@pytest.fixture(scope="module")
def module(build_dir: Path) -> Module:
    """All functions."""
    text = "".join(function(name, "f32", 1) for name in UNARY)
    text += "".join(function(name, "f64", 1) for name in IN_DOUBLE)
    text += "".join(function(name, "f32", 2) for name in BINARY)
    text += "".join(function(name, "f32", 1, "afn") for name in ("erf", "tanh"))
    return Module(build_dir / "bin" / "amp-opt", text, host_cpus())


def compute(module: Module, name: str, *arguments: np.ndarray) -> np.ndarray:
    """What a kernel gives, the same on all CPUs."""
    results = []
    for cpu in module.cpus:
        result = np.full_like(arguments[0], 7)
        module.kernels[name].run(arguments, [result], cpu)
        results.append(result)
        assert same_bits(result, results[0]), f"{name} differs on {cpu}"
    return results[0]


def check(actual: np.ndarray, exact: np.ndarray, most: float, arguments: list[np.ndarray]) -> None:
    """Compares with what is exact, to a number of units in the last place."""
    info = np.finfo(actual.dtype)
    # What rounds to infinity.
    bound = LONG(info.max) * (1 + LONG(2) ** -(info.nmant + 2))
    exact = np.where(np.abs(exact) >= bound, np.copysign(LONG(np.inf), exact), exact)
    finite = np.isfinite(exact)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(finite, exact, 0))[1] - 1
        unit = np.ldexp(LONG(1), np.maximum(exponent, info.minexp) - info.nmant)
        error = np.where(finite, np.abs(actual.astype(LONG) - exact) / unit, 0)
    edge = np.where(finite, np.isfinite(actual), same_kind(actual, exact))
    edge &= (exact != 0) | (np.signbit(exact) == np.signbit(actual))
    for wrong, what in ((~edge, "edge"), (error > most, "error")):
        places = np.flatnonzero(wrong)[:5]
        shown = [(*(a[i] for a in arguments), actual[i], exact[i], error[i]) for i in places]
        assert not wrong.any(), f"{what}: {shown}"


def same_kind(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether both are NaN, or the same infinity."""
    return (np.isnan(a) & np.isnan(b)) | (np.isinf(a) & np.isinf(b) & (np.sign(a) == np.sign(b)))


@pytest.mark.parametrize(
    ("name", "flags", "most"),
    [*((name, "", 2.0) for name in UNARY), ("erf", "afn", 8.0), ("tanh", "afn", 8.0)],
)
def test_functions_of_float_are_within_units(
    module: Module, name: str, flags: str, most: float
) -> None:
    every = np.arange(0, 2**32, 100003, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.random.default_rng(0).standard_normal(20000).astype(np.float32) * np.float32(3)
    x = np.concatenate([every, near, np.array(EDGES, np.float32)])
    with np.errstate(all="ignore"):
        exact = UNARY[name](x.astype(LONG))
    check(compute(module, f"{name}_f32{flags}", x), exact, most, [x])


@pytest.mark.parametrize("name", IN_DOUBLE)
def test_functions_of_double_are_within_4_units(module: Module, name: str) -> None:
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        every = random.integers(0, 2**64, 30000, dtype=np.uint64).view(np.float64)
        x = np.concatenate([every, random.standard_normal(30000) * 3, np.array(EDGES)])
        exact = UNARY[name](x.astype(LONG))
    check(compute(module, f"{name}_f64", x), exact, 4.0, [x])


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_floats(module: Module, name: str) -> None:
    random = np.random.default_rng(0)
    edges = np.array([*EDGES, 5.0, -3.0, 16777217.0], np.float32)
    a, b = (grid.ravel() for grid in np.meshgrid(edges, edges))
    scale = np.exp(random.standard_normal(50000) * 4)
    a = np.concatenate([a, (np.abs(random.standard_normal(50000)) * scale).astype(np.float32)])
    b = np.concatenate([b, random.standard_normal(50000).astype(np.float32) * 5])
    with np.errstate(all="ignore"):
        exact = BINARY[name](a.astype(LONG), b.astype(LONG))
    check(compute(module, f"{name}_f32", a, b), exact, 1.0, [a, b])


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_16_bit_formats_convert_as_numpy(build_dir: Path, type_: str) -> None:
    """All numbers of 16 bits to float, and floats on and beside the middle between two of them."""
    tensor, map_ = "tensor<?x{}>", "affine_map<(i) -> (i)>"
    text = "".join(
        f"""
        func.func private @{name}(%a: {tensor.format(source)}) -> {tensor.format(target)} attributes {{amprt.kernel}} {{
          %c0 = arith.constant 0 : index
          %d = tensor.dim %a, %c0 : {tensor.format(source)}
          %e = tensor.empty(%d) : {tensor.format(target)}
          %y = linalg.generic {{indexing_maps = [{map_}, {map_}], iterator_types = ["parallel"]}}
              ins(%a : {tensor.format(source)}) outs(%e : {tensor.format(target)}) {{
          ^bb0(%x: {source}, %o: {target}):
            %r = arith.{name} %x : {source} to {target}
            linalg.yield %r : {target}
          }} -> {tensor.format(target)}
          return %y : {tensor.format(target)}
        }}
        """
        for name, source, target in (("extf", type_, "f32"), ("truncf", "f32", type_))
    )
    module = Module(build_dir / "bin" / "amp-opt", text, host_cpus())
    halves = np.arange(2**16, dtype=np.uint16).view(TYPES[type_])
    floats = halves.astype(np.float32)
    bits = floats.view(np.uint32)
    half = 1 << (12 if type_ == "f16" else 15)
    near = np.concatenate([bits + np.uint32(offset) for offset in (0, 1, half - 1, half, half + 1)])
    near = np.concatenate(
        [near, np.arange(0, 2**32, 65521, dtype=np.uint64).astype(np.uint32)]
    ).view(np.float32)
    for cpu in module.cpus:
        wide = np.zeros_like(floats)
        module.kernels["extf"].run([halves], [wide], cpu)
        assert same_bits(wide, floats), cpu
        narrow = np.zeros(near.shape, TYPES[type_])
        module.kernels["truncf"].run([near], [narrow], cpu)
        with np.errstate(all="ignore"):
            assert same_bits(narrow, near.astype(TYPES[type_])), cpu
        # A NaN keeps what fits of its payload.
        nans = np.isnan(near)
        kept = (near.view(np.uint32)[nans] >> (13 if type_ == "f16" else 16)).astype(np.uint16)
        mask = 0x1FF if type_ == "f16" else 0x3F
        assert ((narrow.view(np.uint16)[nans] & mask) == (kept & mask)).all(), cpu
