//===- GradientRules.h - gradients of ONNX's operators ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file a family of operators. A rule is a function from the gradients of a
// node's outputs to those of its inputs:
//
//   // y = tanh(x)
//   {"Tanh", [](Gradient &g) {
//      g.set(0, g.dy() * (1.0 - g.y() * g.y()));
//      return success();
//    }},
//
// Conventions at kinks are PyTorch's: relu'(0) = abs'(0) = 0, a clamp passes
// the gradient at its bounds, ties of Max and Min split evenly.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_GRADIENTRULES_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_GRADIENTRULES_H

#include "amp/Dialect/ONNX/ConstantNumber.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Interfaces/GradientOpInterface.h"

namespace amp::onnx {

/// A node whose gradient is asked for, seen by the positions of its inputs and
/// outputs in the operator's definition.
class Gradient {
public:
  Gradient(mlir::Operation *op, GradientContext &context);

  NodeBuilder &b;

  mlir::Operation *getOperation() const { return op; }
  GradientContext &getContext() const { return context; }

  /// An input; null if it is left out.
  Expr x(unsigned position = 0) const;
  /// An output; null if it is left out.
  Expr y(unsigned position = 0) const;
  /// The gradient of an output; null if it is zero.
  Expr dy(unsigned position = 0) const;
  /// The same, as zeros.
  Expr dyOrZeros(unsigned position) const;
  unsigned getNumInputs() const { return inputs.size(); }
  unsigned getNumOutputs() const { return outputs.size(); }

  /// True if the gradient of an input is asked for.
  bool isNeeded(unsigned position = 0) const;
  /// Adds to the gradient of an input if it is asked for. What is broadcast to
  /// the output's shape is summed, and 16-bit types are cast to the input's.
  void set(unsigned position, Expr gradient);
  /// The same of a gradient that has the input's shape, even where that is not
  /// known: nothing is summed.
  void setAlike(unsigned position, Expr gradient);

  // Attributes; `missing` stands for the schema's default.
  int64_t getInt(llvm::StringRef name, int64_t missing) const;
  double getFloat(llvm::StringRef name, double missing) const;
  llvm::StringRef getString(llvm::StringRef name,
                            llvm::StringRef missing) const;
  /// None without the attribute.
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name) const;
  /// The elements of an input that is a constant of integers.
  std::optional<llvm::SmallVector<int64_t>>
  getConstantInts(unsigned position) const;
  /// The rank of an input, or an error that says that it is needed.
  llvm::FailureOr<int64_t> getRank(unsigned position = 0) const;

  /// Reports, at the node, what there is no gradient for.
  llvm::LogicalResult fail(const llvm::Twine &what) const;

private:
  mlir::Operation *op;
  GradientContext &context;
  llvm::SmallVector<mlir::Value, 4> inputs, outputs;
};

/// `op` is the operator's name, of ai.onnx.
struct GradientRule {
  llvm::StringLiteral op;
  llvm::LogicalResult (*build)(Gradient &);
  /// How many outputs the rule reads, of those that a node may leave out: they
  /// are added to it. Null for those that are there.
  unsigned (*countOutputs)(mlir::Operation *) = nullptr;
};

/// y = f(x) has the slope that `formula` makes of x. 16-bit values are float32
/// in it, and the gradient is rounded once.
template <typename Formula>
llvm::LogicalResult slopeByInput(Gradient &g, Formula formula) {
  g.setAlike(0, g.b.widen(g.dy()) * formula(g.b.widen(g.x())));
  return llvm::success();
}

/// The same of y.
template <typename Formula>
llvm::LogicalResult slopeByOutput(Gradient &g, Formula formula) {
  g.setAlike(0, g.b.widen(g.dy()) * formula(g.b.widen(g.y())));
  return llvm::success();
}

/// A gradient where a condition holds, else zero.
Expr keepWhere(Expr condition, Expr gradient);

// The families, each in the file of its name.
llvm::ArrayRef<GradientRule> getActivationRules();
llvm::ArrayRef<GradientRule> getAttentionRules();
llvm::ArrayRef<GradientRule> getControlFlowRules();
llvm::ArrayRef<GradientRule> getConvolutionRules();
llvm::ArrayRef<GradientRule> getElementwiseRules();
llvm::ArrayRef<GradientRule> getIndexingRules();
llvm::ArrayRef<GradientRule> getLinearRules();
llvm::ArrayRef<GradientRule> getLossRules();
llvm::ArrayRef<GradientRule> getNormalizationRules();
llvm::ArrayRef<GradientRule> getPoolingRules();
llvm::ArrayRef<GradientRule> getRecurrentRules();
llvm::ArrayRef<GradientRule> getReductionRules();
llvm::ArrayRef<GradientRule> getResizeRules();
llvm::ArrayRef<GradientRule> getTensorRules();

/// True where no gradient passes from an input of floats to an output of
/// floats, though it may for the operator's other inputs.
bool isCut(mlir::Operation *op, unsigned inputPosition,
           unsigned outputPosition);

/// GradientOpInterface::getRegionFlow() of If, Loop and Scan.
void getControlFlow(
    mlir::Operation *op,
    llvm::SmallVectorImpl<std::pair<mlir::Value, mlir::Value>> &flow);

/// The model of GradientOpInterface for an operation of this dialect; nullptr
/// for other interfaces and for operations that are no operator.
void *lookupGradientModel(mlir::TypeID interfaceID, mlir::OperationName name);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_GRADIENTRULES_H
