//===- TrainingForm.h - what becomes of a model's training_info -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_TRAININGFORM_H
#define AMP_TOOLS_ONNX_AMP_TRAININGFORM_H

#include "amp/Passes/TrainingInfo.h"

#include <optional>

namespace amp {

/// A model whose training_info is converted with it: between begin() and end()
/// it is one graph.
class TrainingForm {
public:
  /// Nothing for a model without training_info.
  mlir::LogicalResult begin(mlir::ModuleOp module);
  /// True if begin() found some.
  bool isActive() const { return joined.has_value(); }
  /// The opset that end() needs; 0 for any.
  int64_t getMinOpset(mlir::ModuleOp module, bool toStep) const;
  /// Expands Gradient nodes; with `toStep`, the nodes of optimizers, too, and
  /// the graph is a step in the end.
  mlir::LogicalResult end(mlir::ModuleOp module, bool toStep);

private:
  std::optional<JoinedTraining> joined;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_TRAININGFORM_H
