"""Kernels that reduce: sums along any axes, and what normalizations, losses and their gradients are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from kernels import TYPES


@dataclass
class Text:
    """Builds a function of generics over the loops of one shape."""

    name: str
    shape: tuple[int, ...]
    dynamic: Sequence[bool]
    arguments: list[tuple[str, tuple[int, ...], str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    tensors: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)

    def type(self, axes: Sequence[int], element: str) -> str:
        """A tensor along some loops."""
        dims = ["?" if self.dynamic[axis] else str(self.shape[axis]) for axis in axes]
        return f"tensor<{'x'.join([*dims, element])}>"

    def argument(self, axes: Sequence[int], element: str) -> str:
        """An argument; the first has all dimensions."""
        name = f"%a{len(self.arguments)}"
        self.arguments.append((name, tuple(axes), element))
        self.tensors[name] = (tuple(axes), element)
        if len(self.arguments) == 1:
            for axis in range(len(self.shape)):
                self.lines.append(f"%c{axis} = arith.constant {axis} : index")
                if self.dynamic[axis]:
                    self.lines.append(
                        f"%s{axis} = tensor.dim {name}, %c{axis} : {self.type(axes, element)}"
                    )
        return name

    def map(self, axes: Sequence[int]) -> str:
        """An indexing map."""
        loops = ", ".join(f"d{index}" for index in range(len(self.shape)))
        return f"affine_map<({loops}) -> ({', '.join(f'd{axis}' for axis in axes)})>"

    def generic(
        self,
        inputs: Sequence[str],
        axes: Sequence[int],
        element: str,
        body: Sequence[str],
        start: str | None = None,
    ) -> str:
        """A generic, whose body has its operands as %0, %1 …, its accumulator as %o, and yields %r.

        With a number to start from, the loops that are not in `axes` are reductions.
        """
        number = len(self.lines)
        name = f"%t{number}"
        type_ = self.type(axes, element)
        dims = ", ".join(f"%s{axis}" for axis in axes if self.dynamic[axis])
        self.lines.append(f"%e{number} = tensor.empty({dims}) : {type_}")
        init = f"%e{number}"
        if start is not None:
            self.lines.append(f"%z{number} = arith.constant {start} : {element}")
            init = f"%i{number}"
            self.lines.append(
                f"{init} = linalg.fill ins(%z{number} : {element}) outs(%e{number} : {type_}) -> {type_}"
            )
        # Loops without an operand have no size.
        used = sorted({axis for operand in inputs for axis in self.tensors[operand][0]} | set(axes))
        place = {axis: index for index, axis in enumerate(used)}
        loops = ", ".join(f"d{index}" for index in range(len(used)))

        def local(operand_axes: Sequence[int]) -> str:
            return f"affine_map<({loops}) -> ({', '.join(f'd{place[axis]}' for axis in operand_axes)})>"

        maps = ", ".join([*(local(self.tensors[operand][0]) for operand in inputs), local(axes)])
        iterators = ", ".join('"parallel"' if axis in axes else '"reduction"' for axis in used)
        types = ", ".join(self.type(*self.tensors[operand]) for operand in inputs)
        block = ", ".join(
            [f"%x{index}: {self.tensors[operand][1]}" for index, operand in enumerate(inputs)]
            + [f"%o: {element}"]
        )
        lines = "\n".join(f"      {line}" for line in body)
        for index in reversed(range(len(inputs))):
            lines = lines.replace(f"%{index}", f"%x{index}")
        self.lines.append(
            f"{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}"
            f" ins({', '.join(inputs)} : {types}) outs({init} : {type_}) {{\n"
            f"    ^bb0({block}):\n{lines}\n      linalg.yield %r : {element}\n    }} -> {type_}"
        )
        self.tensors[name] = (tuple(axes), element)
        return name

    def finish(self, *results: str) -> str:
        """The function."""
        arguments = ", ".join(
            f"{name}: {self.type(axes, element)}" for name, axes, element in self.arguments
        )
        types = ", ".join(self.type(*self.tensors[result]) for result in results)
        lines = "".join(f"    {line}\n" for line in self.lines)
        return (
            f"  func.func private @{self.name}({arguments}) -> ({types}) attributes {{amprt.kernel}} {{\n"
            f"{lines}    return {', '.join(results)} : {types}\n  }}\n"
        )


def wide_body(element: str, *lines: str) -> list[str]:
    """A body that computes in f32 from a 16-bit operand %0, as %w."""
    first = (
        f"%w = arith.extf %0 : {element} to f32"
        if element in ("f16", "bf16")
        else "%n = arith.constant -0.0 : f32\n      %w = arith.addf %0, %n : f32"
    )
    return [first, *lines]


def sum_along(
    name: str, shape: tuple[int, ...], kept: Sequence[int], dynamic: Sequence[bool], element: str
) -> str:
    """The sum over all axes but some."""
    text = Text(name, shape, dynamic)
    x = text.argument(range(len(shape)), element)
    total = "f32" if element in ("f16", "bf16") else element
    if element[0] == "i":
        body, start = [f"%r = arith.addi %0, %o : {element}"], "0"
    elif element == "f64":
        body, start = ["%r = arith.addf %0, %o : f64"], "0.0"
    else:
        body, start = wide_body(element, "%r = arith.addf %w, %o : f32"), "0.0"
    return text.finish(text.generic([x], kept, total, body, start))


def softmax(
    name: str, shape: tuple[int, ...], axis: int, dynamic: Sequence[bool], element: str
) -> str:
    """Softmax along an axis."""
    text = Text(name, shape, dynamic)
    rest = [other for other in range(len(shape)) if other != axis]
    every = list(range(len(shape)))
    x = text.argument(every, element)
    top = text.generic(
        [x], rest, "f32", wide_body(element, "%r = arith.maximumf %w, %o : f32"), "0xff800000"
    )
    exp = text.generic(
        [x, top],
        every,
        "f32",
        wide_body(element, "%d = arith.subf %w, %1 : f32", "%r = math.exp %d : f32"),
    )
    total = text.generic([exp], rest, "f32", ["%r = arith.addf %0, %o : f32"], "0.0")
    narrow = (
        ["%q = arith.divf %0, %1 : f32", f"%r = arith.truncf %q : f32 to {element}"]
        if element != "f32"
        else ["%r = arith.divf %0, %1 : f32"]
    )
    return text.finish(text.generic([exp, total], every, element, narrow))


def layer_norm(name: str, shape: tuple[int, ...], dynamic: Sequence[bool]) -> str:
    """Layer normalization along the last axis, with mean and 1 / deviation as results."""
    text = Text(name, shape, dynamic)
    every, rest, last = list(range(len(shape))), list(range(len(shape) - 1)), [len(shape) - 1]
    x, scale, bias = (
        text.argument(every, "f32"),
        text.argument(last, "f32"),
        text.argument(last, "f32"),
    )
    axis = len(shape) - 1
    if dynamic[axis]:
        text.lines += [
            f"%ni = arith.index_cast %s{axis} : index to i64",
            "%nf = arith.sitofp %ni : i64 to f32",
        ]
    else:
        text.lines.append(f"%nf = arith.constant {shape[axis]}.0 : f32")
    total = text.generic([x], rest, "f32", ["%r = arith.addf %0, %o : f32"], "0.0")
    mean = text.generic([total], rest, "f32", ["%r = arith.divf %0, %nf : f32"])
    squares = text.generic(
        [x, mean],
        rest,
        "f32",
        [
            "%d = arith.subf %0, %1 : f32",
            "%q = arith.mulf %d, %d : f32",
            "%r = arith.addf %o, %q : f32",
        ],
        "0.0",
    )
    inverse = text.generic(
        [squares],
        rest,
        "f32",
        [
            "%eps = arith.constant 1.0e-5 : f32",
            "%v = arith.divf %0, %nf : f32",
            "%u = arith.addf %v, %eps : f32",
            "%r = math.rsqrt %u : f32",
        ],
    )
    y = text.generic(
        [x, mean, inverse, scale, bias],
        every,
        "f32",
        [
            "%d = arith.subf %0, %1 : f32",
            "%h = arith.mulf %d, %2 : f32",
            "%g = arith.mulf %h, %3 : f32",
            "%r = arith.addf %g, %4 : f32",
        ],
    )
    return text.finish(y, mean, inverse)


def softmax_gradient(name: str, shape: tuple[int, ...], dynamic: Sequence[bool]) -> str:
    """y * (dy - sum(dy * y)) along the last axis."""
    text = Text(name, shape, dynamic)
    every, rest = list(range(len(shape))), list(range(len(shape) - 1))
    y, dy = text.argument(every, "f32"), text.argument(every, "f32")
    product = text.generic([y, dy], every, "f32", ["%r = arith.mulf %0, %1 : f32"])
    total = text.generic([product], rest, "f32", ["%r = arith.addf %o, %0 : f32"], "0.0")
    dx = text.generic(
        [y, dy, total],
        every,
        "f32",
        ["%d = arith.subf %1, %2 : f32", "%r = arith.mulf %d, %0 : f32"],
    )
    return text.finish(dx)


def scale_gradient(name: str, shape: tuple[int, int], dynamic: Sequence[bool]) -> str:
    """Gradients of a layer normalization's scale and bias: sums over rows, with values of each row."""
    text = Text(name, shape, dynamic)
    x, dy = text.argument([0, 1], "f32"), text.argument([0, 1], "f32")
    mean, inverse = text.argument([0], "f32"), text.argument([0], "f32")
    hat = text.generic(
        [x, mean, inverse],
        [0, 1],
        "f32",
        ["%d = arith.subf %0, %1 : f32", "%r = arith.mulf %d, %2 : f32"],
    )
    dscale = text.generic(
        [hat, dy],
        [1],
        "f32",
        ["%p = arith.mulf %0, %1 : f32", "%r = arith.addf %o, %p : f32"],
        "0.0",
    )
    dbias = text.generic([dy], [1], "f32", ["%r = arith.addf %o, %0 : f32"], "0.0")
    return text.finish(dscale, dbias)


