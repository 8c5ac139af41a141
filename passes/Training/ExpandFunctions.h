//===- ExpandFunctions.h - bodies of functions, for gradients ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_EXPANDFUNCTIONS_H
#define AMP_PASSES_TRAINING_EXPANDFUNCTIONS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace amp {

/// Between what gradients go.
struct Endpoints {
  llvm::SmallVector<mlir::Value> losses, wanted;
};

/// The values between them, in subgraphs, too.
llvm::DenseSet<mlir::Value> findActive(mlir::func::FuncOp graph,
                                       const Endpoints &ends);

/// Replaces, on the way of gradients, operators that ONNX defines as functions
/// and that have no rule by their nodes, and calls of local functions by their
/// bodies. What makes the ends may be replaced, too: `find` finds them anew.
llvm::FailureOr<Endpoints>
expandFunctions(mlir::func::FuncOp graph,
                llvm::function_ref<llvm::FailureOr<Endpoints>()> find);

/// Replaces an operation by values, which get the names of its results.
/// `nodes` builds behind them.
void replaceBy(mlir::Operation *op, llvm::SmallVector<mlir::Value> &values,
               onnx::NodeBuilder &nodes);

} // namespace amp

#endif // AMP_PASSES_TRAINING_EXPANDFUNCTIONS_H
