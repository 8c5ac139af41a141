//===- SchemaVerifier.h - operations against ONNX's schemas -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_SCHEMAVERIFIER_H
#define AMP_DIALECT_ONNX_SCHEMAVERIFIER_H

#include "mlir/IR/OpDefinition.h"

namespace amp::onnx {

/// Checks a node against its operator's schema at the opset in force: that the
/// operator exists there, the number of inputs and outputs, required inputs and
/// attributes, attribute names and types, and the types of those values whose
/// types are known. Emits one error at the operation.
mlir::LogicalResult verifySchema(mlir::Operation *op);

/// The trait of every operation that stands for an operator.
template <typename ConcreteOp>
class SchemaVerified
    : public mlir::OpTrait::TraitBase<ConcreteOp, SchemaVerified> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifySchema(op);
  }
};

/// Checks that exactly one attribute says the value of a constant.
mlir::LogicalResult verifySingleValue(mlir::Operation *op);

/// The trait of `Constant`, whose schema has all its attributes as optional.
template <typename ConcreteOp>
class SingleValue : public mlir::OpTrait::TraitBase<ConcreteOp, SingleValue> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifySingleValue(op);
  }
};

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_SCHEMAVERIFIER_H
