//===- ControlFlowTest.cpp - branches and loops ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableBuilder.h"

#include "gtest/gtest.h"

#include <tuple>

using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float;
constexpr DataType i64 = DataType::Int64;
constexpr DataType boolean = DataType::Bool;

std::string stepError(Session &session) { return session.step().getMessage(); }

TEST(If, RunsOneBranch) {
  for (bool isFixed : {true, false}) {
    ExecutableBuilder builder;
    builder.addInput("c", boolean, {});      // 0
    builder.addInput("x", f32, {2});         // 1
    uint32_t t = builder.addArena(f32, {2}); // 2
    uint32_t e = builder.addArena(f32, {4}); // 3
    Dim dim = isFixed ? Dim(2) : Dim::unknown();
    uint32_t y = builder.addOutput("y", f32, {dim}); // 4
    uint32_t thenProgram = builder.addProgram();
    uint32_t elseProgram = builder.addProgram();
    builder.call(thenProgram, "add", {1, 1}, {t});
    builder.call(elseProgram, "concat", {1, 1}, {e});
    builder.branch(0, 0, {y}, thenProgram, {t}, elseProgram, {e});
    std::unique_ptr<Session> session = builder.start();
    uint8_t condition = 1;
    Floats x = {1, 2};
    ASSERT_TRUE(session->setInput("c", {&condition, boolean, {}}).ok());
    ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
    EXPECT_EQ(stepError(*session), "");
    EXPECT_EQ(toVector<float>(*session->getOutput("y")), (Floats{2, 4}));
    condition = 0;
    if (isFixed) {
      EXPECT_EQ(stepError(*session),
                "command 0 (if): value 4 ('y') has dimensions 4, but the "
                "executable says 2");
    } else {
      EXPECT_EQ(stepError(*session), "");
      EXPECT_EQ(toVector<float>(*session->getOutput("y")),
                (Floats{1, 2, 1, 2}));
    }
  }
}

TEST(If, ABranchThatIsNotTakenMayBeWrong) {
  ExecutableBuilder builder;
  builder.addInput("c", boolean, {});
  builder.addInput("x", f32, {Dim::unknown()});
  builder.addInput("z", f32, {Dim::unknown()});
  uint32_t t = builder.addArena(f32, {Dim::unknown()});
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()});
  uint32_t thenProgram = builder.addProgram(),
           elseProgram = builder.addProgram();
  builder.call(thenProgram, "add", {1, 2}, {t});
  builder.branch(0, 0, {y}, thenProgram, {t}, elseProgram, {2});
  std::unique_ptr<Session> session = builder.start();
  uint8_t condition = 0;
  Floats x = {1, 2, 3};
  ASSERT_TRUE(session->setInput("c", {&condition, boolean, {}}).ok());
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
  ASSERT_TRUE(session->setInput("z", view(x, f32, {3})).ok());
  EXPECT_EQ(stepError(*session), "");
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), (Floats{1, 2, 3}));
  condition = 1;
  EXPECT_EQ(stepError(*session), "node 'add_node' ('add'): cannot add 2 and 3");
}

TEST(If, BranchesCanWriteTheResultThemselves) {
  ExecutableBuilder builder;
  builder.addInput("c", boolean, {});
  builder.addInput("x", f32, {2});
  uint32_t y = builder.addOutput("y", f32, {2});
  uint32_t t = builder.addView(f32, {2}, y);
  uint32_t e = builder.addView(f32, {2}, y);
  uint32_t thenProgram = builder.addProgram(),
           elseProgram = builder.addProgram();
  builder.call(thenProgram, "add", {1, 1}, {t});
  builder.call(elseProgram, "copy", {1}, {e});
  builder.branch(0, 0, {y}, thenProgram, {t}, elseProgram, {e});
  std::unique_ptr<Session> session = builder.start();
  uint8_t condition = 1;
  Floats x = {1, 2};
  ASSERT_TRUE(session->setInput("c", {&condition, boolean, {}}).ok());
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
  EXPECT_EQ(stepError(*session), "");
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), (Floats{2, 4}));
  condition = 0;
  EXPECT_EQ(stepError(*session), "");
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), (Floats{1, 2}));
}

