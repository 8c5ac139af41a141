"""Random programs of the test dialect `t`: what operators, regions and functions can do to autocast.

A program is built as Python objects, so that `autocast_oracle.py` need not parse anything, and
printed as MLIR text. The same seed gives the same program.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

TENSOR = "tensor<4xf32>"
STACKED = "tensor<?x4xf32>"

# Operators without regions, and how many operands they take.
OPERATORS = {
    "matmul": 2,
    "conv": 2,
    "softmax": 1,
    "add": 2,
    "where": 2,
    "relu": 1,
    "transpose": 1,
    "argmax": 1,
    "cast": 1,
    "opaque": 1,
    "batch_norm": 3,
    "rms_norm": 2,
    "resize": 2,
    "gather": 1,
    "layer_norm": 1,
}

# Constants by their text: harmless, tiny, large, and what stands for infinity.
CONSTANTS = {
    "1.0": 1.0,
    "0.5": 0.5,
    "1.0e-12": 1.0e-12,
    "1.0e+06": 1.0e06,
    "0xFF7FFFFF": -3.4028234663852886e38,
    "0xFF800000": float("-inf"),
}


@dataclass(eq=False)
class Value:
    """A tensor of float32; `constant` is the text of its elements, if it is one."""

    name: str
    constant: str | None = None


@dataclass(eq=False)
class Region:
    """The body of an operation: its arguments, operations, and what it yields."""

    arguments: list[Value]
    operations: list[Operation]
    yielded: list[Value]


@dataclass(eq=False)
class Operation:
    """One operation; `name` is unique in the program."""

    kind: str
    name: str
    operands: list[Value]
    results: list[Value]
    regions: list[Region] = field(default_factory=list)
    callee: Function | None = None
    admits_bf16: bool = True


@dataclass(eq=False)
class Function:
    """A function; its body is filled in after it can be called."""

    name: str
    is_private: bool
    num_results: int
    arguments: list[Value]
    operations: list[Operation] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)


Program = list[Function]


def walk(operations: list[Operation]) -> Iterator[Operation]:
    """All operations, each before those in its regions."""
    for operation in operations:
        yield operation
        for region in operation.regions:
            yield from walk(region.operations)


def walk_program(program: Program) -> list[Operation]:
    """All operations of all functions, in the order of the text."""
    return [operation for function in program for operation in walk(function.operations)]


class Generator:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def number(self) -> int:
        """A number that nothing else in the program has."""
        self.count += 1
        return self.count

    def values(self, count: int) -> list[Value]:
        """New values."""
        return [Value(f"%v{self.number()}") for _ in range(count)]

    def pick(self, values: list[Value], count: int) -> list[Value]:
        """Operands, mostly recent ones."""
        recent = self.random.random() < 0.7
        return [self.random.choice(values[-6:] if recent else values) for _ in range(count)]

    def program(self) -> Program:
        """Some functions, and a public one that may call them all."""
        functions = []
        for index in range(self.random.randint(0, 3)):
            arguments = self.values(self.random.randint(1, 3))
            is_private = self.random.random() < 0.8
            functions.append(
                Function(f"callee{index}", is_private, self.random.randint(1, 3), arguments)
            )
        main = Function("main", False, self.random.randint(1, 3), self.values(2))
        for index, function in enumerate([*functions, main]):
            recursive = function is main or self.random.random() < 0.2
            self.fill(function, functions if recursive else functions[:index])
        return [*functions, main]

    def fill(self, function: Function, callable_functions: list[Function]) -> None:
        """Gives a function its body."""
        size = self.random.randint(1, 14)
        function.operations, values = self.block(function.arguments, 3, size, callable_functions)
        function.returned = self.pick(values[-6:], function.num_results)

    def block(
        self, outer: list[Value], depth: int, size: int, functions: list[Function]
    ) -> tuple[list[Operation], list[Value]]:
        """Operations on `outer` values, and all values that are then known."""
        operations: list[Operation] = []
        values = list(outer)
        for _ in range(size):
            draw = self.random.random()
            if draw < 0.15:
                operation = self.constant()
            elif draw < 0.75 or depth == 0:
                operation = self.simple(values)
            elif draw < 0.85:
                operation = self.branches(values, depth, functions)
            elif draw < 0.95:
                operation = self.loop(values, depth, functions)
            elif functions:
                operation = self.call(values, functions)
            else:
                continue
            operations.append(operation)
            # The stacked results of loops have another shape.
            known = operation.results
            values += known[: len(operation.operands)] if operation.kind == "loop" else known
        return operations, values

    def constant(self) -> Operation:
        value = Value(f"%v{self.number()}", self.random.choice(list(CONSTANTS)))
        return Operation("const", f"n{self.number()}", [], [value])

    def simple(self, values: list[Value]) -> Operation:
        kind = self.random.choice(list(OPERATORS))
        results = self.values(2 if kind == "layer_norm" else 1)
        operands = self.pick(values, OPERATORS[kind])
        return Operation(kind, f"n{self.number()}", operands, results)

    def region(
        self, arguments: list[Value], values: list[Value], depth: int, count: int,
        functions: list[Function],
    ) -> Region:  # fmt: skip
        size = self.random.randint(0, 5)
        operations, known = self.block([*values, *arguments], depth - 1, size, functions)
        return Region(arguments, operations, self.pick(known[-5:], count))

    def branches(self, values: list[Value], depth: int, functions: list[Function]) -> Operation:
        count = self.random.randint(1, 3)
        regions = [self.region([], values, depth, count, functions) for _ in range(2)]
        operation = Operation("if", f"n{self.number()}", [], self.values(count), regions)
        operation.admits_bf16 = self.random.random() < 0.8
        return operation

    def loop(self, values: list[Value], depth: int, functions: list[Function]) -> Operation:
        carried = self.random.randint(0, 3)
        count = carried + self.random.randint(0 if carried else 1, 2)
        operands = self.pick(values, carried)
        region = self.region(self.values(carried), values, depth, count, functions)
        return Operation("loop", f"n{self.number()}", operands, self.values(count), [region])

    def call(self, values: list[Value], functions: list[Function]) -> Operation:
        callee = self.random.choice(functions)
        operands = self.pick(values, len(callee.arguments))
        results = self.values(callee.num_results)
        return Operation("call", f"n{self.number()}", operands, results, callee=callee)


def generate(seed: int) -> Program:
    """The program of this seed."""
    return Generator(seed).program()


def names(values: list[Value]) -> str:
    """The values as a list of operands."""
    return ", ".join(value.name for value in values)


def tensors(count: int) -> str:
    """As many types."""
    return ", ".join([TENSOR] * count)


def declared(values: list[Value]) -> str:
    """The values as arguments."""
    return ", ".join(f"{value.name}: {TENSOR}" for value in values)


def print_region(region: Region) -> list[str]:
    """The operations of a region, and its terminator."""
    lines = print_operations(region.operations)
    types = tensors(len(region.yielded))
    return [*lines, f"t.yield {names(region.yielded)} : {types}"]


def print_loop(operation: Operation) -> list[str]:
    """A loop; what its body yields beyond the carried values is stacked."""
    carried = len(operation.operands)
    stacked = len(operation.results) - carried
    operands = ", ".join(["%n", *(value.name for value in operation.operands)])
    operand_types = ", ".join(["tensor<i64>", *[TENSOR] * carried])
    result_types = ", ".join([TENSOR] * carried + [STACKED] * stacked)
    (region,) = operation.regions
    iteration = f"%i_{operation.name}: tensor<i64>"
    arguments = ", ".join([iteration, *(f"{v.name}: {TENSOR}" for v in region.arguments)])
    return [
        f'{names(operation.results)} = t.loop {operands} {{tag = "{operation.name}"}} : '
        f"({operand_types}) -> ({result_types}) {{",
        f"^bb0({arguments}):",
        *print_region(region),
        "}",
    ]


def print_operation(operation: Operation) -> list[str]:
    """The lines of one operation."""
    results = names(operation.results)
    operands = names(operation.operands)
    types = f"({tensors(len(operation.operands))}) -> ({tensors(len(operation.results))})"
    name = f'{{node_name = "{operation.name}"}}'
    if operation.kind == "const":
        return [f"{results} = t.const dense<{operation.results[0].constant}> : {TENSOR} {name}"]
    if operation.kind == "opaque":
        return [f"{results} = t.opaque {operands} : {types}"]
    if operation.kind == "gather":
        return [
            f"{results} = t.gather {operands}, %i {name} : ({TENSOR}, tensor<4xi64>) -> {TENSOR}"
        ]
    if operation.kind == "if":
        attributes = f'tag = "{operation.name}"' + ("" if operation.admits_bf16 else ", no_bf16")
        first, second = operation.regions
        result_types = tensors(len(operation.results))
        return [
            f"{results} = t.if %c {{{attributes}}} : (tensor<i1>) -> ({result_types}) {{",
            *print_region(first),
            "} else {",
            *print_region(second),
            "}",
        ]
    if operation.kind == "loop":
        return print_loop(operation)
    if operation.callee:
        return [
            f"{results} = func.call @{operation.callee.name}(%c, %n, %i, {operands}) : "
            f"(tensor<i1>, tensor<i64>, tensor<4xi64>, {types[1:]}"
        ]
    return [f"{results} = t.{operation.kind} {operands} {name} : {types}"]


def print_operations(operations: list[Operation]) -> list[str]:
    """The lines of a list of operations."""
    return [line for operation in operations for line in print_operation(operation)]


def print_program(program: Program) -> str:
    """The program as MLIR text."""
    lines = []
    for function in program:
        visibility = "private " if function.is_private else ""
        lines += [
            f"func.func {visibility}@{function.name}(%c: tensor<i1>, %n: tensor<i64>, "
            f"%i: tensor<4xi64>, {declared(function.arguments)}) "
            f"-> ({tensors(function.num_results)}) {{",
            *print_operations(function.operations),
            f"return {names(function.returned)} : {tensors(function.num_results)}",
            "}",
        ]
    return "\n".join(lines) + "\n"
