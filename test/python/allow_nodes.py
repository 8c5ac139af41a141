"""Which nodes of a converted model the policy wants in the low format, and which are not.

Reads the presets' YAML (docs/policy-format.md) by itself, so that the converter is not asked what it
should have done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from onnx import inliner
from running import graphs_of
from tool import SOURCE_DIR

PRESETS = SOURCE_DIR / "lib" / "Policy" / "presets"

#: Reasons for which an `allow` node may stay float32; that it is `allow` is none.
REASONS = re.compile(
    r"is out of the range of|underflows in|is not a type of|: operand \d+ keeps its type|^its |"
    r"has the static range|by the statistics of|takes off a mean|decides by a sum of terms"
)

#: Initializers beyond this many elements say nothing of shapes.
SHAPE_ELEMENTS = 64


@dataclass(frozen=True)
class Value:
    """What is known of an operand or a result before anything runs."""

    elem_type: int = 0
    elements: int | None = None
    is_constant: bool = False
    #: Sizes, None for those that are not known; None without a known rank.
    shape: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Node:
    """A node with its values; None for an operand that is left out."""

    proto: onnx.NodeProto
    version: int
    operands: list[Value | None]
    results: list[Value]

    @property
    def label(self) -> str:
        """Operator and name, for messages."""
        return f"{self.proto.op_type} '{self.proto.name or self.proto.output[0]}'"

    @property
    def types(self) -> set[int]:
        """Element types of its operands and results, as far as known."""
        values = [value for value in self.operands if value] + self.results
        return {value.elem_type for value in values} - {0}


# ---- nodes


def typed_nodes(model: onnx.ModelProto) -> Iterator[Node]:
    """The nodes of a model, of subgraphs and functions too, with the types that inference gives."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for graph in graphs_of(bare):
        for tensor in graph.initializer:
            if np.prod(tensor.dims, dtype=np.int64) > SHAPE_ELEMENTS:
                tensor.ClearField("raw_data")
                tensor.ClearField("float_data")
    if bare.functions:
        bare = inliner.inline_local_functions(bare)
    bare = onnx.shape_inference.infer_shapes(bare, data_prop=True)
    versions = {entry.domain or "ai.onnx": entry.version for entry in bare.opset_import}
    yield from _typed_nodes(bare.graph, versions, {})


def _typed_nodes(
    graph: onnx.GraphProto, versions: dict[str, int], outer: dict[str, Value]
) -> Iterator[Node]:
    values = dict(outer)
    inputs = {value.name for value in graph.input}
    for info in (*graph.input, *graph.value_info, *graph.output):
        values[info.name] = _value_of(info.type)
    for tensor in graph.initializer:
        elements = int(np.prod(tensor.dims, dtype=np.int64))
        constant = tensor.name not in inputs
        values[tensor.name] = Value(tensor.data_type, elements, constant, tuple(tensor.dims))
    for node in graph.node:
        operands = [values.get(name, Value()) if name else None for name in node.input]
        is_constant = node.op_type in ("Constant", "ConstantOfShape") or (
            node.op_type == "Cast" and bool(operands[0] and operands[0].is_constant)
        )
        for name in node.output:
            known = values.get(name, Value())
            values[name] = Value(known.elem_type, known.elements, is_constant, known.shape)
        results = [values[name] for name in node.output if name]
        yield Node(node, versions.get(node.domain or "ai.onnx", 0), operands, results)
        for attribute in node.attribute:
            for subgraph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from _typed_nodes(subgraph, versions, values)


def _value_of(type_: onnx.TypeProto) -> Value:
    tensor = type_.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    if not tensor.HasField("shape"):
        return Value(tensor.elem_type)
    known = [size for size in dims if size is not None]
    elements = int(np.prod(known, dtype=np.int64)) if len(known) == len(dims) else None
    return Value(tensor.elem_type, elements, shape=tuple(dims))


def _inner_size(node: Node, a: Value, b: Value) -> int | None:
    """The inner dimension of a matrix product."""
    transposed = any(item.name == "transA" and item.i for item in node.proto.attribute)
    if node.proto.op_type not in ("MatMul", "Gemm"):
        return None
    if a.shape and (size := a.shape[0 if transposed else -1]) is not None:
        return size
    if node.proto.op_type == "MatMul" and b.shape:
        return b.shape[-2] if len(b.shape) > 1 else b.shape[-1]
    return None


# ---- the policy


