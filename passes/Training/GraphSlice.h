//===- GraphSlice.h - what values of a graph depend on ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_GRAPHSLICE_H
#define AMP_PASSES_TRAINING_GRAPHSLICE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"

namespace amp {

using GraphSlice = llvm::DenseSet<mlir::Operation *>;

/// The operations of a block that values depend on, and that `roots`, of the
/// block themselves, do.
GraphSlice sliceGraph(mlir::Block &block, mlir::ValueRange values,
                      llvm::ArrayRef<mlir::Operation *> roots = {});

/// Calls `visit` for each value from outside that an operation reads, in its
/// regions, too.
void visitReadValues(mlir::Operation *op,
                     llvm::function_ref<void(mlir::Value)> visit);

} // namespace amp

#endif // AMP_PASSES_TRAINING_GRAPHSLICE_H
