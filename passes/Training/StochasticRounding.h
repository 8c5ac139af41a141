//===- StochasticRounding.h - rounding at random ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_STOCHASTICROUNDING_H
#define AMP_PASSES_TRAINING_STOCHASTICROUNDING_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp {

/// Rounds float32 to bfloat16: to the neighbour that is nearer, or to the one
/// on the other side of the value if `fraction`, from [0, 1), times their
/// distance is below that of the value from the nearer one. With fractions that
/// are multiples of 2^-16, all alike likely, the expected result is the value,
/// exactly: there are 2^16 float32 from one bfloat16 to the next. What is a
/// bfloat16 stays, and so do infinities and NaNs; what rounding to nearest
/// makes infinite is.
onnx::Expr roundStochastically(onnx::Expr value, onnx::Expr fraction);

} // namespace amp

#endif // AMP_PASSES_TRAINING_STOCHASTICROUNDING_H