/// n times: (a, b) = (b, a + b), giving a each time.
struct Fibonacci {
  explicit Fibonacci(bool isFixed) {
    builder.addInput("n", i64, {});                          // 0
    uint32_t a0 = builder.addConstant<float>(f32, {1}, {0}); // 1
    uint32_t b0 = builder.addConstant<float>(f32, {1}, {1}); // 2
    uint32_t i = builder.addArena(i64, {});                  // 3
    uint32_t c = builder.addArena(boolean, {});              // 4
    Dim dim = isFixed ? Dim(1) : Dim::unknown();
    uint32_t a = builder.addArena(f32, {dim});                           // 5
    uint32_t b = builder.addArena(f32, {dim});                           // 6
    uint32_t sum = builder.addArena(f32, {dim});                         // 7
    uint32_t last = builder.addOutput("a", f32, {dim});                  // 8
    uint32_t lastB = builder.addOutput("b", f32, {dim});                 // 9
    uint32_t all = builder.addOutput("all", f32, {Dim::unknown(), dim}); // 10
    uint32_t body = builder.addProgram();
    builder.call(body, "add", {5, 6}, {sum});
    builder.loop(0, {0, -1, static_cast<int32_t>(a0), static_cast<int32_t>(b0)},
                 {last, lastB, all}, body, {i, c, a, b}, {c, b, sum, a});
  }
  ExecutableBuilder builder;
};

TEST(Loop, CarriesCrossesAndStacks) {
  for (bool isFixed : {true, false}) {
    std::unique_ptr<Session> session = Fibonacci(isFixed).builder.start();
    std::vector<int64_t> n = {0};
    ASSERT_TRUE(session->setInput("n", view(n, i64, {})).ok());
    Floats expected;
    float a = 0, b = 1;
    for (n[0] = 0; n[0] < 20; ++n[0]) {
      EXPECT_EQ(stepError(*session), "");
      EXPECT_EQ(toVector<float>(*session->getOutput("a")), Floats{a});
      EXPECT_EQ(toVector<float>(*session->getOutput("b")), Floats{b});
      EXPECT_EQ(toVector<float>(*session->getOutput("all")), expected);
      EXPECT_EQ(session->getOutput("all")->shape,
                (Shape{n[0], isFixed || n[0] > 0 ? 1 : 0}));
      expected.push_back(a);
      std::tie(a, b) = std::make_pair(b, a + b);
    }
  }
}

TEST(Loop, CarriesWhatGrowsUntilTheConditionFails) {
  ExecutableBuilder builder;
  builder.addInput("limit", i64, {});                         // 0
  builder.addInput("x", f32, {Dim::unknown()});               // 1
  uint32_t i = builder.addArena(i64, {});                     // 2
  uint32_t c = builder.addArena(boolean, {});                 // 3
  uint32_t v = builder.addArena(f32, {Dim::unknown()});       // 4
  uint32_t grown = builder.addArena(f32, {Dim::unknown()});   // 5
  uint32_t count = builder.addArena(i64, {});                 // 6
  uint32_t go = builder.addArena(boolean, {});                // 7
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown()}); // 8
  uint32_t body = builder.addProgram();
  builder.call(body, "concat", {4, 1}, {grown});
  builder.call(body, "increment", {2}, {count});
  builder.call(body, "less", {6, 0}, {go});
  builder.loop(0, {-1, -1, 1}, {y}, body, {i, c, v}, {go, grown});
  std::unique_ptr<Session> session = builder.start();
  std::vector<int64_t> limit = {0};
  Floats x = {1, 2};
  ASSERT_TRUE(session->setInput("limit", view(limit, i64, {})).ok());
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
  for (int64_t n : {1, 5, 300, 2}) {
    limit[0] = n;
    EXPECT_EQ(stepError(*session), "");
    EXPECT_EQ(session->getOutput("y")->shape, (Shape{2 * (n + 1)}));
    Floats y = toVector<float>(*session->getOutput("y"));
    for (size_t k = 0; k < y.size(); ++k)
      ASSERT_EQ(y[k], x[k % 2]);
  }
}

TEST(Loop, IterationsMustGiveTheSameDimensions) {
  ExecutableBuilder builder;
  builder.addInput("n", i64, {});                       // 0
  uint32_t i = builder.addArena(i64, {});               // 1
  uint32_t c = builder.addArena(boolean, {});           // 2
  uint32_t r = builder.addArena(f32, {Dim::unknown()}); // 3
  uint32_t all =
      builder.addOutput("all", f32, {Dim::unknown(), Dim::unknown()});
  uint32_t body = builder.addProgram();
  builder.call(body, "range", {1}, {r});
  builder.loop(0, {0, -1}, {all}, body, {i, c}, {c, r});
  std::unique_ptr<Session> session = builder.start();
  std::vector<int64_t> n = {2};
  ASSERT_TRUE(session->setInput("n", view(n, i64, {})).ok());
  EXPECT_EQ(stepError(*session),
            "command 0 (loop): iteration 1 gives 1 for value 4 ('all'), but "
            "iterations before gave others");
  n[0] = 1;
  EXPECT_EQ(stepError(*session), "");
  EXPECT_EQ(session->getOutput("all")->shape, (Shape{1, 0}));
}

