//===- Conditioning.h - where rounding costs too much -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What statistics that are constants of a program say about errors, to first
// order. An operation in a format of unit roundoff u makes an error of
// u/sqrt(3) of what it adds up, as if it were uniform; errors of operations add
// up by their squares.
//
// 1. A normalization that takes off a mean much larger than the deviation
//    leaves the error, relative to a mean, to be one relative to a deviation.
//    More than kMostCancellation, four bits, is too much.
// 2. A decision (a sigmoid that gives a result of the program) turns the error
//    of its argument into one of a probability. If n operations before it are
//    low, and its argument adds up terms of root sum of squares s, this is
//
//      slope * s * u * sqrt(n/3)
//
//    at one deviation, and kDeviations of it at the worst of many elements.
//    That is to be at most kMostLoss * u: two decimal digits of what the format
//    has. u cancels, and n is what is left. The n operations nearest to the
//    decision are free: errors of those before pass through them, and grow.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_CONDITIONING_H
#define AMP_LIB_ANALYSIS_CONDITIONING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"

namespace amp {

class OperationPlans;

/// Operations that are not to round, with the reason. Takes time linear in
/// operations and the constants concerned for each decision.
llvm::MapVector<mlir::Operation *, mlir::StringAttr>
findIllConditioned(const OperationPlans &plans);

} // namespace amp

#endif // AMP_LIB_ANALYSIS_CONDITIONING_H
