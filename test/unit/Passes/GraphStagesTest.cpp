//===- GraphStagesTest.cpp - graphs as chains -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphStages.h"

#include "gtest/gtest.h"

#include <random>

using namespace amp;

namespace {

enum class Kind {
  Chain,
  Graph,
  WithFixed ///< Some nodes can't run again.
};

/// A random forward part; the backward part of each node may read its results
/// and operands, and the gradients of its results. All nodes lead to something
/// that the backward part reads.
MemoryGraph makeGraph(std::mt19937 &random, unsigned size, Kind kind) {
  bool isChain = kind == Kind::Chain;
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  MemoryGraph graph;
  auto addValue = [&](int64_t bytes) {
    unsigned value = graph.values.size();
    graph.values.push_back({bytes, value});
    return value;
  };
  for (unsigned i = 0; i < size; ++i) {
    MemoryGraph::Node node;
    if (i > 0)
      node.reads.push_back(i - 1);
    if (i > 1 && !isChain && pick(0, 2) == 0)
      node.reads.push_back(pick(0, int(i) - 2));
    node.isRepeatable = kind != Kind::WithFixed || pick(0, 9) != 0;
    node.work = pick(1, 9);
    node.makes = {addValue(pick(1, 50))};
    if (i > 0 && !isChain && pick(0, 5) == 0) {
      node.isView = true;
      node.work = 0;
      unsigned seen = node.reads.back();
      node.reads = {seen};
      graph.values[i].bytes = 0;
      graph.values[i].storage = graph.values[seen].storage;
      graph.values[seen].views.push_back(i);
    }
    graph.nodes.push_back(node);
  }
  graph.numForward = size;
  // Gradients of values, and what was added to them.
  std::vector<llvm::SmallVector<unsigned>> gradients(size);
  for (unsigned i = size; i-- > 0;) {
    MemoryGraph::Node node;
    llvm::append_range(node.reads, gradients[i]);
    if (pick(0, 1) == 0 || i + 1 == size || kind == Kind::WithFixed)
      node.reads.push_back(i);
    for (unsigned value : graph.nodes[i].reads) {
      if (pick(0, 3) != 0)
        node.reads.push_back(value);
      unsigned gradient = addValue(graph.values[value].bytes);
      node.makes.push_back(gradient);
      gradients[value].push_back(gradient);
    }
    graph.nodes.push_back(node);
  }
  return graph;
}

/// What can't run again, and is there in any case: no plan is to blame for it.
int64_t getStaying(const MemoryGraph &graph) {
  int64_t bytes = 0;
  for (unsigned i = 0; i < graph.numForward; ++i)
    if (!graph.nodes[i].isRepeatable && !graph.nodes[i].isView)
      for (unsigned value : graph.nodes[i].makes)
        bytes += graph.values[value].bytes;
  return bytes;
}

TEST(GraphStages, PlansTakeNoMoreThanTheySay) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    MemoryGraph graph = makeGraph(random, 3 + round % 20, Kind(round % 3));
    GraphStages stages(graph, round % 2 == 0 ? 100 : 5);
    if (stages.size() == 0)
      continue;
    ChainPlan plan(stages.getCosts(), /*repeatsOften=*/true);
    for (const ChainPoint &point : plan.getPlans()) {
      RunOrder order = stages.getOrder(plan.expand(point));
      OrderCosts costs = getCosts(graph, order);
      EXPECT_LE(costs.peakBytes, point.bytes + getStaying(graph))
          << "round " << round;
      EXPECT_LE(costs.repeatedWork, point.work + 1e-9) << "round " << round;
      if (point.work == 0) {
        EXPECT_EQ(costs.numRepeated, 0u);
      }
      // Each backward node once, in order.
      unsigned next = graph.numForward;
      for (unsigned entry : order)
        if (entry != kGate && entry >= graph.numForward) {
          EXPECT_EQ(entry, next++);
        }
      EXPECT_EQ(next, graph.nodes.size());
    }
  }
}

TEST(GraphStages, BoundsAreMetByChains) {
  std::mt19937 random(6);
  for (int round = 0; round < 50; ++round) {
    MemoryGraph graph = makeGraph(random, 4 + round % 12, Kind::Chain);
    // Here every backward node reads all that it may: nothing is held in vain.
    for (unsigned i = 0; i < graph.numForward; ++i) {
      MemoryGraph::Node &node = graph.nodes[graph.nodes.size() - 1 - i];
      node.reads.push_back(i);
      llvm::append_range(node.reads, graph.nodes[i].reads);
    }
    GraphStages stages(graph, 100);
    ChainPlan plan(stages.getCosts(), /*repeatsOften=*/true);
    const ChainPoint &plain = plan.getPlans().back();
    EXPECT_EQ(plain.work, 0);
    EXPECT_EQ(plain.bytes, getCosts(graph, getPlainOrder(graph)).peakBytes);
  }
}

TEST(GraphStages, NothingToRepeat) {
  MemoryGraph graph;
  graph.values.push_back({8, 0});
  graph.nodes.resize(1);
  graph.nodes[0].makes = {0};
  graph.numForward = 1;
  EXPECT_EQ(GraphStages(graph, 10).size(), 0u);
}

TEST(GraphStages, LongGraphsGetFewStages) {
  std::mt19937 random(7);
  MemoryGraph graph = makeGraph(random, 500, Kind::Graph);
  EXPECT_LE(GraphStages(graph, 20).size(), 20u);
  EXPECT_GT(GraphStages(graph, 20).size(), 5u);
}

} // namespace
