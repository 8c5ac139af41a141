//===- NonFiniteTest.cpp - who makes a NaN --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NonFinite.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace amp::run;
using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float;
const float inf = std::numeric_limits<float>::infinity(), nan_ = std::nanf("");

TEST(NonFinite, IsCounted) {
  Floats numbers(5000, 1);
  EXPECT_FALSE(countNonFinite(view(numbers, f32, {5000})));
  numbers[3000] = -inf;
  numbers[4999] = nan_;
  TensorView tensor = view(numbers, f32, {5000});
  NonFiniteCount count = countNonFinite(tensor);
  EXPECT_EQ(count.count, 2u);
  EXPECT_TRUE(count.hasNaN && count.hasInfinity);
  EXPECT_EQ(describe(count, tensor), "2 of 5000 elements are not finite; the "
                                     "first, -inf, is at index 3000");
  std::vector<uint16_t> half = {0x3c00, 0x7c00};
  tensor = view(half, DataType::Float16, {2});
  EXPECT_EQ(describe(countNonFinite(tensor), tensor),
            "1 of 2 elements is not finite; the first, inf, is at index 1");
  EXPECT_FALSE(countNonFinite(view(half, DataType::Int16, {2})));
  EXPECT_FALSE(countNonFinite({nullptr, f32, {2}}));
}

/// What is found in a step.
std::string find(ExecutableBuilder &builder, Floats x) {
  std::unique_ptr<Session> session = builder.start();
  auto size = int64_t(x.size());
  EXPECT_TRUE(session->setInput("x", view(x, f32, {size})).ok());
  NonFiniteFinder finder;
  EXPECT_TRUE(finder.begin(*session).ok());
  session->setObserver(&finder);
  EXPECT_EQ(session->step().getMessage(), "");
  return finder.getFirst().value_or("none");
}

TEST(NonFiniteFinder, NamesWhoMadeItNotWhoPassesItOn) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {2});
  uint32_t a = builder.addArena(f32, {2}), b = builder.addArena(f32, {2});
  uint32_t y = builder.addOutput("y", f32, {2});
  builder.call(0, "neg", {int32_t(x)}, {a});
  builder.call(0, "log", {int32_t(a)}, {b}).set_node("the log");
  builder.call(0, "add", {int32_t(b), int32_t(b)}, {y});
  EXPECT_EQ(find(builder, {-1, -2}), "none");
  EXPECT_EQ(
      find(builder, {-1, 2}),
      "node 'the log' ('log') makes them: of its output 0, 1 of 2 elements "
      "is not finite; the first, nan, is at index 1");
  builder.header.mutable_values(int(b))->set_name("logs");
  EXPECT_EQ(find(builder, {0, -2}),
            "node 'the log' ('log') makes them: of its output 'logs', 1 of 2 "
            "elements is not finite; the first, -inf, is at index 0");
  EXPECT_EQ(find(builder, {nan_, -2}), "none");
  builder.header.mutable_programs(0)->mutable_commands(1)->clear_node();
  EXPECT_EQ(find(builder, {0, -2}).substr(0, 29),
            "a command ('log') makes them:");
}

TEST(NonFiniteFinder, NamesWhoMakesNaNOfInfinity) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {2});
  uint32_t y = builder.addOutput("y", f32, {2});
  builder.call(0, "sub", {int32_t(x), int32_t(x)}, {y});
  EXPECT_EQ(find(builder, {inf, 1}),
            "node 'sub_node' ('sub') makes them: of its output 'y', 1 of 2 "
            "elements is not finite; the first, nan, is at index 0");
}

TEST(NonFiniteFinder, SeesWhatIsWrittenInPlace) {
  // The inputs are gone when a command has written over them.
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {2});
  uint32_t c = builder.addConstant<float>(f32, {2}, {0, inf});
  uint32_t w = builder.addState("w", f32, {2}, c);
  uint32_t next = builder.addView(f32, {2}, w);
  uint32_t after = builder.addView(f32, {2}, next);
  uint32_t y = builder.addOutput("y", f32, {2});
  builder.call(0, "add", {int32_t(w), int32_t(x)}, {next});
  builder.call(0, "add", {int32_t(next), int32_t(x)}, {after});
  builder.call(0, "copy", {int32_t(after)}, {y});
  EXPECT_EQ(find(builder, {1, 2}), "none"); // It was there.
  builder.call(0, "sub", {int32_t(after), int32_t(after)},
               {builder.addView(f32, {2}, after)});
  EXPECT_EQ(find(builder, {1, 2}).substr(0, 35),
            "node 'sub_node' ('sub') makes them:");
}

} // namespace
