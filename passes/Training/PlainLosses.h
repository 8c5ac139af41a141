//===- PlainLosses.h - cross entropy in few nodes ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_PLAINLOSSES_H
#define AMP_PASSES_TRAINING_PLAINLOSSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// Replaces, in the block of a graph, SoftmaxCrossEntropyLoss with the mean
/// over labels that all count alike by nodes that make the same bits. Runtimes
/// without training kernels expand it to its function, twelve nodes that are
/// there for any number of dimensions: a tenth of the step of a small model.
/// Gradients are made before, of the node.
void expandLosses(mlir::func::FuncOp graph);

} // namespace amp

#endif // AMP_PASSES_TRAINING_PLAINLOSSES_H
