//===- RunOrderTest.cpp - memory of an order of nodes ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunOrder.h"

#include "gtest/gtest.h"

using namespace amp;

namespace {

MemoryGraph::Node makeNode(llvm::ArrayRef<unsigned> reads, unsigned makes,
                           double work, bool isRepeatable = true) {
  MemoryGraph::Node node;
  node.reads.assign(reads.begin(), reads.end());
  node.makes = {makes};
  node.work = work;
  node.isRepeatable = isRepeatable;
  return node;
}

/// a = f(); b = g(a); v = view of b; c = h(v); backward: dc = (c, v), da = (dc,
/// a).
MemoryGraph makeGraph() {
  MemoryGraph graph;
  for (int64_t bytes : {10, 20, 0, 30, 5, 7})
    graph.values.push_back({bytes, unsigned(graph.values.size())});
  graph.values[2].storage = 1;
  graph.values[1].views = {2};
  graph.nodes = {makeNode({}, 0, 1),     makeNode({0}, 1, 2),
                 makeNode({1}, 2, 0),    makeNode({2}, 3, 4),
                 makeNode({3, 2}, 4, 0), makeNode({4, 0}, 5, 0)};
  graph.nodes[2].isView = true;
  graph.numForward = 4;
  return graph;
}

TEST(RunOrder, PlainOrderHoldsAllThatIsReadLater) {
  MemoryGraph graph = makeGraph();
  OrderCosts costs = getCosts(graph, getPlainOrder(graph));
  // a, b and its view, c, dc.
  EXPECT_EQ(costs.peakBytes, 10 + 20 + 30 + 5);
  EXPECT_EQ(costs.numRepeated, 0u);
}

TEST(RunOrder, ViewsAreMadeWithWhatTheySee) {
  MemoryGraph graph = makeGraph();
  RunOrder order{0, 1, 2, 3, kGate};
  appendRepetition(graph, {1}, order);
  EXPECT_EQ(order, (RunOrder{0, 1, 2, 3, kGate, 1, 2}));
  order.insert(order.end(), {4, 5});
  OrderCosts costs = getCosts(graph, order);
  EXPECT_EQ(costs.numRepeated, 2u);
  EXPECT_EQ(costs.repeatedWork, 2);
  // b goes before it comes again, but c is there both times.
  EXPECT_EQ(costs.peakBytes, 10 + 20 + 30 + 5);
}

TEST(RunOrder, UnreadRepetitionsTakeNothing) {
  MemoryGraph graph = makeGraph();
  RunOrder order{0, 1, 2, 3, kGate};
  appendRepetition(graph, {3}, order);
  appendRepetition(graph, {3}, order);
  order.insert(order.end(), {4, 5});
  OrderCosts costs = getCosts(graph, order);
  EXPECT_FALSE(costs.isUsed[5]);
  EXPECT_TRUE(costs.isUsed[6]);
  EXPECT_EQ(costs.repeatedWork, 4);
}

TEST(RunOrder, WhatIsKeptIsNotReplaced) {
  MemoryGraph graph = makeGraph();
  graph.values[3].isKept = true;
  RunOrder order{0, 1, 2, 3, kGate};
  appendRepetition(graph, {3}, order);
  order.insert(order.end(), {4, 5});
  EXPECT_EQ(getCosts(graph, order).numRepeated, 0u);
}

TEST(RunOrder, SomeNodesDoNotRunAgain) {
  MemoryGraph graph = makeGraph();
  graph.nodes[1].isRepeatable = false;
  RunOrder order;
  appendRepetition(graph, {1}, order);
  EXPECT_TRUE(order.empty());
}

TEST(RunOrder, ScratchCountsWhileANodeRuns) {
  MemoryGraph graph = makeGraph();
  graph.nodes[0].scratch = 1000;
  EXPECT_EQ(getCosts(graph, getPlainOrder(graph)).peakBytes, 1010);
}

} // namespace
