//===- OrtModels.h - ONNX Runtime's training models as one ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_ORTMODELS_H
#define AMP_PASSES_ORTMODELS_H

#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// Joins ONNX Runtime's optimizer model with its training model, at one opset,
/// 18 or later: a step, from batch and parameters to loss and parameters. What
/// the optimizer keeps becomes inputs with zeros as default, a tensor for each
/// parameter. A step takes one batch: accumulators go. onnx-lower-ort then
/// makes outputs of what is updated in place. Fails after an error at the model
/// that is not what it should be.
llvm::LogicalResult joinOrtModels(mlir::ModuleOp training,
                                  mlir::ModuleOp optimizer);

} // namespace amp

#endif // AMP_PASSES_ORTMODELS_H
