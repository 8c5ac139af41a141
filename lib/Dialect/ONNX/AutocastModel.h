//===- AutocastModel.h - what autocast asks of ONNX's operators -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_AUTOCASTMODEL_H
#define AMP_LIB_DIALECT_ONNX_AUTOCASTMODEL_H

#include "mlir/IR/OperationSupport.h"

namespace amp::onnx {

/// The model of AutocastOpInterface for an operation of this dialect: one for
/// all of them, since the operators' schemas say everything. nullptr for other
/// interfaces and for operations that are no operator.
void *lookupAutocastModel(mlir::TypeID interfaceID, mlir::OperationName name);

/// Adds the names of what a node was part of in the program that it was
/// exported from.
void addExportedScopes(mlir::Operation *node,
                       mlir::SmallVectorImpl<std::string> &scopes);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_AUTOCASTMODEL_H
