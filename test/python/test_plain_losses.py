"""Losses of steps in the nodes of amp-finish-step, beside those of ONNX Runtime's expansion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from tool import amp_opt, amp_translate

RANDOM = np.random.default_rng(5)


def run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    results: list[np.ndarray] = session.run(None, feeds)
    return results


@pytest.mark.parametrize("shape", [(7, 10), (3, 5, 4), (2, 6, 3, 5)], ids=str)
@pytest.mark.parametrize("ignored", [None, -100, 2])
@pytest.mark.parametrize("labels", [np.int64, np.int32])
def test_same_bits(
    shape: tuple[int, ...], ignored: int | None, labels: type, tmp_path: Path
) -> None:
    attributes: dict[str, Any] = {} if ignored is None else {"ignore_index": ignored}
    x = (RANDOM.standard_normal(shape) * 4).astype(np.float32)
    y: np.ndarray = RANDOM.integers(0, shape[1], (shape[0], *shape[2:])).astype(labels)
    if ignored is not None:
        y[0] = ignored
    dims: list[str | int | None] = ["N", *shape[1:]]
    graph = helper.make_graph(
        [helper.make_node("SoftmaxCrossEntropyLoss", ["x", "y"], ["loss", "logp"], **attributes)],
        "loss",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, dims),
            helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(y.dtype), y.shape),
        ],
        [
            helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("logp", TensorProto.FLOAT, dims),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    source, text, target = (tmp_path / name for name in ("a.onnx", "a.mlir", "b.onnx"))
    onnx.save(model, source)
    amp_translate().run("--onnx-to-mlir", source, "-o", text).expect_success()
    passes = ["--onnx-infer-types", "--amp-finish-step"]
    plain = tmp_path / "b.mlir"
    amp_opt().run(*passes, text, "-o", plain).expect_success()
    amp_translate().run("--mlir-to-onnx", plain, "-o", target).expect_success()
    expanded = onnx.load(target)
    onnx.checker.check_model(expanded, full_check=True)
    assert "SoftmaxCrossEntropyLoss" not in {node.op_type for node in expanded.graph.node}
    for ours, theirs in zip(
        run(expanded, {"x": x, "y": y}), run(model, {"x": x, "y": y}), strict=True
    ):
        assert ours.tobytes() == theirs.tobytes()


def test_nothing_counts(tmp_path: Path) -> None:
    """The mean of no labels is not a number."""
    test_same_bits((1, 4), 3, np.int64, tmp_path)
