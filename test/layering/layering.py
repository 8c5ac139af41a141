"""The arrows between the libraries: which place may include what.

Read from left to right, `A -> B` lets A include B:

    tools -> Pipelines -> Lowering, Embedding, Autocast passes -> Analysis -> dialects, Interfaces -> Policy -> LLVM
    tools -> Training pipeline -> Pipelines, Lowering, Training passes
    tools -> Training passes -> CostModel of Analysis, dialects, Interfaces

Only Target/ONNX and the files of the onnx dialect that read operator schemas see ONNX's and Protobuf's headers. What
the Autocast and Embedding passes stand on, and the plugin that brings them to other tools, never see the onnx dialect:
other compilers link these alone. The models of MLIR's own dialects (TOSA, Linalg) see the interfaces and the amp
dialect. The runtime sees nothing of the compiler.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".td", ".inc"}
INCLUDE = re.compile(r'^\s*#?\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)

MLIR = frozenset({"mlir", "llvm"})
ONNX = frozenset({"onnx", "google/protobuf"})
BASE = MLIR | {"amp/Support"}
# What numbers look like, without any policy: it needs nothing of MLIR.
FORMATS = frozenset({"amp/Policy/FloatFormat.h", "amp/Policy/FloatRounding.h"})
AUTOCAST = BASE | {"amp/Policy", "amp/Interfaces", "amp/Dialect/AMP", "amp/Analysis"}
AUTOCAST_PASSES = frozenset({"amp/Passes/Passes.h", "amp/Passes/Autocast.h.inc"})
EMBEDDING_PASSES = frozenset({"amp/Passes/Embedding.h", "amp/Passes/Embedding.h.inc"})
FOREIGN = frozenset({"amp/Dialect/Linalg", "amp/Dialect/TOSA"})
EVERYTHING = AUTOCAST | ONNX | {"amp", "amp-c"}

# A place is how a path from the project's root begins, the longest entry counts; with it goes what it may include.
# Everybody may include what lies beside them, and the C and C++ standard libraries.
RULES: dict[str, frozenset[str]] = {
    "lib/Support": frozenset({"llvm", "amp/Support"}),
    "lib/Policy": frozenset({"llvm", "amp/Support", "amp/Policy"}),
    "lib/Interfaces": BASE | {"amp/Interfaces"},
    "lib/Dialect/AMP": BASE | FORMATS | {"amp/Interfaces", "amp/Dialect/AMP"},
    "lib/Dialect/AMPRT": BASE | {"amp/Dialect/AMPRT"},
    "lib/Dialect/Linalg": BASE | {"amp/Interfaces", "amp/Dialect/AMP", "amp/Dialect/Linalg"},
    "lib/Dialect/TOSA": BASE | {"amp/Interfaces", "amp/Dialect/AMP", "amp/Dialect/TOSA"},
    "lib/Dialect/ONNX": BASE | FORMATS | {"amp/Interfaces", "amp/Dialect/ONNX"},
    "lib/Dialect/ONNX/Schema": BASE | ONNX | {"amp/Interfaces", "amp/Dialect/ONNX"},
    "lib/Analysis": AUTOCAST,
    "lib/Target/ONNX": BASE
    | ONNX
    | {"amp/Policy", "amp/Interfaces", "amp/Dialect", "amp/Analysis", "amp/Target"},
    "lib/Target/Executable": BASE
    | {
        "../ONNX/Storage.h",
        "Executable.pb.h",
        "ExecutableWriter.h",
        "amp/Dialect",
        "amp/Runtime",
        "amp/Target/Executable.h",
    },
    "passes/Autocast": AUTOCAST | AUTOCAST_PASSES,
    "passes/Codegen": BASE
    | {"amp/Dialect/AMPRT", "amp/Passes/Codegen.h", "amp/Passes/Codegen.h.inc"},
    # What state and calls are is the training passes' to say.
    "passes/Executable": BASE
    | {
        "../ONNXToLinalg/Dimensions.h",
        "../Training/ExpandFunctions.h",
        "../Training/InlineCall.h",
        "../Training/TrainingState.h",
        "amp/Analysis/CostModel.h",
        "amp/Interfaces",
        "amp/Dialect",
        "amp/Passes/Executable.h",
        "amp/Passes/Executable.h.inc",
    },
    "passes/Embedding": BASE | EMBEDDING_PASSES | FOREIGN | {"amp/Interfaces", "amp/Dialect/AMP"},
    "passes/Passes": AUTOCAST | AUTOCAST_PASSES,
    "passes/Lowering": AUTOCAST
    | {"amp/Dialect", "amp/Passes/Lowering.h", "amp/Passes/Lowering.h.inc"},
    "passes/Training": BASE
    | {
        "amp/Interfaces",
        "amp/Analysis/CostModel.h",
        "amp/Dialect",
        "amp/Passes/OrtModels.h",
        "amp/Passes/Training.h",
        "amp/Passes/Training.h.inc",
        "amp/Passes/TrainingInfo.h",
    },
    "passes/OrtModels": BASE,
    "passes/Training/TrainingPipeline": AUTOCAST | {"amp/Dialect", "amp/Passes"},
    "passes/Pipelines": AUTOCAST | {"amp/Dialect", "amp/Passes"},
    "runtime": frozenset({"google/protobuf", "amp/Runtime"}),
    "tools": EVERYTHING,
    "tools/amp-run": frozenset({"amp/Runtime"}),
    "tools/plugin": AUTOCAST | AUTOCAST_PASSES | EMBEDDING_PASSES | {"amp/Passes/Pipelines.h"},
    "include/amp/InitAll.h": EVERYTHING,
}

# Headers follow the rule of the sources that they belong to.
HEADERS = {
    "include/amp/Passes/": "passes/",
    "include/amp/Runtime/": "runtime/",
    "include/amp/Dialect/": "lib/Dialect/",
    "include/amp/": "lib/",
}

# The libraries that rules speak of; the standard libraries are not among them.
KNOWN = ("mlir", "mlir-c", "llvm", "llvm-c", "onnx", "google/protobuf", "amp", "amp-c")


@dataclass(frozen=True)
class Violation:
    """An include against the arrows, or a file that no rule covers."""

    file: str
    include: str
    place: str

    def __str__(self) -> str:
        if not self.place:
            return f"{self.file}: lies in a folder that test/layering has no rule for"
        return f"{self.file}: includes {self.include}, which {self.place} must not"


def place_of(file: str) -> str:
    """The entry of RULES that a file falls under, or nothing."""
    if file not in RULES:
        for headers, folder in HEADERS.items():
            if file.startswith(headers):
                file = folder + file.removeprefix(headers)
                break
    return max((place for place in RULES if file.startswith(place)), key=len, default="")


def names(include: str, library: str) -> bool:
    """Whether an include is of a library, which is a folder or a header."""
    return include == library or include.startswith(library + "/")


def is_forbidden(include: str, place: str) -> bool:
    """Whether files of a place must not have the include."""
    if include.startswith("../"):  # into another folder: file by file
        return include not in RULES[place]
    judged = any(names(include, library) for library in KNOWN)
    return judged and not any(names(include, library) for library in RULES[place])


def sources(root: Path) -> Iterator[Path]:
    """Every file of the libraries, passes, runtime and tools."""
    for folder in ("include", "lib", "passes", "runtime", "tools"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def violations(root: Path) -> list[Violation]:
    """Every include below `root` that goes against the arrows."""
    found = []
    for path in sources(root):
        file = path.relative_to(root).as_posix()
        place = place_of(file)
        if not place:
            found.append(Violation(file, "", ""))
            continue
        text = path.read_text(encoding="utf-8")
        found += [
            Violation(file, include, place)
            for include in INCLUDE.findall(text)
            if is_forbidden(include, place)
        ]
    return found


if __name__ == "__main__":
    problems = violations(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print(*problems, sep="\n")
    sys.exit(1 if problems else 0)
