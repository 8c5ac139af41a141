//===- IntegerAttributes.h - integers that nodes state ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_INTEGERATTRIBUTES_H
#define AMP_DIALECT_ONNX_INTEGERATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace amp::onnx {

/// The value of a node's attribute, `missing` without one.
inline int64_t getInt(mlir::Operation *op, llvm::StringRef name,
                      int64_t missing) {
  auto attribute = op->getAttrOfType<mlir::IntegerAttr>(name);
  return attribute ? attribute.getInt() : missing;
}

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_INTEGERATTRIBUTES_H
