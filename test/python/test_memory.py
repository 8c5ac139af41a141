"""Whatever limits the address space, `convert` ends with a whole output or with one line and none.

Limits run from the smallest at which the process starts to one at which the conversion succeeds, so
that memory ends in every part of the work. Sanitizers reserve terabytes and can't be limited.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from synthetic import write_chain, write_weights
from tool import Tool, build_dir, onnx_amp

pytestmark = pytest.mark.skipif(build_dir().name == "asan", reason="address space can't be limited")

MIB = 1 << 20
STEPS = 25


def limited(limit: int) -> Tool:
    """The driver with so many bytes of address space."""
    prlimit = shutil.which("prlimit")
    assert prlimit, "prlimit (util-linux) is missing"
    return Tool(Path(prlimit), f"--as={limit}", "--core=0", str(onnx_amp().path))


def smallest_start() -> int:
    """The least address space in which the dynamic linker gets as far as main()."""
    low, high = 0, 256 * MIB
    while high - low > MIB // 4:
        middle = (low + high) // 2
        if limited(middle).run("--version").returncode in (0, 1):
            high = middle
        else:
            low = middle
    return high


def succeeds(limit: int, source: Path, target: Path, *options: str) -> tuple[bool, str]:
    """Whether a conversion succeeds, and its error; fails unless it is all or nothing."""
    result = limited(limit).run("convert", *options, source, "-o", target)
    left = {path.name: path.read_bytes() for path in target.parent.iterdir()}
    for name in left:
        (target.parent / name).unlink()
    if result.returncode == 0:
        assert target.name in left
        assert result.stderr == ""
        return True, ""
    assert left == {}, f"left behind at {limit} bytes"
    assert result.stdout == b""
    return False, result.expect_error()


@pytest.mark.parametrize("kind", ["nodes", "weights", "data file"])
def test_limits(kind: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out" / "out.onnx"
    target.parent.mkdir()
    options: tuple[str, ...] = ("--external-data=file",) if kind == "data file" else ()
    if kind == "nodes":
        write_chain(source, 20_000)
    else:
        write_weights(source, 32 * MIB, width=1024)
    lowest = smallest_start()
    highest = 2 * lowest
    while not succeeds(highest, source, target, *options)[0]:
        highest *= 2
        assert highest < 4096 * MIB, "does not succeed with 4 GiB"
    errors = []
    for step in range(STEPS):
        limit = lowest + (highest - lowest) * step // (STEPS - 1)
        done, error = succeeds(limit, source, target, *options)
        if not done:
            errors.append(error)
    assert len(errors) >= 3, "the limits do not limit"
    assert len(errors) < STEPS
    assert any("out of memory" in error for error in errors)
    if kind != "nodes":
        assert any("in.onnx': cannot be mapped: cannot allocate memory" in e for e in errors)


def test_no_room_for_a_stack() -> None:
    """A little more than what main() takes."""
    lowest = smallest_start()
    results = [limited(lowest + step * MIB).run("policy", "list") for step in range(12)]
    errors = [result.expect_error() for result in results if result.returncode != 0]
    assert "onnx-amp: error: cannot start a thread, out of memory or of processes" in errors
    assert results[-1].returncode == 0


def test_standard_input(tmp_path: Path) -> None:
    """What can't be mapped is read."""
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    write_weights(source, 64 * MIB, width=1024)
    tool = limited(smallest_start() + 24 * MIB)
    command = (str(tool.path), *tool.leading, "convert", "-", "-o", str(target))
    shell = Tool(Path("/bin/sh"), "-c", 'in=$1; shift; cat "$in" 2> /dev/null | "$@"', "sh")
    shell.run(source, *command).expect_error("standard input", "cannot allocate memory")
    assert not target.exists()
