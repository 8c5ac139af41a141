//===- MemoryPlan.h - where values lie in one arena -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Used by the compiler, which knows all sizes or leaves it, and by the runtime
// where sizes are known at entry only.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MEMORYPLAN_H
#define AMP_RUNTIME_MEMORYPLAN_H

#include <cstdint>
#include <vector>

namespace amp::runtime {

/// A buffer that is needed from one moment to another, both included.
struct PlannedBuffer {
  uint64_t size = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  /// The answer.
  uint64_t offset = 0;
};

struct MemoryPlan {
  uint64_t arenaSize = 0;
  /// The most that is needed at one moment: no plan is smaller.
  uint64_t lowerBound = 0;
};

/// Gives each buffer an offset, a multiple of 64, so that no two that are
/// needed at the same moment overlap. Depends on nothing but the buffers.
/// Sizes must add up to less than 2^62, `begin` be at most `end`.
MemoryPlan planMemory(std::vector<PlannedBuffer> &buffers);

} // namespace amp::runtime

#endif // AMP_RUNTIME_MEMORYPLAN_H
