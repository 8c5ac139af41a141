//===- ContribSchemas.h - types of com.microsoft's operators ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_CONTRIBSCHEMAS_H
#define AMP_LIB_DIALECT_ONNX_CONTRIBSCHEMAS_H

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/Schema.h"

namespace amp::onnx {

/// How the shape of an output follows from an input; of no input for a scalar.
struct ShapeRule {
  enum Kind : char {
    Unknown,
    Scalar,
    Like,     ///< that of the input
    Length,   ///< one dimension, with the size of one of the input's
    Elements, ///< what the elements of the input say
  };
  Kind kind = Unknown;
  unsigned input = 0, dimension = 0;
};

/// A schema, and the shapes of its outputs.
struct ContribSchema : Schema {
  llvm::SmallVector<ShapeRule, 2> shapes;
};

/// What is known of an operator of ONNX Runtime's (contrib.txt); nullptr for
/// those that are not listed there. Of the schema, names, domain and the types
/// of inputs and outputs are filled in. The result lives as long as the
/// process.
const ContribSchema *lookupContribSchema(llvm::StringRef name);

/// The same of a node, if its own types agree with it. ONNX Runtime writes some
/// of its operators, MaxPoolGrad, in ONNX's domain.
const ContribSchema *getContribSchema(mlir::Operation *op);

/// The domain that a node's operator is known by: com.microsoft for those of
/// ONNX Runtime that are written in ONNX's.
llvm::StringRef getOperatorDomain(CustomOp op);

/// The schema that says what types a node may have: that of its operator, or
/// of an operator of ONNX Runtime's if the node's own types agree with it.
const Schema *getTypeSchema(mlir::Operation *op);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_CONTRIBSCHEMAS_H
