"""Nodes of every operator whose attributes, shapes and constants make no sense, though their kinds do."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import TensorProto, defs, helper

#: Numbers that code forgets: nothing, less than nothing, more than there is, more than fits.
INTEGERS = (
    *(0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 16, 100, 1000, 10**5, 10**6, 2**31, 2**62, 2**63 - 1),
    *(-1, -1, -2, -5, -8, -1000, -(2**31), -(2**63)),
)
FLOATS = (0.0, 1.0, -1.0, 2.0, 0.5, 1e30, float("inf"), float("nan"))
SIZES = (0, 1, 1, 2, 3, 4, 6, 8, None, 2**31, 2**62)
STRINGS = (
    *("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "DCR", "CRD", "constant", "reflect", "linear"),
    *("nearest", "bij,bjk->bik", "...ij,jk->...ik", "abc", "not_larger", "none", "mean"),
)
TYPES = {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(int64)": TensorProto.INT64,
    "tensor(int32)": TensorProto.INT32,
    "tensor(bool)": TensorProto.BOOL,
    "tensor(uint8)": TensorProto.UINT8,
    "tensor(int8)": TensorProto.INT8,
    "tensor(float16)": TensorProto.FLOAT16,
    "tensor(double)": TensorProto.DOUBLE,
    "tensor(string)": TensorProto.STRING,
}
CONSTANTS = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32)


def schemas(opset: int) -> list[defs.OpSchema]:
    """The operators of an opset, without those that take graphs or need one exact attribute."""
    newest: dict[str, defs.OpSchema] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= opset:
            known = newest.get(schema.name)
            if known is None or known.since_version < schema.since_version:
                newest[schema.name] = schema
    graph = defs.OpSchema.AttrType.GRAPH
    return [
        schema
        for name, schema in sorted(newest.items())
        if name != "Constant"
        and not schema.deprecated
        and not any(attribute.type == graph for attribute in schema.attributes.values())
    ]


@dataclass
class OddNodes:
    """Builds one model of many nodes, each on its own."""

    random: random.Random
    inputs: dict[tuple[int, tuple[int | None, ...]], str] = field(default_factory=dict)
    constants: list[TensorProto] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)

    def tensor(self, element: int) -> str:
        """An input of the graph of some shape."""
        rank = self.random.choice((0, 1, 2, 3, 4, 4, 5))
        shape = tuple(self.random.choice(SIZES) for _ in range(rank))
        return self.inputs.setdefault((element, shape), f"x{len(self.inputs)}")

    def constant(self, element: int) -> str:
        count = self.random.choice((0, 1, 1, 2, 3, 4))
        pool = FLOATS if element == TensorProto.FLOAT else INTEGERS
        values = [self.random.choice(pool) for _ in range(max(1, count))]
        if element == TensorProto.INT32:
            values = [max(-(2**31), min(2**31 - 1, value)) for value in values]
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, element, [count] if count else [], values))
        return name

    def operands(self, schema: defs.OpSchema) -> list[str] | None:
        """Inputs of types that the schema admits; None if it admits none of ours."""
        option = defs.OpSchema.FormalParameterOption
        chosen: dict[str, str] = {}
        names = []
        for formal in schema.inputs:
            if formal.option == option.Optional and self.random.random() < 0.3:
                names.append("")
                continue
            allowed = sorted(kind for kind in formal.types if kind in TYPES)
            if not allowed:
                return None
            kind = chosen.setdefault(formal.type_str, self.random.choice(allowed))
            element = TYPES[kind]
            for _ in range(self.random.randint(1, 3) if formal.option == option.Variadic else 1):
                is_constant = element in CONSTANTS and self.random.random() < 0.4
                names.append(self.constant(element) if is_constant else self.tensor(element))
        return names

    def attribute(self, kind: defs.OpSchema.AttrType) -> object:
        """A value of the kind; None for kinds that are not made here."""
        types = defs.OpSchema.AttrType
        pick = self.random.choice
        if kind == types.INT:
            return pick(INTEGERS)
        if kind == types.INTS:
            return [pick(INTEGERS) for _ in range(pick((1, 2, 2, 3, 4, 4, 6, 8)))]
        if kind == types.FLOAT:
            return pick(FLOATS[:4])
        if kind == types.FLOATS:
            return [pick(FLOATS[:4]) for _ in range(3)]
        if kind == types.STRING:
            return pick(STRINGS)
        if kind == types.STRINGS:
            return ["a"]
        if kind == types.TENSOR:
            return helper.make_tensor("t", TensorProto.FLOAT, [1], [0.0])
        return None

    def add(self, schema: defs.OpSchema) -> None:
        """A node of the operator, unless it can't be made."""
        names = self.operands(schema)
        if names is None:
            return
        attributes: dict[str, Any] = {}
        for name, described in schema.attributes.items():
            if not described.required and self.random.random() < 0.4:
                continue
            value = self.attribute(described.type)
            if value is not None:
                attributes[name] = value
            elif described.required:
                return
        most = schema.max_output if schema.max_output < 50 else 4
        count = self.random.randint(max(1, schema.min_output), max(1, most))
        index = len(self.nodes)
        outputs = [f"n{index}_{output}" for output in range(count)]
        self.nodes.append(helper.make_node(schema.name, names, outputs, f"n{index}", **attributes))

    def model(self, opset: int) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, element, list(shape))
            for (element, shape), name in self.inputs.items()
        ]
        graph = helper.make_graph(self.nodes, "odd", inputs, [], self.constants)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
        )


def odd_model(opset: int, seed: int, each: int) -> onnx.ModelProto:
    """A model with up to `each` nodes of every operator."""
    nodes = OddNodes(random.Random(seed))
    for schema in schemas(opset):
        for _ in range(each):
            nodes.add(schema)
    return nodes.model(opset)
