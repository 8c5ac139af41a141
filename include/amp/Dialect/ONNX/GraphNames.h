//===- GraphNames.h - names of a graph's inputs and outputs -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_GRAPHNAMES_H
#define AMP_DIALECT_ONNX_GRAPHNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp::onnx {

/// The name of an input of a graph, or of an output; empty if it has none.
llvm::StringRef getInputName(mlir::func::FuncOp graph, size_t position);
llvm::StringRef getOutputName(mlir::func::FuncOp graph, size_t position);

/// The same of an argument.
llvm::StringRef nameOfInput(mlir::BlockArgument input);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_GRAPHNAMES_H
