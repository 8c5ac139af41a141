"""`tools/dev bench cpu` measures what it says, and judges it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from cpu import bandwidth, corpus_rows, startup
from cpu.executable import Executable, ToolError
from cpu.results import Result, Settings, in_turn, median_of, ratio_of
from onnx import TensorProto, helper
from tool import SOURCE_DIR, build_dir

TOOLS = build_dir() / "bin"


def product(folder: Path) -> Path:
    """A product of 8 x 16 with 16 x 4, then Relu."""
    shapes = {"a": [8, 16], "b": [16, 4], "c": [8, 4]}
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    }
    nodes = [helper.make_node("MatMul", ["a", "b"], ["p"]), helper.make_node("Relu", ["p"], ["c"])]
    graph = helper.make_graph(nodes, "product", [values["a"], values["b"]], [values["c"]])
    opset = helper.make_opsetid("", 17)
    path = folder / "product.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return path


def test_an_executable(tmp_path: Path) -> None:
    inputs = {"a": np.ones((8, 16), np.float32), "b": np.ones((16, 4), np.float32)}
    executable = Executable(TOOLS, product(tmp_path), inputs, 1)
    assert 0 < executable.time(5) < 1
    assert np.array_equal(executable.output("c"), np.full((8, 4), 16))
    commands = executable.profile(3)
    assert sum(command.count for command in commands) == len(commands)
    (product_command,) = (one for one in commands if one.flops)
    assert product_command.flops == 2 * 8 * 16 * 4
    assert product_command.bytes == 4 * (8 * 16 + 16 * 4 + 8 * 4)
    assert executable.memory()["memory of outputs"] == 4 * 8 * 4


def test_a_model_that_does_not_compile(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(ToolError, match="bad"):
        Executable(TOOLS, path, {}, 1)


def test_a_result_is_judged() -> None:
    assert Result("size", "a", 2.0, 3.0).met
    assert Result("size", "a", 4.0, 3.0).met is False
    assert Result("bandwidth", "a", 0.9, 0.8, at_least=True).met
    assert Result("training", "a", 0.9).met is None
    failed = Result("training", "a", problem="why")
    assert failed.met is False
    assert str(failed).endswith("why")


def test_contests() -> None:
    order: list[str] = []

    def take(name: str) -> float:
        order.append(name)
        return 1.0

    contestants = {"a": lambda seconds: take("a"), "b": lambda seconds: take("b")}
    assert in_turn(contestants, 2, 0.1) == {"a": [1.0, 1.0], "b": [1.0, 1.0]}
    assert order == ["a", "b", "a", "b"]
    # Of the one that is faster.
    assert ratio_of([1.0, 4.0, 1.0], [2.0, 2.0, 2.0], [9.0, 1.0, 9.0]) == 0.5
    calls: list[int] = []
    assert median_of(lambda: calls.append(1), 0, least=3) >= 0
    assert len(calls) == 3


@pytest.mark.parametrize("name", bandwidth.OPERATIONS)
def test_operations_are_models(name: str) -> None:
    model = bandwidth.model_of(bandwidth.OPERATIONS[name], 8)
    onnx.checker.check_model(model, full_check=True)
    assert bandwidth.bytes_of(bandwidth.OPERATIONS["Add"], 8) == 3 * 4 * 8 * bandwidth.COLUMNS


def test_the_batch_of_a_corpus_model(tmp_path: Path) -> None:
    model = product(tmp_path)
    np.savez(model.with_suffix(".input.npz"), a=np.ones((1, 16), np.float32))
    folder = tmp_path / "eight"
    folder.mkdir()
    assert corpus_rows.at_batch(model, folder) is None
    loaded = onnx.load(model)
    loaded.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(loaded, model)
    target = corpus_rows.at_batch(model, folder)
    assert target is not None
    assert corpus_rows.inputs_of(target)["a"].shape == (8, 16)


def test_the_size_of_the_library(tmp_path: Path) -> None:
    (result,) = startup.size(Settings(TOOLS, tmp_path))
    assert not result.problem
    assert result.ratio is not None
    assert result.ratio > 0.5  # megabytes; how many are too many depends on the build


def test_a_row_is_unknown() -> None:
    command = [sys.executable, SOURCE_DIR / "bench" / "cpu_table.py", "--only", "speed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown row 'speed', expected one of inference," in done.stderr
