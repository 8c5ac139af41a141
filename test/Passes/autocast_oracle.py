"""What autocast should decide for a random program, by the rules alone.

The rules of eager placement, written down a second time in the plainest way: every operation is
looked at again and again until nothing changes. Categories are those of Inputs/policy.yaml.

Constants that flow into a value by control flow count at first; where everything else that meets
there is low all the same, all is done again without them.
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


def overflows(constant: str, low: str) -> bool:
    """Whether the constant is too large for the low format."""
    return LARGEST[low] < abs(CONSTANTS[constant]) < float("inf")


def underflows(constant: str, low: str) -> bool:
    """Whether the constant is too small for the low format."""
    return low == "f16" and abs(CONSTANTS[constant]) < 1e-6


@dataclass(frozen=True)
class Meeting:
    """Values that flow into others by control flow."""

    sources: list[Value]
    targets: list[Value]


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
    # Where constants do not count.
    adopting: list[Meeting] = field(default_factory=list)
    changed: bool = False

    def __post_init__(self) -> None:
        self.operations = walk_program(self.program)
        self.calls: dict[Function, list[Operation]] = {}
        for operation in self.operations:
            if operation.callee:
                self.calls.setdefault(operation.callee, []).append(operation)
            self.find_constants(operation)
        self.meetings = [
            *(meeting for function in self.program for meeting in self.calls_of(function)),
            *(meeting for operation in self.operations for meeting in self.regions_of(operation)),
        ]
        self.solve()
        self.adopting = [meeting for meeting in self.meetings if self.is_held_back(meeting)]
        if self.adopting:
            self.formats.clear()
            self.solve()
        self.adopt_from_users()

    def calls_of(self, function: Function) -> list[Meeting]:
        """What meets in a private function, and in the results of its calls."""
        if not function.is_private:
            return []
        calls = self.calls.get(function, [])
        arguments = [
            Meeting([call.operands[index] for call in calls], [argument])
            for index, argument in enumerate(function.arguments)
        ]
        results = [
            Meeting([value], [call.results[index] for call in calls])
            for index, value in enumerate(function.returned)
        ]
        return arguments + results

    def regions_of(self, operation: Operation) -> list[Meeting]:
        """What meets in the results and the arguments of an operation with regions."""
        found = []
        for index, result in enumerate(operation.results if operation.regions else []):
            sources = [region.yielded[index] for region in operation.regions]
            targets = [result]
            if operation.kind == "loop" and index < len(operation.operands):
                sources.append(operation.operands[index])
                targets.append(operation.regions[0].arguments[index])
            if self.low != "bf16" or operation.admits_bf16:
                found.append(Meeting(sources, targets))
        return found

    def may_adopt(self, value: Value) -> bool:
        """Whether it is a constant that the low format holds."""
        constant = self.constants.get(value)
        return bool(
            constant and not overflows(constant, self.low) and not underflows(constant, self.low)
        )

    def meeting_format(self, meeting: Meeting, with_constants: bool) -> str | None:
        """The join of what meets; None if nothing is known of it."""
        values = [v for v in meeting.sources if with_constants or not self.may_adopt(v)]
        known = {self.formats[value] for value in values if value in self.formats}
        return F32 if F32 in known else self.low if known else None

    def is_held_back(self, meeting: Meeting) -> bool:
        """Whether constants alone keep what meets in float32."""
        formats = [self.meeting_format(meeting, with_constants) for with_constants in (True, False)]
        return formats == [F32, self.low]

    def solve(self) -> None:
        """Lets formats flow until nothing changes."""
        self.changed = True
        while self.changed:
            self.changed = False
            for function in self.program:
                self.visit_function(function)
            for operation in self.operations:
                self.visit(operation)
            for meeting in self.meetings:
                format_ = self.meeting_format(meeting, meeting not in self.adopting)
                for target in meeting.targets:
                    self.join(target, format_)

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
        if self.adopts(operation):
            return False
        moving = [index for operands, _ in type_variables(operation) for index in operands]
        values = [operation.operands[index] for index in moving]
        values = [value for value in values if value in self.constants]
        return any(
            underflows(self.constants[value], self.low)
            or (overflows(self.constants[value], self.low) and not self.clamps(operation, value))
            for value in values
        )

    def clamps(self, operation: Operation, value: Value) -> bool:
        """Whether an operation may read a constant that is out of range, clamped."""
        if operation.kind not in SATURATING or abs(CONSTANTS[self.constants[value]]) < 1e8:
            return False
        # What moves constants becomes low for an only user.
        while not value.constant:
            if self.count_uses(value) != 1:
                return False
            (value,) = next(o.operands for o in self.operations if value in o.results)
        return True

    def count_uses(self, value: Value) -> int:
        """How many operands, yielded and returned values it is."""
        lists = [operation.operands for operation in self.operations]
        lists += [r.yielded for operation in self.operations for r in operation.regions]
        lists += [function.returned for function in self.program]
        return sum(values.count(value) for values in lists)

    def join(self, value: Value, format_: str | None) -> None:
        """Lets a format reach a value."""
        if format_ is None or format_ == self.formats.get(value):
            return
        joined = F32 if value in self.formats else format_
        if joined != self.formats.get(value):
            self.formats[value] = joined
            self.changed = True

    def visit_function(self, function: Function) -> None:
        """What reaches a function's arguments from outside."""
        for argument in function.arguments:
            if not function.is_private:
                self.join(argument, F32 if self.keep_io_types else self.low)
            elif function not in self.calls:
                self.join(argument, F32)

    def visit(self, operation: Operation) -> None:
        """What an operation gives its results, other than what meets in them."""
        if operation.callee:
            for result in operation.results if not operation.callee.is_private else []:
                self.join(result, F32 if self.keep_io_types else self.low)
        elif operation.regions:
            for result in operation.results:
                if self.low == "bf16" and not operation.admits_bf16:
                    self.join(result, F32)
        elif operation.kind in ("const", "opaque"):
            self.join(operation.results[0], F32)
        else:
            self.visit_simple(operation)

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
        for meeting in self.meetings:
            format_ = self.meeting_format(meeting, meeting not in self.adopting)
            for value in meeting.sources:
                uses.setdefault(value, []).append(format_ == self.low)
        for value in self.fixed_values():
            uses.setdefault(value, []).append(False)
        for operation in reversed(self.operations):
            if self.adopts(operation):
                asked = uses.get(operation.results[0], [])
                if asked and all(asked):
                    self.decisions[operation] = [self.low]
                    for user in self.operations:
                        if self.goes_along(user) and user.operands[0] is operation.results[0]:
                            self.decisions[user] = [self.low]
            if operation in self.decisions and not self.goes_along(operation):
                for index, value in enumerate(operation.operands):
                    uses.setdefault(value, []).append(self.is_low(operation, index))

    def goes_along(self, operation: Operation) -> bool:
        """Whether it reads a moved constant, in whatever format others ask for: it is in no_pull."""
        if operation.kind != "argmax":
            return False
        constant = operation.operands[0]
        is_moved = any(self.adopts(o) and o.results[0] is constant for o in self.operations)
        return is_moved and not self.is_blocked(operation)

    def fixed_values(self) -> list[Value]:
        """What is read as it is: by opaque operations, and where it leaves for elsewhere."""
        lists = [function.returned for function in self.program if not function.is_private]
        for operation in self.operations:
            if operation.kind == "opaque" or (operation.callee and not operation.callee.is_private):
                lists.append(operation.operands)
            if self.low == "bf16" and not operation.admits_bf16:
                lists += [region.yielded for region in operation.regions]
        return [value for values in lists for value in values]

    def is_low(self, operation: Operation, operand: int) -> bool:
        """Whether an operation reads an operand in the low format."""
        return any(
            format_ == self.low
            for format_, (operands, _) in zip(
                self.decisions[operation], type_variables(operation), strict=True
            )
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
