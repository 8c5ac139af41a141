"""What autocast should decide for a random program, by the rules alone.

The rules of eager placement, written down a second time in the plainest way: every operation is
looked at again and again until nothing changes. Categories are those of Inputs/policy.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from random_program import CONSTANTS, Function, Operation, Program, Value, walk_program

F32 = "f32"

CATEGORIES = {
    "matmul": "allow",
    "conv": "allow",
    "softmax": "deny",
    "layer_norm": "deny",
    "add": "promote",
    "where": "promote",
    "relu": "follow",
    "batch_norm": "follow",
    "rms_norm": "follow",
    "resize": "follow",
    "transpose": "clear",
    "gather": "clear",
    "argmax": "clear",
    "cast": "keep",
}
# In no_pull: what reads constants alone stays float32.
ADOPTING = {"transpose", "gather"}
# Reads out of range constants all the same, if they stand for infinity.
SATURATING = {"where"}
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38}


def type_variables(operation: Operation) -> list[tuple[list[int], list[int]]]:
    """The operands and results of each type variable that operands belong to."""
    special: dict[str, list[tuple[list[int], list[int]]]] = {
        "batch_norm": [([0], [0]), ([1], []), ([2], [])],
        "rms_norm": [([0], []), ([1], [0])],
        "resize": [([0], [0])],
        "layer_norm": [([0], [0])],
        "cast": [([0], [])],
    }
    everything = (list(range(len(operation.operands))), list(range(len(operation.results))))
    return special.get(operation.kind, [everything])


def overflows(constant: str, operation: Operation, low: str) -> bool:
    """Whether the constant is too large for the operation in the low format."""
    magnitude = abs(CONSTANTS[constant])
    if magnitude == float("inf") or magnitude <= LARGEST[low]:
        return False
    return operation.kind not in SATURATING or magnitude < 1e8


def underflows(constant: str, low: str) -> bool:
    """Whether the constant is too small for the low format."""
    return low == "f16" and abs(CONSTANTS[constant]) < 1e-6


@dataclass
class Oracle:
    """Formats, and what is decided from them: the low format's name, "f32", or not known yet."""

    program: Program
    low: str
    keep_io_types: bool
    formats: dict[Value, str] = field(default_factory=dict)
    # Values that are constants, or moved constants, and the text of what they hold.
    constants: dict[Value, str] = field(default_factory=dict)
    decisions: dict[Operation, list[str]] = field(default_factory=dict)
    changed: bool = False

    def __post_init__(self) -> None:
        self.operations = walk_program(self.program)
        self.calls: dict[Function, list[Operation]] = {}
        for operation in self.operations:
            if operation.callee:
                self.calls.setdefault(operation.callee, []).append(operation)
            self.find_constants(operation)
        self.changed = True
        while self.changed:
            self.changed = False
            for function in self.program:
                self.visit_function(function)
            for operation in self.operations:
                self.visit(operation)
        self.adopt_from_users()

    def find_constants(self, operation: Operation) -> None:
        """Notes what is constant, operands first."""
        if operation.kind == "const":
            assert operation.results[0].constant
            self.constants[operation.results[0]] = operation.results[0].constant
        elif self.adopts(operation):
            self.constants[operation.results[0]] = self.constants[operation.operands[0]]

    def adopts(self, operation: Operation) -> bool:
        """Whether the operation moves constants alone."""
        constants = self.constants
        return operation.kind in ADOPTING and all(v in constants for v in operation.operands)

    def is_blocked(self, operation: Operation) -> bool:
        """Whether something keeps the operation from the low format."""
        if operation.kind == "conv" and self.low == "bf16":
            return True
        moving = [index for operands, _ in type_variables(operation) for index in operands]
        values = [operation.operands[index] for index in moving]
        constants = [self.constants[value] for value in values if value in self.constants]
        if any(overflows(constant, operation, self.low) for constant in constants):
            return True
        return any(underflows(constant, self.low) for constant in constants)

    def join(self, value: Value, format_: str | None) -> None:
        """Lets a format reach a value."""
        if format_ is None or format_ == self.formats.get(value):
            return
        joined = F32 if value in self.formats else format_
        if joined != self.formats.get(value):
            self.formats[value] = joined
            self.changed = True

    def visit_function(self, function: Function) -> None:
        """What reaches a function's arguments."""
        calls = self.calls.get(function, [])
        for index, argument in enumerate(function.arguments):
            if not function.is_private:
                self.join(argument, F32 if self.keep_io_types else self.low)
            elif not calls:
                self.join(argument, F32)
            for call in calls if function.is_private else []:
                self.join(argument, self.formats.get(call.operands[index]))

    def visit(self, operation: Operation) -> None:
        """What reaches an operation's results and its regions' arguments."""
        if operation.callee:
            self.visit_call(operation, operation.callee)
        elif operation.kind == "if":
            for index, result in enumerate(operation.results):
                if self.low == "bf16" and not operation.admits_bf16:
                    self.join(result, F32)
                    continue
                for region in operation.regions:
                    self.join(result, self.formats.get(region.yielded[index]))
        elif operation.kind == "loop":
            self.visit_loop(operation)
        elif operation.kind in ("const", "opaque"):
            self.join(operation.results[0], F32)
        else:
            self.visit_simple(operation)

    def visit_call(self, operation: Operation, callee: Function) -> None:
        for index, result in enumerate(operation.results):
            if callee.is_private:
                self.join(result, self.formats.get(callee.returned[index]))
            else:
                self.join(result, F32 if self.keep_io_types else self.low)

    def visit_loop(self, operation: Operation) -> None:
        (region,) = operation.regions
        for index, result in enumerate(operation.results):
            sources = [region.yielded[index]]
            targets = [result]
            if index < len(operation.operands):
                sources.append(operation.operands[index])
                targets.append(region.arguments[index])
            for source in sources:
                for target in targets:
                    self.join(target, self.formats.get(source))

    def visit_simple(self, operation: Operation) -> None:
        blocked = self.is_blocked(operation)
        category = CATEGORIES[operation.kind]
        chosen: list[str | None] = []
        for operands, results in type_variables(operation):
            values = [operation.operands[index] for index in operands]
            data = [value for value in values if value not in self.constants]
            known = {self.formats[value] for value in data if value in self.formats}
            format_: str | None
            if category == "allow":
                format_ = self.low
            elif category in ("deny", "keep"):
                format_ = F32
            elif not data:
                format_ = chosen[0] if chosen and results else F32
            else:
                format_ = F32 if F32 in known else self.low if known else None
            if format_ == self.low and blocked:
                format_ = F32
            chosen.append(format_)
            for index in results:
                self.join(operation.results[index], F32 if category == "keep" else format_)
        # What an attribute, or nothing, says of a result.
        for result in operation.results:
            if operation.kind in ("cast", "layer_norm"):
                self.join(result, F32)
        self.decisions[operation] = [format_ or F32 for format_ in chosen]

    def adopt_from_users(self) -> None:
        """Gives operations on constants alone what their users ask for, users first."""
        uses: dict[Value, list[bool]] = {}
        for function in self.program:
            for value in function.returned:
                uses.setdefault(value, []).append(False)
        for operation in reversed(self.operations):
            for region in operation.regions:
                for value in region.yielded:
                    uses.setdefault(value, []).append(False)
        for operation in reversed(self.operations):
            if self.adopts(operation) and not self.is_blocked(operation):
                asked = uses.get(operation.results[0], [])
                if asked and all(asked):
                    self.decisions[operation] = [self.low]
            for index, value in enumerate(operation.operands):
                uses.setdefault(value, []).append(self.is_low(operation, index))

    def is_low(self, operation: Operation, operand: int) -> bool:
        """Whether an operation reads an operand in the low format."""
        decided = self.decisions.get(operation, [])
        return any(
            format_ == self.low
            for format_, (operands, _) in zip(decided, type_variables(operation), strict=False)
            if operand in operands
        )

    def types(self, values: list[Value]) -> list[str]:
        """New element types of values, as annotations spell them."""
        return [self.low if self.formats.get(value) == self.low else "unit" for value in values]

    def expected_precision(self, operation: Operation) -> list[str]:
        """Annotation of an operation: its type variables, or its results if it has regions."""
        if operation.regions:
            return self.types(operation.results)
        return [self.low if x == self.low else "unit" for x in self.decisions[operation]]

    def expected_result_types(self, function: Function) -> list[str]:
        """Annotation of a function's results."""
        if function.is_private:
            return self.types(function.returned)
        return ["unit" if self.keep_io_types else self.low] * function.num_results
