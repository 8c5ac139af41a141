//===- ReductionLength.h - how much an operator adds up ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_REDUCTIONLENGTH_H
#define AMP_LIB_DIALECT_ONNX_REDUCTIONLENGTH_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace amp::onnx {

/// How many numbers a node adds up, or compares, for each element of its
/// result: AutocastOpInterface::getReductionLength(). None where shapes or axes
/// are not known, and for operators that reduce nothing.
std::optional<int64_t> getReductionLength(mlir::Operation *op);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_REDUCTIONLENGTH_H
