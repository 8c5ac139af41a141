//===- ConstantNode.h - Constant nodes --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_CONSTANTNODE_H
#define AMP_LIB_DIALECT_ONNX_CONSTANTNODE_H

#include "amp/Dialect/ONNX/ONNXOps.h"

namespace amp::onnx {

/// Builds a Constant node with these elements.
inline mlir::Value buildConstant(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::DenseElementsAttr elements) {
  mlir::OperationState state(loc, ConstantOp::getOperationName());
  state.addTypes(elements.getType());
  state.addAttribute("value",
                     TensorAttr::get(builder.getContext(), elements, {}));
  return builder.create(state)->getResult(0);
}

/// Integers as a list, or one as a scalar.
inline mlir::DenseElementsAttr getInts(mlir::Builder &builder,
                                       llvm::ArrayRef<int64_t> values,
                                       bool isScalar = false) {
  llvm::SmallVector<int64_t, 1> shape;
  if (!isScalar)
    shape.push_back(values.size());
  return mlir::DenseElementsAttr::get(
      mlir::RankedTensorType::get(shape, builder.getI64Type()), values);
}

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_CONSTANTNODE_H
