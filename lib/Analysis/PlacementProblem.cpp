//===- PlacementProblem.cpp - what may be low, at what cost ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementProblem.h"

#include "llvm/ADT/SmallVector.h"

#include <cassert>

using namespace amp;

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

PlacementProblem::PlacementProblem() {
  addOperation();
  addVariable(0);
  addVariable(0);
  states = {State::Low, State::Float32};
}

void PlacementProblem::addOperation(bool isLowBeside) {
  touchesLow.push_back(isLowBeside);
}

PlacementProblem::Variable PlacementProblem::addVariable(int64_t saving) {
  states.push_back(State::Free);
  savings.push_back(saving);
  operations.push_back(touchesLow.size() - 1);
  return states.size() - 1;
}

PlacementProblem::Variable PlacementProblem::addLowVariable() {
  Variable variable = addVariable(/*saving=*/0);
  states[variable] = State::Low;
  return variable;
}

void PlacementProblem::addSaving(Variable variable, int64_t saving) {
  savings[variable] =
      std::min(savings[variable] + saving, MinimumCut::kInfinite - 1);
}

void PlacementProblem::addValue(Variable producer, int64_t castCost,
                                bool adopts) {
  values.push_back({producer, adopts, castCost, users.size()});
}

void PlacementProblem::addUser(Variable user, Use use, bool hasOtherLow) {
  users.push_back({user, use, hasOtherLow});
  anyFlow |= use == Use::Flows;
}

