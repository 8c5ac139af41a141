//===- RecurrentActivation.h - functions of recurrent gates -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_RECURRENTACTIVATION_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_RECURRENTACTIVATION_H

#include "GradientRules.h"

namespace amp::onnx {

/// A function that the attribute `activations` of RNN, GRU and LSTM names.
class RecurrentActivation {
public:
  /// y = f(x).
  Expr apply(Expr x) const { return function->apply(x, alpha, beta); }
  /// f'(x); x may be null unless needsInput().
  Expr slope(Expr x, Expr y) const {
    return function->slope(x, y, alpha, beta);
  }
  bool needsInput() const { return function->needsInput; }

  struct Function {
    llvm::StringLiteral name;
    /// How many of alpha and beta it takes.
    unsigned numParameters;
    double alpha, beta;
    bool needsInput;
    Expr (*apply)(Expr x, double alpha, double beta);
    Expr (*slope)(Expr x, Expr y, double alpha, double beta);
  };

  const Function *function = nullptr;
  double alpha = 0, beta = 0;
};

/// The activations of a node with all its directions, `count`; `defaults` are
/// those of one direction.
llvm::FailureOr<llvm::SmallVector<RecurrentActivation>>
readActivations(Gradient &gradient,
                llvm::ArrayRef<llvm::StringLiteral> defaults, unsigned count);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_RECURRENTACTIVATION_H
