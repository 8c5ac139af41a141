"""What all Python tests share: where the build and the corpus are, and which tests are long.

AMP_BUILD_DIR names the build tree to test (default: build/release), AMP_CORPUS the folder with the corpus.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What runs models for the driver: it needs onnxruntime.
os.environ.setdefault("AMP_PYTHON", sys.executable)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the tests marked `full`, too")
    parser.addoption(
        "--write-golden", action="store_true", help="write what PyTorch does into the golden files"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    skip = pytest.mark.skip(reason="long: runs with --full only")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """The build tree to test."""
    return Path(os.environ.get("AMP_BUILD_DIR") or ROOT / "build" / "release")


@pytest.fixture(scope="session")
def onnx_amp(build_dir: Path) -> Path:
    """The driver's executable."""
    path = build_dir / "bin" / "onnx-amp"
    assert path.exists(), f"{path} has not been built; run `tools/dev build`"
    return path


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder with the corpus of real models; skips the test when there is none."""
    folder = os.environ.get("AMP_CORPUS")
    if not folder:
        pytest.skip("needs the corpus: set AMP_CORPUS")
    assert Path(folder).is_dir(), f"AMP_CORPUS={folder} is not a folder"
    return Path(folder)
