//===- StridedCopy.h - moves elements between layouts -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transpose, Slice, Expand, Tile, Concat, … are all a loop nest that copies
// destination[i . destinationStrides] = source[i . sourceStrides].
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_STRIDEDCOPY_H
#define AMP_RUNTIME_CPU_STRIDEDCOPY_H

#include "amp/Runtime/Tensor.h"

#include <array>
#include <cstdint>

namespace amp::runtime {

class ThreadPool;

/// Loops, outermost first. Strides count elements; those of the source may be
/// negative or 0, those of the destination must be positive, and no element is
/// written twice.
class LoopNest {
public:
  /// Tile splits each axis in two.
  static constexpr size_t maxDepth = 2 * Shape::maxRank;

  struct Loop {
    int64_t extent, sourceStride, destinationStride;
  };

  void push(int64_t extent, int64_t sourceStride, int64_t destinationStride) {
    loops[depth++] = {extent, sourceStride, destinationStride};
  }
  size_t getDepth() const { return depth; }
  const Loop &operator[](size_t index) const { return loops[index]; }

  /// Drops loops of one iteration and merges loops that act as one.
  void simplify();

private:
  std::array<Loop, maxDepth> loops{};
  size_t depth = 0;
};

/// Where iteration `index` of the first `depth` loops is, and how to go on.
class LoopPosition {
public:
  LoopPosition(const LoopNest &nest, size_t depth, int64_t index)
      : nest(nest), depth(depth) {
    for (size_t i = depth; i-- > 0;) {
      counters[i] = index % nest[i].extent;
      index /= nest[i].extent;
      source += counters[i] * nest[i].sourceStride;
      destination += counters[i] * nest[i].destinationStride;
    }
  }

  void next() {
    for (size_t i = depth; i-- > 0;) {
      source += nest[i].sourceStride;
      destination += nest[i].destinationStride;
      if (++counters[i] < nest[i].extent)
        return;
      counters[i] = 0;
      source -= nest[i].extent * nest[i].sourceStride;
      destination -= nest[i].extent * nest[i].destinationStride;
    }
  }

  int64_t source = 0, destination = 0;

private:
  const LoopNest &nest;
  size_t depth;
  std::array<int64_t, LoopNest::maxDepth> counters{};
};

/// The distance between neighbours along each axis of a dense tensor.
std::array<int64_t, Shape::maxRank> getStrides(const Shape &shape);

/// Runs the loops on elements of that type.
void copyStrided(LoopNest nest, DataType type, const void *source,
                 void *destination, ThreadPool &threads);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_STRIDEDCOPY_H
