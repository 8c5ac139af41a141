//===- StepCounters.h - what a step tells of gradients ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_STEPCOUNTERS_H
#define AMP_PASSES_TRAINING_STEPCOUNTERS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp {

/// The share of the elements of float32 gradients of static shapes that are 0,
/// a scalar of float32; 0 if there are no elements.
mlir::Value buildZeroShare(onnx::NodeBuilder &b,
                           llvm::ArrayRef<mlir::Value> gradients);

/// Where `found` is true, the number of the first gradient that is not finite,
/// a scalar of int64; `known`, and no work, where it is false.
mlir::Value buildFirstOverflow(onnx::NodeBuilder &b, mlir::Value found,
                               mlir::Value known,
                               llvm::ArrayRef<mlir::Value> gradients);

} // namespace amp

#endif // AMP_PASSES_TRAINING_STEPCOUNTERS_H
