//===- PlacementProblemTest.cpp - what may be low, at what cost -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cheapest choice is found a second time, by trying them all. Programs are
// in the terms of the problem here; OptimalPlacementTest.cpp has the same for
// operations, regions and casts.
//
//===----------------------------------------------------------------------===//

#include "PlacementRules.h"

#include <gtest/gtest.h>

#include <random>

using namespace amp;

using Variable = PlacementProblem::Variable;
using State = PlacementProblem::State;
using Use = PlacementProblem::Use;
static constexpr Variable kLow = PlacementProblem::kLow;
static constexpr Variable kFloat32 = PlacementProblem::kFloat32;

namespace {
struct Program {
  PlacementGraph graph;
  /// Per variable.
  std::vector<int64_t> savings;
  /// Per value.
  std::vector<int64_t> castCosts;
};
} // namespace

/// `otherLow` of 8 operations have another low format than the rest.
static Program generate(std::mt19937 &random, unsigned numVariables,
                        unsigned otherLow) {
  auto draw = [&](unsigned limit) { return unsigned(random() % limit); };
  // Small numbers make ties.
  unsigned largest = draw(2) ? 4 : 50;
  Program program;
  PlacementGraph &graph = program.graph;
  while (graph.numVariables < 2 + numVariables) {
    PlacementGraph::Operation op = {{}, draw(16) == 0};
    unsigned count = 1 + draw(8) / 6;
    for (unsigned i = 0; i < count; ++i)
      op.variables.push_back(graph.numVariables++);
    graph.operations.push_back(op);
  }
  // A variable that can't choose takes whatever is asked for.
  std::vector<bool> isOther(graph.numVariables);
  for (const PlacementGraph::Operation &op : graph.operations) {
    bool other = draw(8) < otherLow;
    for (Variable variable : op.variables)
      isOther[variable] = other;
  }
  unsigned fixed = 1 + draw(5);
  auto pick = [&](unsigned around) {
    if (draw(8) < fixed)
      return draw(3) ? kFloat32 : kLow;
    // Mostly neighbours, as in programs.
    unsigned near = around + draw(5) - 2;
    return near < graph.numVariables && draw(4)
               ? std::max(near, 2u)
               : 2 + draw(graph.numVariables - 2);
  };
  for (unsigned i = 0; i < graph.numVariables; ++i) {
    PlacementGraph::Value value = {i < 2 ? kFloat32 : pick(i), false, {}};
    value.adopts = value.producer > kFloat32 && draw(10) == 0;
    for (unsigned j = draw(4); j > 0; --j) {
      Variable user = pick(i + 1);
      Use use = draw(2) || user == kLow ? Use::Reads : Use(1 + draw(2));
      value.users.push_back(
          {user, use,
           user != kFloat32 && isOther[user] != isOther[value.producer]});
    }
    graph.values.push_back(value);
    program.savings.push_back(draw(largest));
    program.castCosts.push_back(otherLow ? 3 * draw(largest)
                                         : draw(3 * largest));
  }
  return program;
}

static PlacementProblem toProblem(const Program &program) {
  PlacementProblem problem;
  for (const PlacementGraph::Operation &op : program.graph.operations) {
    problem.addOperation(op.touchesLow);
    for (Variable variable : op.variables)
      EXPECT_EQ(problem.addVariable(program.savings[variable]), variable);
  }
  for (size_t i = 0; i < program.graph.values.size(); ++i) {
    const PlacementGraph::Value &value = program.graph.values[i];
    problem.addValue(value.producer, program.castCosts[i], value.adopts);
    for (PlacementGraph::User user : value.users)
      problem.addUser(user.variable, user.use, user.hasOtherLow);
  }
  return problem;
}

static int64_t costOf(const Program &program, const Formats &isLow) {
  int64_t cost = 0;
  for (Variable i = 2; i < isLow.size(); ++i)
    cost += isLow[i] ? 0 : program.savings[i];
  for (size_t i = 0; i < program.graph.values.size(); ++i) {
    const PlacementGraph::Value &value = program.graph.values[i];
    // To float32, to the producer's low format, and to the other one.
    bool up = false, down = false, across = false;
    for (PlacementGraph::User user : value.users) {
      up |= !isLow[user.variable] && isLow[value.producer];
      down |=
          isLow[user.variable] && !user.hasOtherLow && !isLow[value.producer];
      across |= isLow[user.variable] && user.hasOtherLow;
    }
    int64_t castCost = program.castCosts[i];
    cost += up || down ? castCost : 0;
    if (across)
      cost += isLow[value.producer] ? castCost / 3 * 2 : castCost;
  }
  return cost;
}

