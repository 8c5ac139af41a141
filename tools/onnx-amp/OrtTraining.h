//===- OrtTraining.h - ONNX Runtime's training artifacts --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_ORTTRAINING_H
#define AMP_TOOLS_ONNX_AMP_ORTTRAINING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Option/ArgList.h"

#include <optional>
#include <string>

namespace amp {

/// What `convert` does with training artifacts, besides casts.
struct OrtTrainingOptions {
  /// Rewrite ONNX Runtime's operators with ONNX's.
  bool lowersOrt = false;
  /// Joined with the training model; empty for none.
  std::string optimizerModel;
  bool scalesLoss = false;
  /// 0 for a dynamic scale.
  double staticScale = 0;
  std::string scalerMode;
  double growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000;

  /// True if there is something to do.
  bool any() const { return lowersOrt || scalesLoss; }
};

/// Reads --loss-scale and its kin, and --lower-ort. None after an error.
std::optional<OrtTrainingOptions>
readOrtTraining(const llvm::opt::InputArgList &arguments);

/// Joins the optimizer's model, from the same context, with the training model
/// for what rewrites operators, at one opset. Fails with a diagnostic.
llvm::LogicalResult joinOptimizer(mlir::ModuleOp training,
                                  mlir::ModuleOp optimizer, int64_t maxOpset);

/// Adds what scales the loss, in the amp dialect: before autocast, which sees
/// that gradients are unscaled in float32.
void addLossScaling(mlir::OpPassManager &manager,
                    const OrtTrainingOptions &options);
/// Adds what rewrites ONNX Runtime's operators, behind the amp dialect's own.
void addOrtLowering(mlir::OpPassManager &manager,
                    const OrtTrainingOptions &options);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_ORTTRAINING_H
