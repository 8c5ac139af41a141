//===- ConstantInts.h - constants that are lists of integers ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_CONSTANTINTS_H
#define AMP_DIALECT_ONNX_CONSTANTINTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace amp::onnx {

/// The elements of a constant of int64 or int32, in whatever dimensions nodes
/// bring it; none of other values.
std::optional<llvm::SmallVector<int64_t>> getConstantInts(mlir::Value value);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_CONSTANTINTS_H
