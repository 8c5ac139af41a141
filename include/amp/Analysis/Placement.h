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

} // namespace amp

#endif // AMP_ANALYSIS_PLACEMENT_H
