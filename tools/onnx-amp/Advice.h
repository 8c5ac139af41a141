//===- Advice.h - which format a model can run in ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_ADVICE_H
#define AMP_TOOLS_ONNX_AMP_ADVICE_H

#include "Calibration.h"
#include "Differences.h"
#include "WeightHistory.h"

namespace amp {

/// The evidence for one choice.
struct FormatEvidence {
  /// "TF32", "bf16", "fp16", "fp16 calibrated".
  std::string name;
  /// What onnx-amp convert is told; empty for what needs no conversion.
  std::vector<std::string> options;
  /// The worst of the outputs.
  Difference error;
  /// Names of values, stored in the format, that are beyond its largest, and
  /// of those that are less than its smallest, all of their elements.
  std::vector<std::string> overflows, underflows;
  uint64_t loweredNodes = 0;
  /// What the weights take.
  uint64_t weightBytes = 0;
  /// What operators and casts read and write.
  double movedBytes = 0;
  /// How much faster than float32 at most.
  double speedup = 1;
  /// The share of its time that is bound by memory.
  double memoryBound = 0;
};

class Advice {
public:
  double tolerance = 0.01;
  std::string model, data, policy;

  /// Runs the model in every format. Fails after an error of the context.
  mlir::LogicalResult collect(mlir::ModuleOp module, Engine &engine);

  std::string toText() const;
  std::string toJSON() const;

private:
  /// Operators of one kind, which are better left in float32 first.
  struct DelicatePart {
    std::string what;
    std::vector<std::string> nodes;
  };
  struct Recommendation {
    std::string command, why;
  };

  /// Per operation of the main graph.
  struct Widths {
    /// Bytes of an element, by operand and by result.
    llvm::SmallVector<unsigned, 4> operands, results;
    bool isLow = false;
  };
  using WidthsOf = llvm::DenseMap<mlir::Operation *, Widths>;

  mlir::LogicalResult tryFormat(FormatEvidence evidence, llvm::StringRef low,
                                mlir::ModuleOp module, Engine &engine,
                                const EngineModel &reference);
  void estimate(FormatEvidence &evidence, mlir::ModuleOp module,
                const WidthsOf &widths, double castBytes) const;
  void findRanges(FormatEvidence &evidence, mlir::ModuleOp module,
                  const WidthsOf &widths) const;
  void findDelicateParts(mlir::ModuleOp module);
  bool accepts(const FormatEvidence &evidence) const {
    return evidence.error.getError() <= tolerance;
  }
  /// True if 16 bits save enough to be worth the casts.
  bool isWorthwhile(const FormatEvidence &evidence) const;
  /// The larger part of the model is in subgraphs and functions, where nothing
  /// is measured.
  bool isMostlyInside() const { return 2 * insideNodes > nodes; }
  const FormatEvidence *find(llvm::StringRef name) const;
  Recommendation recommend() const;

  std::vector<std::string> files;
  std::optional<Calibration> calibration;
  WeightHistory history;
  std::vector<FormatEvidence> formats;
  std::vector<DelicatePart> delicate;
  uint64_t weightBytes = 0;
  /// All nodes, and those of subgraphs and functions.
  uint64_t nodes = 0, insideNodes = 0;
  double flops = 0, productFlops = 0, movedBytes = 0;
  /// First outputs of the nodes that tensor cores can run.
  std::vector<llvm::StringRef> products;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_ADVICE_H
