//===- SampleOrderTest.cpp - the order of samples -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleOrder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace amp::run;
using amp::runtime::Result;
using Places = std::vector<uint64_t>;

namespace {

Places getOrder(uint64_t count, std::optional<uint64_t> seed, uint64_t epoch) {
  Result<SampleOrder> order = SampleOrder::create(count, seed);
  EXPECT_TRUE(order.ok());
  order->beginEpoch(epoch);
  Places places;
  for (uint64_t i = 0; i < count; ++i)
    places.push_back((*order)[i]);
  return places;
}

Places count(uint64_t size) {
  Places places(size);
  std::iota(places.begin(), places.end(), uint64_t{0});
  return places;
}

TEST(SampleOrder, IsThatOfTheDataWithoutASeed) {
  EXPECT_EQ(getOrder(5, std::nullopt, 3), count(5));
  // No memory is taken.
  EXPECT_TRUE(SampleOrder::create(uint64_t{1} << 60, std::nullopt).ok());
}

TEST(SampleOrder, HasEachSampleOnce) {
  for (uint64_t size : {1, 2, 3, 100, 1001}) {
    Places places = getOrder(size, 7, 0);
    std::sort(places.begin(), places.end());
    EXPECT_EQ(places, count(size));
  }
}

TEST(SampleOrder, DependsOnSeedAndEpochOnly) {
  Places first = getOrder(1000, 7, 2);
  EXPECT_EQ(getOrder(1000, 7, 2), first);
  EXPECT_NE(getOrder(1000, 7, 3), first);
  EXPECT_NE(getOrder(1000, 8, 2), first);
  // Whatever came before.
  Result<SampleOrder> order = SampleOrder::create(1000, 7);
  for (uint64_t epoch : {5, 0, 2})
    order->beginEpoch(epoch);
  for (uint64_t i = 0; i < 1000; ++i)
    ASSERT_EQ((*order)[i], first[i]);
  // For good: checkpoints of older versions go on with the same order.
  EXPECT_EQ(getOrder(8, 1, 0), (Places{1, 0, 3, 5, 4, 6, 7, 2}));
}

TEST(SampleOrder, FavoursNoPlace) {
  // Where sample 0 of 5 comes in 20,000 epochs: 4,000 times at each place,
  // five standard deviations at most off.
  std::vector<int> times(5);
  Result<SampleOrder> order = SampleOrder::create(5, 42);
  for (uint64_t epoch = 0; epoch < 20000; ++epoch) {
    order->beginEpoch(epoch);
    for (size_t place = 0; place < 5; ++place)
      times[place] += (*order)[place] == 0;
  }
  for (int each : times)
    EXPECT_NEAR(each, 4000, 5 * 57);
}

TEST(SampleOrder, HasALimit) {
  EXPECT_EQ(SampleOrder::create(uint64_t{1} << 32, 1).getMessage(),
            "4294967296 samples are more than --shuffle can order, which is "
            "4294967295");
}

} // namespace
