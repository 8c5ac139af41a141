//===- Gates.h - values that wait for others --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX can't say when a node runs: a runtime may run a node as soon as its
// inputs are there, and merges nodes with the same operator and inputs (ONNX
// Runtime does both). A node that is to run late must depend on something late.
// It does by one input, which goes through
//
//   Reshape(x, Concat(shape of x, empty)),   empty = Cast(Slice(late, 0, 0))
//
// `empty` is a list of no numbers that can't be made before `late`. The shape
// is that of x, and runtimes reshape without a copy: the value is x bit for
// bit, whatever it holds, and takes no memory. Nothing declares its shape:
// where ONNX Runtime knows it, it merges the node with a Reshape that follows,
// and `empty` is gone.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_GATES_H
#define AMP_PASSES_TRAINING_GATES_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp {

class Gates {
public:
  explicit Gates(onnx::NodeBuilder &nodes) : nodes(nodes) {}

  /// What passes from now on waits for these tensors, and for those before.
  void wait(llvm::ArrayRef<mlir::Value> late);

  /// A tensor that is there when all that was waited for is; built where the
  /// builder stands, once for each value.
  mlir::Value pass(mlir::Value value);

private:
  mlir::Value getEmpty();

  onnx::NodeBuilder &nodes;
  /// Tensors that `empty` does not depend on yet.
  llvm::SmallVector<mlir::Value> pending;
  mlir::Value empty;
  llvm::DenseMap<mlir::Value, mlir::Value> passed;
  /// Shapes with `empty` behind them, by shape.
  llvm::DenseMap<mlir::Value, mlir::Value> shapes;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_GATES_H
