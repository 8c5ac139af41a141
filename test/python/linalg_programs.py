"""Runs ONNX nodes that became loops, compiled by MLIR's own pipeline.

Many models become one module of functions and one shared object, since most of the time goes to
starting programs.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from tool import amp_opt, amp_translate

LLVM = Path("/usr/lib/llvm-22/bin")
OPSET = 24

# Loops on tensors to LLVM's dialect; results are arguments of the function's interface for C.
PIPELINE = (
    "builtin.module(inline,symbol-dce,canonicalize,one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map},"
    "buffer-results-to-out-params{modify-public-functions=true},"
    "func.func(llvm-request-c-wrappers,convert-linalg-to-loops),"
    "expand-strided-metadata,convert-scf-to-cf,lower-affine,"
    "func.func(math-extend-to-supported-types),arith-expand{include-bf16=true},"
    "convert-math-to-llvm,convert-math-to-libm,"
    "convert-cf-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-func-to-llvm,reconcile-unrealized-casts)"
)

CLANG_OPTIONS = ("-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC")


@dataclass
class Program:
    """A node with its inputs, some of which are part of the model."""

    op: str
    inputs: list[np.ndarray | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    # Inputs at these positions are constants.
    constants: tuple[int, ...] = ()
    outputs: list[np.dtype] = field(default_factory=list)

    def model(self) -> onnx.ModelProto:
        return make_model([self], [None])

    def arguments(self) -> list[np.ndarray]:
        return [
            value
            for i, value in enumerate(self.inputs)
            if value is not None and i not in self.constants
        ]


def make_model(programs: list[Program], expected: list[list[np.ndarray] | None]) -> onnx.ModelProto:
    """All nodes side by side; inputs and outputs in the order of the programs. What outputs are
    expected to be says their shapes."""
    info, element = helper.make_tensor_value_info, helper.np_dtype_to_tensor_dtype
    nodes, inputs, outputs, constants = [], [], [], []
    for k, program in enumerate(programs):
        names = ["" if value is None else f"x{k}_{i}" for i, value in enumerate(program.inputs)]
        results = [f"y{k}_{i}" for i in range(len(program.outputs))]
        nodes.append(helper.make_node(program.op, names, results, **program.attributes))
        for i, value in enumerate(program.inputs):
            if value is None:
                continue
            if i in program.constants:
                constants.append(onnx.numpy_helper.from_array(value, names[i]))
            else:
                inputs.append(info(names[i], element(value.dtype), value.shape))
        for i, (name, dtype) in enumerate(zip(results, program.outputs, strict=True)):
            values = expected[k]
            shape = None if values is None else values[i].shape
            outputs.append(info(name, element(dtype), shape))
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def to_loops(model: onnx.ModelProto, folder: Path) -> str:
    """The main function of a model as text, without what MLIR does not know."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    text, loops = path.with_suffix(".mlir"), path.with_suffix(".loops.mlir")
    amp_translate().run("--onnx-to-mlir", path, "-o", text).expect_success()
    amp_opt().run(
        *("--onnx-infer-types", "--onnx-to-linalg", "--canonicalize"),
        *("--mlir-print-local-scope", text, "-o", loops),
    ).expect_success()
    lines = loops.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if "func.func @main" in line)
    last = next(i for i, line in enumerate(lines) if i > first and line == "  }")
    body = lines[first : last + 1]
    # Names are ours.
    body[0] = re.sub(r"\{onnx\.[^{}]*\}", "", body[0])
    body[0] = re.sub(r"attributes \{.*\} \{$", "{", body[0])
    return "\n".join(re.sub(r"attrs = +\{amprt[^{}]*\} *", "", line) for line in body)


def _descriptor(array: np.ndarray) -> ctypes.Structure:
    rank = array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        ]

    strides = [stride // array.itemsize for stride in array.strides]
    data = array.ctypes.data
    return Descriptor(
        data, data, 0, (ctypes.c_int64 * rank)(*array.shape), (ctypes.c_int64 * rank)(*strides)
    )


def compile_main(function: str, folder: Path) -> ctypes.CDLL:
    """A shared object of a function on tensors."""
    source, lowered = folder / "all.mlir", folder / "all.llvm.mlir"
    source.write_text(function + "\n")
    ir, library = folder / "all.ll", folder / "all.so"
    commands: list[list[str | Path]] = [
        [LLVM / "mlir-opt", f"--pass-pipeline={PIPELINE}", source, "-o", lowered],
        [LLVM / "mlir-translate", "--mlir-to-llvmir", lowered, "-o", ir],
        [LLVM / "clang", *CLANG_OPTIONS, ir, "-lm", "-o", library],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command[0]}: {done.stderr[-3000:]}"
    return ctypes.CDLL(str(library))


def run_main(library: ctypes.CDLL, arrays: list[np.ndarray]) -> None:
    """Runs the function with its arguments, then memory for its results, all of known sizes."""
    descriptors = [_descriptor(array) for array in arrays]
    library._mlir_ciface_main(*[ctypes.byref(d) for d in descriptors])


BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
assert helper.np_dtype_to_tensor_dtype(BFLOAT16) == TensorProto.BFLOAT16
