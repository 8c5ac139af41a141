"""What runs models: data that is wrong, and a Python that is, are one line each."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from data_models import parsed, save, save_data
from tool import SOURCE_DIR, Tool, build_dir, onnx_amp

sys.path.append(str(SOURCE_DIR / "python" / "onnx_amp"))

import engine


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(
        parsed(
            "g (float[N, 4] x, int64[1] k) => (float[N, 4] y, int64[1] j) { y = Exp (x) j = Neg (k) }"
        ),
        tmp_path / "model.onnx",
    )


X = np.ones((2, 4), np.float32)
K = np.ones(1, np.int64)


def diff(amp: Tool, model: Path, data: Path, *options: str) -> Any:
    return amp.run("diff", model, model, "--data", data, *options)


# ---- data


@pytest.mark.parametrize(
    ("arrays", "texts"),
    [
        ({"x": X}, ["lacks input 'k'", "expected 'x' float32[N,4], 'k' int64[1]"]),
        (
            {"x": X, "k": K, "z": X},
            ["has 'z', which is no input of the model", "expected 'x' float32[N,4]"],
        ),
        ({"x": X.astype(np.float64), "k": K}, ["has 'x' as float64[2,4], expected float32[N,4]"]),
        ({"x": X[:, :3], "k": K}, ["has 'x' as float32[2,3], expected float32[N,4]"]),
        ({"x": X[0], "k": K}, ["has 'x' as float32[4], expected float32[N,4]"]),
        ({"x": X, "k": np.array([None])}, ["cannot read", "as .npz"]),
    ],
)
def test_arrays_that_do_not_fit(
    arrays: dict[str, np.ndarray], texts: list[str], amp: Tool, model: Path, tmp_path: Path
) -> None:
    data = save_data(tmp_path / "data.npz", **arrays)
    diff(amp, model, data).expect_error("'" + str(data)[:8], *texts)


def test_files_that_are_no_data(amp: Tool, model: Path, tmp_path: Path) -> None:
    diff(amp, model, tmp_path / "none.npz").expect_error("cannot open", "none.npz", "expected data")
    (tmp_path / "empty").mkdir()
    diff(amp, model, tmp_path / "empty").expect_error("found no .npz file in the folder")
    (tmp_path / "text.npz").write_text("no archive")
    diff(amp, model, tmp_path / "text.npz").expect_error("text.npz", "is no .npz file")
    np.save(tmp_path / "one.npy", X)
    diff(amp, model, tmp_path / "one.npy").expect_error("one.npy", "is no .npz file")


def test_a_folder_is_taken_in_order(amp: Tool, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("b", "a", "c"):
        save_data(folder / f"{name}.npz", x=X, k=K)
    (folder / "readme.txt").write_text("not read")
    result = diff(amp, model, folder, "--json").expect_success()
    assert json.loads(result.stdout)["samples"] == 3


# ---- models that ONNX Runtime refuses


def test_a_model_that_does_not_load(amp: Tool, tmp_path: Path) -> None:
    model = save(
        parsed(
            "g (float[2] x) => (float[2] y) { y = mine.Unknown (x) }",
            '<ir_version: 10, opset_import: ["" : 20, "mine" : 1]>\n',
        ),
        tmp_path / "model.onnx",
    )
    data = save_data(tmp_path / "data.npz", x=X[0, :2])
    diff(amp, model, data).expect_error("ONNX Runtime can't load the model")


def test_a_model_that_does_not_run(amp: Tool, tmp_path: Path) -> None:
    model = save(
        parsed("g (float[N] x, float[M] z) => (float[K] y) { y = Add (x, z) }"),
        tmp_path / "model.onnx",
    )
    data = save_data(tmp_path / "data.npz", x=X[0, :2], z=X[0, :3])
    diff(amp, model, data).expect_error("ONNX Runtime can't run the model")


# ---- Pythons that are none


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a shell script the Python that runs models; $2 is the folder."""

    def make(script: str) -> None:
        path = tmp_path / "python"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        monkeypatch.setenv("AMP_PYTHON", str(path))

    return make


@pytest.mark.parametrize(
    ("script", "options", "texts"),
    [
        ("kill -9 $$", [], ["was ended by a signal, perhaps for lack of memory"]),
        ("sleep 30", ["--timeout", "1"], ["took more than 1 s; --timeout allows more"]),
        (
            "echo first >&2; echo last words >&2; exit 3",
            [],
            ["gave no answer (exit code 3): 'last words'"],
        ),
        ("exit 0", [], ["gave no answer (exit code 0)"]),
        ('echo garbage > "$2/response.json"', [], ["gave an answer that is no JSON object"]),
        ('echo [] > "$2/response.json"', [], ["gave an answer that is no JSON object"]),
        ('echo "{\\"error\\": \\"two\\nlines\\"}" > "$2/response.json"', [], ["no JSON object"]),
    ],
)
def test_a_python_that_fails(
    script: str,
    options: list[str],
    texts: list[str],
    python: Callable[[str], None],
    amp: Tool,
    model: Path,
    tmp_path: Path,
) -> None:
    python(script)
    diff(amp, model, save_data(tmp_path / "data.npz", x=X, k=K), *options).expect_error(*texts)


