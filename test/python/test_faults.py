"""Each kind of fault that users have reported of converters, by models drawn at random."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from fault_models import KINDS, Fault
from hypothesis import HealthCheck, given, settings
from running import checker_problem, relative_error, run_strictly
from tool import is_full, onnx_amp


def weight_bytes(model: onnx.ModelProto) -> int:
    """Of initializers and of constants in nodes."""
    tensors = list(model.graph.initializer)
    tensors += [a.t for node in model.graph.node for a in node.attribute if a.HasField("t")]
    return sum(len(tensor.raw_data) for tensor in tensors)


def check(fault: Fault, dtype: str, placement: str) -> None:
    """The converted model is valid, finite, close, no larger, and final."""
    amp = onnx_amp()
    with tempfile.TemporaryDirectory() as folder:
        source, target, again = (
            Path(folder) / name for name in ("in.onnx", "out.onnx", "again.onnx")
        )
        onnx.save(fault.model, source)
        assert checker_problem(source) is None
        amp.convert(source, target, "--dtype", dtype, "--placement", placement)
        assert checker_problem(target) is None
        amp.convert(target, again, "--dtype", dtype, "--placement", placement)
        assert again.read_bytes() == target.read_bytes()
        converted = onnx.load(target)
    assert weight_bytes(converted) <= weight_bytes(fault.model) + 256
    expected, _ = run_strictly(fault.model, fault.inputs)
    found, _ = run_strictly(converted, fault.inputs)
    for name, value in expected.items():
        same = np.isfinite(value) == np.isfinite(found[name])
        assert np.all(same), f"{name} is not finite where it was"
    assert relative_error(expected, found) <= fault.tolerance[dtype]


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("placement", ["eager", "optimal"])
@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind: str, placement: str, dtype: str, request: pytest.FixtureRequest) -> None:
    @settings(
        max_examples=300 if is_full(request.config) else 12,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(fault=KINDS[kind]())
    def run(fault: Fault) -> None:
        check(fault, dtype, placement)

    run()
