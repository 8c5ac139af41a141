//===- PlacementRules.cpp - what a choice of formats must obey ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace amp;

using Variable = PlacementProblem::Variable;
using Use = PlacementProblem::Use;
static constexpr Variable kLow = PlacementProblem::kLow;
static constexpr Variable kFloat32 = PlacementProblem::kFloat32;

namespace {
/// One variable is low only if the other is.
struct Implication {
  Variable low, also;
};
} // namespace

/// Per variable what values lead to, over variables that can choose.
static std::vector<std::vector<bool>>
findReachable(const PlacementGraph &graph) {
  unsigned size = graph.numVariables;
  std::vector<std::vector<bool>> reaches(size, std::vector<bool>(size));
  for (const PlacementGraph::Value &value : graph.values)
    for (PlacementGraph::User user : value.users)
      if (value.producer > kFloat32 && user.variable > kFloat32)
        reaches[value.producer][user.variable] = true;
  for (Variable via = 2; via < size; ++via)
    for (Variable from = 2; from < size; ++from)
      for (Variable to = 2; reaches[from][via] && to < size; ++to)
        if (reaches[via][to])
          reaches[from][to] = true;
  return reaches;
}

static std::vector<Implication> findImplications(const PlacementGraph &graph) {
  std::vector<std::vector<bool>> reaches = findReachable(graph);
  auto isCarried = [&](Variable variable) {
    for (Variable other = 2; other < graph.numVariables; ++other)
      if (other != variable && reaches[variable][other] &&
          reaches[other][variable])
        return true;
    return false;
  };
  std::vector<Implication> implications;
  for (const PlacementGraph::Value &value : graph.values)
    for (PlacementGraph::User user : value.users) {
      if (user.use == Use::Joins ||
          (user.use == Use::Flows && isCarried(user.variable)))
        implications.push_back(
            {user.variable, user.hasOtherLow ? kFloat32 : value.producer});
      if (value.adopts)
        implications.push_back(
            {value.producer, user.hasOtherLow ? kFloat32 : user.variable});
    }
  return implications;
}

/// Variables that are low only if something is that never is.
static std::vector<bool>
findForced(const PlacementGraph &graph,
           const std::vector<Implication> &implications) {
  std::vector<bool> isForced(graph.numVariables);
  isForced[kFloat32] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (Implication implication : implications)
      if (isForced[implication.also] && implication.low != kLow &&
          !isForced[implication.low])
        changed = isForced[implication.low] = true;
  }
  return isForced;
}

std::vector<Variable> amp::findFreeVariables(const PlacementGraph &graph) {
  std::vector<bool> isForced = findForced(graph, findImplications(graph));
  // What something low is connected to, over variables that can choose.
  std::vector<bool> isReached(graph.numVariables);
  isReached[kLow] = true;
  auto reach = [&](Variable variable) {
    bool isNew = !isForced[variable] && !isReached[variable];
    if (isNew)
      isReached[variable] = true;
    return isNew;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const PlacementGraph::Operation &op : graph.operations) {
      bool any = op.touchesLow;
      for (Variable variable : op.variables)
        any |= isReached[variable];
      for (Variable variable : op.variables)
        changed |= any && reach(variable);
    }
    for (const PlacementGraph::Value &value : graph.values)
      for (PlacementGraph::User user : value.users) {
        changed |= isReached[value.producer] && reach(user.variable);
        changed |= isReached[user.variable] && reach(value.producer);
      }
  }
  std::vector<Variable> free;
  for (Variable i = 2; i < graph.numVariables; ++i)
    if (isReached[i])
      free.push_back(i);
  return free;
}

Formats amp::findCheapest(const PlacementGraph &graph,
                          llvm::function_ref<int64_t(const Formats &)> costOf,
                          size_t maxFree) {
  std::vector<Variable> free = findFreeVariables(graph);
  std::vector<Implication> implications = findImplications(graph);
  if (free.size() > maxFree)
    return {};
  Formats best;
  int64_t bestCost = INT64_MAX;
  for (unsigned bits = 0; bits < 1u << free.size(); ++bits) {
    Formats isLow(graph.numVariables);
    isLow[kLow] = true;
    for (size_t i = 0; i < free.size(); ++i)
      isLow[free[i]] = bits >> i & 1;
    if (llvm::any_of(implications, [&](Implication implication) {
          return isLow[implication.low] && !isLow[implication.also];
        }))
      continue;
    int64_t cost = costOf(isLow);
    if (cost < bestCost)
      best = isLow;
    else if (cost == bestCost)
      for (Variable i : free)
        best[i] = best[i] || isLow[i];
    bestCost = std::min(bestCost, cost);
  }
  return best;
}
