//===- ReverseMode.h - gradients of a block of operations -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_REVERSEMODE_H
#define AMP_PASSES_TRAINING_REVERSEMODE_H

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Interfaces/GradientOpInterface.h"

#include "llvm/ADT/DenseSet.h"

namespace amp {

/// Differentiates operations in reverse order. Gradients are built by the
/// builder of `nodes`, behind the operations.
class ReverseMode final : public GradientContext {
public:
  /// `active` are the values, in regions, too, whose gradients are asked for.
  ReverseMode(onnx::NodeBuilder &nodes, llvm::DenseSet<mlir::Value> active)
      : nodes(nodes), active(std::move(active)) {}

  /// Differentiates a block from the gradients of some of its values.
  llvm::LogicalResult
  run(mlir::Block &block,
      llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> seeds);

  onnx::NodeBuilder &getNodes() override { return nodes; }
  mlir::Value getGradient(mlir::Value value) override;
  bool isNeeded(mlir::Value value) override { return active.contains(value); }
  void addGradient(mlir::Value value, mlir::Value gradient) override;
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  differentiate(mlir::Block &block,
                llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> seeds,
                llvm::ArrayRef<mlir::Value> wanted) override;
  void replace(mlir::Operation *op, mlir::ValueRange by) override;

private:
  /// What was added to the gradient of a value, and is not summed up yet.
  using Gradients =
      llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>>;

  onnx::NodeBuilder &nodes;
  llvm::DenseSet<mlir::Value> active;
  /// Of the block that is being differentiated. Those of the blocks around it
  /// are put aside: there, a value has another gradient.
  Gradients gradients;
};

/// Builds, at the end of a block, the gradients of the sum of `losses`, times
/// `seed`, a scalar, if it is not null; zeros where no path leads. Values of
/// `wanted` may be replaced meanwhile.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::Block &block, onnx::NodeBuilder &nodes,
               llvm::ArrayRef<mlir::Value> losses,
               llvm::ArrayRef<mlir::Value> wanted,
               llvm::DenseSet<mlir::Value> active, mlir::Value seed = {});

} // namespace amp

#endif // AMP_PASSES_TRAINING_REVERSEMODE_H
