//===- ConversionReport.h - what a conversion did ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ConversionReport report;
//   report.collectBefore(module);   // as it was read
//   ... passes, which leave their reasons on the operations ...
//   report.collectAfter(module);
//   ... export, which fills report.rounding and report.outputSizes ...
//   printOutput(report.toText());
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_CONVERSIONREPORT_H
#define AMP_TOOLS_ONNX_AMP_CONVERSIONREPORT_H

#include "ModelStatistics.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Target/ONNX.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"

#include <optional>

namespace amp {

class ConversionReport {
public:
  std::string input, output;
  /// "fp16", "bf16" or "none".
  std::string dtype;
  std::string policy;
  uint64_t inputBytes = 0;
  ExportedSizes outputSizes;
  RoundingRecord rounding;
  /// Of --calibrate and of --tolerance: an object in JSON, a line of text.
  std::optional<llvm::json::Object> calibration, search;
  std::string calibrationText, searchText;
  double startSeconds = 0, importSeconds = 0, passSeconds = 0,
         exportSeconds = 0;
  /// To be set before anything is collected: nodes are explained, with sizes
  /// of unknown dimensions as these.
  std::optional<CostOptions> explained;

  /// Before the passes.
  void collectBefore(mlir::ModuleOp module);
  /// After them, while amp.category and amp.reason are there and amp.cast is
  /// not yet lowered. The module must stay until the report is printed.
  void collectAfter(mlir::ModuleOp module);

  /// The summary: a few lines.
  std::string toText() const;
  /// A line for every node with floats, and for every constant that rounding
  /// changed beyond measure.
  std::string toExplanation() const;
  /// One object. The nodes that were lowered are listed only if asked for.
  std::string toJSON(bool withExplanation) const;

private:
  enum class Fate {
    Lowered,
    AlreadyLow, ///< was in the low format before
    Kept,
  };
  /// A node with floats.
  struct Node {
    llvm::StringRef name; // not escaped
    std::string op;
    /// The rule is empty where the reason begins with it.
    llvm::StringRef category, rule, reason;
    /// Its float types: "float16, float32".
    std::string formats;
    Fate fate;
    // Where nodes are explained: casts that it reads and that read it, and what
    // it moves less than in float32.
    unsigned castsIn = 0, castsOut = 0;
    int64_t savedBytes = 0;

    std::string explain() const;
    bool isFloat32() const;
  };

  /// A constant that is stored in a narrower format now.
  struct Constant {
    llvm::StringRef name; // of its value; may be empty; not escaped
    RoundedAttr value;
  };

  void explain(Node &node, mlir::Operation *op, CostModel &costs) const;
  uint64_t count(Fate fate) const;
  uint64_t countNodes() const { return before.nodes + copiedNodes; }
  /// Model and data files together.
  uint64_t bytesBefore() const { return inputBytes + before.externalBytes(); }
  uint64_t bytesAfter() const { return outputSizes.model + externalAfter(); }
  uint64_t externalAfter() const {
    return outputSizes.data + outputSizes.keptData;
  }
  double seconds() const {
    return startSeconds + importSeconds + passSeconds + exportSeconds;
  }

  ModelStatistics before, after;
  /// Versions of ai.onnx; none if the model does not import it.
  std::optional<int64_t> opsetBefore, opsetAfter;
  llvm::DenseSet<mlir::Operation *> lowBefore;
  /// The nodes of each local function, by what ONNX says of it.
  llvm::DenseMap<mlir::Attribute, uint64_t> nodesOfFunctions;
  llvm::DenseSet<mlir::Operation *> functionsBefore;
  uint64_t copiedFunctions = 0, copiedNodes = 0;
  std::vector<Node> nodes;
  uint64_t insertedCasts = 0;
  std::vector<Constant> constants;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_CONVERSIONREPORT_H
