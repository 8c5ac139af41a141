//===- LaneSums.h - sums that the compiler vectorises -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_LANESUMS_H
#define AMP_RUNTIME_CPU_LANESUMS_H

#include <cstdint>

namespace amp::runtime {

/// The sum of term(i) for i < count in float64: eight sums side by side, so
/// that additions don't wait for each other.
template <typename Term> double sumLanes(int64_t count, const Term &term) {
  constexpr int64_t lanes = 8;
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t j = 0; j < lanes; ++j)
      sums[j] += static_cast<double>(term(i + j));
  for (; i < count; ++i)
    sums[0] += static_cast<double>(term(i));
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
         ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_LANESUMS_H