def arg_max(name: str, shape: tuple[int, int], axis: int, dynamic: Sequence[bool]) -> str:
    """The first place of the greatest element: a reduction of two accumulators that lanes cannot share."""
    text = Text(name, shape, dynamic)
    x = text.argument([0, 1], "f32")
    kept = [1 - axis]
    dims = ", ".join(f"%s{a}" for a in kept if dynamic[a])
    value, index = text.type(kept, "f32"), text.type(kept, "i64")
    iterators = ['"reduction"' if a == axis else '"parallel"' for a in (0, 1)]
    text.lines += [
        "%low = arith.constant 0xff800000 : f32",
        "%none = arith.constant 0 : i64",
        f"%ev = tensor.empty({dims}) : {value}",
        f"%ei = tensor.empty({dims}) : {index}",
        f"%fv = linalg.fill ins(%low : f32) outs(%ev : {value}) -> {value}",
        f"%fi = linalg.fill ins(%none : i64) outs(%ei : {index}) -> {index}",
        f"%r:2 = linalg.generic {{indexing_maps = [{text.map([0, 1])}, {text.map(kept)}, {text.map(kept)}],"
        f" iterator_types = [{', '.join(iterators)}]}}"
        f" ins({x} : {text.type([0, 1], 'f32')}) outs(%fv, %fi : {value}, {index}) {{\n"
        "    ^bb0(%in: f32, %v: f32, %i: i64):\n"
        f"      %n = linalg.index {axis} : index\n"
        "      %m = arith.index_cast %n : index to i64\n"
        "      %g = arith.cmpf ogt, %in, %v : f32\n"
        "      %nv = arith.select %g, %in, %v : f32\n"
        "      %nn = arith.select %g, %m, %i : i64\n"
        f"      linalg.yield %nv, %nn : f32, i64\n    }} -> ({value}, {index})",
    ]
    text.tensors["%r#0"], text.tensors["%r#1"] = (tuple(kept), "f32"), (tuple(kept), "i64")
    return text.finish("%r#1")


