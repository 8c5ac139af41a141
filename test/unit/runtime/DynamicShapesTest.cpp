//===- DynamicShapesTest.cpp - dimensions that are found at run time ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableBuilder.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float;
constexpr DataType i64 = DataType::Int64;

Floats count(int64_t size) {
  Floats numbers(static_cast<size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

void step(Session &session) {
  Status status = session.step();
  ASSERT_TRUE(status.ok()) << status.getMessage();
}

TEST(DynamicShapes, AreInferredAndPlannedAtEntry) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {Dim::unknown()});  // 0
  uint32_t a = builder.addArena(f32, {Dim::axis(x, 0)});      // 1
  uint32_t b = builder.addArena(f32, {Dim::unknown()});       // 2
  uint32_t c = builder.addArena(f32, {Dim::axis(b, 0)});      // 3
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()}); // 4
  builder.call(0, "add", {0, 0}, {a});
  builder.call(0, "concat", {1, 0}, {b});
  builder.call(0, "add", {2, 2}, {c});
  builder.call(0, "concat", {3, 3}, {y});
  std::unique_ptr<Session> session = builder.start();
  // The same sizes come again, with and without a plan that is kept.
  for (int64_t size : {3, 100, 3, 0, 1000, 7, 8, 9, 3}) {
    Floats data = count(size);
    ASSERT_TRUE(session->setInput("x", view(data, f32, {size})).ok());
    step(*session);
    Floats y;
    for (float factor : {4.0f, 2.0f, 4.0f, 2.0f})
      for (float v : data)
        y.push_back(factor * v);
    EXPECT_EQ(toVector<float>(*session->getOutput("y")), y);
    // a and x live until b is made, b until c is.
    uint64_t aligned = (static_cast<uint64_t>(size) * 4 + 63) / 64 * 64;
    uint64_t twice = (static_cast<uint64_t>(size) * 8 + 63) / 64 * 64;
    EXPECT_LE(session->getArenaSize(), 2 * twice);
    EXPECT_GE(session->getArenaSize(), aligned);
  }
}

TEST(DynamicShapes, WhatDependsOnDimensionsRunsAtEntry) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {Dim::unknown(), Dim::unknown()});
  uint32_t s = builder.addArena(i64, {1});                    // 1
  uint32_t r = builder.addArena(f32, {Dim::unknown()});       // 2
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()}); // 3
  auto &shape = builder.call(0, "shape", {static_cast<int32_t>(x)}, {s});
  shape.set_at_entry(true);
  amp::executable::Attribute &start = *shape.mutable_call()->add_attributes();
  start.set_name("start");
  start.set_int_value(1);
  builder.call(0, "range", {1}, {r});
  builder.call(0, "add", {2, 2}, {y});
  std::unique_ptr<Session> session = builder.start();
  Floats data(64);
  for (int64_t size : {4, 9, 4}) {
    ASSERT_TRUE(session->setInput("x", view(data, f32, {2, size})).ok());
    for (int repeat = 0; repeat < 2; ++repeat) {
      step(*session);
      Floats y = count(size);
      for (float &v : y)
        v *= 2;
      EXPECT_EQ(toVector<float>(*session->getOutput("y")), y);
    }
    EXPECT_EQ(session->getArenaSize(), 64u); // The range was planned.
  }
}

TEST(DynamicShapes, WhatDependsOnDataGrows) {
  ExecutableBuilder builder;
  builder.addInput("n", i64, {});                             // 0
  uint32_t r = builder.addArena(f32, {Dim::unknown()});       // 1
  uint32_t v = builder.addView(f32, {Dim::axis(r, 0)}, r);    // 2
  uint32_t d = builder.addArena(f32, {Dim::axis(r, 0)});      // 3
  uint32_t e = builder.addView(f32, {Dim::axis(r, 0)}, d);    // 4, in place
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()}); // 5
  (void)v;
  builder.call(0, "range", {0}, {r});
  builder.call(0, "add", {2, 1}, {d});
  builder.call(0, "add", {3, 3}, {e});
  builder.call(0, "concat", {4, 2}, {y});
  std::unique_ptr<Session> session = builder.start();
  Floats bound(64);
  std::vector<int64_t> n = {0};
  ASSERT_TRUE(session->setInput("n", view(n, i64, {})).ok());
  for (int64_t size : {2, 0, 5, 1000, 3}) {
    n[0] = size;
    step(*session);
    Floats y;
    for (float factor : {4.0f, 1.0f})
      for (float v : count(size))
        y.push_back(factor * v);
    EXPECT_EQ(toVector<float>(*session->getOutput("y")), y);
  }
  ASSERT_TRUE(session->bindOutput("y", bound.data(), 256).ok());
  step(*session);
  EXPECT_EQ(session->getOutput("y")->data, bound.data());
  EXPECT_EQ(bound[5], 2);
  n[0] = 33;
  EXPECT_EQ(session->step().getMessage(),
            "node 'concat_node' ('concat'): output 'y' takes 264 bytes, but "
            "the memory that is bound to it has 256");
  n[0] = -1;
  EXPECT_EQ(session->step().getMessage(),
            "node 'range_node' ('range'): value 1 has dimensions -1, which no "
            "memory can hold");
}