@dataclass(frozen=True)
class Statement:
    """What a policy says of the operations that meet its conditions."""

    operators: list[str] | None
    nodes: list[str] | None
    when: dict[str, Any]
    category: str

    def is_of(self, node: Node) -> bool:
        """Whether it speaks of a node."""
        name = node.proto.name or node.proto.output[0]
        return (
            (self.operators is None or any(_names(entry, node) for entry in self.operators))
            and (self.nodes is None or any(re.fullmatch(entry, name) for entry in self.nodes))
            and all(_holds(key, value, node) for key, value in self.when.items())
        )


def _names(operator: str, node: Node) -> bool:
    """`Op`, `domain:Op`, `Op@7`, `Op@7+`, `Op@7-12`."""
    name, _, versions = operator.partition("@")
    domain = node.proto.domain if node.proto.domain != "ai.onnx" else ""
    if name != (f"{domain}:{node.proto.op_type}" if domain else node.proto.op_type):
        return False
    return not versions or _is_within(node.version, versions)


def _is_within(number: int, interval: str) -> bool:
    """`N`, `N+` or `N-M`."""
    low, separator, high = re.fullmatch(r"(\d+)([+-]?)(\d*)", interval).groups()  # type: ignore[union-attr]
    return int(low) <= number <= (int(high) if high else number if separator else int(low))


def _holds(condition: str, wanted: Any, node: Node) -> bool:
    def operand(position: int) -> Value:
        operands = node.operands
        return (operands[position] if position < len(operands) else None) or Value()

    if condition == "constant":
        positions = wanted if isinstance(wanted, list) else [wanted]
        return all(operand(position).is_constant for position in positions)
    if condition == "elements":
        return all(
            (count := operand(position).elements) is not None and _is_within(count, str(interval))
            for position, interval in wanted.items()
        )
    if condition == "low":
        # Conversions to 16 bits are judged here.
        return bool({"fp16", "bf16"} & set(wanted))
    if condition == "attributes":
        attributes = {
            item.name: onnx.helper.get_attribute_value(item) for item in node.proto.attribute
        }
        return all(
            attributes.get(name) in (values if isinstance(values, list) else [values])
            for name, values in wanted.items()
        )
    if condition == "reduction":
        size = _inner_size(node, operand(0), operand(1))
        return size is not None and _is_within(size, str(wanted))
    raise ValueError(f"no such condition is known here: {condition}")


def _listed(value: Any) -> list[str] | None:
    return [value] if isinstance(value, str) else value


def statements_of(policy: Path) -> list[Statement]:
    """What a policy file says of categories, its base first: the last that is of a node holds."""
    record = yaml.safe_load(policy.read_text())
    base = record.get("extends")
    found = statements_of(PRESETS / f"{base}.yaml") if base else []
    for category, entries in record.get("categories", {}).items():
        for entry in entries:
            operators = entry["operators"] if isinstance(entry, dict) else [entry]
            found.append(Statement(operators, None, {}, category))
    for rule in record.get("rules", []):
        if "category" in rule:
            operators, nodes = _listed(rule.get("operators")), _listed(rule.get("nodes"))
            found.append(Statement(operators, nodes, rule.get("when", {}), rule["category"]))
    return found


def category_of(node: Node, statements: list[Statement]) -> str:
    """The category of a node; what no statement is of is kept."""
    return next((item.category for item in reversed(statements) if item.is_of(node)), "keep")


# ---- the check


@dataclass
class AllowNodes:
    """The `allow` nodes of a converted model with float data, by what became of them."""

    low: int = 0
    #: Those that are not low, by the reason that the converter gives.
    kept: dict[str, int] = field(default_factory=dict)
    #: Those that are not low and for which no listed reason is given.
    silent: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """All of them."""
        return self.low + sum(self.kept.values()) + len(self.silent)


def allow_nodes(
    model: onnx.ModelProto, preset: str, low: int, kept: list[dict[str, Any]]
) -> AllowNodes:
    """Sorts the `allow` nodes of a model; `kept` is what `convert --json` says of it."""
    statements = statements_of(PRESETS / f"{preset}.yaml")
    reasons = {str(node["node"]): str(node["reason"]) for node in kept}
    found = AllowNodes()
    for node in typed_nodes(model):
        if category_of(node, statements) != "allow":
            continue
        if low in node.types:
            found.low += 1
            continue
        names = [node.proto.name, *node.proto.output]
        reason = next((reasons[name] for name in names if name in reasons), "")
        if REASONS.search(reason):
            found.kept[reason] = found.kept.get(reason, 0) + 1
        elif onnx.TensorProto.FLOAT in node.types or not node.types:
            found.silent.append(f"{node.label} ({reason or 'no reason'})")
    return found
