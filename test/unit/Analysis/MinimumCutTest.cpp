//===- MinimumCutTest.cpp - the cheapest way to part a network ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MinimumCut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace amp;

using Node = MinimumCut::Node;
static constexpr Node kSource = MinimumCut::kSource;
static constexpr Node kSink = MinimumCut::kSink;
static constexpr int64_t kInfinite = MinimumCut::kInfinite;

namespace {
struct Arc {
  Node tail, head;
  int64_t capacity;
};

struct Network {
  unsigned numNodes;
  std::vector<Arc> arcs;
};

/// What a cut costs, and who is on the source's side.
struct Cut {
  int64_t cost;
  std::vector<bool> sourceSide;
};
} // namespace

static int64_t costOf(const Network &network, const std::vector<bool> &side) {
  int64_t cost = 0;
  for (const Arc &arc : network.arcs)
    if (side[arc.tail] && !side[arc.head])
      cost = std::min(cost + arc.capacity, kInfinite);
  return cost;
}

/// Tries every cut; of the cheapest takes the one with the largest source side.
static Cut tryAll(const Network &network) {
  Cut best = {kInfinite, {}};
  size_t bestSize = 0;
  for (unsigned bits = 0; bits < 1u << (network.numNodes - 2); ++bits) {
    std::vector<bool> side(network.numNodes);
    side[kSource] = true;
    for (unsigned i = 2; i < network.numNodes; ++i)
      side[i] = bits >> (i - 2) & 1;
    int64_t cost = costOf(network, side);
    size_t size = std::count(side.begin(), side.end(), true);
    if (cost > best.cost || (cost == best.cost && size <= bestSize))
      continue;
    best = {cost, side};
    bestSize = size;
  }
  return best;
}

/// Ford and Fulkerson's algorithm on a matrix.
static Cut findPaths(const Network &network) {
  unsigned size = network.numNodes;
  std::vector<std::vector<int64_t>> residual(size, std::vector<int64_t>(size));
  for (const Arc &arc : network.arcs)
    if (arc.tail != arc.head)
      residual[arc.tail][arc.head] += arc.capacity;
  // Who reaches the sink, and by which next node.
  constexpr Node none = UINT32_MAX;
  std::vector<Node> next(size);
  auto search = [&] {
    std::fill(next.begin(), next.end(), none);
    std::vector<Node> queue = {kSink};
    next[kSink] = kSink;
    for (size_t i = 0; i < queue.size(); ++i)
      for (Node tail = 0; tail < size; ++tail)
        if (next[tail] == none && residual[tail][queue[i]] > 0) {
          next[tail] = queue[i];
          queue.push_back(tail);
        }
    return next[kSource] != none;
  };
  int64_t flow = 0;
  while (flow < kInfinite && search()) {
    int64_t amount = INT64_MAX;
    for (Node node = kSource; node != kSink; node = next[node])
      amount = std::min(amount, residual[node][next[node]]);
    for (Node node = kSource; node != kSink; node = next[node]) {
      residual[node][next[node]] -= amount;
      residual[next[node]][node] += amount;
    }
    flow += amount;
  }
  Cut cut = {std::min(flow, kInfinite), std::vector<bool>(size)};
  for (Node node = 0; node < size; ++node)
    cut.sourceSide[node] = next[node] == none;
  return cut;
}

static Network generate(std::mt19937 &random, unsigned maxNodes) {
  auto draw = [&](unsigned limit) { return unsigned(random() % limit); };
  Network network = {2 + draw(maxNodes - 1), {}};
  unsigned numArcs = draw(4 * network.numNodes);
  // Small numbers make ties.
  unsigned largest = draw(2) ? 4 : 1000;
  for (unsigned i = 0; i < numArcs; ++i) {
    int64_t capacity = draw(10) ? draw(largest) : kInfinite;
    network.arcs.push_back(
        {draw(network.numNodes), draw(network.numNodes), capacity});
  }
  return network;
}

/// Empty if there is no finite cut.
static std::vector<bool> solve(const Network &network) {
  MinimumCut cut;
  for (unsigned i = 2; i < network.numNodes; ++i)
    EXPECT_EQ(cut.addNode(), i);
  for (const Arc &arc : network.arcs)
    cut.addArc(arc.tail, arc.head, arc.capacity);
  if (failed(cut.solve()))
    return {};
  std::vector<bool> side(network.numNodes);
  for (unsigned i = 0; i < network.numNodes; ++i)
    side[i] = cut.isOnSourceSide(i);
  return side;
}

TEST(MinimumCut, EqualsTheBestOfAllCuts) {
  std::mt19937 random(1);
  unsigned infeasible = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    Network network = generate(random, 9);
    Cut expected = tryAll(network);
    infeasible += expected.cost == kInfinite;
    EXPECT_EQ(solve(network), expected.cost == kInfinite ? std::vector<bool>()
                                                         : expected.sourceSide)
        << i;
  }
  // Both kinds came up.
  EXPECT_GT(infeasible, 100u);
  EXPECT_LT(infeasible, 2000u);
}

TEST(MinimumCut, EqualsAnotherAlgorithm) {
  std::mt19937 random(2);
  for (unsigned i = 0; i < 300; ++i) {
    Network network = generate(random, 60);
    Cut expected = findPaths(network);
    EXPECT_EQ(solve(network), expected.cost == kInfinite ? std::vector<bool>()
                                                         : expected.sourceSide)
        << i;
  }
}

TEST(MinimumCut, DoesNotDependOnTheOrderOfArcs) {
  std::mt19937 random(3);
  for (unsigned i = 0; i < 200; ++i) {
    Network network = generate(random, 40);
    std::vector<bool> expected = solve(network);
    std::shuffle(network.arcs.begin(), network.arcs.end(), random);
    EXPECT_EQ(solve(network), expected);
  }
}

TEST(MinimumCut, NothingAtAll) {
  MinimumCut cut;
  ASSERT_TRUE(succeeded(cut.solve()));
  EXPECT_TRUE(cut.isOnSourceSide(kSource));
  EXPECT_FALSE(cut.isOnSourceSide(kSink));
}

TEST(MinimumCut, LoneNodesAreOnTheSourceSide) {
  EXPECT_EQ(solve({3, {}}), (std::vector<bool>{true, false, true}));
}

// More than all capacities together may be: they are compared all the same.
TEST(MinimumCut, HugeCapacities) {
  int64_t huge = kInfinite - 1;
  EXPECT_EQ(solve({4,
                   {{kSource, 2, huge},
                    {2, 3, kInfinite},
                    {3, kSink, huge / 2},
                    {kSource, 3, huge}}}),
            (std::vector<bool>{true, false, true, true}));
  std::vector<Arc> arcs(5000, {kSource, 2, huge});
  arcs.push_back({2, kSink, kInfinite});
  EXPECT_EQ(solve({3, arcs}), (std::vector<bool>{true, false, false}));
}

TEST(MinimumCut, InfinitePaths) {
  EXPECT_TRUE(
      solve({3, {{kSource, 2, kInfinite}, {2, kSink, kInfinite}}}).empty());
  EXPECT_TRUE(
      solve({3, {{kSource, 2, INT64_MAX}, {2, kSink, INT64_MAX}}}).empty());
  EXPECT_FALSE(
      solve({3, {{kSource, 2, kInfinite}, {2, kSink, kInfinite - 1}}}).empty());
}
