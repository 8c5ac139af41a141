"""Where the models come from that import and export are held to."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpus import corpus_folder
from tool import SOURCE_DIR, build_dir


@dataclass(frozen=True)
class ModelFile:
    """A model on disk; `source` names the collection, `name` is unique in it."""

    source: str
    name: str
    path: Path

    @property
    def label(self) -> str:
        """The name of the test."""
        return f"{self.source}/{self.name}"

    @property
    def size(self) -> int:
        """Bytes of the file, external data excluded."""
        return self.path.stat().st_size


def onnx_package() -> list[ModelFile]:
    """All test models of the installed onnx package: its data folder, and the node and model cases it makes by code."""
    onnx_test = Path(importlib.import_module("onnx.backend.test").__path__[0])
    found = [
        ModelFile(
            "onnx", "-".join(path.relative_to(onnx_test / "data").with_suffix("").parts), path
        )
        for path in sorted((onnx_test / "data").rglob("*.onnx"))
    ]
    generated = _generated_cases()
    return found + [ModelFile("onnx", path.stem, path) for path in sorted(generated.glob("*.onnx"))]


def debian_testdata() -> list[ModelFile]:
    """The models of Debian's libonnx-testdata; empty where the package is not installed."""
    try:
        listing = subprocess.run(
            ["dpkg", "-L", "libonnx-testdata"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []
    paths = [Path(line) for line in listing if line.endswith(".onnx")]
    return [
        ModelFile("debian", "-".join(path.with_suffix("").parts[5:]), path)
        for path in sorted(paths)
        if path.is_file()
    ]


def cases() -> list[ModelFile]:
    """The models of test/cases and test/models."""
    found = []
    for folder in ("cases/models", "cases/grad", "models"):
        for path in sorted((SOURCE_DIR / "test" / folder).glob("*.onnx")):
            found.append(ModelFile("cases", f"{folder.replace('/', '-')}-{path.stem}", path))
    return found


def corpus() -> list[ModelFile]:
    """Everything of the corpus, training graphs too; empty when AMP_CORPUS is unset."""
    root = corpus_folder()
    if root is None:
        return []
    paths = sorted(root.rglob("*.onnx"))
    return [
        ModelFile("corpus", "-".join(path.relative_to(root).with_suffix("").parts), path)
        for path in paths
    ]


def distinct(models: list[ModelFile]) -> list[ModelFile]:
    """The models without those whose bytes were seen before (external data is never the same file twice)."""
    seen: set[bytes] = set()
    kept = []
    for model in models:
        digest = hashlib.sha256(model.path.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            kept.append(model)
    return kept


@cache
def _generated_cases() -> Path:
    """Folder of the models that onnx's test cases make by code; written once per onnx version."""
    version = importlib.metadata.version("onnx")
    target = build_dir() / "test-data" / f"onnx-{version}"
    if target.is_dir():
        return target
    import numpy as np

    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=target.parent))
    with np.errstate(all="ignore"):
        for package in ("node", "model"):
            module = importlib.import_module(f"onnx.backend.test.case.{package}")
            testcases = (
                module.collect_testcases(None) if package == "node" else module.collect_testcases()
            )
            for case in testcases:
                if case.model is not None:
                    (work / f"{package}-{case.name}.onnx").write_bytes(
                        case.model.SerializeToString()
                    )
    try:
        work.rename(target)
    except OSError:  # another process was faster
        shutil.rmtree(work)
    return target
