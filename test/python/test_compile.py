"""onnx-amp compile, run, inspect of executables and bake, as a user types them."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tool import Tool, build_dir, onnx_amp

WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5
BIAS = np.array([0.5, -1.0, 0.25], np.float32)
X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def make_model(operator: str = "Relu", weight_type: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """y = operator(x @ w + b), of any batch N."""
    dtype = helper.tensor_dtype_to_np_dtype(weight_type)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="product"),
        helper.make_node(operator, ["h"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", weight_type, ["N", 4])],
        [helper.make_tensor_value_info("y", weight_type, ["N", 3])],
        [
            numpy_helper.from_array(WEIGHT.astype(dtype), "w"),
            numpy_helper.from_array(BIAS.astype(dtype), "b"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(make_model(), path)
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    path = tmp_path / "in.npz"
    np.savez(path, x=X)
    return path


def expected(x: np.ndarray = X) -> Any:
    outputs: Any = ReferenceEvaluator(make_model()).run(None, {"x": x})
    return outputs[0]


def test_compiles_and_runs(model: Path, inputs: Path, tmp_path: Path) -> None:
    executable, outputs = tmp_path / "model.ampx", tmp_path / "out.npz"
    done = onnx_amp().run("compile", model, "-o", executable).expect_success()
    assert "compiled" in done.stdout.decode() + done.stderr
    Tool(build_dir() / "bin" / "amp-run").run(
        executable, "--inputs", inputs, "--outputs", outputs
    ).expect_success()
    np.testing.assert_allclose(np.load(outputs)["y"], expected(), rtol=1e-6)


def test_runs_in_one_go(model: Path, inputs: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "out.npz"
    command = ("run", model, "--inputs", inputs, "--outputs", outputs, "--", "--repeat", "3")
    done = onnx_amp().run(*command, cwd=tmp_path).expect_success()
    assert "3 steps" in done.stdout.decode() + done.stderr
    np.testing.assert_allclose(np.load(outputs)["y"], expected(), rtol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.npz", "model.onnx", "out.npz"]


def test_run_gives_the_exit_code_of_amp_run(model: Path) -> None:
    onnx_amp().run("run", model).expect_error("'x' is not set")
    result = onnx_amp().run("run", model, "--", "--repeat", "0")
    assert result.returncode == 2


def test_explains_kernels(model: Path, tmp_path: Path) -> None:
    command = ("compile", model, "-o", tmp_path / "m.ampx", "--explain-kernels", "--quiet")
    text = onnx_amp().run(*command).expect_success().stdout.decode()
    assert "'product'" in text
    assert "library gemm" in text


def test_fixed_dimension(model: Path, inputs: Path, tmp_path: Path) -> None:
    executable = tmp_path / "model.ampx"
    command = ("compile", model, "-o", executable, "--quiet")
    onnx_amp().run(*command, "--dim", "N=2").expect_success()
    text = onnx_amp().run("inspect", executable).expect_success().stdout.decode()
    assert "x: float32 [2, 4]" in text
    onnx_amp().run(*command, "--dim", "N=5").expect_success()
    run = Tool(build_dir() / "bin" / "amp-run")
    run.run(executable, "--inputs", inputs).expect_error("'x'", "2", "5")


def test_inspects_executables(model: Path, tmp_path: Path) -> None:
    executable = tmp_path / "model.ampx"
    onnx_amp().run("compile", model, "-o", executable).expect_success()
    text = onnx_amp().run("inspect", executable).expect_success().stdout.decode()
    assert "x: float32 [N, 4]" in text
    assert "1 gemm" in text
    assert "arena: " in text


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v2,x86-64-v3", "native"])
def test_cpus(cpu: str, model: Path, inputs: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "out.npz"
    onnx_amp().run(
        "run", model, "--inputs", inputs, "--outputs", outputs, "--cpu", cpu
    ).expect_success()
    np.testing.assert_allclose(np.load(outputs)["y"], expected(), rtol=1e-6)


def test_wrong_command_lines(model: Path, tmp_path: Path) -> None:
    driver, out = onnx_amp(), tmp_path / "m.ampx"
    driver.run("compile", "-o", out).expect_error("expected an input", code=2)
    driver.run("compile", model, model, "-o", out).expect_error("expected one input", code=2)
    driver.run("compile", model).expect_error("-o OUT.ampx", code=2)
    driver.run("compile", model, "-o", out, "--dim", "N").expect_error("NAME=SIZE", code=2)
    driver.run("run").expect_error("expected an input", code=2)
    driver.run("bake", model, "-o", out).expect_error("--checkpoint FILE", code=2)
    assert not out.exists()


def test_errors_of_compile(model: Path, tmp_path: Path) -> None:
    driver, out = onnx_amp(), tmp_path / "m.ampx"
    driver.run("compile", model, "-o", out, "--dim", "M=2").expect_error(
        "no input has a dimension 'M'", "'N'"
    )
    driver.run("compile", model, "-o", out, "--cpu", "z80").expect_error('"z80"', "x86-64-v3")
    driver.run("compile", model, "-o", tmp_path / "no" / "m.ampx").expect_error("cannot create")
    driver.run("compile", tmp_path / "no.onnx", "-o", out).expect_error("no.onnx")
    assert not out.exists()


def test_unsupported_operator(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Gizmo", ["x"], ["y"], name="strange", domain="com.acme")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)]
    path = tmp_path / "strange.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    onnx_amp().run("compile", path, "-o", tmp_path / "m.ampx").expect_error(
        "strange.onnx", "'strange'", "Gizmo"
    )


def test_programs_beside_the_driver(model: Path, tmp_path: Path) -> None:
    alone = tmp_path / "onnx-amp"
    shutil.copy2(build_dir() / "bin" / "onnx-amp", alone)
    Tool(alone).run("compile", model, "-o", tmp_path / "m.ampx").expect_error(
        "onnx-amp-compile", "beside onnx-amp"
    )
    executable = tmp_path / "model.ampx"
    onnx_amp().run("compile", model, "-o", executable).expect_success()
    Tool(alone).run("inspect", executable).expect_error("amp-run", "beside onnx-amp")


# --- bake ---------------------------------------------------------------------


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], **changes: Any) -> Path:
    """A checkpoint; `changes` are other entries of the header."""
    names = {"float32": "F32", "float16": "F16", "int64": "I64"}
    header: dict[str, Any] = {"__metadata__": {"step": "7"}}
    data = b""
    for name, array in tensors.items():
        end = len(data) + array.nbytes
        header[name] = {
            "dtype": names[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [len(data), end],
        }
        data += array.tobytes()
    for name, entry in changes.items():
        header[name] = {**header.get(name, {}), **entry}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def bake(model: Path, checkpoint: Path, *options: str) -> Any:
    target = model.with_name("baked.onnx")
    target.unlink(missing_ok=True)
    result = onnx_amp().run("bake", model, "--checkpoint", checkpoint, "-o", target, *options)
    if result.returncode:
        assert not target.exists()
    return result


def run_onnx(path: Path, x: np.ndarray) -> Any:
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(str(path), options)
    return session.run(None, {"x": x})[0]


def test_bakes_weights(model: Path, tmp_path: Path) -> None:
    new: dict[str, Any] = {
        "w": WEIGHT * 2,
        "b": BIAS + 1,
        "w.exp_avg": WEIGHT,
        "steps": np.array(3, np.int64),
    }
    done = bake(model, write_safetensors(tmp_path / "c.safetensors", new)).expect_success()
    assert "2 of 2 initializers" in done.stdout.decode() + done.stderr
    got = run_onnx(tmp_path / "baked.onnx", X)
    np.testing.assert_allclose(got, np.maximum(X @ new["w"] + new["b"], 0), rtol=1e-6)


def test_bakes_averages(model: Path, tmp_path: Path) -> None:
    tensors: dict[str, Any] = {"w": WEIGHT, "w.ema": WEIGHT * 3}
    bake(
        model, write_safetensors(tmp_path / "c.safetensors", tensors), "--average"
    ).expect_success()
    baked = {t.name: t for t in onnx.load(tmp_path / "baked.onnx").graph.initializer}
    np.testing.assert_array_equal(numpy_helper.to_array(baked["w"]), WEIGHT * 3)
    np.testing.assert_array_equal(numpy_helper.to_array(baked["b"]), BIAS)


def test_masters_are_rounded(tmp_path: Path) -> None:
    path = tmp_path / "half.onnx"
    onnx.save(make_model(weight_type=TensorProto.FLOAT16), path)
    tensors: dict[str, Any] = {"w": WEIGHT / 3, "b": BIAS}
    done = bake(path, write_safetensors(tmp_path / "c.safetensors", tensors)).expect_success()
    assert "rounded from float32" in done.stdout.decode() + done.stderr
    baked = {t.name: t for t in onnx.load(tmp_path / "baked.onnx").graph.initializer}
    np.testing.assert_array_equal(
        numpy_helper.to_array(baked["w"]), (WEIGHT / 3).astype(np.float16)
    )


def test_errors_of_bake(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"

    def fails(*texts: str) -> None:
        bake(model, path).expect_error(*texts)

    fails("cannot open", "c.safetensors")
    path.write_bytes(b"short")
    fails("not a .safetensors file")
    path.write_bytes(struct.pack("<Q", 4) + b"nope")
    fails("its header is no JSON")
    path.write_bytes(struct.pack("<Q", 2) + b"[]")
    fails("its header is no object")
    write_safetensors(path, {"w": WEIGHT}, w={"dtype": "F7"})
    fails("'w'", "unknown dtype 'F7'")
    write_safetensors(path, {"w": WEIGHT}, w={"shape": [4, -3]})
    fails("'w'", "no size")
    write_safetensors(path, {"w": WEIGHT}, w={"data_offsets": [0, 4000]})
    fails("'w'", "beyond the end")
    write_safetensors(path, {"w": WEIGHT}, w={"shape": [4, 4]})
    fails("'w'", "not as many bytes")
    write_safetensors(path, {"w": WEIGHT}, v={"dtype": "F32"})
    fails("'v'", "lacks dtype, shape or data_offsets")
    write_safetensors(path, {"w": WEIGHT.T.copy()})
    fails("'w'", "float32 [3, 4]", "float32 [4, 3]")
    write_safetensors(path, {"w": WEIGHT.astype(np.int64)})
    fails("'w'", "int64 [4, 3]")
    write_safetensors(path, {"weight": WEIGHT})
    fails("no initializer has the name")
