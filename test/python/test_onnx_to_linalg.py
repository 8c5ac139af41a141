"""Every operator of onnx-to-linalg computes what ONNX's reference evaluator does.

16-bit floats are compared with the reference in float32, rounded once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from linalg_programs import BFLOAT16, OPSET, Program, compile_main, make_model, run_main, to_loops
from onnx.reference import ReferenceEvaluator
from tool import SOURCE_DIR

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
I8, I32, I64 = np.dtype(np.int8), np.dtype(np.int32), np.dtype(np.int64)
U8, U32, BOOL = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.bool_)
SOURCES = SOURCE_DIR / "passes" / "Executable" / "ONNXToLinalg"

random = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(F32)


def between(low: float, high: float, *shape: int) -> np.ndarray:
    return random.uniform(low, high, shape).astype(F32)


def integers(low: int, high: int, *shape: int, dtype: np.dtype = I32) -> np.ndarray:
    return random.integers(low, high, shape).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    return random.integers(0, 2, shape).astype(BOOL)


def axes(*values: int) -> np.ndarray:
    return np.array(values, I64)


def admits(op: str, dtype: np.dtype) -> bool:
    """Whether an operator's first input may be of a type."""
    schema = onnx.defs.get_schema(op, OPSET)
    number = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    name = onnx.TensorProto.DataType.Name(number).lower()
    return f"tensor({name})" in schema.inputs[0].types


def program(op: str, *inputs: Any, **attributes: Any) -> Program:
    constants = attributes.pop("constants", ())
    outputs = attributes.pop("outputs", [inputs[0].dtype])
    return Program(op, list(inputs), attributes, constants, outputs)


X = np.concatenate([normal(2, 3, 5).ravel() * 3, [0.0, -0.0]]).astype(F32).reshape(4, 8)
ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -2.5], F32)

UNARY = {
    "Abs": [X, ODD, integers(-9, 9, 6), integers(0, 9, 4, dtype=U8)],
    "Acos": [between(-1, 1, 9)],
    "Acosh": [between(1, 9, 9)],
    "Asin": [between(-1, 1, 9)],
    "Asinh": [X],
    "Atan": [X],
    "Atanh": [between(-0.9, 0.9, 9)],
    "BitwiseNot": [integers(-9, 9, 6), integers(0, 200, 4, dtype=U8)],
    "Ceil": [X, ODD],
    "Celu": [X],
    "Cos": [X],
    "Cosh": [X],
    "Elu": [X],
    "Erf": [X],
    "Exp": [X],
    "Floor": [X, ODD],
    "Gelu": [X],
    "HardSigmoid": [X],
    "HardSwish": [X],
    "Identity": [],
    "IsInf": [],
    "IsNaN": [],
    "LeakyRelu": [X],
    "Log": [between(0.1, 9, 9)],
    "Mish": [X],
    "Neg": [X, integers(-9, 9, 6)],
    "Not": [bools(7)],
    "Reciprocal": [X[:3]],
    "Relu": [X, ODD, integers(-9, 9, 6)],
    "Round": [np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.7, -3.2], F32)],
    "Selu": [X],
    "Shrink": [X],
    "Sigmoid": [X],
    "Sign": [X, integers(-9, 9, 6), integers(0, 3, 4, dtype=U8)],
    "Sin": [X],
    "Sinh": [X],
    "Softplus": [X, np.array([100.0, -100.0], F32)],
    "Softsign": [X],
    "Sqrt": [between(0, 9, 9)],
    "Swish": [X],
    "Tan": [between(-1, 1, 9)],
    "Tanh": [X],
    "ThresholdedRelu": [X],
}
# Of these, float64 is the library's.
NARROW = {"Acos", "Asin", "Cos", "Erf", "Gelu", "Sin", "Tan"}

BROADCASTS = [((4, 3), (4, 3)), ((4, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (5,)), ((1, 3), (2, 1))]
BINARY = ["Add", "Div", "Mul", "Sub"]
COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]


