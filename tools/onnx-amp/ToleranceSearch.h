//===- ToleranceSearch.h - the most nodes that may be low -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are ranked by how much error each adds, measured on the model with all
// of them low. The search finds how many of the first must stay float32, by
// doubling and bisection, and then gives halves, quarters, … of these back to
// the low format, as long as the outputs stay within the tolerance. A probe is
// a real conversion that the engine runs.
//
// The search depends on nothing but the ranking and the errors of its probes.
// Errors are kept in a file: run again, it finds its way back to where it was
// with the one run of the ranking.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_TOLERANCESEARCH_H
#define AMP_TOOLS_ONNX_AMP_TOLERANCESEARCH_H

#include "Differences.h"

#include "amp/Passes/Pipelines.h"

#include <functional>

namespace amp {

struct SearchOptions {
  /// The largest relative error of the outputs.
  double tolerance = 0.01;
  unsigned maxProbes = 40;
  std::string data;
  /// Where errors are kept; empty if they are not.
  std::string statePath;
  /// The file stays when the search is done.
  bool keepsState = false;
  /// Called before each probe with its number, if it is there.
  std::function<void(unsigned)> onProbe;
};

struct SearchResult {
  double tolerance = 0, error = 0;
  /// Nodes that stay float32, in the order of the model.
  std::vector<std::string> kept;
  /// Nodes that could be low.
  size_t candidates = 0;
  unsigned probes = 0, reused = 0;

  llvm::json::Object toJSON() const;
  std::string toText() const;
};

/// Searches, and marks the nodes that stay float32 (amp.keep). `reference` is
/// `module` for the engine, `inputPath` its file. Fails after an error of the
/// module's context.
mlir::FailureOr<SearchResult>
searchKeptNodes(mlir::ModuleOp module, Engine &engine,
                const EngineModel &reference, const SearchOptions &options,
                AutocastPipelineOptions &pipeline, llvm::StringRef inputPath);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_TOLERANCESEARCH_H
