"""Products with what is around them give what the nodes alone give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from executables import compile_model, run_executable
from product_graphs import FLOAT, FLOAT16, ProductGraph, random_graph

SEEDS = range(6)


def run(
    graph: ProductGraph, element: int, path: Path, *options: str, observed: bool = False
) -> dict[str, np.ndarray]:
    """What the executable gives for the graph's outputs."""
    compile_model(graph.model(element, observed), path, options)
    results = run_executable(path, graph.feeds(element))
    return {name: results[name] for name in graph.outputs}


def run_reference(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What ONNX Runtime gives, without its own fusions."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_float32(seed: int, tmp_path: Path) -> None:
    """Within what other orders of sums make of it."""
    graph = random_graph(seed)
    fused = run(graph, FLOAT, tmp_path / "fused.ampx")
    expected = run_reference(graph.model(FLOAT, observed=False), graph.feeds(FLOAT))
    alone = run(graph, FLOAT, tmp_path / "alone.ampx", observed=True)
    # The largest sums of products are some tens.
    for name, values in fused.items():
        for other in (expected, alone):
            np.testing.assert_allclose(
                values, other[name], rtol=1e-4, atol=1e-5 * 32, err_msg=f"{name} of seed {seed}"
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_float16(seed: int, tmp_path: Path) -> None:
    """Rounded once, it is not farther from the exact result than rounded after each node."""
    graph = random_graph(seed)
    exact = run_reference(graph.model(FLOAT, observed=False), graph.feeds(FLOAT))
    fused = run(graph, FLOAT16, tmp_path / "fused.ampx")
    each = run(graph, FLOAT16, tmp_path / "each.ampx", "--round-each-node")
    total = {"fused": 0.0, "each": 0.0}
    for name, values in exact.items():
        size = max(1.0, float(np.abs(values).max()))
        for kind, results in (("fused", fused), ("each", each)):
            error = np.abs(results[name].astype(np.float64) - values)
            # Constants of activations are rounded, too: some roundings of the largest.
            assert error.max() <= 2**-7 * size, f"{name} of seed {seed}, {kind}"
            total[kind] += float(error.mean()) / size
    assert total["fused"] <= total["each"] * 1.05
