//===- Grain.h - how finely loops are cut -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_GRAIN_H
#define AMP_RUNTIME_CPU_GRAIN_H

#include <algorithm>
#include <cstdint>

namespace amp::runtime {

/// Iterations that are worth a thread, when one moves so many bytes or does
/// work of about that cost.
inline int64_t getGrain(int64_t bytesPerIteration) {
  constexpr int64_t worthwhile = 1 << 16;
  return std::max<int64_t>(1, worthwhile /
                                  std::max<int64_t>(1, bytesPerIteration));
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_GRAIN_H
