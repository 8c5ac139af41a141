//===- Placement.h - how formats are chosen ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_ANALYSIS_PLACEMENT_H
#define AMP_ANALYSIS_PLACEMENT_H

namespace amp {

/// Who decides on the operations that a policy leaves open (see
/// PrecisionAnalysis.h).
enum class Placement {
  Eager,   ///< the formats of an operation's inputs, as in PyTorch
  Optimal, ///< the bytes that the whole program moves
};

/// The types of arguments and results of functions that others may call.
enum class IOTypes {
  Policy, ///< as the policy says, which may name some
  Keep,   ///< stay
  Lower,  ///< become low where they are float32
};

} // namespace amp

#endif // AMP_ANALYSIS_PLACEMENT_H