static void check(std::mt19937 &random, unsigned count, unsigned maxVariables,
                  unsigned otherLow = 0) {
  unsigned numLow = 0, numFloat32 = 0;
  for (unsigned i = 0; i < count; ++i) {
    Program program =
        generate(random, 2 + random() % (maxVariables - 2), otherLow);
    PlacementProblem problem = toProblem(program);
    problem.solve();
    Formats isLow;
    for (Variable j = 0; j < program.graph.numVariables; ++j)
      isLow.push_back(problem.isLow(j));
    auto cost = [&](const Formats &formats) {
      return costOf(program, formats);
    };
    EXPECT_EQ(isLow, findCheapest(program.graph, cost, maxVariables)) << i;
    for (Variable j = 2; j < program.graph.numVariables; ++j) {
      numLow += problem.getState(j) == State::Low;
      numFloat32 += problem.getState(j) == State::Float32;
    }
  }
  // There was something to decide.
  EXPECT_GT(numLow, count / 2);
  EXPECT_GT(numFloat32, count / 4);
}

TEST(PlacementProblem, NoChoiceIsCheaper) {
  std::mt19937 random(1);
  check(random, 20000, 9);
  check(random, 1000, 14);
}

TEST(PlacementProblem, NoChoiceIsCheaperWithTwoLowFormats) {
  std::mt19937 random(2);
  check(random, 10000, 9, 1);
  check(random, 10000, 9, 4);
  check(random, 500, 14, 3);
}

TEST(PlacementProblem, IslandsIfNotKept) {
  for (bool keepIslands : {true, false}) {
    PlacementProblem problem;
    problem.addOperation();
    Variable lone = problem.addVariable(100);
    for (Variable producer : {kFloat32, lone}) {
      problem.addValue(producer, 6);
      problem.addUser(producer == lone ? kFloat32 : lone);
    }
    problem.solve(keepIslands);
    EXPECT_EQ(problem.getState(lone), keepIslands ? State::Island : State::Low);
  }
}

TEST(PlacementProblem, Reasons) {
  PlacementProblem problem;
  auto add = [&](int64_t saving) {
    problem.addOperation();
    return problem.addVariable(saving);
  };
  auto connect = [&](Variable producer, Variable user, Use use = Use::Reads) {
    problem.addValue(producer, 6);
    problem.addUser(user, use);
  };
  Variable low = add(4), costly = add(3), joining = add(4), forced = add(4),
           lone = add(100), adopting = add(50), sum = add(50), addend = add(50);
  connect(kLow, low);
  connect(low, costly);
  for (unsigned i = 0; i < 3; ++i)
    connect(costly, kFloat32);
  connect(costly, joining, Use::Joins);
  connect(kFloat32, forced, Use::Joins);
  connect(forced, kLow);
  connect(kFloat32, lone);
  problem.addValue(adopting, 6, /*adopts=*/true);
  problem.addUser(kLow);
  problem.addUser(kFloat32);
  connect(kFloat32, sum, Use::Flows);
  connect(sum, addend);
  connect(addend, sum, Use::Flows);
  connect(addend, kLow);
  problem.solve();
  EXPECT_EQ(problem.getState(low), State::Low);
  EXPECT_EQ(problem.getState(costly), State::Float32);
  EXPECT_EQ(problem.getState(joining), State::Implied);
  EXPECT_EQ(problem.getState(forced), State::Implied);
  EXPECT_EQ(problem.getState(lone), State::Island);
  EXPECT_EQ(problem.getState(adopting), State::Implied);
  EXPECT_EQ(problem.getState(sum), State::Implied);
  EXPECT_EQ(problem.getState(addend), State::Low);
}

/// A state that begins in float32 is joined to it if what is low already, and
/// would have had a choice, carries the state around; else it is free.
TEST(PlacementProblem, CarriedByWhatIsLow) {
  for (bool isCarried : {true, false}) {
    PlacementProblem problem;
    problem.addOperation();
    Variable state = problem.addVariable(/*saving=*/100);
    problem.addOperation();
    Variable body = problem.addLowVariable();
    problem.addValue(state, /*castCost=*/6);
    problem.addUser(isCarried ? body : kLow);
    problem.addValue(body, /*castCost=*/6);
    problem.addUser(state, Use::Flows);
    problem.addValue(kFloat32, /*castCost=*/6);
    problem.addUser(state, Use::Flows);
    problem.solve();
    EXPECT_EQ(problem.getState(state), isCarried ? State::Implied : State::Low);
    EXPECT_TRUE(problem.isLow(body));
  }
}
