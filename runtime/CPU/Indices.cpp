//===- Indices.cpp - checks of indices ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Indices.h"

#include "CPU/Grain.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <atomic>
#include <string>

namespace amp::runtime {

Status checkIndices(const TensorView &indices, const int64_t *extents,
                    int64_t count, ThreadPool &threads) {
  int64_t total = indices.getElementCount();
  std::atomic<int64_t> firstBad{total};
  threads.parallelFor(
      total, getGrain(8), [&](int64_t begin, int64_t end, unsigned) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t index = getInteger(indices, i), extent = extents[i % count];
          if (index >= -extent && index < extent)
            continue;
          int64_t seen = firstBad.load();
          while (i < seen && !firstBad.compare_exchange_weak(seen, i))
            ;
          return;
        }
      });
  int64_t bad = firstBad.load();
  if (bad == total)
    return {};
  int64_t extent = extents[bad % count];
  return Status::error("index " + std::to_string(getInteger(indices, bad)) +
                       " at element " + std::to_string(bad) +
                       " is out of range [" + std::to_string(-extent) + ", " +
                       std::to_string(extent - 1) + "]");
}

} // namespace amp::runtime
