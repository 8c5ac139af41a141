"""The other converters, each run as its users run it.

    python rivals.py                                    which are installed, with versions
    python rivals.py NAME IN.onnx OUT.onnx [fp16|bf16]  converts with one of them, as a whole process

Nothing here is a stored result: a rival that is not installed is reported as such. ModelOpt wants
other versions of onnx and onnxruntime than we do: AMP_MODELOPT_PYTHON names the Python that has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def _onnxconverter_common(source: Path, target: Path, dtype: str) -> None:
    import onnx
    from onnxconverter_common import float16

    model = float16.convert_float_to_float16(onnx.load(source), keep_io_types=True)
    _save(model, target)


def _onnxruntime_transformers(source: Path, target: Path, dtype: str) -> None:
    import onnx
    from onnxruntime.transformers import float16

    model = float16.convert_float_to_float16(onnx.load(source), keep_io_types=True)
    _save(model, target)


def _onnxruntime_transformers_sorted(source: Path, target: Path, dtype: str) -> None:
    """As above, with the topological sort that the conversion leaves to its caller."""
    import onnx
    from onnxruntime.transformers import float16
    from onnxruntime.transformers.onnx_model import OnnxModel

    model = OnnxModel(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True))
    model.topological_sort()
    _save(model.model, target)


def _modelopt_autocast(source: Path, target: Path, dtype: str) -> None:
    from modelopt.onnx.autocast import convert_to_mixed_precision

    low = {"fp16": "fp16", "bf16": "bf16"}[dtype]
    model = convert_to_mixed_precision(
        onnx_path=str(source), low_precision_type=low, keep_io_types=True
    )
    _save(model, target)


def _save(model: object, target: Path) -> None:
    import onnx

    assert isinstance(model, onnx.ModelProto)
    limit = 1_800_000_000
    big = sum(len(tensor.raw_data) for tensor in model.graph.initializer) > limit
    onnx.save(model, target, save_as_external_data=big, location=target.name + ".data")


@dataclass(frozen=True)
class Rival:
    """Another converter; `package` is what pip calls it, `python_variable` the environment variable
    that names another Python to run it with."""

    name: str
    package: str
    dtypes: tuple[str, ...]
    convert: Callable[[Path, Path, str], None]
    python_variable: str = ""

    @property
    def python(self) -> str:
        """The interpreter that runs it."""
        return os.environ.get(self.python_variable) or sys.executable

    @property
    def version(self) -> str | None:
        """The installed version; None where it is not installed. Imports nothing of it."""
        return _version(self.python, self.package)

    def command(self, source: Path, target: Path, dtype: str) -> list[str]:
        """The command line of one conversion."""
        return [self.python, __file__, self.name, str(source), str(target), dtype]


@cache
def _version(python: str, package: str) -> str | None:
    """The version of a package of another Python."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


RIVALS = (
    Rival("onnxconverter-common", "onnxconverter-common", ("fp16",), _onnxconverter_common),
    Rival("onnxruntime.transformers", "onnxruntime", ("fp16",), _onnxruntime_transformers),
    Rival(
        "ModelOpt AutoCast",
        "nvidia-modelopt",
        ("fp16", "bf16"),
        _modelopt_autocast,
        "AMP_MODELOPT_PYTHON",
    ),
)

#: What a careful user of onnxruntime.transformers gets.
SORTED = Rival(
    "onnxruntime.transformers, sorted",
    "onnxruntime",
    ("fp16",),
    _onnxruntime_transformers_sorted,
)


def installed(dtype: str = "fp16") -> list[Rival]:
    """The rivals that are here and try this format."""
    return [rival for rival in RIVALS if rival.version and dtype in rival.dtypes]


def versions() -> list[str]:
    """One line per rival."""
    return [
        f"{rival.name}: {rival.package} {rival.version}"
        if rival.version
        else f"{rival.name}: not installed ({rival.package}), not measured"
        for rival in RIVALS
    ]


def main(arguments: list[str]) -> int:
    """Entry of the command line."""
    if not arguments:
        print("\n".join(versions()))
        return 0
    name, source, target, *rest = arguments
    rival = next(rival for rival in (*RIVALS, SORTED) if rival.name == name)
    rival.convert(Path(source), Path(target), rest[0] if rest else "fp16")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