def elementwise_programs() -> list[Program]:
    programs = []
    for op, inputs in UNARY.items():
        programs += [program(op, x) for x in inputs]
        if inputs and inputs[0].dtype == F32:
            programs += [
                program(op, inputs[0].astype(low)) for low in (F16, BFLOAT16) if admits(op, low)
            ]
        if inputs and inputs[0].dtype == F32 and op not in NARROW and admits(op, F64):
            programs.append(program(op, inputs[0].astype(F64)))
    for op in BINARY:
        programs += [program(op, normal(*a) + 0.1, normal(*b) + 0.1) for a, b in BROADCASTS]
        for dtype in (I8, I32, I64, U8, U32):
            programs.append(
                program(op, integers(1, 60, 4, dtype=dtype), integers(1, 9, 4, dtype=dtype))
            )
        for low in (F16, BFLOAT16, F64):
            programs.append(program(op, normal(3, 5).astype(low), normal(5).astype(low)))
    programs.append(program("Div", integers(-60, 60, 8), np.array([3, -3, 7, -7] * 2, I32)))
    for op in COMPARISONS:
        x = integers(-2, 2, 30)
        y = integers(-2, 2, 30)
        programs += [
            program(op, x.astype(dtype), y.astype(dtype), outputs=[BOOL])
            for dtype in (F16, BFLOAT16, F32, F64, I8, I32, I64)
        ]
        programs.append(program(op, ODD, ODD[::-1].copy(), outputs=[BOOL]))
        programs.append(program(op, (x & 3).astype(U8), (y & 3).astype(U8), outputs=[BOOL]))
    programs += [program(op, bools(4, 3), bools(3)) for op in ("And", "Or", "Xor")]
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        programs.append(program(op, integers(-90, 90, 8), integers(-90, 90, 8)))
        programs.append(program(op, integers(0, 200, 8, dtype=U8), integers(0, 200, 8, dtype=U8)))
    for direction in ("LEFT", "RIGHT"):
        x, bits = integers(0, 200, 8, dtype=U8), integers(0, 7, 8, dtype=U8)
        programs.append(program("BitShift", x, bits, direction=direction))
    for op in ("Max", "Mean", "Min", "Sum"):
        programs.append(program(op, normal(2, 3), normal(3), normal(2, 1)))
        programs.append(program(op, normal(4).astype(F16), normal(4).astype(F16)))
        programs.append(program(op, normal(4)))
    programs += [program(op, integers(-9, 9, 9), integers(-9, 9, 9)) for op in ("Max", "Min")]
    programs += [
        program(op, integers(0, 250, 9, dtype=U8), integers(0, 250, 9, dtype=U8))
        for op in ("Max", "Min")
    ]
    signed = np.array([5, -5, 7, -7, 0, 6], I32), np.array([3, 3, -3, -3, 5, -6], I32)
    programs += [program("Mod", *signed), program("Mod", *signed, fmod=1)]
    programs.append(program("Mod", integers(0, 250, 9, dtype=U8), integers(1, 9, 9, dtype=U8)))
    programs.append(program("Pow", between(0.1, 3, 9), normal(9)))
    programs.append(program("Pow", between(0.1, 3, 9), integers(-2, 4, 9)))
    programs.append(program("Pow", between(0.1, 3, 9).astype(F16), normal(9).astype(F16)))
    for exponent in (-1.0, 0.5, 1.0, 2.0, 3.0, 0.3):
        constant = np.array(exponent, F32)
        programs.append(program("Pow", between(0.1, 3, 9), constant, constants=(1,)))
    programs.append(program("Pow", integers(-9, 9, 5), np.array(2, I32), constants=(1,)))
    programs += [
        program("Where", bools(4, 1), x.astype(dtype), y.astype(dtype))
        for dtype in (F16, BFLOAT16, F32, F64, I8, I64, U8)
        for x, y in [(integers(0, 9, 3), integers(0, 9, 4, 3))]
    ]
    programs.append(program("Where", bools(6), bools(6), bools(6), outputs=[BOOL]))
    for program_ in programs:
        if program_.op == "Where":
            program_.outputs = [program_.inputs[1].dtype]
    low, high = np.array(-1.0, F32), np.array(1.0, F32)
    programs += [
        program("Clip", X, low, high),
        program("Clip", ODD, low, high, constants=(1, 2)),
        program("Clip", X, None, high),
        program("Clip", X, low),
        program("Clip", X.astype(F16), low.astype(F16), high.astype(F16)),
        program("Clip", integers(-9, 9, 9), np.array(-2, I32), np.array(3, I32)),
        program("PRelu", X, between(0, 1, 8)),
        program("PRelu", X.astype(BFLOAT16), between(0, 1, 8).astype(BFLOAT16)),
        program("Gelu", X, approximate="tanh"),
        program("Elu", X, alpha=0.3),
        program("Celu", X, alpha=2.0),
        program("LeakyRelu", X, alpha=0.3),
        program("Swish", X, alpha=1.7),
        program("Shrink", X, lambd=1.0, bias=0.5),
        program("IsNaN", ODD, outputs=[BOOL]),
        program("IsInf", ODD, outputs=[BOOL]),
        program("IsInf", ODD, outputs=[BOOL], detect_negative=0),
        program("IsInf", ODD, outputs=[BOOL], detect_positive=0),
    ]
    for source, targets in {
        F32: [F16, BFLOAT16, F64, BOOL],
        F16: [F32, BFLOAT16, F64, BOOL],
        BFLOAT16: [F32, F16, BOOL],
        F64: [F32, BOOL],
        I32: [F32, F64, F16, I64, I8, U8, BOOL],
        I64: [F32, I32, I8, BOOL],
        I8: [F32, F16, I32, U8],  # to bfloat16 takes a newer libgcc than Debian's
        U8: [F32, F16, I32, I8],
        BOOL: [F32, F16, I64, U8],
    }.items():
        x = np.array([0, 1, 2, -3, 100, -77], F64)
        x = x > 0 if source == BOOL else np.abs(x) if source == U8 else x
        if np.issubdtype(source, np.floating):
            x = np.append(x, [0.1, 1 / 3, 70000.0, 1e-7, 3.14159])
        number = onnx.helper.np_dtype_to_tensor_dtype
        with np.errstate(over="ignore"):
            x = x.astype(source)
        programs += [program("Cast", x, to=number(target), outputs=[target]) for target in targets]
    return programs


