//===- RankInference.h - ranks that lengths of lists say --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_RANKINFERENCE_H
#define AMP_LIB_DIALECT_ONNX_RANKINFERENCE_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace amp::onnx {

/// The rank of a node's result where ONNX's inference functions give up, since
/// they don't know a shape, or axes, that an operand is: how many these are is
/// known more often. None if it is not, or for other operators.
std::optional<int64_t> inferRank(mlir::Operation *op);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_RANKINFERENCE_H
