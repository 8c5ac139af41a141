"""Runs kernels of the CPU runtime's library, one at a time, in one process for all of them."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto

Attribute = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]

# Their elements take a byte each in the runtime, with the sign extended.
SIGNED_PARTS = {TensorProto.INT4: ml_dtypes.int4, TensorProto.INT2: ml_dtypes.int2}
UNSIGNED_PARTS = {TensorProto.UINT4: ml_dtypes.uint4, TensorProto.UINT2: ml_dtypes.uint2}

_SPECIAL_NAMES = {
    "Col2Im": "col2im",
    "IsNaN": "is_nan",
    "MatMul": "matmul",
    "MatMulInteger": "matmul_integer",
    "PRelu": "prelu",
    "QLinearConv": "qlinear_conv",
    "QLinearMatMul": "qlinear_matmul",
    "SwiGLU": "swiglu",
    "TfIdfVectorizer": "tfidf_vectorizer",
}


def kernel_name(operator: str) -> str:
    """The kernel of an ONNX operator, if there is one."""
    if operator in _SPECIAL_NAMES:
        return _SPECIAL_NAMES[operator]
    name = ""
    for i, letter in enumerate(operator):
        after = operator[i + 1 : i + 2]
        begins_word = letter.isupper() and i and (not operator[i - 1].isupper() or after.islower())
        name += ("_" if begins_word else "") + letter.lower()
    return name


class KernelError(Exception):
    """What a kernel said."""


class KernelProcess:
    """A process of run-kernel, whose source says what is sent."""

    def __init__(self, program: Path, threads: int = 2) -> None:
        self._process = subprocess.Popen(
            [str(program), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin
        assert self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout

    def close(self) -> int:
        """Ends the process and gives its exit code."""
        self._input.close()
        return self._process.wait()

    def run(
        self,
        kernel: str,
        inputs: Sequence[np.ndarray | None],
        output_types: Sequence[int],
        attributes: Mapping[str, Attribute] | None = None,
    ) -> list[Any]:
        """Runs a kernel, which gives arrays (None for outputs without a type); raises KernelError with its error."""
        message = _string(kernel) + struct.pack("<I", len(attributes or {}))
        for name, value in (attributes or {}).items():
            message += _string(name) + _attribute(value)
        message += struct.pack("<I", len(inputs))
        for array in inputs:
            message += _tensor(array)
        message += struct.pack(f"<I{len(output_types)}B", len(output_types), *output_types)
        self._input.write(message)
        self._input.flush()
        if error := self._read_string():
            raise KernelError(error)
        return [self._read_tensor(element_type) for element_type in output_types]

    def _read(self, size: int) -> bytes:
        data = self._output.read(size)
        if len(data) != size:
            raise RuntimeError(f"run-kernel ended with {self._process.wait()}")
        return data

    def _read_string(self) -> str:
        (size,) = struct.unpack("<I", self._read(4))
        return self._read(size).decode()

    def _read_tensor(self, element_type: int) -> np.ndarray | None:
        (rank,) = struct.unpack("<I", self._read(4))
        shape = struct.unpack(f"<{rank}q", self._read(8 * rank))
        if element_type == TensorProto.UNDEFINED:
            return None
        count = int(np.prod(shape, dtype=np.int64))
        if element_type == TensorProto.STRING:
            texts = [self._read_string() for _ in range(count)]
            return np.array(texts, dtype=object).reshape(shape)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(element_type)
        if element_type in SIGNED_PARTS or element_type in UNSIGNED_PARTS:
            stored = np.int8 if element_type in SIGNED_PARTS else np.uint8
            return np.frombuffer(self._read(count), stored).reshape(shape).astype(dtype)
        return np.frombuffer(self._read(count * dtype.itemsize), dtype).reshape(shape)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def _attribute(value: Attribute) -> bytes:
    if isinstance(value, str):
        return b"s" + _string(value)
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    values = list(value)
    if values and isinstance(values[0], str):
        return (
            b"S" + struct.pack("<I", len(values)) + b"".join(_string(str(text)) for text in values)
        )
    if values and isinstance(values[0], float):
        return b"F" + struct.pack(f"<I{len(values)}f", len(values), *values)
    return b"I" + struct.pack(f"<I{len(values)}q", len(values), *values)


def _tensor(array: np.ndarray | None) -> bytes:
    if array is None:
        return b"\0"
    if array.dtype.kind in "OUS":
        texts = [x.decode() if isinstance(x, bytes) else str(x) for x in array.ravel()]
        data = b"".join(map(_string, texts))
        element_type = TensorProto.STRING
    else:
        element_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        if element_type in SIGNED_PARTS:
            array = array.astype(np.int8)
        elif element_type in UNSIGNED_PARTS:
            array = array.astype(np.uint8)
        data = np.ascontiguousarray(array).tobytes()
    header = struct.pack(f"<BI{array.ndim}q", element_type, array.ndim, *array.shape)
    return header + data
