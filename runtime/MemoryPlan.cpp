//===- MemoryPlan.cpp - where values lie in one arena ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers are placed one after the other, each into the smallest gap that it
// fits into among those that are placed and needed at the same time (greedy
// best fit). The order decides how good that is, and no order is always best;
// the smallest plan is taken:
// - by the last moment, backwards: what waits longest for the backward pass of
//   a training step lies lowest. Like an allocator that lives through the step
//   in reverse, so that it takes O(n log n);
// - by the first moment, which is the same forwards;
// - by size, or by the length of life in powers of four: often better for
//   inference, but O(n^2), so for a few thousand buffers only.
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace amp::runtime;

static constexpr uint64_t alignment = 64;

static uint64_t alignUp(uint64_t size) {
  return (size + alignment - 1) / alignment * alignment;
}

//===----------------------------------------------------------------------===//
// In the order of time
//===----------------------------------------------------------------------===//

namespace {

/// Free ranges of an arena without end.
class Gaps {
public:
  Gaps() { add(0, uint64_t{1} << 63); }

  /// From the smallest gap that is large enough, the lowest among equals.
  uint64_t take(uint64_t size) {
    auto [gapSize, offset] = *bySize.lower_bound({size, 0});
    remove(offset, gapSize);
    if (gapSize > size)
      add(offset + size, gapSize - size);
    return offset;
  }

  void give(uint64_t offset, uint64_t size) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first == offset + size) {
      auto [nextOffset, nextSize] = *next++;
      size += nextSize;
      remove(nextOffset, nextSize);
    }
    if (next != byOffset.begin()) {
      auto [previousOffset, previousSize] = *--next;
      if (previousOffset + previousSize == offset) {
        remove(previousOffset, previousSize);
        offset = previousOffset;
        size += previousSize;
      }
    }
    add(offset, size);
  }

private:
  void add(uint64_t offset, uint64_t size) {
    byOffset.emplace(offset, size);
    bySize.emplace(size, offset);
  }
  void remove(uint64_t offset, uint64_t size) {
    byOffset.erase(offset);
    bySize.erase({size, offset});
  }

  std::map<uint64_t, uint64_t> byOffset;
  std::set<std::pair<uint64_t, uint64_t>> bySize;
};

} // namespace

/// Places the buffers by their last moment, backwards; the size of the arena.
static uint64_t placeBackwards(std::vector<PlannedBuffer> &buffers) {
  std::vector<uint32_t> byEnd(buffers.size());
  std::iota(byEnd.begin(), byEnd.end(), 0);
  std::vector<uint32_t> byBegin = byEnd;
  std::sort(byEnd.begin(), byEnd.end(), [&](uint32_t a, uint32_t b) {
    const PlannedBuffer &x = buffers[a], &y = buffers[b];
    return x.end != y.end       ? x.end > y.end
           : x.begin != y.begin ? x.begin < y.begin
                                : a < b;
  });
  std::sort(byBegin.begin(), byBegin.end(), [&](uint32_t a, uint32_t b) {
    uint32_t x = buffers[a].begin, y = buffers[b].begin;
    return x != y ? x > y : a < b;
  });
  Gaps gaps;
  uint64_t arenaSize = 0;
  auto leaving = byBegin.begin();
  for (uint32_t index : byEnd) {
    PlannedBuffer &buffer = buffers[index];
    // Going backwards, these have not begun any more.
    for (; buffers[*leaving].begin > buffer.end; ++leaving)
      if (uint64_t size = alignUp(buffers[*leaving].size))
        gaps.give(buffers[*leaving].offset, size);
    uint64_t size = alignUp(buffer.size);
    buffer.offset = size == 0 ? 0 : gaps.take(size);
    arenaSize = std::max(arenaSize, buffer.offset + size);
  }
  return arenaSize;
}

static void reverseTime(std::vector<PlannedBuffer> &buffers) {
  for (PlannedBuffer &buffer : buffers) {
    uint32_t begin = buffer.begin;
    buffer.begin = UINT32_MAX - buffer.end;
    buffer.end = UINT32_MAX - begin;
  }
}

