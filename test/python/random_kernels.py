"""Random elementwise kernels: their text, and what they compute, by NumPy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from kernels import TYPES

FLOATS = ["f32", "f64", "f16", "bf16"]
INTEGERS = ["i8", "i16", "i32", "i64"]
SIZES = [1, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 48, 64, 65, 100]


@dataclass
class Value:
    """A number of the body: its name, its type and what it is everywhere."""

    name: str
    type: str
    array: np.ndarray


def wide(array: np.ndarray) -> np.ndarray:
    """16-bit numbers as what is computed with."""
    return array.astype(np.float32) if array.itemsize == 2 and array.dtype.kind in "fV" else array


def maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As arith.maximumf has it: +0 is greater than -0."""
    zeros = np.where(np.signbit(a), b, a)
    return np.where((a == 0) & (b == 0), zeros, np.maximum(a, b))


def minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As arith.minimumf has it."""
    return -maximum(-a, -b)


FLOAT_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": maximum,
    "arith.minimumf": minimum,
}
FLOAT_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.sqrt": lambda a: np.sqrt(np.abs(a)),
    "math.floor": np.floor,
    "math.roundeven": np.rint,
    "math.round": lambda a: np.copysign(
        np.where(
            np.abs(a) - np.trunc(np.abs(a)) >= 0.5, np.trunc(np.abs(a)) + 1, np.trunc(np.abs(a))
        ),
        a,
    ),
}
INTEGER_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


def random_array(random: np.random.Generator, shape: tuple[int, ...], type_: str) -> np.ndarray:
    """Numbers of all magnitudes, some of them special."""
    dtype = TYPES[type_]
    if type_ == "i1":
        return np.asarray(random.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(
            random.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)
        )
    values = random.standard_normal(shape) * np.exp(random.standard_normal(shape) * 3)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-41, -1e-41, 6e-8, 1e38, 0.5, 65519.0]
    )
    chosen = random.choice(special, size=shape)
    return np.asarray(np.where(random.random(shape) < 0.1, chosen, values).astype(dtype))


class ElementwiseKernel:
    """One generic over some dimensions: operands lack dimensions, have them in another order, or of size 1."""

    def __init__(self, name: str, random: np.random.Generator) -> None:
        self.name, self.random = name, random
        rank = int(random.integers(0, 5))
        self.shape = tuple(int(random.choice(SIZES)) for _ in range(rank))
        while np.prod(self.shape, dtype=np.int64) > 20000:
            self.shape = tuple(max(1, size // 2) for size in self.shape)
        if rank and random.random() < 0.05:
            self.shape = (0, *self.shape[1:])
        self.dynamic = [bool(random.random() < 0.3) for _ in self.shape]
        self.arguments: list[np.ndarray] = []
        self.operands: list[tuple[str, str, str]] = []  # name, tensor type, map
        self.values: list[Value] = []
        self.body: list[str] = []
        for index in range(int(random.integers(1, 4))):
            self.add_operand(index)
        for _ in range(int(random.integers(1, 8))):
            self.add_operation()
        count = int(random.integers(1, 3))
        self.yields = self.values[-count:]
        self.permutations = [
            [int(axis) for axis in random.permutation(rank)]
            if random.random() < 0.3
            else list(range(rank))
            for _ in self.yields
        ]

    @property
    def results(self) -> list[tuple[tuple[int, ...], np.dtype]]:
        """Shapes and types of what it computes."""
        return [
            (tuple(self.shape[axis] for axis in permutation), value.array.dtype)
            for value, permutation in zip(self.yields, self.permutations, strict=True)
        ]

    @property
    def expected(self) -> list[np.ndarray]:
        """What it computes."""
        return [
            np.array(np.broadcast_to(value.array, self.shape).transpose(permutation), order="C")
            for value, permutation in zip(self.yields, self.permutations, strict=True)
        ]

    def tensor(self, axes: list[int | None], type_: str) -> str:
        """The type of a tensor along loops; None is an axis of size 1."""
        dims = ["1" if a is None else "?" if self.dynamic[a] else str(self.shape[a]) for a in axes]
        return f"tensor<{'x'.join([*dims, type_])}>"

    def map(self, axes: list[int | None]) -> str:
        """The indexing map."""
        loops = ", ".join(f"d{index}" for index in range(len(self.shape)))
        indices = ", ".join("0" if a is None else f"d{a}" for a in axes)
        return f"affine_map<({loops}) -> ({indices})>"

    def add_operand(self, index: int) -> None:
        """An argument; the first one has all dimensions."""
        random, rank = self.random, len(self.shape)
        axes: list[int | None] = list(range(rank))
        if random.random() < 0.3:
            axes = [int(axis) for axis in random.permutation(rank)]
        if index:
            axes = [a if random.random() < 0.7 else None for a in axes if random.random() < 0.8]
        type_ = str(random.choice([*FLOATS, *FLOATS, *INTEGERS, "i1"]))
        shape = tuple(1 if a is None else self.shape[a] for a in axes)
        array = random_array(random, shape, type_)
        self.arguments.append(array)
        self.operands.append((f"%a{index}", self.tensor(axes, type_), self.map(axes)))
        present = [a for a in axes if a is not None]
        order = sorted(range(len(present)), key=lambda i: present[i])
        squeezed = array.reshape([self.shape[a] for a in present]).transpose(order)
        full = squeezed.reshape([self.shape[a] if a in present else 1 for a in range(rank)])
        self.values.append(Value(f"%x{index}", type_, np.broadcast_to(full, self.shape)))

    def add(self, text: str, type_: str, array: np.ndarray) -> Value:
        """A result of an operation of the body."""
        value = Value(f"%v{len(self.body)}", type_, array.astype(TYPES[type_]))
        self.body.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def convert(self, value: Value, to: str) -> Value:
        """The value in another type, if there is a way that NumPy has, too."""
        if value.type == to:
            return value
        old, new = TYPES[value.type].itemsize, TYPES[to].itemsize
        suffix = f"{value.name} : {value.type} to {to}"
        if value.type == "i1":
            if to in INTEGERS:
                return self.add(f"arith.extui {suffix}", to, value.array.astype(TYPES[to]))
            return self.add(f"arith.uitofp {suffix}", to, value.array.astype(np.float32))
        if value.type in INTEGERS and to == "i1":
            zero = self.add(f"arith.constant 0 : {value.type}", value.type, np.zeros(()))
            return self.add(
                f"arith.cmpi slt, {value.name}, {zero.name} : {value.type}", "i1", value.array < 0
            )
        if value.type in INTEGERS and to in INTEGERS:
            return self.add(f"arith.{'extsi' if new > old else 'trunci'} {suffix}", to, value.array)
        if value.type in INTEGERS:
            if to == "bf16":  # ml_dtypes rounds twice.
                return self.convert(self.convert(value, "f32"), to)
            return self.add(f"arith.sitofp {suffix}", to, value.array)
        if to in INTEGERS or to == "i1":
            zero = self.add(f"arith.constant 0.0 : {value.type}", value.type, np.zeros(()))
            sign = self.add(
                f"arith.cmpf olt, {value.name}, {zero.name} : {value.type}",
                "i1",
                wide(value.array) < 0,
            )
            return self.convert(sign, to)
        if new > old:
            return self.add(f"arith.extf {suffix}", to, value.array)
        if new == old or (value.type, to) == ("f64", "bf16"):
            return self.convert(self.convert(value, "f32"), to)
        return self.add(f"arith.truncf {suffix}", to, value.array)

    def add_operation(self) -> None:
        """An operation on values that are there."""
        random = self.random
        a, b, c = (self.values[int(random.integers(len(self.values)))] for _ in range(3))
        if random.random() < 0.25:
            self.convert(a, str(random.choice([*FLOATS, *INTEGERS])))
            return
        if a.type == "i1":
            a = self.convert(a, str(random.choice([*FLOATS, *INTEGERS])))
        b = self.convert(b, a.type)
        if random.random() < 0.15:
            c = self.convert(c, "i1")
            self.add(
                f"arith.select {c.name}, {a.name}, {b.name} : {a.type}",
                a.type,
                np.where(c.array, a.array, b.array),
            )
        elif a.type in INTEGERS:
            name = str(random.choice(list(INTEGER_BINARY)))
            self.add(
                f"{name} {a.name}, {b.name} : {a.type}",
                a.type,
                INTEGER_BINARY[name](a.array, b.array),
            )
        elif random.random() < 0.3:
            name = str(random.choice(list(FLOAT_UNARY)))
            if name == "math.sqrt":
                a = self.add(f"math.absf {a.name} : {a.type}", a.type, np.abs(wide(a.array)))
            self.add(f"{name} {a.name} : {a.type}", a.type, FLOAT_UNARY[name](wide(a.array)))
        else:
            name = str(random.choice(list(FLOAT_BINARY)))
            self.add(
                f"{name} {a.name}, {b.name} : {a.type}",
                a.type,
                FLOAT_BINARY[name](wide(a.array), wide(b.array)),
            )

    @property
    def text(self) -> str:
        """The function."""
        rank = len(self.shape)
        first = self.operands[0][2].partition("-> (")[2].rstrip(")>").split(", ")
        sizes = [
            f"    %c{a} = arith.constant {first.index(f'd{a}')} : index\n"
            f"    %s{a} = tensor.dim %a0, %c{a} : {self.operands[0][1]}\n"
            for a in range(rank)
            if self.dynamic[a]
        ]
        types = [
            self.tensor(list(permutation), value.type)
            for value, permutation in zip(self.yields, self.permutations, strict=True)
        ]
        empties = [
            f"    %e{index} = tensor.empty({', '.join(f'%s{a}' for a in permutation if self.dynamic[a])})"
            f" : {type_}\n"
            for index, (type_, permutation) in enumerate(zip(types, self.permutations, strict=True))
        ]
        maps = [operand[2] for operand in self.operands] + [
            self.map(list(permutation)) for permutation in self.permutations
        ]
        names = [operand[0] for operand in self.operands]
        operand_types = ", ".join(operand[1] for operand in self.operands)
        arguments = ", ".join(f"{name}: {type_}" for name, type_, _ in self.operands)
        block = ", ".join(
            [f"%x{index}: {value.type}" for index, value in enumerate(self.values[: len(names)])]
            + [f"%o{index}: {value.type}" for index, value in enumerate(self.yields)]
        )
        count = len(types)
        results = ", ".join(f"%r#{index}" for index in range(count)) if count > 1 else "%r"
        inits = ", ".join(f"%e{index}" for index in range(count))
        iterators = ", ".join(['"parallel"'] * rank)
        body = "".join(f"      {line}\n" for line in self.body)
        yielded = ", ".join(value.name for value in self.yields)
        yield_types = ", ".join(value.type for value in self.yields)
        all_types = ", ".join(types)
        return (
            f"  func.func private @{self.name}({arguments}) -> ({all_types}) attributes {{amprt.kernel}} {{\n"
            f"{''.join(sizes)}{''.join(empties)}"
            f"    %r{f':{count}' if count > 1 else ''} = linalg.generic {{indexing_maps = [{', '.join(maps)}],"
            f" iterator_types = [{iterators}]}} ins({', '.join(names)} : {operand_types})"
            f" outs({inits} : {all_types}) {{\n"
            f"    ^bb0({block}):\n{body}      linalg.yield {yielded} : {yield_types}\n"
            f"    }} -> ({all_types})\n"
            f"    return {results} : {all_types}\n  }}\n"
        )


assert ml_dtypes  # Registers bfloat16 with NumPy.
