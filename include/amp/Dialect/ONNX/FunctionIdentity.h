//===- FunctionIdentity.h - what ONNX tells functions apart by --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_FUNCTIONIDENTITY_H
#define AMP_DIALECT_ONNX_FUNCTIONIDENTITY_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace amp::onnx {

/// What a node names when it calls a local function.
struct FunctionIdentity {
  std::string domain, name, overload;

  /// None for what is no local function.
  static std::optional<FunctionIdentity> of(mlir::Operation *function);

  std::string getKey() const { return domain + "::" + name + "::" + overload; }
  /// `domain::name` of the function that this is a copy of, or an overload.
  std::string getOriginalName() const;
};

/// Gives each function that has the identity of one before it a name of its
/// own, which no function and no node of the model has: `f_amp1`, `f_amp2` and
/// so on. They are no overloads of `f`, since ONNX Runtime (1.32) takes the
/// types of one for those of another when it puts them in line.
void identifyCopies(mlir::ModuleOp module);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_FUNCTIONIDENTITY_H