def reduction_programs() -> list[Program]:
    programs = []
    x = between(0.2, 2, 3, 4, 5)
    for op in (
        *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
        *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
    ):
        for over in ([2], [0], [1], [0, 2], [-1, -2], [0, 1, 2], []):
            for keepdims in (0, 1):
                programs.append(program(op, x, axes(*over), keepdims=keepdims, constants=(1,)))
        programs.append(program(op, x))
        programs.append(program(op, x, axes(), noop_with_empty_axes=1, constants=(1,)))
        programs += [
            program(op, x.astype(low), axes(1), constants=(1,), keepdims=0)
            for low in (F16, BFLOAT16)
        ]
        programs.append(program(op, x.astype(F64), axes(-1), constants=(1,)))
        if op not in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean"):
            programs.append(program(op, integers(-3, 4, 3, 4), axes(1), constants=(1,)))
    infinite = np.array([[-np.inf, 2.0], [np.inf, 1.0], [0.0, 1.0]], F32)
    programs.append(program("ReduceLogSumExp", infinite, axes(1), constants=(1,)))
    for op in ("ReduceMax", "ReduceMin"):
        for data in (bools(3, 4), integers(0, 250, 3, 4, dtype=U8)):
            programs.append(program(op, data, axes(1), constants=(1,)))
    return programs


def normalization_programs() -> list[Program]:
    programs = []
    x = normal(2, 3, 4)
    for op in ("Softmax", "LogSoftmax"):
        programs += [program(op, x, axis=axis) for axis in (-1, 0, 1)]
        programs.append(program(op, x * 10))
        programs += [program(op, x.astype(other)) for other in (F16, BFLOAT16, F64)]
    scale, bias = normal(4), normal(4)
    programs += [
        program("LayerNormalization", x, scale, bias, outputs=[F32] * 3),
        program("LayerNormalization", x, scale),
        program("LayerNormalization", x + 1000, scale, bias),
        program("LayerNormalization", x, normal(3, 4), normal(3, 4), axis=1, outputs=[F32] * 3),
        program("RMSNormalization", x, scale),
        program("RMSNormalization", x, normal(3, 4), axis=1, epsilon=0.1),
    ]
    for low in (F16, BFLOAT16):
        programs += [
            program("LayerNormalization", x.astype(low), scale.astype(low), bias.astype(low)),
            program("RMSNormalization", x.astype(low), scale.astype(low)),
        ]
    image, six = normal(2, 6, 3, 5), [normal(6), normal(6)]
    batch = [image, *six, normal(6), between(0.1, 2, 6)]
    programs += [
        program("InstanceNormalization", image, *six),
        program("GroupNormalization", image, *six, num_groups=2),
        program("GroupNormalization", image, *six, num_groups=6),
        program("BatchNormalization", *batch),
        program("BatchNormalization", *batch, training_mode=1, momentum=0.8, outputs=[F32] * 3),
        program("BatchNormalization", normal(5, 6), *six, normal(6), between(0.1, 2, 6)),
    ]
    return programs


