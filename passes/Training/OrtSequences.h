//===- OrtSequences.h - formulas over sequences of tensors ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX Runtime's optimizer models take all parameters as one sequence of
// tensors, whose length they do not know. Joined with a training model, they
// do: there is a formula for each then, without a Loop.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_ORTSEQUENCES_H
#define AMP_PASSES_TRAINING_ORTSEQUENCES_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp {

/// The tensors of a sequence that a SequenceConstruct makes; none of others.
std::optional<mlir::OperandRange> getElements(mlir::Value sequence);

/// Builds a Loop over the positions of a sequence. `body` builds what is done
/// for one of them, a scalar of int64, from what the loop carries, and returns
/// what it carries on. Returns what it carries in the end.
llvm::SmallVector<mlir::Value> forEachPosition(
    onnx::NodeBuilder &b, mlir::Value sequence,
    llvm::ArrayRef<mlir::Value> initial,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(onnx::Expr position,
                                                      mlir::ValueRange carried)>
        body);

/// The tensor of a sequence of float32 at a position.
onnx::Expr at(onnx::NodeBuilder &b, mlir::Value sequence, onnx::Expr position);

/// Sequences, of the type of `like`, of what `body` makes of each position.
llvm::SmallVector<mlir::Value> mapPositions(
    onnx::NodeBuilder &b, mlir::Value like, unsigned count,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(onnx::Expr position)>
        body);

} // namespace amp

#endif // AMP_PASSES_TRAINING_ORTSEQUENCES_H