TEST(DynamicShapes, RanksAreFoundToo) {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {6});
  builder.addInput("s", i64, {Dim::unknown()});
  uint32_t r = builder.addArena(f32, {});
  builder.header.mutable_values(static_cast<int>(r))->set_unknown_rank(true);
  uint32_t y = builder.addOutput("y", f32, {});
  builder.header.mutable_values(static_cast<int>(y))->set_unknown_rank(true);
  builder.call(0, "reshape", {0, 1}, {r});
  builder.call(0, "add", {2, 2}, {y});
  std::unique_ptr<Session> session = builder.start();
  Floats x(6, 1);
  ASSERT_TRUE(session->setInput("x", view(x, f32, {6})).ok());
  for (std::vector<int64_t> dims :
       {std::vector<int64_t>{2, 3}, {6}, {1, 1, 6}, {3, 2}}) {
    ASSERT_TRUE(session
                    ->setInput("s", view(dims, i64,
                                         {static_cast<int64_t>(dims.size())}))
                    .ok());
    step(*session);
    Shape shape;
    for (int64_t dim : dims)
      shape.push_back(dim);
    EXPECT_EQ(session->getOutput("y")->shape, shape);
    EXPECT_EQ(toVector<float>(*session->getOutput("y")), Floats(6, 2));
  }
  std::vector<int64_t> wrong = {4};
  ASSERT_TRUE(session->setInput("s", view(wrong, i64, {1})).ok());
  EXPECT_EQ(session->step().getMessage(),
            "node 'reshape_node' ('reshape'): cannot reshape 6 to 4");
}

TEST(DynamicShapes, TheExecutableAndTheKernelMustAgree) {
  {
    ExecutableBuilder builder;
    builder.addInput("x", f32, {2});
    uint32_t y = builder.addOutput("y", f32, {3});
    builder.call(0, "add", {0, 0}, {y});
    std::unique_ptr<Session> session = builder.start();
    Floats x(2);
    ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
    EXPECT_EQ(session->step().getMessage(),
              "node 'add_node' ('add'): value 1 ('y') has dimensions 2, but "
              "the executable says 3");
  }
  {
    ExecutableBuilder builder;
    builder.addInput("x", f32, {Dim::unknown()});
    builder.addInput("z", f32, {Dim::unknown()});
    uint32_t y = builder.addOutput("y", f32, {Dim::unknown()});
    builder.call(0, "add", {0, 1}, {y});
    std::unique_ptr<Session> session = builder.start();
    Floats x(4);
    ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
    ASSERT_TRUE(session->setInput("z", view(x, f32, {4})).ok());
    EXPECT_EQ(session->step().getMessage(),
              "node 'add_node' ('add'): cannot add 2 and 4");
    // After an error the next step begins anew.
    ASSERT_TRUE(session->setInput("z", view(x, f32, {2})).ok());
    step(*session);
  }
  {
    ExecutableBuilder builder;
    builder.addInput("x", f32, {Dim::unknown()});
    uint32_t y = builder.addOutput("y", f32, {5});
    builder.call(0, "concat", {0, 0}, {y});
    std::unique_ptr<Session> session = builder.start();
    Floats x(4);
    ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
    EXPECT_EQ(session->step().getMessage(),
              "node 'concat_node' ('concat'): value 1 ('y') has dimensions 4, "
              "but the executable says 5");
  }
}

TEST(DynamicShapes, ViewsMustFit) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {Dim::unknown()});
  uint32_t v = builder.addView(f32, {4}, x, 8);
  uint32_t y = builder.addOutput("y", f32, {4});
  builder.call(0, "copy", {static_cast<int32_t>(v)}, {y});
  std::unique_ptr<Session> session = builder.start();
  Floats data(8);
  ASSERT_TRUE(session->setInput("x", view(data, f32, {5})).ok());
  EXPECT_EQ(session->step().getMessage(),
            "value 1 (4 at byte 8) reaches beyond value 0 ('x') of 20 bytes");
  ASSERT_TRUE(session->setInput("x", view(data, f32, {6})).ok());
  step(*session);
}

TEST(DynamicShapes, SizesThatNoMemoryHolds) {
  ExecutableBuilder builder;
  builder.addInput("n", i64, {});
  uint32_t r = builder.addArena(f32, {Dim::unknown()});
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()});
  builder.call(0, "range", {0}, {r});
  builder.call(0, "add", {1, 1}, {y});
  std::unique_ptr<Session> session = builder.start();
  std::vector<int64_t> n = {int64_t{1} << 61};
  ASSERT_TRUE(session->setInput("n", view(n, i64, {})).ok());
  EXPECT_EQ(session->step().getMessage(),
            "node 'range_node' ('range'): value 1 has dimensions "
            "2305843009213693952, which no memory can hold");
  n[0] = int64_t{1} << 55;
  EXPECT_EQ(session->step().getMessage(),
            "node 'range_node' ('range'): out of memory: value 1 needs "
            "144115188075855872 bytes");
}

} // namespace
