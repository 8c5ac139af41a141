//===- ThreadPoolTest.cpp - loops on several threads ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/ThreadPool.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace amp::runtime;

namespace {

TEST(ThreadPool, CoversEachIterationOnceInPiecesOfTheGrain) {
  for (unsigned size : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(size);
    EXPECT_EQ(pool.getSize(), size);
    for (int64_t extent : {0, 1, 2, 7, 64, 1000, 10007})
      for (int64_t grain : {1, 3, 64, 20000}) {
        std::vector<std::atomic<int>> counts(static_cast<size_t>(extent));
        std::atomic<bool> isRight = true;
        pool.parallelFor(extent, grain,
                         [&](int64_t begin, int64_t end, unsigned thread) {
                           if (begin % grain != 0 || thread >= size ||
                               end != std::min(begin + grain, extent))
                             isRight = false;
                           for (int64_t i = begin; i < end; ++i)
                             ++counts[static_cast<size_t>(i)];
                         });
        EXPECT_TRUE(isRight) << extent << " " << grain;
        for (const std::atomic<int> &count : counts)
          ASSERT_EQ(count, 1) << extent << " " << grain;
      }
  }
}

TEST(ThreadPool, SeesWhatTheCallerWroteAndTheOtherWayRound) {
  ThreadPool pool(4);
  std::vector<int64_t> data(257);
  for (int64_t round = 0; round < 3000; ++round) {
    data.assign(data.size(), round); // Not atomic, on purpose.
    pool.parallelFor(static_cast<int64_t>(data.size()), 8,
                     [&](int64_t begin, int64_t end, unsigned) {
                       for (int64_t i = begin; i < end; ++i)
                         data[static_cast<size_t>(i)] += i;
                     });
    for (size_t i = 0; i < data.size(); ++i)
      ASSERT_EQ(data[i], round + static_cast<int64_t>(i));
  }
}

TEST(ThreadPool, WakesThreadsThatSleep) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> inside = 0;
    // Two pieces that wait for each other need two threads.
    pool.parallelFor(2, 1, [&](int64_t, int64_t, unsigned) {
      ++inside;
      while (inside < 2)
        std::this_thread::yield();
    });
    EXPECT_EQ(inside, 2);
  }
}

TEST(ThreadPool, WaitsForASlowPiece) {
  ThreadPool pool(3);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> done = 0;
    pool.parallelFor(3, 1, [&](int64_t, int64_t, unsigned thread) {
      if (thread != 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++done;
    });
    EXPECT_EQ(done, 3);
  }
}

TEST(ThreadPool, ManyPoolsComeAndGo) {
  for (int round = 0; round < 100; ++round) {
    ThreadPool a(3), b(2);
    std::atomic<int64_t> sum = 0;
    auto add = [&](int64_t begin, int64_t end, unsigned) {
      sum += end - begin;
    };
    a.parallelFor(100, 1, add);
    b.parallelFor(100, 7, add);
    EXPECT_EQ(sum, 200);
  }
}

} // namespace
