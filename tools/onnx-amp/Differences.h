//===- Differences.h - how far two models are apart -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_DIFFERENCES_H
#define AMP_TOOLS_ONNX_AMP_DIFFERENCES_H

#include "EngineModel.h"

namespace amp {

/// How far the values of one name are apart, in the worst sample.
struct Difference {
  std::string name;
  /// Number of the data file.
  size_t sample = 0;
  /// Elements of which one is finite and the other is not, or not the same.
  uint64_t nonFinite = 0;
  /// The largest difference by the largest magnitude; of what are no floats,
  /// the share of elements that differ.
  double relative = 0;
  double absolute = 0;
  /// The largest difference in units of the last place that an element has in
  /// the narrower of the two formats.
  double ulps = 0;
  /// "[0, 3]", and its two values, of the worst element; may be empty.
  std::string index, first, second;
  /// "2x3 and 2x4", if they are not the same; nothing else is known then.
  std::string shapes;

  /// True if it can't be told how far they are apart.
  bool isInfinite() const { return nonFinite > 0 || !shapes.empty(); }
  /// The relative difference, infinity if isInfinite().
  double getError() const;
  /// "relative 1.2e-3, 5 ulps", or what is worse.
  std::string toText() const;
  llvm::json::Object toJSON() const;
};

/// What is not finite first, then by relative difference.
bool isWorse(const Difference &a, const Difference &b);

/// Compares the values that both models have, by name, in the order of `a`.
/// Fails after an error of the context.
mlir::FailureOr<std::vector<Difference>>
compareModels(mlir::MLIRContext *context, Engine &engine, const EngineModel &a,
              const EngineModel &b, llvm::ArrayRef<std::string> data);

/// The worst difference of the models' outputs. The engine runs the reference
/// once only. The operands of nodes that give values in `tf32` are rounded to
/// that format in `candidate`.
mlir::FailureOr<Difference>
scoreModel(mlir::MLIRContext *context, Engine &engine,
           const EngineModel &reference, const EngineModel &candidate,
           llvm::ArrayRef<std::string> data,
           llvm::ArrayRef<llvm::StringRef> tf32 = {});

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_DIFFERENCES_H
