//===- SchemaFunctions.h - operators that are functions ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_SCHEMAFUNCTIONS_H
#define AMP_DIALECT_ONNX_SCHEMAFUNCTIONS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp::onnx {

/// Builds the nodes by which ONNX defines the operator of `op` (HardSwish,
/// SoftmaxCrossEntropyLoss, …) for its inputs, attributes and types, at the
/// opset in force. Returns a value for each result, of the same type; failure,
/// without an error and with nothing built, for an operator that is no function
/// or whose function has subgraphs.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
buildFunctionBody(mlir::Operation *op, NodeBuilder &nodes);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_SCHEMAFUNCTIONS_H
