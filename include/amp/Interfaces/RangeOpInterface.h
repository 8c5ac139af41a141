//===- RangeOpInterface.h - what is known of values -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_RANGEOPINTERFACE_H
#define AMP_INTERFACES_RANGEOPINTERFACE_H

#include "amp/Interfaces/Interval.h"

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace amp {

/// What the elements of each channel are like on the data that a model was made
/// for, as if channels and positions did not depend on each other: an estimate.
struct Moments {
  llvm::SmallVector<double> mean;
  llvm::SmallVector<double> variance;
  /// The mean square of what is added up to an element: w'x has the variance of
  /// w'(x - mean), but its rounding errors are those of each w_i x_i.
  llvm::SmallVector<double> terms;

  size_t channels() const { return mean.size(); }
};

/// A normalization by statistics that are constants of the model.
struct Normalization {
  /// Per channel of the data: what it was like when the model was made.
  llvm::SmallVector<double> mean;
  llvm::SmallVector<double> variance;
  /// Per channel the result is scale * data + offset.
  llvm::SmallVector<double> scale;
  llvm::SmallVector<double> offset;
};

/// The moments of an operand, null if nothing is known.
using MomentsOf = llvm::function_ref<const Moments *(unsigned operand)>;

/// The elements of a constant, all of them; none of other values.
using ElementsOf = llvm::function_ref<std::optional<llvm::SmallVector<double>>(
    mlir::Value constant)>;

} // namespace amp

#include "amp/Interfaces/RangeOpInterface.h.inc"

#endif // AMP_INTERFACES_RANGEOPINTERFACE_H
