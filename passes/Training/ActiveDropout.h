//===- ActiveDropout.h - Dropout that drops ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_ACTIVEDROPOUT_H
#define AMP_PASSES_TRAINING_ACTIVEDROPOUT_H

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// Replaces Dropout nodes of a main graph and its subgraphs, whatever mode they
/// have, by nodes that drop at their ratio, with the numbers of RandomNumbers:
/// the first has stream 0, the next one 1. A mode that is known at run time
/// only is obeyed. Fails for a ratio that is not a constant from 0 to 1, and in
/// loops, whose iterations would all drop the same.
llvm::LogicalResult activateDropout(mlir::func::FuncOp main,
                                    llvm::ArrayRef<onnx::DropoutOp> dropouts,
                                    uint64_t seed);

} // namespace amp

#endif // AMP_PASSES_TRAINING_ACTIVEDROPOUT_H
