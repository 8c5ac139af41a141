"""Runs the built command line tools the way a user would.

The binaries are found through the environment variable AMP_BUILD_DIR (`build/release` when it is
unset). A stand-in is any command with the same arguments, so that the judges themselves can be
tested with converters that are wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE_DIR = Path(__file__).resolve().parents[2]

# The judges share code with the benchmarks and with the cases.
sys.path[:0] = [str(SOURCE_DIR / "bench"), str(SOURCE_DIR / "test" / "cases")]

from measure import exit_text  # noqa: E402


def is_full(config: pytest.Config) -> bool:
    """Whether this is the run with the long tests."""
    return bool(config.getoption("--full", default=False))


def build_dir() -> Path:
    """The build tree whose binaries are judged."""
    return Path(os.environ.get("AMP_BUILD_DIR") or SOURCE_DIR / "build" / "release")


@dataclass(frozen=True)
class Result:
    """What one run of a tool left behind; `seconds` is wall time."""

    command: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: str
    seconds: float

    def expect_success(self) -> Result:
        """Returns itself, or fails with the command and its messages."""
        assert self.returncode == 0, (
            f"{exit_text(self.returncode)}: {' '.join(self.command)}\n{self.stderr[-2000:]}".strip()
        )
        return self

    def expect_error(self, *texts: str, code: int = 1) -> str:
        """Returns the line of the error; fails unless it is one line that names every text."""
        assert self.returncode == code, (
            f"{exit_text(self.returncode)} instead of {code}: {' '.join(self.command)}\n"
            f"{self.stderr[-2000:]}"
        )
        lines = self.stderr.splitlines()
        assert len(lines) == 1, (
            f"{len(lines)} lines on stderr instead of one:\n{self.stderr[:2000]}"
        )
        missing = [text for text in texts if text not in lines[0]]
        assert not missing, f"the error does not name {missing}: {lines[0]}"
        assert not lines[0].rstrip().endswith("."), f"an error ends without a full stop: {lines[0]}"
        return lines[0]


@dataclass(frozen=True)
class Summary:
    """What `convert --json` says: one JSON object on standard output."""

    record: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        """What stands under a key, as docs/reports.md says."""
        return self.record[key]

    @property
    def kept(self) -> list[dict[str, Any]]:
        """Nodes that stayed as they were, each with `node` (its name, or its first output's),
        `operator` and `reason`."""
        return list(self.record["kept"])

    @property
    def lowered(self) -> int:
        """How many nodes run in the low format."""
        return int(self.record["nodes"]["lowered"])

    @property
    def casts(self) -> int:
        """How many Cast nodes were inserted."""
        return int(self.record["casts"])


class Tool:
    """One executable, with leading arguments; raises FileNotFoundError when it is not there."""

    def __init__(self, path: Path, *leading: str) -> None:
        if not path.exists():
            raise FileNotFoundError(f"{path} has not been built; set AMP_BUILD_DIR to a build tree")
        self.path = path
        self.leading = leading

    def run(
        self,
        *arguments: str | Path,
        stdin: bytes | None = None,
        cwd: Path | None = None,
        timeout: float = 120,
    ) -> Result:
        """Runs with the arguments; a hang is a TimeoutExpired exception."""
        command = (str(self.path), *self.leading, *map(str, arguments))
        source: dict[str, Any] = (
            {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        )
        start = time.perf_counter()
        done = subprocess.run(
            command, capture_output=True, cwd=cwd, timeout=timeout, check=False, **source
        )
        seconds = time.perf_counter() - start
        return Result(
            command, done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"), seconds
        )

    def convert(self, source: Path, target: Path, *options: str, timeout: float = 120) -> Summary:
        """Converts a file, which must succeed, and returns the summary of `--json`."""
        result = self.run(
            "convert", source, "-o", target, *options, "--json", timeout=timeout
        ).expect_success()
        assert target.exists(), f"exit code 0, but {target} was not written"
        return Summary(json.loads(result.stdout))


def onnx_amp() -> Tool:
    """The driver."""
    return Tool(build_dir() / "bin" / "onnx-amp")


def amp_translate() -> Tool:
    """The translation tool: ONNX to and from MLIR."""
    return Tool(build_dir() / "bin" / "amp-translate")


def amp_opt() -> Tool:
    """The pass driver."""
    return Tool(build_dir() / "bin" / "amp-opt")