llvm::ArrayRef<PlacementProblem::User>
PlacementProblem::getUsers(size_t value) const {
  size_t begin = values[value].firstUser;
  size_t end =
      value + 1 < values.size() ? values[value + 1].firstUser : users.size();
  return llvm::ArrayRef(users).slice(begin, end - begin);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

void PlacementProblem::solve(bool keepIslands) {
  joinCarried();
  addImplications();
  propagateFloat32();
  if (keepIslands)
    isolateIslands();
  cut();
  explainFloat32();
}

namespace {
/// Nodes that lead to other nodes. Arcs are added first, in any order.
class Graph {
public:
  explicit Graph(size_t numNodes) : first(numNodes, kNone) {}

  void addArc(uint32_t tail, uint32_t head) {
    heads.push_back(head);
    next.push_back(first[tail]);
    first[tail] = heads.size() - 1;
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  /// The first arc of a node, the arc after another, where an arc leads.
  std::vector<uint32_t> first, next, heads;
};

/// Tarjan's algorithm. Nodes that can reach each other get one number.
std::vector<uint32_t> findComponents(const Graph &graph) {
  size_t size = graph.first.size();
  std::vector<uint32_t> component(size, Graph::kNone);
  // When a node was found, and the earliest on the stack that it reaches.
  std::vector<uint32_t> found(size, Graph::kNone), earliest(size);
  std::vector<uint32_t> path, stack;
  std::vector<uint32_t> nextArc = graph.first;
  uint32_t count = 0;
  auto enter = [&](uint32_t node) {
    found[node] = earliest[node] = count++;
    path.push_back(node);
    stack.push_back(node);
  };
  for (uint32_t root = 0; root < size; ++root) {
    if (found[root] == Graph::kNone)
      enter(root);
    while (!path.empty()) {
      uint32_t node = path.back();
      uint32_t arc = nextArc[node];
      if (arc != Graph::kNone) {
        nextArc[node] = graph.next[arc];
        uint32_t head = graph.heads[arc];
        if (found[head] == Graph::kNone)
          enter(head);
        else if (component[head] == Graph::kNone)
          earliest[node] = std::min(earliest[node], found[head]);
        continue;
      }
      path.pop_back();
      if (!path.empty())
        earliest[path.back()] = std::min(earliest[path.back()], earliest[node]);
      if (earliest[node] != found[node])
        continue;
      uint32_t member;
      do {
        member = stack.back();
        stack.pop_back();
        component[member] = node;
      } while (member != node);
    }
  }
  return component;
}
} // namespace

/// What flows from a variable back into it, by others that can choose or could
/// have, joins.
void PlacementProblem::joinCarried() {
  if (!anyFlow)
    return;
  Graph graph(states.size());
  for (size_t i = 0; i < values.size(); ++i)
    for (User user : getUsers(i))
      if (canChoose(values[i].producer) && canChoose(user.variable))
        graph.addArc(values[i].producer, user.variable);
  std::vector<uint32_t> component = findComponents(graph);
  std::vector<uint32_t> size(states.size());
  for (uint32_t number : component)
    ++size[number];
  for (User &user : users)
    if (user.use == Use::Flows)
      user.use = size[component[user.variable]] > 1 ? Use::Joins : Use::Reads;
}

void PlacementProblem::addImplications() {
  for (size_t i = 0; i < values.size(); ++i) {
    Variable producer = values[i].producer;
    for (User user : getUsers(i)) {
      if (user.use == Use::Joins && isFree(user.variable))
        implications.push_back(
            {user.variable, user.hasOtherLow ? kFloat32 : producer});
      if (values[i].adopts && isFree(producer))
        implications.push_back(
            {producer, user.hasOtherLow ? kFloat32 : user.variable});
    }
  }
}

void PlacementProblem::propagateFloat32() {
  Graph graph(states.size());
  for (Implication implication : implications)
    graph.addArc(implication.also, implication.low);
  std::vector<Variable> fixed = {kFloat32};
  while (!fixed.empty()) {
    Variable variable = fixed.back();
    fixed.pop_back();
    for (uint32_t arc = graph.first[variable]; arc != Graph::kNone;
         arc = graph.next[arc]) {
      if (!isFree(graph.heads[arc]))
        continue;
      states[graph.heads[arc]] = State::Implied;
      fixed.push_back(graph.heads[arc]);
    }
  }
}

namespace {
/// Disjoint sets of numbers.
class UnionFind {
public:
  explicit UnionFind(size_t size) : parents(size) {
    for (size_t i = 0; i < size; ++i)
      parents[i] = i;
  }
  uint32_t find(uint32_t member) {
    while (parents[member] != member)
      member = parents[member] = parents[parents[member]];
    return member;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    parents[std::max(a, b)] = std::min(a, b);
  }

private:
  std::vector<uint32_t> parents;
};
} // namespace

void PlacementProblem::isolateIslands() {
  // Operations with a variable that is free are connected by values between
  // such variables.
  UnionFind islands(touchesLow.size());
  for (size_t i = 0; i < values.size(); ++i) {
    Variable producer = values[i].producer;
    for (User user : getUsers(i)) {
      if (isFree(producer) && isFree(user.variable))
        islands.join(operations[producer], operations[user.variable]);
      else if (isFree(producer) && isFixedLow(user.variable))
        touchesLow[operations[producer]] = true;
      else if (isFixedLow(producer) && isFree(user.variable))
        touchesLow[operations[user.variable]] = true;
    }
  }
  for (size_t i = 0; i < touchesLow.size(); ++i)
    if (touchesLow[i])
      touchesLow[islands.find(i)] = true;
  for (size_t i = 0; i < states.size(); ++i)
    if (isFree(i) && !touchesLow[islands.find(operations[i])])
      states[i] = State::Island;
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

/// Adds the arcs of a value's cast to float32 (up) or to low (down).
void PlacementProblem::addCast(MinimumCut &network,
                               llvm::ArrayRef<MinimumCut::Node> nodes,
                               size_t value, bool up) {
  MinimumCut::Node from = up ? MinimumCut::kSource : MinimumCut::kSink;
  MinimumCut::Node to = up ? MinimumCut::kSink : MinimumCut::kSource;
  MinimumCut::Node producer = nodes[values[value].producer];
  if (producer == to)
    return;
  llvm::SmallVector<MinimumCut::Node> readers;
  for (User user : getUsers(value)) {
    // Where such a user is low it asks for another cast.
    if (user.hasOtherLow && !up)
      continue;
    MinimumCut::Node node = nodes[user.variable];
    if (node == to) {
      // It serves everybody if it is for somebody who can't choose.
      readers.assign({to});
      break;
    }
    if (node != from && node != producer)
      readers.push_back(node);
  }
  // Nobody has a choice, or nobody needs it.
  if (readers.empty() || (producer == from && readers.front() == to))
    return;

  // It is paid for where the producer is on one side and a reader is not.
  auto addArc = [&](MinimumCut::Node a, MinimumCut::Node b, int64_t capacity) {
    network.addArc(up ? a : b, up ? b : a, capacity);
  };
  int64_t cost = values[value].castCost;
  if (readers.size() == 1)
    return addArc(producer, readers.front(), cost);
  MinimumCut::Node cast = network.addNode();
  addArc(producer, cast, cost);
  for (MinimumCut::Node reader : readers)
    addArc(cast, reader, MinimumCut::kInfinite);
}

/// Adds the arcs of a value's cast to another low format than its producer's.
void PlacementProblem::addOtherCast(MinimumCut &network,
                                    llvm::ArrayRef<MinimumCut::Node> nodes,
                                    size_t value) {
  llvm::SmallVector<MinimumCut::Node> readers;
  bool isCertain = false;
  for (User user : getUsers(value)) {
    if (!user.hasOtherLow || nodes[user.variable] == MinimumCut::kSink)
      continue;
    isCertain |= nodes[user.variable] == MinimumCut::kSource;
    readers.push_back(nodes[user.variable]);
  }
  if (readers.empty())
    return;
  MinimumCut::Node cast = MinimumCut::kSource;
  if (!isCertain) {
    cast = network.addNode();
    for (MinimumCut::Node reader : readers)
      network.addArc(reader, cast, MinimumCut::kInfinite);
  }
  int64_t fromFloat32 = values[value].castCost;
  int64_t fromLow = fromFloat32 / 3 * 2;
  // Where nobody has a choice the cost is the same for all.
  if (cast != MinimumCut::kSource)
    network.addArc(cast, MinimumCut::kSink, fromLow);
  if (MinimumCut::Node producer = nodes[values[value].producer];
      producer != MinimumCut::kSource &&
      (cast != MinimumCut::kSource || producer != MinimumCut::kSink))
    network.addArc(cast, producer, fromFloat32 - fromLow);
}

void PlacementProblem::cut() {
  MinimumCut network;
  std::vector<MinimumCut::Node> nodes(states.size(), MinimumCut::kSink);
  for (size_t i = 0; i < states.size(); ++i) {
    if (isFixedLow(i))
      nodes[i] = MinimumCut::kSource;
    if (!isFree(i))
      continue;
    nodes[i] = network.addNode();
    network.addArc(MinimumCut::kSource, nodes[i], savings[i]);
  }
  for (Implication implication : implications)
    if (isFree(implication.low) && isFree(implication.also))
      network.addArc(nodes[implication.low], nodes[implication.also],
                     MinimumCut::kInfinite);

  for (size_t i = 0; i < values.size(); ++i) {
    for (bool up : {true, false})
      addCast(network, nodes, i, up);
    addOtherCast(network, nodes, i);
  }

  // float32 for all that can choose is a finite cut.
  [[maybe_unused]] llvm::LogicalResult isFinite = network.solve();
  assert(llvm::succeeded(isFinite));
  for (size_t i = 0; i < states.size(); ++i)
    if (isFree(i))
      states[i] =
          network.isOnSourceSide(nodes[i]) ? State::Low : State::Float32;
}

/// Of what is float32, says so where a rule is the reason.
void PlacementProblem::explainFloat32() {
  for (Implication implication : implications)
    if (states[implication.low] == State::Float32 && !isLow(implication.also))
      states[implication.low] = State::Implied;
}
