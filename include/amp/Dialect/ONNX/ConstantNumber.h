//===- ConstantNumber.h - constants that are one number ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_CONSTANTNUMBER_H
#define AMP_DIALECT_ONNX_CONSTANTNUMBER_H

#include "mlir/IR/Value.h"

#include <optional>

namespace amp::onnx {

/// The number that a constant's elements are, if they are all alike; 1 and 0
/// for true and false.
std::optional<double> getConstantNumber(mlir::Value value);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_CONSTANTNUMBER_H
