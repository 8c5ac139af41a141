//===- ConvertLossScaling.h - loss scaling as ONNX operators ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_LOWERING_CONVERTLOSSSCALING_H
#define AMP_PASSES_LOWERING_CONVERTLOSSSCALING_H

#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// Replaces the operations of loss scaling by nodes of ai.onnx 13 or later.
/// Fails with an error if the opset is an earlier one.
llvm::LogicalResult convertLossScaling(mlir::ModuleOp module);

} // namespace amp

#endif // AMP_PASSES_LOWERING_CONVERTLOSSSCALING_H
