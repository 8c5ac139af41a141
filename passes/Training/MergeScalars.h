//===- MergeScalars.h - equal scalars become one ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_MERGESCALARS_H
#define AMP_PASSES_TRAINING_MERGESCALARS_H

#include "mlir/IR/Block.h"

namespace amp {

/// Merges, between an operation and the insertion point that they were built
/// at, nodes that make the same scalars of the same values: learning rates and
/// corrections of biases are those of all parameters of a group. A null
/// `before` is for the begin of the block. `kept` is updated.
void mergeScalars(mlir::Block &block, mlir::Operation *before,
                  mlir::Block::iterator end,
                  llvm::MutableArrayRef<mlir::Value> kept);

} // namespace amp

#endif // AMP_PASSES_TRAINING_MERGESCALARS_H
