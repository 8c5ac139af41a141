//===- MinimumCut.cpp - the cheapest way to part a network ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goldberg and Tarjan's push-relabel algorithm: first in, first out, with exact
// distances from time to time. Everything that flows leaves the source at once
// and goes where the sink is nearer; what can't reach it stays where it is. To
// augment one path after the other would take quadratic time for long chains
// of infinite arcs, and chains of additions are such.
//
//===----------------------------------------------------------------------===//

#include "MinimumCut.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace amp;

void MinimumCut::addArc(Node tail, Node head, int64_t capacity) {
  assert(capacity >= 0 && "capacities are not negative");
  arcs.push_back({tail, head, std::min(capacity, kInfinite)});
}

/// By how many bits finite capacities are shifted to the right, so that all of
/// them together are less than infinite.
unsigned MinimumCut::getShift() const {
  uint64_t sum = 0;
  for (const Arc &arc : arcs)
    if (arc.capacity < kInfinite)
      sum = llvm::SaturatingAdd(sum, uint64_t(arc.capacity));
  unsigned shift = 0;
  // What is not zero stays so, hence one unit more for each arc.
  while ((sum >> shift) + arcs.size() >= uint64_t(kInfinite))
    ++shift;
  return shift;
}

void MinimumCut::buildHalfArcs() {
  // begins[n + 1] is where the next half arc of node n goes; in the end that is
  // where those of n end.
  begins.assign(numNodes + 2, 0);
  for (const Arc &arc : arcs) {
    ++begins[arc.tail + 2];
    ++begins[arc.head + 2];
  }
  for (size_t i = 2; i < begins.size(); ++i)
    begins[i] += begins[i - 1];

  unsigned shift = getShift();
  halfArcs.resize(2 * arcs.size());
  for (const Arc &arc : arcs) {
    int64_t capacity = arc.capacity;
    if (capacity > 0 && capacity < kInfinite)
      capacity = std::max(capacity >> shift, int64_t(1));
    uint32_t forward = begins[arc.tail + 1]++;
    uint32_t backward = begins[arc.head + 1]++;
    halfArcs[forward] = {arc.head, backward, capacity};
    halfArcs[backward] = {arc.tail, forward, 0};
  }
  begins.pop_back();
  arcs = {};
}

void MinimumCut::push(uint32_t arc, int64_t amount) {
  halfArcs[arc].residual -= amount;
  halfArcs[halfArcs[arc].reverse].residual += amount;
  // More than all finite arcs can carry is as good as that and can't overflow.
  int64_t &at = excess[halfArcs[arc].head];
  at = std::min(at + amount, 2 * kInfinite);
}

void MinimumCut::saturateSource() {
  for (uint32_t arc = begins[kSource]; arc < begins[kSource + 1]; ++arc)
    if (halfArcs[arc].residual > 0)
      push(arc, halfArcs[arc].residual);
  excess[kSource] = 0;
}

/// Breadth first from the sink, against the arcs. Only nodes that reach it have
/// a distance then, and only those may be active: the farthest first, so that
/// what flows the same way flows together.
void MinimumCut::measureDistances() {
  llvm::fill(distance, kUnreached);
  std::copy(begins.begin(), begins.end() - 1, current.begin());
  work = 0;
  std::vector<Node> reached = {kSink};
  distance[kSink] = 0;
  for (size_t i = 0; i < reached.size(); ++i) {
    Node node = reached[i];
    for (uint32_t arc = begins[node]; arc < begins[node + 1]; ++arc) {
      Node tail = halfArcs[arc].head;
      if (distance[tail] != kUnreached || tail == kSource ||
          halfArcs[halfArcs[arc].reverse].residual == 0)
        continue;
      distance[tail] = distance[node] + 1;
      reached.push_back(tail);
    }
  }
  active.clear();
  firstActive = 0;
  for (size_t i = reached.size(); --i > 0;)
    if (excess[reached[i]] > 0)
      active.push_back(reached[i]);
}

/// Pushes excess to nodes that are nearer to the sink.
void MinimumCut::discharge(Node node) {
  for (uint32_t &arc = current[node]; arc < begins[node + 1]; ++arc) {
    ++work;
    Node head = halfArcs[arc].head;
    if (halfArcs[arc].residual == 0 || distance[head] + 1 != distance[node])
      continue;
    if (excess[head] == 0 && head != kSink)
      active.push_back(head);
    int64_t amount = std::min(excess[node], halfArcs[arc].residual);
    push(arc, amount);
    excess[node] -= amount;
    if (excess[node] == 0)
      return;
  }
}

/// No node beside this one is nearer to the sink: it is farther than thought.
void MinimumCut::relabel(Node node) {
  uint32_t nearest = kUnreached;
  for (uint32_t arc = begins[node]; arc < begins[node + 1]; ++arc) {
    ++work;
    if (halfArcs[arc].residual == 0 || distance[halfArcs[arc].head] >= nearest)
      continue;
    nearest = distance[halfArcs[arc].head];
    current[node] = arc;
  }
  // Paths have less arcs than there are nodes.
  distance[node] = nearest < numNodes ? nearest + 1 : kUnreached;
}

llvm::LogicalResult MinimumCut::solve() {
  buildHalfArcs();
  excess.assign(numNodes, 0);
  distance.resize(numNodes);
  current.resize(numNodes);
  saturateSource();
  measureDistances();
  // As much work as measuring distances is.
  size_t enough = halfArcs.size() + 4 * size_t(numNodes);
  while (firstActive < active.size()) {
    Node node = active[firstActive++];
    discharge(node);
    if (excess[node] > 0) {
      relabel(node);
      if (distance[node] != kUnreached)
        active.push_back(node);
    }
    if (work >= enough)
      measureDistances();
  }
  // Exact in the end: the result is who reaches the sink.
  measureDistances();
  return llvm::success(excess[kSink] < kInfinite);
}
