"""The install tree is enough: a project that finds the package builds, runs, and the installed tools start."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The install tree, moved after it was made: no path in it may be that of the build."""
    first = tmp_path_factory.mktemp("install") / "first"
    run("cmake", "--install", build_dir, "--prefix", first)
    return first.rename(first.parent / "moved")


def test_find_package_gives_libraries_that_work(installed: Path, tmp_path: Path) -> None:
    run(
        *("cmake", "-S", HERE, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_PREFIX_PATH={installed}",
        "-DCMAKE_CXX_COMPILER=clang++-22",
        "-DCMAKE_C_COMPILER=clang-22",
    )
    run("cmake", "--build", tmp_path)
    assert "float16" in run(tmp_path / "consumer")


@pytest.mark.parametrize("tool", ["amp-opt", "amp-translate", "onnx-amp"])
def test_installed_tools_start(installed: Path, tool: str) -> None:
    assert "USAGE" in run(installed / "bin" / tool, "--help").upper()


def test_the_schema_of_policies_is_installed(installed: Path) -> None:
    assert (installed / "share/onnx-amp/policy.schema.json").exists()
