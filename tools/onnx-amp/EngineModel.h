//===- EngineModel.h - a model as the engine takes it -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_ENGINEMODEL_H
#define AMP_TOOLS_ONNX_AMP_ENGINEMODEL_H

#include "Engine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace amp {

/// A model, widened (see the pass onnx-widen) and written where the engine
/// reads it; and what there is to observe in it.
struct EngineModel {
  /// A value of the main graph that a node gives.
  struct Observable {
    llvm::StringRef name;
    mlir::Type type;
    mlir::Operation *op;
  };

  std::string path;
  /// What data must hold: name, type, dimensions.
  llvm::json::Array inputs;
  /// In the order of the graph: tensors with a name, other than constants.
  std::vector<Observable> values;
  /// Names of the graph's outputs.
  std::vector<std::string> outputs;

  /// Writes `module`, which is not changed, to the engine's folder as `name`.
  /// Names refer to `module`. Fails after an error of the module's context.
  static mlir::FailureOr<EngineModel>
  write(mlir::ModuleOp module, const Engine &engine, llvm::StringRef name);

  /// The names of values that are floats.
  std::vector<llvm::StringRef> getFloatValues() const;
  /// The names of values in bfloat16, which the engine must be told.
  llvm::json::Array getBFloat16() const;
};

/// `error`, as an error of the context.
mlir::LogicalResult report(mlir::MLIRContext *context, llvm::Error error);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_ENGINEMODEL_H
