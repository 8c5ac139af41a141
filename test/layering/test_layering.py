"""The arrows between the libraries hold in the sources, and in what was linked."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import layering
import pytest

ROOT = Path(__file__).resolve().parents[2]

# These stand alone: what another compiler links must not bring the onnx dialect along.
ALONE = (
    "AMPAutocastPasses",
    "AMPEmbeddingPasses",
    "AMPLinalgModels",
    "AMPPipelines",
    "AMPTosaModels",
)

# Defined where MLIR is linked as archives: a second world of TypeIDs beside the shared library's.
STATIC_MLIR = re.compile(
    r" [TWVBD] (_ZN4mlir11MLIRContext|_ZN4mlir9OperationC?\d|_ZN4llvm11raw_ostream)"
)


def test_the_tree_keeps_the_arrows() -> None:
    assert [str(violation) for violation in layering.violations(ROOT)] == []


def test_the_tree_is_looked_at() -> None:
    assert len(list(layering.sources(ROOT))) > 20


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("passes/Autocast/InsertCasts.cpp", '#include "amp/Dialect/ONNX/ONNXOps.h"'),
        ("passes/Autocast/InsertCasts.cpp", '#include "amp/Target/ONNX.h"'),
        ("passes/Autocast/InsertCasts.cpp", '#include "amp/Passes/Lowering.h"'),
        ("passes/Autocast/InsertCasts.cpp", '#include "../../lib/Dialect/ONNX/Shapes.h"'),
        ("include/amp/Passes/Autocast.td", 'include "amp/Dialect/ONNX/ONNXOps.td"'),
        ("include/amp/Analysis/PrecisionAnalysis.h", '#include "amp/Dialect/ONNX/ONNXOps.h"'),
        ("lib/Analysis/PrecisionAnalysis.cpp", '#include "amp/Passes/Autocast.h"'),
        ("lib/Dialect/ONNX/ONNXOps.cpp", "#include <onnx/onnx_pb.h>"),
        ("lib/Dialect/AMP/AMPOps.cpp", '#include "amp/Dialect/ONNX/ONNXOps.h"'),
        ("lib/Dialect/AMP/AMPOps.cpp", '#include "amp/Policy/Policy.h"'),
        ("lib/Dialect/TOSA/AutocastModels.cpp", '#include "amp/Dialect/ONNX/ONNXOps.h"'),
        ("lib/Dialect/Linalg/LinalgModels.cpp", '#include "amp/Policy/Policy.h"'),
        ("passes/Embedding/ConvertAMPToTosa.cpp", '#include "amp/Dialect/ONNX/ONNXOps.h"'),
        ("tools/plugin/Plugin.cpp", '#include "amp/InitAll.h"'),
        ("tools/plugin/Plugin.cpp", '#include "amp/Passes/Lowering.h"'),
        ("lib/Policy/Policy.cpp", '#include "mlir/IR/Types.h"'),
        ("lib/Target/ONNX/Import.cpp", '#include "amp/Passes/Pipelines.h"'),
        ("passes/Lowering/ConvertAMPToONNX.cpp", "#  include <google/protobuf/message.h>"),
        ("passes/Training/Differentiate.cpp", '#include "amp/Passes/Lowering.h"'),
        ("passes/Training/Differentiate.cpp", '#include "amp/Policy/Policy.h"'),
        ("passes/Training/Differentiate.cpp", "#include <onnx/defs/schema.h>"),
        ("runtime/Session.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("runtime/Session.cpp", '#include "mlir/IR/Types.h"'),
        ("runtime/Session.cpp", '#include "onnx/onnx_pb.h"'),
        ("include/amp/Runtime/Session.h", '#include "amp/Support/Quoted.h"'),
        ("lib/Elsewhere/File.cpp", "#include <vector>"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, include: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"#include <vector>\n{include}\n")
    assert [violation.file for violation in layering.violations(tmp_path)] == [file]


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("passes/Autocast/InsertCasts.cpp", '#include "amp/Analysis/PrecisionAnalysis.h"'),
        ("lib/Dialect/ONNX/SchemaToODS.cpp", "#include <onnx/defs/schema.h>"),
        ("lib/Target/ONNX/Import.cpp", '#include "google/protobuf/message.h"'),
        ("lib/Dialect/AMP/AMPOps.cpp", '#include "amp/Policy/FloatFormat.h"'),
        ("passes/Training/Differentiate.cpp", '#include "amp/Dialect/ONNX/NodeBuilder.h"'),
        ("runtime/Session.cpp", '#include "Session.h"'),
        ("tools/amp-opt.cpp", '#include "amp/InitAll.h"'),
        ("tools/plugin/Plugin.cpp", '#include "amp/Passes/Embedding.h"'),
    ],
)
def test_what_follows_the_arrows_is_not_reported(tmp_path: Path, file: str, include: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"{include}\n")
    assert layering.violations(tmp_path) == []


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def has_shared_mlir(path: Path) -> bool:
    return bool(re.search(r"NEEDED.*\[lib(MLIR|LLVM)", output_of("readelf", "-d", path)))


def has_static_mlir(path: Path) -> bool:
    return bool(STATIC_MLIR.findall(output_of("nm", "--defined-only", path)))


@pytest.mark.parametrize("tool", ["amp-opt", "amp-translate", "onnx-amp", "amp-test-opt"])
def test_tools_have_one_mlir(build_dir: Path, tool: str) -> None:
    path = build_dir / "bin" / tool
    assert has_shared_mlir(path) != has_static_mlir(path), f"{tool} has two MLIRs, or none"


@pytest.mark.parametrize("tool", ["amp-opt", "amp-translate", "amp-test-opt"])
def test_tools_that_load_plugins_have_the_shared_one(build_dir: Path, tool: str) -> None:
    assert has_shared_mlir(build_dir / "bin" / tool)


def test_the_autocast_passes_link_without_onnx(build_dir: Path) -> None:
    needed = output_of("readelf", "-d", build_dir / "bin" / "amp-test-opt")
    assert "libprotobuf" not in needed


def exported_links(build_dir: Path) -> dict[str, set[str]]:
    """What each library of the install tree links."""
    (file,) = build_dir.glob("CMakeFiles/Export/*/OnnxAMPTargets.cmake")
    pattern = re.compile(
        r'set_target_properties\(OnnxAMP::(\w+) PROPERTIES[^)]*?INTERFACE_LINK_LIBRARIES "([^"]*)"'
    )
    return {
        name: set(re.findall(r"[\w:]+", links.replace("$<LINK_ONLY:", "")))
        for name, links in pattern.findall(file.read_text())
    }


@pytest.mark.parametrize("library", ALONE)
def test_libraries_for_other_compilers_link_no_onnx(build_dir: Path, library: str) -> None:
    links = exported_links(build_dir)
    reached, todo = set[str](), {library}
    while todo:
        name = todo.pop()
        reached.add(name)
        found = {link.removeprefix("OnnxAMP::") for link in links.get(name, set())}
        todo |= found - reached
    assert "MLIR" in reached
    assert [name for name in reached if "ONNX" in name or "protobuf" in name] == []


def test_libraries_link_mlir_as_the_shared_library_only(build_dir: Path) -> None:
    parts = {
        link
        for links in exported_links(build_dir).values()
        for link in links
        if re.fullmatch(r"(MLIR|LLVM)\w+", link)
    }
    assert parts == set()
