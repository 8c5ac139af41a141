//===- StridedCopy.cpp - moves elements between layouts -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/StridedCopy.h"

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/ThreadPool.h"
#include "CPU/TransposeTile.h"

#include <algorithm>
#include <cstring>

using namespace amp::runtime;

void LoopNest::simplify() {
  size_t kept = 0;
  for (size_t i = 0; i < depth; ++i) {
    Loop loop = loops[i];
    if (loop.extent == 1)
      continue;
    if (kept != 0) {
      Loop &outer = loops[kept - 1];
      if (outer.sourceStride == loop.extent * loop.sourceStride &&
          outer.destinationStride == loop.extent * loop.destinationStride) {
        outer = {outer.extent * loop.extent, loop.sourceStride,
                 loop.destinationStride};
        continue;
      }
    }
    loops[kept++] = loop;
  }
  depth = kept;
}

std::array<int64_t, Shape::maxRank>
amp::runtime::getStrides(const Shape &shape) {
  std::array<int64_t, Shape::maxRank> strides{};
  int64_t stride = 1;
  for (size_t i = shape.getRank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

namespace {

template <typename T>
void copyRow(const T *source, T *destination, const LoopNest::Loop &row) {
  int64_t count = row.extent, from = row.sourceStride,
          to = row.destinationStride;
  if (to == 1 && from == 1) {
    if constexpr (std::is_trivially_copyable_v<T>)
      std::memcpy(destination, source, static_cast<size_t>(count) * sizeof(T));
    else
      std::copy_n(source, count, destination);
  } else if (to == 1 && from == 0) {
    std::fill_n(destination, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i)
      destination[i * to] = source[i * from];
  }
}

template <typename T>
void copyRows(const LoopNest &nest, const T *source, T *destination,
              ThreadPool &threads) {
  size_t outer = nest.getDepth() - 1;
  const LoopNest::Loop &row = nest[outer];
  int64_t rows = 1;
  for (size_t i = 0; i < outer; ++i)
    rows *= nest[i].extent;
  auto rowBytes = row.extent * static_cast<int64_t>(sizeof(T));
  if (rows == 1) {
    int64_t grain = getGrain(sizeof(T));
    threads.parallelFor(
        row.extent, grain, [&](int64_t begin, int64_t end, unsigned) {
          copyRow(source + begin * row.sourceStride,
                  destination + begin * row.destinationStride,
                  {end - begin, row.sourceStride, row.destinationStride});
        });
    return;
  }
  threads.parallelFor(
      rows, getGrain(rowBytes), [&](int64_t begin, int64_t end, unsigned) {
        LoopPosition at(nest, outer, begin);
        for (int64_t i = begin; i < end; ++i, at.next())
          copyRow(source + at.source, destination + at.destination, row);
      });
}

/// A nest whose rows are dense in the destination, and where another loop is
/// the dense one of the source: matrices are transposed by blocks that stay in
/// the cache.
template <typename T>
void copyTransposed(const LoopNest &nest, size_t denseInSource, const T *source,
                    T *destination, ThreadPool &threads) {
  constexpr int64_t block = 128;
  size_t last = nest.getDepth() - 1;
  LoopNest::Loop rows = nest[denseInSource], columns = nest[last];
  LoopNest outer;
  int64_t matrices = 1;
  for (size_t i = 0; i < last; ++i)
    if (i != denseInSource) {
      outer.push(nest[i].extent, nest[i].sourceStride,
                 nest[i].destinationStride);
      matrices *= nest[i].extent;
    }
  int64_t blockRows = (rows.extent + block - 1) / block;
  int64_t bytes = std::min(block, rows.extent) * columns.extent *
                  static_cast<int64_t>(sizeof(T));
  threads.parallelFor(
      matrices * blockRows, getGrain(bytes),
      [&](int64_t begin, int64_t end, unsigned) {
        for (int64_t i = begin; i < end; ++i) {
          LoopPosition at(outer, outer.getDepth(), i / blockRows);
          int64_t row = i % blockRows * block;
          int64_t height = std::min(block, rows.extent - row);
          const T *from = source + at.source + row;
          T *to = destination + at.destination + row * rows.destinationStride;
          for (int64_t column = 0; column < columns.extent; column += block)
            transposeBlock(from + column * columns.sourceStride,
                           columns.sourceStride, to + column,
                           rows.destinationStride, height,
                           std::min(block, columns.extent - column));
        }
      });
}

} // namespace

void amp::runtime::copyStrided(LoopNest nest, DataType type, const void *source,
                               void *destination, ThreadPool &threads) {
  for (size_t i = 0; i < nest.getDepth(); ++i)
    if (nest[i].extent == 0)
      return;
  nest.simplify();
  if (nest.getDepth() == 0)
    nest.push(1, 1, 1);
  size_t last = nest.getDepth() - 1, denseInSource = last;
  if (nest[last].destinationStride == 1 && nest[last].sourceStride > 1)
    for (size_t i = 0; i < last; ++i)
      if (nest[i].sourceStride == 1 && nest[i].destinationStride > 0)
        denseInSource = i;
  visitSize(type, [&](auto element) {
    using T = decltype(element);
    auto *from = static_cast<const T *>(source);
    auto *to = static_cast<T *>(destination);
    if (denseInSource != last)
      copyTransposed(nest, denseInSource, from, to, threads);
    else
      copyRows(nest, from, to, threads);
  });
}
