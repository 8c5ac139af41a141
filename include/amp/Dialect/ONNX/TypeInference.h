//===- TypeInference.h - types of values that declare none ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_TYPEINFERENCE_H
#define AMP_DIALECT_ONNX_TYPEINFERENCE_H

#include "mlir/IR/BuiltinOps.h"

namespace amp::onnx {

struct InferenceOptions {
  /// Infer shapes too. Without, only element types: cheaper, and of ONNX's
  /// inference functions less code runs on what a file says.
  bool shapes = false;
  /// Is shown values whose inferred shape is another than what they have,
  /// which stays: ONNX's checker refuses such models. May be null.
  llvm::function_ref<void(mlir::Value)> contradicted = nullptr;
  /// Shapes that the model declares of what nodes make are forgotten first,
  /// also of what graphs return: they may be wrong, and only some can be
  /// compared.
  bool corrects = false;
};

/// Replaces `!onnx.unknown` where the inference functions of ONNX's schemas
/// can tell the type, in the main graph, its subgraphs, and the functions that
/// it calls (once each; a function whose callers disagree stays untyped, and so
/// does what is more than 256 calls and subgraphs deep). With shapes,
/// dimensions that are not known become so, too, from types, small constants
/// and what is computed from shapes; a function sees what its callers have in
/// common. What is known already stays, and graphs return what they declare.
/// Linear in the size of the module.
mlir::LogicalResult inferTypes(mlir::ModuleOp module,
                               const InferenceOptions &options = {});

/// Infers the types of operations one at a time, in the order in which they are
/// built: what follows from shapes and constants is remembered.
class NodeInference {
public:
  NodeInference();
  ~NodeInference();

  /// Gives the results of an operation the types that follow from its operands
  /// and attributes, and from what its regions yield. What can't be inferred
  /// stays as it is.
  void infer(mlir::Operation *op);

private:
  std::unique_ptr<class ShapeValues> values;
};

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_TYPEINFERENCE_H
