//===- IntervalTest.cpp - arithmetic of bounds ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/Interval.h"

#include "gtest/gtest.h"
#include <array>
#include <cmath>
#include <random>

using amp::Interval;
using Kind = amp::Interval::Kind;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Interval constant(double lo, double hi) { return {lo, hi, Kind::Constant}; }

void expectBounds(const Interval &interval, double lo, double hi) {
  EXPECT_EQ(interval.lo, lo);
  EXPECT_EQ(interval.hi, hi);
}
} // namespace

TEST(Interval, TopAndBottom) {
  EXPECT_TRUE(Interval().isTop());
  EXPECT_FALSE(Interval::top().isFinite());
  EXPECT_TRUE(Interval::bottom().isBottom());
  EXPECT_EQ(Interval::bottom().absmax(), 0);
  EXPECT_EQ(join(Interval::bottom(), constant(1, 2)), constant(1, 2));
  EXPECT_TRUE(join(Interval::top(), constant(1, 2)).isTop());
  EXPECT_EQ(meet(Interval::top(), constant(1, 2)), constant(1, 2));
  EXPECT_TRUE(meet(constant(0, 1), constant(2, 3)).isBottom());
}

TEST(Interval, LeavesNaNOut) {
  Interval interval = Interval::bottom();
  interval.include(kNaN);
  EXPECT_TRUE(interval.isBottom());
  interval.include(-kInfinity);
  interval.include(3);
  expectBounds(interval, -kInfinity, 3);
}

TEST(Interval, BottomStays) {
  Interval none = Interval::bottom(), some = constant(1, 2);
  for (const Interval &result :
       {none + some, some - none, none * some, some / none, min(none, some),
        max(some, none), abs(none), square(none), -none,
        increasing(none, [](double x) { return x; })})
    EXPECT_TRUE(result.isBottom());
}

TEST(Interval, Magnitudes) {
  EXPECT_EQ(constant(-3, 2).absmax(), 3);
  EXPECT_EQ(constant(-3, 2).absmin(), 0);
  EXPECT_EQ(constant(-3, -2).absmin(), 2);
  expectBounds(abs(constant(-3, 2)), 0, 3);
  expectBounds(abs(Interval::top()), 0, kInfinity);
  expectBounds(square(constant(-3, 2)), 0, 9);
  expectBounds(-constant(-3, 2), -2, 3);
}

TEST(Interval, Infinities) {
  Interval up = {0, kInfinity, Kind::Bound};
  expectBounds(up + up, 0, kInfinity);
  expectBounds(up - up, -kInfinity, kInfinity);
  expectBounds(constant(0, 0) * Interval::top(), 0, 0);
  expectBounds(constant(2, 2) * up, 0, kInfinity);
  expectBounds(constant(-1, 0) * up, -kInfinity, 0);
  Interval infinite = constant(kInfinity, kInfinity);
  EXPECT_TRUE((infinite - infinite).isTop());
  EXPECT_TRUE((infinite / infinite).isTop());
}

TEST(Interval, DivisionByWhatMayBeZero) {
  EXPECT_TRUE((constant(1, 1) / constant(0, 2)).isTop());
  EXPECT_TRUE((constant(1, 1) / constant(-1, 1)).isTop());
  EXPECT_TRUE((constant(0, 0) / constant(0, 0)).isTop());
  expectBounds(constant(1, 2) / constant(-4, -2), -1, -0.25);
  expectBounds(Interval::top() / constant(2, 4), -kInfinity, kInfinity);
}

TEST(Interval, RoundsToFloat32) {
  double third = static_cast<float>(1.0 / 3);
  expectBounds(constant(1, 1) / constant(3, 3), third, third);
  double largest = std::numeric_limits<float>::max();
  expectBounds(constant(largest, largest) + constant(largest, largest),
               kInfinity, kInfinity);
}

TEST(Interval, SaysWhatIsReached) {
  Interval some = Interval::attained(0, 1), known = constant(2, 3);
  EXPECT_EQ((some * known).kind, Kind::Attained);
  EXPECT_EQ((known * known).kind, Kind::Constant);
  EXPECT_EQ((some * some).kind, Kind::Bound);
  EXPECT_EQ((some + Interval::bound(0, 1)).kind, Kind::Bound);
  EXPECT_EQ(join(some, known).kind, Kind::Attained);
}

// Bounds of results hold for what float32 gives for elements within.
TEST(Interval, HoldsWhatFloat32Gives) {
  std::mt19937 random(1);
  const std::array<float, 9> ends = {-kInfinity, -3e38F, -2,    -1e-3F,   0,
                                     1e-40F,     0.7F,   3e38F, kInfinity};
  std::uniform_int_distribution<size_t> pick(0, ends.size() - 1);
  std::uniform_real_distribution<float> part(0, 1);
  auto draw = [&] {
    float a = ends[pick(random)], b = ends[pick(random)];
    return constant(std::min(a, b), std::max(a, b));
  };
  auto element = [&](const Interval &in) {
    float x = static_cast<float>(in.lo) * part(random) +
              static_cast<float>(in.hi) * part(random);
    return std::isnan(x) ? static_cast<float>(in.hi)
                         : std::min(std::max(x, float(in.lo)), float(in.hi));
  };
  auto expectIn = [](const Interval &interval, float value) {
    EXPECT_TRUE(std::isnan(value) || interval.contains(value))
        << value << " in [" << interval.lo << ", " << interval.hi << "]";
  };
  for (int i = 0; i < 100000; ++i) {
    Interval a = draw(), b = draw();
    float x = element(a), y = element(b);
    expectIn(a + b, x + y);
    expectIn(a - b, x - y);
    expectIn(a * b, x * y);
    expectIn(a / b, x / y);
    expectIn(min(a, b), std::min(x, y));
    expectIn(max(a, b), std::max(x, y));
    expectIn(square(a), x * x);
    expectIn(abs(a), std::abs(x));
  }
}
