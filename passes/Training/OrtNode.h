//===- OrtNode.h - an operator of ONNX Runtime's, to be rewritten -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule says what an operator of com.microsoft does, in nodes of ai.onnx:
//
//   // dX = dY (1 - Y^2)
//   {"TanhGrad", [](OrtNode &n) {
//      n.set(0, n.x(0) * (1.0 - n.x(1) * n.x(1)));
//      return success();
//    }},
//
// The formulas are those of ONNX Runtime's CPU kernels. Where an operator is
// the gradient of one of ONNX's, the rule of amp-differentiate makes it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_ORTNODE_H
#define AMP_PASSES_TRAINING_ORTNODE_H

#include "GradientPairs.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// A node that is being rewritten, seen by the positions of its inputs and
/// outputs.
class OrtNode {
public:
  /// Nodes are built in front of `op`. `forward` is the operation that it is
  /// the gradient of, or null.
  OrtNode(onnx::CustomOp op, mlir::Operation *forward, onnx::NodeBuilder &b);

  onnx::NodeBuilder &b;

  onnx::CustomOp getOperation() const { return op; }
  mlir::Operation *getForward() const { return forward; }
  mlir::func::FuncOp getGraph() const;

  /// An input; null if it is left out.
  onnx::Expr x(unsigned position) const;
  /// An output; null if it is left out.
  mlir::Value getOutput(unsigned position) const;
  bool isUsed(unsigned position) const;

  // Attributes; `missing` is the operator's default.
  int64_t getInt(llvm::StringRef name, int64_t missing) const;
  double getFloat(llvm::StringRef name, double missing) const;
  mlir::Attribute getAttribute(llvm::StringRef name) const;
  /// Those of these names that are there, for another node.
  llvm::SmallVector<mlir::NamedAttribute>
  getAttributes(llvm::ArrayRef<llvm::StringRef> names) const;

  /// What an output is from now on; it gets the output's element type. Nothing
  /// if the output is left out.
  void set(unsigned position, onnx::Expr value);

  /// Sets output i to the gradient of input `inputs[i]` of `of`, an operation
  /// of ONNX's, by the gradient `dy` of its first output. Negative inputs are
  /// left out.
  llvm::LogicalResult setGradients(mlir::Operation *of, onnx::Expr dy,
                                   llvm::ArrayRef<int> inputs);
  /// The same by the forward operation of this one; an error if it is not
  /// there.
  llvm::LogicalResult setForwardGradients(onnx::Expr dy,
                                          llvm::ArrayRef<int> inputs);

  /// Reports, at the node, why it can't be rewritten.
  llvm::LogicalResult fail(const llvm::Twine &why) const;

private:
  onnx::CustomOp op;
  mlir::Operation *forward;
  llvm::SmallVector<mlir::Value, 4> inputs, outputs;
};

struct OrtRule {
  llvm::StringLiteral op;
  llvm::LogicalResult (*rewrite)(OrtNode &);
};

// Each in the file of its name.
llvm::ArrayRef<OrtRule> getOrtForwardRules();
llvm::ArrayRef<OrtRule> getOrtGradientRules();
llvm::ArrayRef<OrtRule> getOrtOptimizerRules();

} // namespace amp

#endif // AMP_PASSES_TRAINING_ORTNODE_H
