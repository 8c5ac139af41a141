//===- MemoryPlanTest.cpp - where values lie in one arena -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <random>

using namespace amp::runtime;

namespace {

/// Nothing overlaps in time and space, and all lie in the arena.
void check(const std::vector<PlannedBuffer> &buffers, const MemoryPlan &plan) {
  EXPECT_LE(plan.lowerBound, plan.arenaSize);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlannedBuffer &a = buffers[i];
    ASSERT_EQ(a.offset % 64, 0u);
    ASSERT_LE(a.offset + a.size, plan.arenaSize);
    for (size_t j = 0; j < i; ++j) {
      const PlannedBuffer &b = buffers[j];
      bool inTime = a.begin <= b.end && b.begin <= a.end;
      bool inSpace =
          a.offset < b.offset + b.size && b.offset < a.offset + a.size;
      ASSERT_FALSE(inTime && inSpace) << i << " " << j;
    }
  }
}

/// Lives and sizes by chance; many short lives, some long.
std::vector<PlannedBuffer> makeRandom(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<PlannedBuffer> buffers(count);
  for (PlannedBuffer &buffer : buffers) {
    buffer.begin = static_cast<uint32_t>(random() % count);
    uint32_t life =
        random() % 10 == 0 ? random() % (count / 2 + 1) : random() % 6;
    buffer.end = buffer.begin + life;
    buffer.size = (uint64_t{1} << (random() % 16)) + random() % 1000;
  }
  return buffers;
}

/// A training step of a transformer: of each layer's values, forward, some
/// wait for the backward pass, which goes the other way.
std::vector<PlannedBuffer> makeTransformer(uint32_t layers, uint32_t width) {
  std::vector<PlannedBuffer> buffers;
  constexpr uint32_t commands = 20;
  uint32_t end = 2 * layers * commands;
  auto add = [&](uint64_t size, uint32_t from, uint32_t to) {
    PlannedBuffer buffer;
    buffer.size = size;
    buffer.begin = from;
    buffer.end = to;
    buffers.push_back(buffer);
  };
  for (uint32_t layer = 0; layer < layers; ++layer) {
    uint32_t forward = layer * commands, backward = end - forward - commands;
    const uint32_t factors[commands] = {1, 3, 3, 1, 8, 8, 1, 1, 1, 1,
                                        4, 4, 4, 1, 1, 1, 2, 1, 1, 1};
    for (uint32_t i = 0; i < commands; ++i) {
      uint64_t size = uint64_t{width} * factors[i];
      bool isKept = i % 2 == 0;
      add(size, forward + i,
          isKept ? backward + commands - i - 1 : forward + i + 1);
      // Gradients.
      add(size, backward + commands - i - 1,
          std::min(end, backward + commands - i + 2));
    }
    // Gradients of weights, until the optimizer.
    for (uint32_t i = 0; i < 6; ++i)
      add(uint64_t{width} * 5, backward + 3 * i, end);
  }
  return buffers;
}

TEST(MemoryPlan, PlacesOneOrNothing) {
  std::vector<PlannedBuffer> buffers;
  EXPECT_EQ(planMemory(buffers).arenaSize, 0u);
  buffers.push_back({100, 0, 0, 7});
  buffers.push_back({0, 0, 5, 7});
  MemoryPlan plan = planMemory(buffers);
  EXPECT_EQ(plan.arenaSize, 128u);
  EXPECT_EQ(plan.lowerBound, 128u);
  EXPECT_EQ(buffers[0].offset, 0u);
  EXPECT_EQ(buffers[1].offset, 0u);
}

TEST(MemoryPlan, UsesMemoryAgainFromTheNextMomentOn) {
  std::vector<PlannedBuffer> buffers = {{64, 0, 1, 0}, {64, 2, 3, 0}};
  EXPECT_EQ(planMemory(buffers).arenaSize, 64u);
  buffers = {{64, 0, 2, 0}, {64, 2, 3, 0}};
  EXPECT_EQ(planMemory(buffers).arenaSize, 128u);
}

