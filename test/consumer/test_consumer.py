"""The install tree is enough: a project that finds the package builds, runs, and the installed tools start."""

from __future__ import annotations

import re
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


@pytest.fixture(scope="module")
def built(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build tree of the project in this folder."""
    build = tmp_path_factory.mktemp("build")
    run(
        *("cmake", "-S", HERE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_PREFIX_PATH={installed}",
        "-DCMAKE_CXX_COMPILER=clang++-22",
        "-DCMAKE_C_COMPILER=clang-22",
    )
    run("cmake", "--build", build)
    return build


def onnx_in(binary: Path) -> list[str]:
    """Symbols and libraries of ONNX and Protobuf that a binary has or needs."""
    listing = run("nm", "-C", binary) + run("nm", "-CD", binary) + run("readelf", "-d", binary)
    return [line for line in listing.splitlines() if re.search(r"onnx::|protobuf", line)]


def test_find_package_gives_libraries_that_work(built: Path) -> None:
    assert "float16" in run(built / "consumer")


def test_a_dialect_of_its_own_links_the_passes_alone(built: Path) -> None:
    program = run(built / "embedding", HERE / "toy.yaml")
    assert re.search(r'"toy.relu"\(.*\) : \(tensor<4x4xf16>\) -> tensor<4x4xf16>', program)
    assert program.count("amp.cast") == 3
    assert onnx_in(built / "embedding") == []
    assert onnx_in(built / "consumer")


def test_the_plugin_has_nothing_of_onnx(installed: Path, build_dir: Path) -> None:
    if "AMP_ENABLE_ASAN:BOOL=ON" in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("builds with sanitizers have no plugin")
    (plugin,) = installed.glob("lib*/**/libOnnxAMPPlugin.so")
    assert onnx_in(plugin) == []
    exported = run("nm", "-D", "--defined-only", plugin).split("\n")
    assert [line.split()[-1] for line in exported if line] == [
        "mlirGetDialectPluginInfo",
        "mlirGetPassPluginInfo",
    ]
    assert "libMLIR" in run("readelf", "-d", plugin)


@pytest.mark.parametrize("tool", ["amp-opt", "amp-translate", "onnx-amp"])
def test_installed_tools_start(installed: Path, tool: str) -> None:
    assert "USAGE" in run(installed / "bin" / tool, "--help").upper()


def test_the_schema_of_policies_is_installed(installed: Path) -> None:
    assert (installed / "share/onnx-amp/policy.schema.json").exists()


def test_the_installed_driver_runs_models(installed: Path) -> None:
    model = HERE.parent / "models" / "if_cond_dynamo20.onnx"
    data = model.with_suffix(".input.npz")
    driver = installed / "bin" / "onnx-amp"
    assert "none beyond a relative error" in run(driver, "diff", model, model, "--data", data)
