//===- AllocationTest.cpp - steps allocate nothing ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataSource.h"
#include "ExecutableBuilder.h"
#include "Feed.h"
#include "MetricsLog.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cerrno>

using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

// Every allocation of the process, operator new's too, comes by here.
static std::atomic<size_t> allocations{0};

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *data, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void *realloc(void *data, size_t size) {
  ++allocations;
  return __libc_realloc(data, size);
}
void *memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void **data, size_t alignment, size_t size) {
  *data = memalign(alignment, size);
  return *data ? 0 : ENOMEM;
}
}

namespace {

constexpr DataType f32 = DataType::Float;

/// Allocations of so many steps.
size_t countSteps(Session &session, int steps) {
  size_t before = allocations;
  for (int i = 0; i < steps; ++i)
    if (!session.step().ok())
      return ~size_t{0};
  return allocations - before;
}

TEST(Allocation, IsCounted) {
  size_t before = allocations;
  auto data = std::make_unique<std::string>(1000, 'x');
  size_t after = allocations;
  EXPECT_EQ(data->size(), 1000u);
  EXPECT_GE(after, before + 2);
}

TEST(Allocation, StepsOfAStaticExecutableDoNone) {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {64});                               // 0
  uint32_t c = builder.addConstant<float>(f32, {64}, Floats(64)); // 1
  uint32_t w = builder.addState("w", f32, {64}, c);               // 2
  uint32_t next = builder.addView(f32, {64}, w);                  // 3
  uint32_t y = builder.addOutput("y", f32, {64});                 // 4
  uint32_t t = builder.addArena(f32, {64}, 0);                    // 5
  builder.header.set_arena_size(256);
  uint32_t add = builder.addFunction("Add");
  builder.call(0, "add", {0, 1}, {t});
  auto &launch = *builder.launch(0, add, {2, 5}, {next}).mutable_launch();
  ExecutableBuilder::set(*launch.add_sizes(), 8);
  ExecutableBuilder::set(*launch.add_extent(), 8);
  builder.call(0, "copy", {3}, {y});
  std::unique_ptr<Session> session = builder.start(2);
  Floats x(64, 1), other(64, 2);
  ASSERT_TRUE(session->setInput("x", view(x, f32, {64})).ok());
  ASSERT_EQ(session->step().getMessage(), "");
  EXPECT_EQ(countSteps(*session, 100), 0u);
  size_t before = allocations;
  bool isOk = session->setInput("x", view(other, f32, {64})).ok() &&
              session->step().ok() && session->getOutput("y").ok() &&
              session->getState("w").ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(isOk);
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), Floats(64, 103));
}

TEST(Allocation, NorDoThoseOfOthersWithTheSameSizes) {
  ExecutableBuilder builder;
  builder.addInput("n", DataType::Int64, {});                 // 0
  uint32_t r = builder.addArena(f32, {Dim::unknown()});       // 1
  uint32_t s = builder.addArena(f32, {Dim::axis(r, 0)});      // 2
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()}); // 3
  builder.call(0, "range", {0}, {r});
  builder.call(0, "add", {1, 1}, {s});
  builder.call(0, "concat", {1, 2}, {y});
  std::unique_ptr<Session> session = builder.start(2);
  std::vector<int64_t> n = {1000};
  ASSERT_TRUE(session->setInput("n", view(n, DataType::Int64, {})).ok());
  ASSERT_EQ(session->step().getMessage(), "");
  EXPECT_EQ(countSteps(*session, 10), 0u);
  n[0] = 10; // Smaller: memory is there.
  EXPECT_EQ(countSteps(*session, 10), 0u);
}

TEST(Allocation, NorDoLoops) {
  ExecutableBuilder builder;
  builder.addInput("n", DataType::Int64, {});              // 0
  uint32_t a0 = builder.addConstant<float>(f32, {1}, {0}); // 1
  uint32_t b0 = builder.addConstant<float>(f32, {1}, {1}); // 2
  uint32_t i = builder.addArena(DataType::Int64, {});      // 3
  uint32_t c = builder.addArena(DataType::Bool, {});       // 4
  uint32_t a = builder.addArena(f32, {1}), b = builder.addArena(f32, {1});
  uint32_t sum = builder.addArena(f32, {1});
  uint32_t y = builder.addOutput("y", f32, {1});
  uint32_t z = builder.addArena(f32, {1});
  uint32_t all = builder.addOutput("all", f32, {Dim::unknown(), 1});
  builder.header.mutable_values(static_cast<int>(all))->set_output(1);
  uint32_t body = builder.addProgram();
  builder.call(body, "add", {5, 6}, {sum});
  builder.loop(0, {0, -1, static_cast<int32_t>(a0), static_cast<int32_t>(b0)},
               {y, z, all}, body, {i, c, a, b}, {c, b, sum, a});
  std::unique_ptr<Session> session = builder.start(2);
  std::vector<int64_t> n = {20};
  ASSERT_TRUE(session->setInput("n", view(n, DataType::Int64, {})).ok());
  ASSERT_EQ(session->step().getMessage(), "");
  EXPECT_EQ(countSteps(*session, 10), 0u);
}

TEST(Allocation, NorDoStepsOfTraining) {
  using namespace amp::run;
  std::string data = amp::run::test::writeLinearData(100);
  auto executable = Executable::load(amp::run::test::writeLinearModel());
  ASSERT_TRUE(executable.ok()) << executable.getMessage();
  auto session = Session::create(*executable, {2});
  Result<DataSource> source =
      DataSource::open({data}, [](std::string_view) { return true; });
  FeedOptions options;
  options.batch = 8;
  Result<Feed> feed = Feed::create(**session, *source, options);
  ASSERT_TRUE(feed.ok()) << feed.getMessage();
  Result<SampleOrder> order = SampleOrder::create(100, 1);
  Result<ScalarValues> values = ScalarValues::find(**executable, "");
  ASSERT_TRUE(values.ok()) << values.getMessage();
  MetricsLog log;
  ASSERT_EQ(log.open(makePath(".jsonl"), 0).getMessage(), "");
  auto runEpoch = [&](uint64_t epoch) {
    bool isOk = true;
    order->beginEpoch(epoch);
    for (uint64_t step = 0; step < 12; ++step)
      isOk &= feed->load(*order, step * 8, 8).ok() && (*session)->step().ok() &&
              values->read(**session).ok() &&
              log.write({step + 1, epoch + 1, 1.0 / 3, 1e9 / 3}, *values).ok();
    return isOk;
  };
  ASSERT_TRUE(runEpoch(0));
  size_t before = allocations;
  bool isOk = runEpoch(1) && runEpoch(2);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(isOk);
}

} // namespace