TEST(MemoryPlan, NothingOverlaps) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::vector<PlannedBuffer> buffers = makeRandom(2 + seed * 3, seed);
    MemoryPlan plan = planMemory(buffers);
    check(buffers, plan);
    EXPECT_LE(plan.arenaSize, plan.lowerBound * 5 / 4 + 64) << seed;
  }
}

TEST(MemoryPlan, IsNearTheBoundForTransformers) {
  for (uint32_t layers : {1u, 2u, 4u, 12u, 24u}) {
    std::vector<PlannedBuffer> buffers = makeTransformer(layers, 1 << 16);
    MemoryPlan plan = planMemory(buffers);
    check(buffers, plan);
    EXPECT_LE(plan.arenaSize, plan.lowerBound * 11 / 10) << layers;
  }
}

TEST(MemoryPlan, DependsOnTheBuffersOnly) {
  std::vector<PlannedBuffer> first = makeRandom(500, 1), second = first;
  for (PlannedBuffer &buffer : second)
    buffer.offset = 12345;
  planMemory(first);
  planMemory(second);
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i].offset, second[i].offset);
}

/// The smallest arena: first fit, in any order, reaches it.
uint64_t findBest(const std::vector<PlannedBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  uint64_t best = ~uint64_t{0};
  do {
    std::vector<PlannedBuffer> placed;
    uint64_t top = 0;
    for (size_t index : order) {
      PlannedBuffer buffer = buffers[index];
      buffer.offset = 0;
      buffer.size = (buffer.size + 63) / 64 * 64;
      for (bool isMoved = true; isMoved;) {
        isMoved = false;
        for (const PlannedBuffer &other : placed)
          if (other.begin <= buffer.end && buffer.begin <= other.end &&
              other.offset < buffer.offset + buffer.size &&
              buffer.offset < other.offset + other.size) {
            buffer.offset = other.offset + other.size;
            isMoved = true;
          }
      }
      placed.push_back(buffer);
      top = std::max(top, buffer.offset + buffer.size);
    }
    best = std::min(best, top);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(MemoryPlan, IsNearlyAsSmallAsCanBe) {
  double sum = 0;
  constexpr unsigned instances = 60;
  for (unsigned seed = 0; seed < instances; ++seed) {
    std::mt19937 random(seed);
    std::vector<PlannedBuffer> buffers(7);
    for (PlannedBuffer &buffer : buffers) {
      buffer.begin = static_cast<uint32_t>(random() % 8);
      buffer.end = buffer.begin + static_cast<uint32_t>(random() % 4);
      buffer.size = 64 * (1 + random() % 8);
    }
    uint64_t best = findBest(buffers);
    MemoryPlan plan = planMemory(buffers);
    check(buffers, plan);
    EXPECT_LE(plan.arenaSize, best * 5 / 4) << seed;
    sum += static_cast<double>(plan.arenaSize) / static_cast<double>(best);
  }
  EXPECT_LE(sum / instances, 1.02);
}

TEST(MemoryPlan, TakesLittleTimeForTenThousandBuffers) {
  auto measure = [](std::vector<PlannedBuffer> buffers, const char *what) {
    // Of this process: others may run, too.
    std::clock_t begin = std::clock();
    MemoryPlan plan = planMemory(buffers);
    double milliseconds =
        1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("%s: %zu buffers in %.1f ms, %.4f of the bound\n", what,
                buffers.size(), milliseconds,
                static_cast<double>(plan.arenaSize) /
                    static_cast<double>(plan.lowerBound));
    // Sanitizers take their time.
    EXPECT_LE(milliseconds, 1000) << what;
  };
  measure(makeRandom(10'000, 3), "random");
  measure(makeTransformer(217, 1 << 12), "transformer");
}

} // namespace