TEST(Loop, TheExecutableMaySayHowOftenItRuns) {
  ExecutableBuilder builder;
  builder.addInput("n", i64, {});             // 0
  builder.addInput("x", f32, {2});            // 1
  uint32_t i = builder.addArena(i64, {});     // 2
  uint32_t c = builder.addArena(boolean, {}); // 3
  uint32_t s = builder.addArena(f32, {2});    // 4
  uint32_t all = builder.addOutput("all", f32, {3, 2});
  uint32_t body = builder.addProgram();
  builder.call(body, "add", {1, 1}, {s});
  builder.loop(0, {0, -1}, {all}, body, {i, c}, {c, s});
  std::unique_ptr<Session> session = builder.start();
  std::vector<int64_t> n = {3};
  Floats x = {1, 2};
  ASSERT_TRUE(session->setInput("n", view(n, i64, {})).ok());
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
  EXPECT_EQ(stepError(*session), "");
  EXPECT_EQ(toVector<float>(*session->getOutput("all")),
            (Floats{2, 4, 2, 4, 2, 4}));
  n[0] = 4;
  EXPECT_EQ(stepError(*session),
            "command 0 (loop): iteration 3 gives 2 for value 5 ('all'), which "
            "the executable says is 3x2");
  n[0] = 2;
  EXPECT_EQ(stepError(*session),
            "command 0 (loop): value 5 ('all') has dimensions 2x2, but the "
            "executable says 3x2");
}

TEST(Loop, ScalarsMustBeScalars) {
  ExecutableBuilder builder;
  builder.addInput("n", i64, {Dim::unknown()});
  uint32_t i = builder.addArena(i64, {}), c = builder.addArena(boolean, {});
  uint32_t body = builder.addProgram();
  builder.loop(0, {0, -1}, {}, body, {i, c}, {c});
  std::unique_ptr<Session> session = builder.start();
  std::vector<int64_t> n = {2, 3};
  ASSERT_TRUE(session->setInput("n", view(n, i64, {2})).ok());
  EXPECT_EQ(stepError(*session),
            "command 0 (loop): the trip count must have one element, but is 2");
  ASSERT_TRUE(session->setInput("n", view(n, i64, {1})).ok());
  EXPECT_EQ(stepError(*session), "");
}

TEST(Loop, Nests) {
  // sum over i < n of sum over j < n of x
  ExecutableBuilder builder;
  builder.addInput("n", i64, {});                               // 0
  builder.addInput("x", f32, {2});                              // 1
  uint32_t zero = builder.addConstant<float>(f32, {2}, {0, 0}); // 2
  uint32_t i = builder.addArena(i64, {}), c = builder.addArena(boolean, {});
  uint32_t outer = builder.addArena(f32, {2}); // 5
  uint32_t j = builder.addArena(i64, {}), d = builder.addArena(boolean, {});
  uint32_t inner = builder.addArena(f32, {2});       // 8
  uint32_t next = builder.addView(f32, {2}, inner);  // 9, in place
  uint32_t innerLast = builder.addArena(f32, {2});   // 10
  uint32_t all = builder.addOutput("all", f32, {2}); // 11
  uint32_t outerBody = builder.addProgram(), innerBody = builder.addProgram();
  builder.call(innerBody, "add", {8, 1}, {next});
  builder.loop(outerBody, {0, -1, 5}, {innerLast}, innerBody, {j, d, inner},
               {d, next});
  builder.loop(0, {0, -1, static_cast<int32_t>(zero)}, {all}, outerBody,
               {i, c, outer}, {c, innerLast});
  std::unique_ptr<Session> session = builder.start();
  std::vector<int64_t> n = {0};
  Floats x = {1, 2};
  ASSERT_TRUE(session->setInput("n", view(n, i64, {})).ok());
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
  for (n[0] = 0; n[0] < 6; ++n[0]) {
    EXPECT_EQ(stepError(*session), "");
    auto times = static_cast<float>(n[0] * n[0]);
    EXPECT_EQ(toVector<float>(*session->getOutput("all")),
              (Floats{times, 2 * times}));
  }
}

} // namespace