def other_programs() -> list[Program]:
    programs = []
    scores, labels = normal(4, 5), integers(0, 5, 4, dtype=I64)
    ignored = np.array([0, 4, -1, 2], I64)
    cross_entropy = "SoftmaxCrossEntropyLoss"
    for reduction in ("mean", "sum", "none"):
        for weights in (None, between(0.1, 2, 5)):
            inputs = [scores, labels] + ([] if weights is None else [weights])
            programs.append(program(cross_entropy, *inputs, reduction=reduction, outputs=[F32] * 2))
            programs.append(
                program(
                    cross_entropy,
                    scores,
                    ignored,
                    *inputs[2:],
                    reduction=reduction,
                    ignore_index=-1,
                )
            )
    programs.append(
        program("SoftmaxCrossEntropyLoss", normal(2, 5, 3), integers(0, 5, 2, 3, dtype=I64))
    )
    at, updates = integers(0, 5, 4, 1, dtype=I64), normal(4, 1)
    programs += [
        program("ScatterElements", scores, at, updates, axis=1, reduction="add"),
        program("ScatterElements", scores, at - 5, updates, axis=1),
        program("ScatterElements", normal(5, 3), axes(4, 0, 1).reshape(1, 3), normal(1, 3)),
        program("Trilu", normal(2, 4, 5)),
        program("Trilu", normal(4, 4), np.array(-1, I64), constants=(1,), upper=0),
        program("Trilu", integers(1, 9, 3, 4, dtype=I64), np.array(1, I64), constants=(1,)),
    ]
    return programs


PROGRAMS = {
    "elementwise": elementwise_programs(),
    "reduction": reduction_programs(),
    "normalization": normalization_programs(),
    "other": other_programs(),
}


def reference(case: Program) -> list[np.ndarray]:
    """What ONNX's evaluator computes, of wide types; rounded once."""
    is_low = any(value is not None and value.dtype in (F16, BFLOAT16) for value in case.inputs)
    wide = Program(**vars(case))
    if is_low:
        wide.inputs = [
            value.astype(F32) if value is not None and value.dtype in (F16, BFLOAT16) else value
            for value in case.inputs
        ]
        wide.outputs = [F32 if dtype in (F16, BFLOAT16) else dtype for dtype in case.outputs]
        if case.op == "Cast" and case.outputs[0] in (F16, BFLOAT16):
            return [wide.inputs[0].astype(case.outputs[0])]
    feeds = dict(
        (f"x0_{i}", value)
        for i, value in enumerate(wide.inputs)
        if value is not None and i not in case.constants
    )
    with np.errstate(all="ignore"):
        results = ReferenceEvaluator(wide.model()).run(None, feeds)
        return [
            np.asarray(result).astype(dtype)
            for result, dtype in zip(results, case.outputs, strict=True)
        ]


def tolerance(dtype: np.dtype) -> float:
    """A few units in the last place."""
    return {F16: 2e-3, BFLOAT16: 1.6e-2, F32: 3e-6, F64: 1e-13}.get(dtype, 0.0)


@pytest.mark.parametrize("family", PROGRAMS)
def test_bodies(family: str, tmp_path: Path) -> None:
    cases = PROGRAMS[family]
    expected = [reference(case) for case in cases]
    text = to_loops(make_model(cases, expected), tmp_path)
    left = re.findall(r'"onnx\.(?!Constant|Initializer).*', text)
    assert not left, "nodes that are not lowered:\n" + "\n".join(left)
    library = compile_main(text, tmp_path)
    results = [[np.zeros(value.shape, value.dtype) for value in values] for values in expected]
    arguments = [np.asarray(x, order="C") for case in cases for x in case.arguments()]
    run_main(library, arguments + [result for values in results for result in values])
    wrong = []
    for case, made, values in zip(cases, results, expected, strict=True):
        for result, value in zip(made, values, strict=True):
            limit = tolerance(value.dtype)
            x, y = result.astype(F64), value.astype(F64)
            if not np.allclose(x, y, rtol=limit, atol=limit, equal_nan=True):
                types = [None if x is None else str(x.dtype) for x in case.inputs]
                wrong.append(f"{case.op} {case.attributes} of {types}:\n{result}\n{value}")
    assert not wrong, "\n".join(wrong)


def test_every_rule_is_run() -> None:
    rules: set[str] = set()
    for path in SOURCES.glob("*.cpp"):
        if path.name == "DimensionRules.cpp":  # what they say of other nodes' dimensions
            continue
        rules |= set(re.findall(r'^    \{"(\w+)",', path.read_text(), re.MULTILINE))
    assert len(rules) > 80
    run = {case.op for cases in PROGRAMS.values() for case in cases}
    # These leave no loops.
    assert rules - run == {"Dropout", "Identity"}
