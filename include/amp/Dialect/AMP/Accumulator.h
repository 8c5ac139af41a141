//===- Accumulator.h - sums of low precision products -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_ACCUMULATOR_H
#define AMP_DIALECT_AMP_ACCUMULATOR_H

#include "mlir/IR/Builders.h"

namespace amp {

/// Gives a result, which moved to a low format, the type `accumulator` that the
/// operation adds up in. Users of the result get a cast to the low format,
/// right after the operation, where the builder is left; those that cast it
/// back read the accumulator itself.
void keepAccumulator(mlir::OpBuilder &builder, mlir::OpResult result,
                     mlir::Type accumulator);

} // namespace amp

#endif // AMP_DIALECT_AMP_ACCUMULATOR_H
