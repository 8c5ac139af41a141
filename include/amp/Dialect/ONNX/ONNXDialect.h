//===- ONNXDialect.h - the onnx dialect, its types and attributes -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_ONNXDIALECT_H
#define AMP_DIALECT_ONNX_ONNXDIALECT_H

#include "amp/Interfaces/ElementTypes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/TensorEncoding.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <shared_mutex>

namespace amp::onnx {
struct Schema;
} // namespace amp::onnx

#include "amp/Dialect/ONNX/ONNXDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "amp/Dialect/ONNX/ONNXTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/ONNX/ONNXAttributes.h.inc"

namespace amp::onnx {

/// Version of an operator domain ("" is ai.onnx) that the function or module
/// around `op` imports; std::nullopt if it imports none.
std::optional<int64_t> getOpsetVersion(mlir::Operation *op,
                                       llvm::StringRef domain);

/// The schema of an operation's operator at the opset in force; nullptr if it
/// is no operator, or has none there.
const Schema *getSchema(mlir::Operation *op);

/// How messages call a node: "node 'conv1' (Conv, opset 17)". Names are cut,
/// and escaped for one line of text.
std::string describeNode(mlir::Operation *op);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_ONNXDIALECT_H
