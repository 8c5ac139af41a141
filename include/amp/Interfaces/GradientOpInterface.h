//===- GradientOpInterface.h - reverse mode asks an op ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_GRADIENTOPINTERFACE_H
#define AMP_INTERFACES_GRADIENTOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace amp {

namespace onnx {
class NodeBuilder;
} // namespace onnx

namespace detail {
/// True if both have float elements.
bool areFloats(mlir::Value operand, mlir::Value result);
} // namespace detail

/// What reverse mode is about to do with one operation.
class GradientContext {
public:
  virtual ~GradientContext();

  /// Builds gradients, as ONNX nodes, where the values of the operation's block
  /// can be used.
  virtual onnx::NodeBuilder &getNodes() = 0;
  /// The sum of the gradients of a value, which has its type; null if it is
  /// zero.
  virtual mlir::Value getGradient(mlir::Value value) = 0;
  /// True if the gradient of a value is asked for.
  virtual bool isNeeded(mlir::Value value) = 0;
  /// Adds to the gradient of a value.
  virtual void addGradient(mlir::Value value, mlir::Value gradient) = 0;

  /// Differentiates the operations of a region's block at the builder's
  /// insertion point, which is in another region, from the gradients of values
  /// that the block yields. Returns those of `wanted`: its arguments and values
  /// from outside; null for zero. What is built may read values of the block,
  /// which the caller has to bring to where it stands.
  virtual llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  differentiate(mlir::Block &block,
                llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> seeds,
                llvm::ArrayRef<mlir::Value> wanted) = 0;
  /// Replaces the operation whose gradient is built, and erases it: these are
  /// its results from now on.
  virtual void replace(mlir::Operation *op, mlir::ValueRange by) = 0;
};

} // namespace amp

#include "amp/Interfaces/GradientOpInterface.h.inc"

#endif // AMP_INTERFACES_GRADIENTOPINTERFACE_H
