//===- ContribSchemas.h - types of com.microsoft's operators ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_CONTRIBSCHEMAS_H
#define AMP_LIB_DIALECT_ONNX_CONTRIBSCHEMAS_H

#include "amp/Dialect/ONNX/Schema.h"

#include "mlir/IR/Operation.h"

namespace amp::onnx {

/// The types of an operator of com.microsoft (contrib.txt); nullptr for those
/// that are not listed there. Of the schema, names, domain and the types of
/// inputs and outputs are filled in. The result lives as long as the process.
const Schema *lookupContribSchema(llvm::StringRef name);

/// The schema that says what types a node may have: that of its operator, or
/// of an operator of com.microsoft if the node's own types agree with it.
const Schema *getTypeSchema(mlir::Operation *op);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_CONTRIBSCHEMAS_H
