//===- LearningRate.h - the learning rate of a step -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is a factor on the learning rate, by the number t of steps taken
// before, 0 in the first:
//
//   constant:warmup=W               f(t) = 1
//   linear:warmup=W,total=T         f(t) = max(0, (T - t) / (T - W))
//   cosine:warmup=W,total=T,end=E   f(t) = E + (1 - E) (1 + cos(pi p)) / 2,
//                                   p = min(1, (t - W) / (T - W))
//
// and t / W while t < W. These are the factors that transformers'
// get_constant_schedule_with_warmup, get_linear_schedule_with_warmup and
// get_cosine_with_min_lr_schedule_with_warmup (get_cosine_schedule_with_warmup
// for E = 0) give to torch.optim's LambdaLR, with one scheduler step behind
// each step. Beyond T the cosine stays at E, where theirs would rise again.
// Skipped steps are not counted.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_LEARNINGRATE_H
#define AMP_PASSES_TRAINING_LEARNINGRATE_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Error.h"

namespace amp {

class LearningRate {
public:
  /// A rate by a schedule: "cosine:warmup=10,total=100", …, or "input". Fails
  /// for an unknown name or setting, and for numbers out of their range.
  static llvm::Expected<LearningRate> parse(llvm::StringRef schedule,
                                            double rate);

  /// The input that it is read from, if it is one: a scalar of double, whose
  /// default is the rate. Names of a second optimizer's end with a suffix.
  static constexpr llvm::StringLiteral kInput = "amp.lr";
  void addInputTo(mlir::func::FuncOp graph, llvm::StringRef suffix);

  /// The schedule's factor, a scalar of double; null if it is always 1. `count`
  /// is the number of this step, from 1, a scalar of double.
  onnx::Expr buildFactor(onnx::Expr count) const;

  /// The rate of a step, a scalar of double, for parameters with a factor of
  /// their own.
  onnx::Expr build(onnx::NodeBuilder &b, onnx::Expr scheduleFactor,
                   double ownFactor) const;

private:
  enum Kind { Constant, Linear, Cosine, Input };

  Kind kind = Constant;
  double rate = 0, warmup = 0, total = 0, end = 0;
  mlir::Value input;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_LEARNINGRATE_H
