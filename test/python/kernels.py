"""Compiled kernels in this process: amp-opt compiles a module, its machine code is mapped and called."""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

TYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
MARGIN = 256  # bytes
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def host_cpus() -> list[str]:
    """The levels of x86-64 that this machine has, of those that kernels are compiled for."""
    flags = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].split("\n")[0].split())
    levels = ["x86-64-v2"]
    if {"avx2", "fma", "f16c", "bmi2"} <= flags:
        levels.append("x86-64-v3")
        if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
            levels.append("x86-64-v4")
    return levels


def parse_attribute(text: str) -> Any:
    """What a list of integers and lists says."""
    return eval(re.sub(r"\s*:\s*i64", "", text), {"__builtins__": {}})


@dataclass
class Kernel:
    """What amp-compile-kernels says of one kernel, and its addresses by CPU."""

    name: str
    offsets: list[int]
    sizes: list[list[int]]
    extent: list[int | list[int]]
    grain: int
    scratch: int
    aliases: list[list[int]]
    module: Module

    def iterations(self, arguments: Sequence[np.ndarray]) -> int:
        """How many there are for these arguments."""
        return math.prod(
            factor if isinstance(factor, int) else arguments[factor[0]].shape[factor[1]]
            for factor in self.extent
        )

    def run(
        self,
        arguments: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        cpu: str,
        cuts: Sequence[int] = (),
    ) -> None:
        """Computes the results, in the pieces that the cuts make."""
        assert all(array.flags.c_contiguous for array in (*arguments, *results))
        scratch = np.full(self.scratch + 64, 0xA5, np.uint8)
        start = -scratch.ctypes.data % 64
        pointers = [array.ctypes.data for array in (*arguments, *results)]
        data = (ctypes.c_void_p * (len(pointers) + 1))(*pointers, scratch.ctypes.data + start)
        sizes = [arguments[argument].shape[axis] for argument, axis in self.sizes]
        counts = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        function = self.module.function(self, cpu)
        ends = [0, *sorted(cuts), self.iterations(arguments)]
        # Backwards: what goes beyond its piece spoils one that is done.
        for begin, end in reversed(list(itertools.pairwise(ends))):
            function(data, counts, begin, end)


class Module:
    """A compiled module."""

    def __init__(self, amp_opt: Path, text: str, cpus: Sequence[str]) -> None:
        done = subprocess.run(
            [amp_opt, f"--amp-compile-kernels=cpu={','.join(cpus)}"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.cpus = list(cpus)
        # Mapped for good: functions may outlive the object.
        self.images: list[mmap.mmap] = []
        for image in re.finditer(r'cpu = "[^"]*", image = dense<"0x([0-9A-F]*)">', done.stdout):
            code = bytes.fromhex(image[1])
            memory = mmap.mmap(
                -1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
            )
            memory.write(code)
            self.images.append(memory)
        assert len(self.images) == len(self.cpus), done.stdout[:1000]
        self.kernels: dict[str, Kernel] = {}
        for found in re.finditer(
            r"func\.func private @(\w+)\(.*?amprt\.compiled = \{(.*?)\}", done.stdout
        ):
            entries = dict(re.findall(r"(\w+) = (\[.*?\](?=, \w+ =|$)|\d+ : i64)", found[2]))
            values = {name: parse_attribute(value) for name, value in entries.items()}
            for extra in ("bytes", "dims", "operations"):
                values.pop(extra, None)
            self.kernels[found[1]] = Kernel(name=found[1], module=self, **values)

    def function(self, kernel: Kernel, cpu: str) -> Callable[[Any, Any, int, int], None]:
        """The kernel's code."""
        index = self.cpus.index(cpu)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.images[index]))
        return FUNCTION(base + kernel.offsets[index])


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal, the bits of NaNs aside."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    unequal = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
    if a.dtype.kind in "fV":
        unequal &= ~((a != a) & (b != b))
    return not unequal.any()


def choose_places(aliases: Sequence[Sequence[int]], random: np.random.Generator) -> list[int]:
    """For each result an argument whose memory it may have, no argument twice; or -1."""
    places: list[int] = []
    for candidates in aliases:
        free = [candidate for candidate in candidates if candidate not in places]
        places.append(int(random.choice(free)) if free else -1)
    return places


def run_everywhere(
    kernel: Kernel,
    arguments: Sequence[np.ndarray],
    results: Sequence[tuple[tuple[int, ...], np.dtype]],
    random: np.random.Generator,
) -> list[np.ndarray]:
    """The results; fails unless they are the same on all CPUs, in pieces, and in the arguments' memory."""
    expected: list[np.ndarray] | None = None
    margins: list[np.ndarray] = []

    def check(actual: list[np.ndarray], what: str) -> None:
        nonlocal expected
        for index, memory in enumerate(margins):
            around = np.concatenate([memory[:MARGIN], memory[-MARGIN:]])
            assert (around == 0x5A).all(), f"result {index} is written beyond its end {what}"
        if expected is None:
            expected = actual
        for index, (a, b) in enumerate(zip(actual, expected, strict=True)):
            assert same_bits(a, b), f"result {index} differs {what}:\n{a}\n{b}"

    def fresh() -> list[np.ndarray]:
        # With something around that stays as it is.
        margins.clear()
        outputs = []
        for shape, dtype in results:
            size = math.prod(shape) * dtype.itemsize
            memory = np.full(size + 2 * MARGIN, 0x5A, np.uint8)
            margins.append(memory)
            outputs.append(memory[MARGIN : MARGIN + size].view(dtype).reshape(shape))
        return outputs

    count = kernel.iterations(arguments)
    for cpu in kernel.module.cpus:
        outputs = fresh()
        kernel.run(arguments, outputs, cpu)
        check(outputs, f"on {cpu}")
        cuts = sorted(int(cut) for cut in random.integers(0, count + 1, size=3))
        outputs = fresh()
        kernel.run(arguments, outputs, cpu, cuts)
        check(outputs, f"on {cpu} in pieces {cuts}")
        places = choose_places(kernel.aliases, random)
        if places != [-1] * len(results):
            inputs = [np.array(argument) for argument in arguments]
            outputs = [
                inputs[place].view(dtype).reshape(shape) if place >= 0 else np.full(shape, 7, dtype)
                for place, (shape, dtype) in zip(places, results, strict=True)
            ]
            kernel.run(inputs, outputs, cpu, cuts)
            margins.clear()
            check(outputs, f"on {cpu} in place {places}")
    assert expected is not None
    return expected
