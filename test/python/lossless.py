"""Equality of ONNX messages, field by field, unknown fields included.

Equal means equal as a protobuf message: presence counts, the order within a repeated field counts, NaNs are compared
by their bits; the order of different fields on the wire and packed against unpacked do not count. Differences are
reported by the path of the field.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

_FLOATS = {FieldDescriptor.CPPTYPE_FLOAT: "<f", FieldDescriptor.CPPTYPE_DOUBLE: "<d"}
_CHUNK = 1 << 24


def differences(expected: Message, actual: Message, limit: int = 20) -> list[str]:
    """Paths at which the messages differ, with what was expected and what was found; empty when they are equal."""
    if expected.SerializeToString(deterministic=True) == actual.SerializeToString(
        deterministic=True
    ):
        return []
    found: list[str] = []
    for difference in _message_differences("", expected, actual):
        found.append(difference)
        if len(found) == limit:
            found.append("… and maybe more")
            break
    return found


def file_differences(expected: Path, actual: Path, limit: int = 20) -> list[str]:
    """Differences of two model files as messages; references to external data are compared, not the data."""
    return differences(_load(expected), _load(actual), limit)


def value_differences(expected: Path, actual: Path, limit: int = 20) -> list[str]:
    """As `file_differences`, but a tensor equals a tensor of the same bytes, wherever and in which field they are."""
    left, right = _load(expected), _load(actual)
    found: list[str] = []
    pairs = zip(_tensors(left), _tensors(right), strict=False)
    for one, other in pairs:
        name = one.name or other.name
        if not _same_bytes(one, expected.parent, other, actual.parent):
            found.append(f"data of tensor '{name}' differs")
        for tensor in (one, other):
            for field in ("raw_data", "external_data", "data_location", *_TYPED_FIELDS):
                tensor.ClearField(field)
    return (found + differences(left, right, limit))[:limit]


def _load(path: Path) -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.ParseFromString(path.read_bytes())
    return model


def _message_differences(path: str, expected: Message, actual: Message) -> Iterator[str]:
    left = {field.number: (field, value) for field, value in expected.ListFields()}
    right = {field.number: (field, value) for field, value in actual.ListFields()}
    for number in sorted(left.keys() | right.keys()):
        field = (left.get(number) or right[number])[0]
        where = f"{path}.{field.name}" if path else field.name
        if number not in right:
            yield f"{where} is missing, expected {_shown(left[number][1])}"
        elif number not in left:
            yield f"{where} is {_shown(right[number][1])}, expected none"
        elif field.is_repeated:
            yield from _repeated_differences(where, field, left[number][1], right[number][1])
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            yield from _message_differences(where, left[number][1], right[number][1])
        elif not _same_scalar(field, left[number][1], right[number][1]):
            yield f"{where} is {_shown(right[number][1])}, expected {_shown(left[number][1])}"
    one, other = _unknown_fields(expected), _unknown_fields(actual)
    for number in sorted(one.keys() | other.keys()):
        if one.get(number) != other.get(number):
            yield (
                f"{path or 'model'}: unknown field {number} is {_shown(other.get(number))}, "
                f"expected {_shown(one.get(number))}"
            )


def _repeated_differences(
    where: str, field: FieldDescriptor, expected: Any, actual: Any
) -> Iterator[str]:
    if len(expected) != len(actual):
        yield f"{where} has {len(actual)} elements, expected {len(expected)}"
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        for index, (one, other) in enumerate(zip(expected, actual, strict=False)):
            name = getattr(one, "name", "") or getattr(one, "key", "")
            label = f"{where}[{index}]" + (f"('{name}')" if name else "")
            yield from _message_differences(label, one, other)
        return
    if field.cpp_type in _FLOATS:
        kind = np.dtype(_FLOATS[field.cpp_type])
        if np.asarray(expected, kind).tobytes() == np.asarray(actual, kind).tobytes():
            return
    for index, (one, other) in enumerate(zip(expected, actual, strict=False)):
        if not _same_scalar(field, one, other):
            yield f"{where}[{index}] is {_shown(other)}, expected {_shown(one)}"


def _same_scalar(field: FieldDescriptor, one: Any, other: Any) -> bool:
    kind = _FLOATS.get(field.cpp_type)
    return struct.pack(kind, one) == struct.pack(kind, other) if kind else bool(one == other)


def _unknown_fields(message: Message) -> dict[int, list[Any]]:
    return _grouped(UnknownFieldSet(message))


def _grouped(fields: Any) -> dict[int, list[Any]]:
    result: dict[int, list[Any]] = {}
    for field in fields:
        group = 3
        data = _grouped(field.data) if field.wire_type == group else field.data
        result.setdefault(field.field_number, []).append((field.wire_type, data))
    return result


def _shown(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 80 else text[:77] + "…"


_TYPED_FIELDS = (
    "float_data",
    "int32_data",
    "string_data",
    "int64_data",
    "double_data",
    "uint64_data",
)


def _tensors(message: Message) -> Iterator[onnx.TensorProto]:
    """Every TensorProto inside, in the order of the fields."""
    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            for child in value if field.is_repeated else [value]:
                yield from _tensors(child)


def _same_bytes(
    one: onnx.TensorProto, one_dir: Path, other: onnx.TensorProto, other_dir: Path
) -> bool:
    if one.data_type == onnx.TensorProto.STRING or other.data_type == onnx.TensorProto.STRING:
        return list(one.string_data) == list(other.string_data)
    left, right = _bytes_of(one, one_dir), _bytes_of(other, other_dir)
    if len(left) != len(right):
        return False
    return all(
        left[at : at + _CHUNK] == right[at : at + _CHUNK] for at in range(0, len(left), _CHUNK)
    )


def _bytes_of(tensor: onnx.TensorProto, folder: Path) -> memoryview:
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        if tensor.HasField("raw_data"):
            return memoryview(tensor.raw_data)
        return memoryview(onnx.numpy_helper.to_array(tensor).tobytes())
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = folder / entries["location"]
    offset = int(entries.get("offset", 0))
    length = int(entries.get("length", path.stat().st_size - offset))
    if length == 0:
        return memoryview(b"")
    with path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if offset + length > len(mapping):
        raise ValueError(f"data of tensor '{tensor.name}' ends beyond {path.name}")
    return memoryview(mapping)[offset : offset + length]
