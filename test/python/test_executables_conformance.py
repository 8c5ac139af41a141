"""ONNX's own node tests, compiled and run: what the compiler and the runtime make of them together.

Tolerances are those of ONNX's backend runner; where data only moves, equal bits.
"""

from __future__ import annotations

import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from executables import BFLOAT16, ExecutableError, compile_model, run_executable
from test_kernels_conformance import MOVES_DATA, as_array, check_equal, is_random

# Neither has amp-run's files: NumPy has no names for them.
NUMPY_KINDS = "fiubc"

# What executables don't have: operators by domain and name, with the reason.
UNSUPPORTED = {
    ("", "ImageDecoder"): "formats of images are for libraries of their own",
    ("ai.onnx.ml", None): "classical machine learning is not what is trained here",
}
# Scan of opset 8 scans each sequence of a batch by itself.
UNSUPPORTED_TESTS = {"test_scan_sum"}
# Definitions of a few nodes in 16-bit floats: each node rounds, and NumPy's
# products of matrices round more than once.
SEVERAL_ROUNDINGS = {
    "test_attention_4d_causal_bf16_expanded",
    "test_attention_4d_causal_fp16_expanded",
}


def is_supported(test: Any) -> bool:
    """Whether executables have the operators and the types of a test."""
    graph = test.model.graph
    has_tensors = all(
        value.type.WhichOneof("value") == "tensor_type" for value in [*graph.input, *graph.output]
    )
    return (
        has_tensors
        and test.name not in UNSUPPORTED_TESTS
        and not any(
            (node.domain, name) in UNSUPPORTED
            for node in graph.node
            for name in (node.op_type, None)
        )
    )


def node_tests() -> list[Any]:
    """All of ONNX's node tests whose inputs and outputs are arrays that NumPy knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        tests = load_model_tests(kind="node")
    return [
        test
        for test in tests
        if test.model
        and is_supported(test)
        and all(
            isinstance(array, np.ndarray)
            and (array.dtype == BFLOAT16 or array.dtype.isbuiltin == 1)
            and array.dtype.kind in NUMPY_KINDS + "bV"
            for arrays, expected in test.data_sets or []
            for array in [as_array(x) for x in [*arrays, *expected]]
        )
    ]


def run(test: Any, folder: Path) -> str:
    """Why a test fails; empty if it passes."""
    folder.mkdir()
    graph = test.model.graph
    operator = graph.node[0].op_type if graph.node else ""
    try:
        path = compile_model(test.model, folder / "model.ampx")
        for arrays, expected in test.data_sets:
            names = [value.name for value in graph.input]
            inputs = dict(zip(names, [as_array(x) for x in arrays], strict=False))
            got = run_executable(path, inputs)
            for value, want in zip(graph.output, expected, strict=True):
                wanted = np.asarray(as_array(want))
                array = got[value.name]
                if wanted.dtype == BFLOAT16:
                    array = array.view(BFLOAT16)
                if is_random(test):
                    assert array.shape == wanted.shape
                else:
                    exact = operator in MOVES_DATA and len(graph.node) == 1
                    if test.name in SEVERAL_ROUNDINGS:
                        kind = ml_dtypes.finfo(wanted.dtype)
                        np.testing.assert_allclose(
                            array.astype(float), wanted.astype(float), rtol=4 * float(kind.eps)
                        )
                    else:
                        check_equal(wanted, array, test, exact)
    except ExecutableError as error:
        return f"{test.name}: {error}"
    except Exception as error:
        return f"{test.name}: {type(error).__name__} {str(error)[:300]}"
    return ""


def test_node_tests(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Runs them all and says what failed."""
    tests = node_tests()
    with ThreadPoolExecutor(2) as pool:
        reasons = list(pool.map(lambda test: run(test, tmp_path / test.name), tests))
    failures = [reason for reason in reasons if reason]
    operators = Counter(
        test.model.graph.node[0].op_type
        for test, reason in zip(tests, reasons, strict=True)
        if not reason and len(test.model.graph.node) == 1
    )
    with capsys.disabled():
        print(f"\n{len(tests) - len(failures)} node tests pass, {len(failures)} fail")
        print(f"single nodes of {len(operators)} operators")
        for failure in failures:
            print("FAIL", failure)
    assert not failures
