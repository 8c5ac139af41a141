//===- InlineCall.h - bodies of local functions -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_INLINECALL_H
#define AMP_PASSES_TRAINING_INLINECALL_H

#include "mlir/IR/SymbolTable.h"

namespace amp {

/// Builds the body of the function that `call`, an onnx.Call, calls, in front
/// of it: with the attributes that it passes, and node names behind its own.
/// Returns a value for each result. `budget` is the number of operations that
/// may be built yet.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
inlineCall(mlir::Operation *call, mlir::SymbolTable &symbols, size_t &budget);

/// Makes an operation that was copied forget its names and, where it ends a
/// subgraph, those of its values. With `prefix`, its node keeps its name behind
/// that.
void forgetNames(mlir::Operation *copy, llvm::StringRef prefix = "");

} // namespace amp

#endif // AMP_PASSES_TRAINING_INLINECALL_H
