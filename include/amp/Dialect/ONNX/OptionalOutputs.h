//===- OptionalOutputs.h - outputs that a node leaves out -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_OPTIONALOUTPUTS_H
#define AMP_DIALECT_ONNX_OPTIONALOUTPUTS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp::onnx {

/// The inputs of a node by position in the operator's definition, null for what
/// is left out; none behind the last one that is there.
llvm::SmallVector<mlir::Value, 4> inputsByPosition(mlir::Operation *op);
/// The same of its outputs.
llvm::SmallVector<mlir::Value, 4> outputsByPosition(mlir::Operation *op);

/// Builds the same node of ai.onnx with its first `count` outputs, at least as
/// many as `op` has, named as they were. `op` stays.
mlir::Operation *withOutputs(mlir::Operation *op, unsigned count,
                             NodeBuilder &nodes);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_OPTIONALOUTPUTS_H