Case = tuple[str, list[np.ndarray], list[np.ndarray], float]


def random_case(name: str, random: np.random.Generator) -> Case:
    """Text, arguments, what is right, and how far off each result may be."""
    kind = int(random.integers(8))
    sizes = [1, 2, 3, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100, 128, 200, 257]

    def pick(rank: int, most: int = 60000) -> tuple[int, ...]:
        shape = tuple(int(random.choice(sizes)) for _ in range(rank))
        while np.prod(shape) > most:
            shape = tuple(max(1, size // 2) for size in shape)
        return shape

    def normal(shape: Sequence[int], type_: str = "f32") -> np.ndarray:
        return random.standard_normal(shape).astype(TYPES[type_])

    def flags(rank: int) -> list[bool]:
        return [bool(random.random() < 0.4) for _ in range(rank)]

    def double(array: np.ndarray) -> np.ndarray:
        return array.astype(np.float64)

    if kind <= 2:
        shape = pick(int(random.integers(1, 5)))
        if random.random() < 0.1:
            shape = (0, *shape[1:]) if random.random() < 0.5 else (*shape[:-1], 0)
        kept = [axis for axis in range(len(shape)) if random.random() < 0.5]
        axes = tuple(axis for axis in range(len(shape)) if axis not in kept)
        element = str(random.choice(["f32", "f32", "f16", "bf16", "f64", "i32", "i8"]))
        if element[0] == "i":
            info = np.iinfo(TYPES[element])
            x = random.integers(info.min, info.max, size=shape, dtype=TYPES[element])
            right = x.sum(axis=axes, dtype=TYPES[element]) if axes else x
            return (
                sum_along(name, shape, kept, flags(len(shape)), element),
                [x],
                [np.asarray(right)],
                0.0,
            )
        x = normal(shape, element)
        right = double(x).sum(axis=axes) if axes else double(x)
        result = TYPES["f32" if element in ("f16", "bf16") else element]
        slack = 1e-5 if result.itemsize == 4 else 1e-12
        return (
            sum_along(name, shape, kept, flags(len(shape)), element),
            [x],
            [np.asarray(right).astype(result)],
            slack * np.sqrt(max(x.size, 1)),
        )
    if kind == 3:
        shape = pick(int(random.integers(1, 4)))
        axis = int(random.integers(len(shape)))
        element = str(random.choice(["f32", "f16", "bf16"]))
        x = (4 * random.standard_normal(shape)).astype(TYPES[element])
        e = np.exp(double(x) - double(x).max(axis=axis, keepdims=True))
        right = e / e.sum(axis=axis, keepdims=True)
        slack = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}[element]
        return (
            softmax(name, shape, axis, flags(len(shape)), element),
            [x],
            [right.astype(x.dtype)],
            slack,
        )
    if kind == 4:
        shape = pick(int(random.integers(2, 4)))
        x, scale, bias = normal(shape), normal(shape[-1:]), normal(shape[-1:])
        mean = double(x).mean(axis=-1)
        inverse = 1 / np.sqrt(double(x).var(axis=-1) + 1e-5)
        y = (double(x) - mean[..., None]) * inverse[..., None] * scale + bias
        right = [array.astype(np.float32) for array in (y, mean, inverse)]
        # A deviation of almost nothing makes much of rounding.
        return layer_norm(name, shape, flags(len(shape))), [x, scale, bias], right, 2e-4
    if kind == 5:
        shape = pick(int(random.integers(2, 4)))
        y, dy = normal(shape), normal(shape)
        right = double(y) * (double(dy) - (double(y) * dy).sum(axis=-1, keepdims=True))
        return (
            softmax_gradient(name, shape, flags(len(shape))),
            [y, dy],
            [right.astype(np.float32)],
            2e-4,
        )
    if kind == 6:
        rows, columns = pick(2)
        x, dy, mean, inverse = (
            normal((rows, columns)),
            normal((rows, columns)),
            normal([rows]),
            normal([rows]),
        )
        hat = (double(x) - mean[:, None]) * inverse[:, None]
        right = [
            (hat * dy).sum(axis=0).astype(np.float32),
            double(dy).sum(axis=0).astype(np.float32),
        ]
        return scale_gradient(name, (rows, columns), flags(2)), [x, dy, mean, inverse], right, 1e-3
    rows, columns = pick(2)
    x = normal((rows, columns))
    axis = int(random.integers(2))
    return (
        arg_max(name, (rows, columns), axis, flags(2)),
        [x],
        [x.argmax(axis=axis).astype(np.int64)],
        0.0,
    )