def test_answers_without_what_was_asked_for(
    python: Callable[[str], None], amp: Tool, model: Path, tmp_path: Path
) -> None:
    data = save_data(tmp_path / "data.npz", x=X, k=K)
    python('echo {} > "$2/response.json"')
    diff(amp, model, data).expect_success()
    amp.run("advise", model, "--data", data).expect_success()
    # The second request can't be written.
    python('echo {} > "$2/response.json"; rm "$2/request.json"; mkdir "$2/request.json"')
    amp.run("advise", model, "--data", data).expect_error("cannot write", "request.json")


def test_no_python(amp: Tool, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = save_data(tmp_path / "data.npz", x=X, k=K)
    monkeypatch.setenv("AMP_PYTHON", "no-such-python")
    diff(amp, model, data).expect_error("cannot run 'no-such-python'", "AMP_PYTHON names another")
    monkeypatch.setenv("AMP_PYTHON", str(tmp_path))
    diff(amp, model, data).expect_error("cannot run", "the Python that runs models")
    monkeypatch.delenv("AMP_PYTHON")
    monkeypatch.setenv("PATH", str(tmp_path))
    diff(amp, model, data).expect_error("cannot run 'python3'")


def test_python_without_a_module(
    amp: Tool, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = save_data(tmp_path / "data.npz", x=X, k=K)
    (tmp_path / "onnxruntime.py").write_text("raise ModuleNotFoundError('no', name='onnxruntime')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    line = diff(amp, model, data).expect_error("lacks the module 'onnxruntime'")
    assert "-m pip install onnxruntime" in line


def test_no_folder_for_temporary_files(
    amp: Tool, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = save_data(tmp_path / "data.npz", x=X, k=K)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    diff(amp, model, data).expect_error("cannot make a temporary folder")


def test_the_driver_alone(model: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    lonely = Path(shutil.copy(build_dir() / "bin" / "onnx-amp", tmp_path / "bin"))
    data = save_data(tmp_path / "data.npz", x=X, k=K)
    diff(Tool(lonely), model, data).expect_error(
        "cannot find", "engine.py", "belongs to this program"
    )


def test_nothing_is_left_behind(
    amp: Tool, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    data = save_data(tmp_path / "data.npz", x=X, k=K)
    diff(amp, model, data).expect_success()
    diff(amp, model, save_data(tmp_path / "wrong.npz", x=X)).expect_error("lacks")
    assert list(folder.iterdir()) == []


# ---- the engine itself


def answer(folder: Path, **request: Any) -> dict[str, Any]:
    """Runs engine.py in this process."""
    (folder / "request.json").write_text(json.dumps(request))
    sys.argv = ["engine.py", str(folder)]
    assert engine.main() == 0
    response: dict[str, Any] = json.loads((folder / "response.json").read_text())
    return response


def test_failures_inside_are_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: BaseException) -> Callable[..., Any]:
        def run(*_: Any) -> Any:
            raise error

        return run

    request = {"command": "ranges", "data": [], "inputs": []}
    monkeypatch.setitem(engine.COMMANDS, "ranges", fail(MemoryError()))
    assert answer(tmp_path, **request) == {
        "error": "running the model needs more memory than there is"
    }
    monkeypatch.setitem(engine.COMMANDS, "ranges", fail(ValueError("one\ntwo")))
    assert answer(tmp_path, **request) == {"error": "the engine failed: ValueError: one"}


def test_ranges() -> None:
    entry = engine.Range()
    entry.add(np.array([0, 1, -1.5, 4, np.inf, np.nan], np.float32))
    entry.add(np.array([[-70000, 0.25]], np.float32))
    assert entry.to_json("v") == {
        "name": "v",
        "shape": [1, 2],
        "count": 8,
        "zeros": 1,
        "nan": 1,
        "infinite": 1,
        "absmax": 70000.0,
        "lowest_exponent": -2,
        "histogram": [1, 0, 2, 0, 1] + [0] * 13 + [1],
    }


def test_chunks_see_every_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_CHUNK", 2)
    monkeypatch.setattr(engine, "CHUNK_BYTES", 100)
    chain = "".join(f"v{i + 1} = Neg (v{i}) " for i in range(9))
    model = parsed(f"g (float[4] v0) => (float[4] v9) {{ {chain} }}")
    path = save(model, tmp_path / "m.onnx")
    data = save_data(tmp_path / "d.npz", v0=X[0])
    names = [f"v{i + 1}" for i in range(9)]
    response = answer(
        tmp_path,
        command="ranges",
        models=[str(path)],
        data=[str(data)] * 2,
        inputs=[{"name": "v0", "type": "float32", "dims": [4], "optional": False}],
        values=names,
        bfloat16=[[]],
        threads=1,
    )
    assert [entry["name"] for entry in response["ranges"]] == names
    assert all(entry["count"] == 8 and entry["absmax"] == 1 for entry in response["ranges"])


@pytest.mark.parametrize(
    ("one", "other", "form", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], "float32", {"relative": 0, "ulps": 0, "nonfinite": 0}),
        ([1.0, 2.0], [1.0 + 2**-10, 2.0], "float16", {"relative": 2**-11, "ulps": 1, "index": [0]}),
        ([1.0, 2.0], [1.0 + 2**-7, 2.0], "bfloat16", {"relative": 2**-8, "ulps": 1, "index": [0]}),
        ([2.0**-20], [0.0], "float16", {"relative": 1, "ulps": 16}),
        ([0.0], [1e-3], "float32", {"relative": np.float64(np.float32(1e-3))}),
        ([1.0, np.inf], [1.0, np.inf], "float16", {"relative": 0, "nonfinite": 0}),
        (
            [1.0, np.inf, np.nan],
            [np.nan, -np.inf, np.nan],
            "float16",
            {"nonfinite": 2, "index": [0]},
        ),
        ([], [], "float16", {"relative": 0, "elements": 0}),
    ],
)
def test_differences(
    one: list[float], other: list[float], form: str, expected: dict[str, Any]
) -> None:
    found = engine.compare(np.array(one, np.float32), np.array(other, np.float32), form)
    assert {key: found[key] for key in expected} == expected


def test_differences_of_what_is_no_float() -> None:
    found = engine.compare(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 5]), "float32")
    assert found["relative"] == 0.25
    assert engine.compare(X, X[:1], "float32") == {"shapes": [[2, 4], [1, 4]]}


def test_tf32_rounds_operands(tmp_path: Path) -> None:
    graph = parsed("g (float[1,1] x, float[1,1] w) => (float[1,1] y) { y = MatMul (x, w) }")
    model = engine.Model(str(save(graph, tmp_path / "m.onnx")), 1)
    model.round_to_tf32({"y"})
    model.ask(["y"])
    one = np.ones((1, 1), np.float32)
    for value, rounded in [
        (1 + 2**-10, 1 + 2**-10),  # is a number of TF32
        (1 + 2**-11, 1.0),  # halfway: to even
        (1 + 3 * 2**-11, 1 + 2**-9),
        (-(1 + 2**-11 + 2**-20), -(1 + 2**-10)),
        (2.0**100 * (1 + 2**-12), 2.0**100),
    ]:
        x = np.full((1, 1), value, np.float32)
        assert model.run({"x": x, "w": one})["y"] == np.float32(rounded)


def test_bfloat16_inputs_are_widened(amp: Tool, tmp_path: Path) -> None:
    model = save(
        parsed(
            "g (bfloat16[2] x, float16[2] h) => (bfloat16[2] y, float16[2] i) { y = Identity (x) i = Identity (h) }"
        ),
        tmp_path / "m.onnx",
    )
    h = np.ones(2, np.float16)
    low = np.array([1, 3], ml_dtypes.bfloat16)
    for x in (low, low.view(np.uint16), low.astype(np.float32)):
        data = save_data(tmp_path / "d.npz", x=x, h=h)
        report = json.loads(diff(amp, model, data, "--json").expect_success().stdout)
        assert report["compared"] == 2
    save_data(tmp_path / "d.npz", x=low.astype(np.float64), h=h)
    diff(amp, model, tmp_path / "d.npz").expect_error("has 'x' as float64[2], expected bfloat16[2]")


# The engine may be anywhere between its first import and its data.
@pytest.mark.parametrize("delay", [0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_on_without_the_driver(
    number: int, delay: float, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    # Data that can't be read to its end.
    os.mkfifo(tmp_path / "data.npz")
    process = subprocess.Popen(
        [onnx_amp().path, "diff", model, model, "--data", tmp_path / "data.npz"],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.DEVNULL,
        # Tests that run in the background ignore SIGINT, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert wait_until(lambda: any(folder.glob("onnx-amp*/request.json")))
    assert wait_until(lambda: has_engine(process.pid))
    time.sleep(delay)
    process.send_signal(number)
    process.wait(timeout=10)
    assert wait_until(lambda: not any(folder.iterdir()))


def has_engine(driver: int) -> bool:
    """Whether Python runs as a child of the driver: before that nobody could tidy up after SIGKILL."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == driver and b"engine.py" in (folder / "cmdline").read_bytes():
                return True
    return False


def wait_until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()