//===----------------------------------------------------------------------===//
// In any order
//===----------------------------------------------------------------------===//

/// Places the buffers, the largest key first; the size of the arena.
template <typename GetKey>
static uint64_t placeBy(std::vector<PlannedBuffer> &buffers, GetKey getKey) {
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    auto x = getKey(buffers[a]), y = getKey(buffers[b]);
    return x != y ? x > y : a < b;
  });
  // By offset.
  struct Placed {
    uint64_t offset, top;
    uint32_t begin, end;
  };
  std::vector<Placed> placed;
  placed.reserve(buffers.size());
  uint64_t arenaSize = 0;
  for (uint32_t index : order) {
    PlannedBuffer &buffer = buffers[index];
    buffer.offset = 0;
    uint64_t size = alignUp(buffer.size);
    if (size == 0)
      continue;
    uint64_t top = 0, smallest = ~uint64_t{0}, offset = 0;
    for (const Placed &other : placed) {
      if (other.begin > buffer.end || other.end < buffer.begin)
        continue;
      if (other.offset >= top + size && other.offset - top < smallest) {
        offset = top;
        smallest = other.offset - top;
      }
      top = std::max(top, other.top);
    }
    buffer.offset = smallest == ~uint64_t{0} ? top : offset;
    auto position = std::upper_bound(
        placed.begin(), placed.end(), buffer.offset,
        [](uint64_t value, const Placed &p) { return value < p.offset; });
    placed.insert(position, {buffer.offset, buffer.offset + size, buffer.begin,
                             buffer.end});
    arenaSize = std::max(arenaSize, buffer.offset + size);
  }
  return arenaSize;
}

static uint64_t computeLowerBound(const std::vector<PlannedBuffer> &buffers) {
  // What is needed changes by +size at begin, by -size after end.
  std::vector<std::pair<uint64_t, int64_t>> changes;
  changes.reserve(2 * buffers.size());
  for (const PlannedBuffer &buffer : buffers) {
    auto size = static_cast<int64_t>(alignUp(buffer.size));
    changes.emplace_back(buffer.begin, size);
    changes.emplace_back(uint64_t{buffer.end} + 1, -size);
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = 0;
  for (const auto &[moment, change] : changes) {
    live += change;
    most = std::max(most, live);
  }
  return static_cast<uint64_t>(most);
}

static uint32_t getLifetime(const PlannedBuffer &buffer) {
  return buffer.end - buffer.begin;
}

MemoryPlan amp::runtime::planMemory(std::vector<PlannedBuffer> &buffers) {
  constexpr size_t manyBuffers = 3000, someBuffers = 1500;
  MemoryPlan plan;
  plan.lowerBound = computeLowerBound(buffers);
  plan.arenaSize = placeBackwards(buffers);
  auto consider = [&](auto place) {
    // Half a percent is not worth the time.
    if (plan.arenaSize - plan.lowerBound <= plan.lowerBound / 200)
      return;
    std::vector<PlannedBuffer> others = buffers;
    uint64_t size = place(others);
    if (size >= plan.arenaSize)
      return;
    plan.arenaSize = size;
    buffers = std::move(others);
  };
  consider([](std::vector<PlannedBuffer> &others) {
    reverseTime(others);
    uint64_t size = placeBackwards(others);
    reverseTime(others);
    return size;
  });
  if (buffers.size() <= manyBuffers)
    consider([](std::vector<PlannedBuffer> &others) {
      return placeBy(others, [](const PlannedBuffer &buffer) {
        return std::make_pair(buffer.size, getLifetime(buffer));
      });
    });
  if (buffers.size() <= someBuffers)
    consider([](std::vector<PlannedBuffer> &others) {
      return placeBy(others, [](const PlannedBuffer &buffer) {
        unsigned power = 0;
        while (uint64_t{4} << (2 * power) < uint64_t{getLifetime(buffer)} + 1)
          ++power;
        return std::make_pair(power, buffer.size);
      });
    });
  return plan;
}
