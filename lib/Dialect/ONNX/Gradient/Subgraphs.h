//===- Subgraphs.h - values of subgraphs that gradients read ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a subgraph is another subgraph, which first is built as if it
// could read the values of the forward one. Then these become outputs of the
// forward operation.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_SUBGRAPHS_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_SUBGRAPHS_H

#include "GradientRules.h"

#include "llvm/ADT/MapVector.h"

namespace amp::onnx {

/// Values of a forward subgraph, and where its gradient reads them.
using SavedValues =
    llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::OpOperand *, 2>>;

/// The values from outside that the regions of an operation read, at any depth,
/// and whose gradients are asked for.
llvm::SmallVector<mlir::Value> findCaptured(Gradient &gradient);

/// What `backward` reads of the values of `forward`. Constants are copied,
/// initializers moved out of the subgraph, and where a shape is read it is the
/// shape that is saved: `forward` gets nodes that make it.
SavedValues findSaved(mlir::Region &forward, mlir::Region &backward);

/// Makes readers read another value.
void readFrom(llvm::ArrayRef<mlir::OpOperand *> uses, mlir::Value value);

/// An operation like `op`, in front of it, with its regions and with more
/// results; attributes and names stay.
mlir::Operation *addResults(mlir::Operation *op, unsigned number);

/// A node in the regions of an operation that may give other values when it
/// runs again; null if there is none.
mlir::Operation *findRandom(mlir::Operation *op);

/// Makes the terminator of a copied subgraph forget the names of its values,
/// which have to be unique.
void dropValueNames(mlir::Operation *terminator);

/// A value with the type of `like`, of which more may be known than of its own:
/// itself, or an Identity.
mlir::Value withTypeOf(NodeBuilder &b, mlir::Value value, mlir::Value like);

// The rules.
llvm::LogicalResult differentiateIf(Gradient &gradient);
llvm::LogicalResult differentiateLoop(Gradient &gradient);
llvm::LogicalResult differentiateScan(Gradient &gradient);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_SUBGRAPHS_H
