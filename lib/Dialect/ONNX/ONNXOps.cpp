//===- ONNXOps.cpp - operations that are no operator ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ONNXOps.h"

using namespace mlir;

namespace amp::onnx {

void ONNXDialect::registerOperators() { registerONNXDialectOperations(this); }

LogicalResult InitializerOp::verify() {
  // Shapes may be refined by encodings (names of dimensions), so only the
  // element types have to agree.
  auto type = dyn_cast<ShapedType>(getResult().getType());
  auto value = dyn_cast<ShapedType>(getValue().getType());
  if (!type || !value || type.getElementType() != value.getElementType())
    return emitOpError("expects a result of type ")
           << getValue().getType() << ", but got " << getResult().getType();
  return success();
}

} // namespace amp::onnx
