//===- GraphStages.cpp - a graph with gradients as a chain ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphStages.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace amp {

GraphStages::GraphStages(const MemoryGraph &graph, unsigned maxStages)
    : graph(graph), indices(graph.values.size(), kNone) {
  findNeeded();
  findMemory();
  if (needed.empty())
    return;
  assignForward(chooseCuts(maxStages));
  assignBackward();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Finds the nodes that lead to what backward nodes read, as far as they can
/// run again.
void GraphStages::findNeeded() {
  std::vector<bool> isRead(graph.values.size(), false);
  auto read = [&](const MemoryGraph::Node &node) {
    for (unsigned value : node.reads)
      isRead[graph.values[value].storage] = !graph.isKept(value);
  };
  for (unsigned i = graph.nodes.size(); i-- > 0;) {
    const MemoryGraph::Node &node = graph.nodes[i];
    if (!graph.isForward(i)) {
      read(node);
      continue;
    }
    if (!node.isRepeatable || node.isView ||
        llvm::none_of(node.makes,
                      [&](unsigned value) { return isRead[value]; }))
      continue;
    read(node);
    needed.push_back(i);
  }
  std::reverse(needed.begin(), needed.end());
}

void GraphStages::findMemory() {
  // The backward part of a node that does not run again may read what it reads:
  // it counts where it stands.
  unsigned position = 0;
  for (unsigned i = 0; i < graph.numForward && !needed.empty(); ++i) {
    const MemoryGraph::Node &node = graph.nodes[i];
    for (unsigned value : node.reads)
      if (Memory *memory = lookup(value))
        memory->lastRead = std::min<unsigned>(position, needed.size() - 1);
    if (position == needed.size() || i != needed[position])
      continue;
    for (unsigned value : node.makes)
      if (graph.values[value].bytes > 0) {
        indices[value] = memories.size();
        memories.push_back({value, position, position});
      }
    ++position;
  }
}

/// Positions of nodes that begin a stage, without the first.
llvm::SmallVector<unsigned> GraphStages::chooseCuts(unsigned maxStages) const {
  // Bytes over the boundary before each node, and all that is made until then.
  std::vector<int64_t> over(needed.size() + 1, 0), made(needed.size() + 1, 0);
  for (const Memory &memory : memories) {
    over[memory.made + 1] += bytesOf(memory);
    over[memory.lastRead + 1] -= bytesOf(memory);
    made[memory.made + 1] += bytesOf(memory);
  }
  for (size_t i = 1; i <= needed.size(); ++i) {
    over[i] += over[i - 1];
    made[i] += made[i - 1];
  }
  llvm::SmallVector<unsigned> cuts;
  for (unsigned i = 1; i < needed.size(); ++i)
    cuts.push_back(i);
  if (needed.size() <= maxStages)
    return cuts;
  llvm::erase_if(cuts, [&](unsigned i) {
    return over[i] > over[i - 1] ||
           (i + 1 < needed.size() && over[i] > over[i + 1]);
  });
  if (cuts.size() < maxStages)
    return cuts;
  // The cheapest in each of as many parts that make equally much.
  llvm::SmallVector<unsigned> chosen;
  int64_t part = made.back() / maxStages + 1, lastPart = -1;
  for (unsigned i : cuts) {
    int64_t current = made[i] / part;
    if (current != lastPart)
      chosen.push_back(i);
    else if (over[i] < over[chosen.back()])
      chosen.back() = i;
    lastPart = current;
  }
  if (chosen.size() >= maxStages)
    chosen.truncate(maxStages - 1);
  return chosen;
}

void GraphStages::assignForward(llvm::ArrayRef<unsigned> cuts) {
  stages.resize(cuts.size() + 1);
  std::vector<unsigned> stageOf(needed.size());
  unsigned stage = 0;
  for (auto [position, index] : llvm::enumerate(needed)) {
    if (stage < cuts.size() && position == cuts[stage])
      ++stage;
    stages[stage].forward.push_back(index);
    stageOf[position] = stage;
  }
  for (Memory &memory : memories) {
    memory.stage = stageOf[memory.made];
    memory.lastStage = stageOf[memory.lastRead];
  }
}

/// Backward nodes stand in reverse order: each belongs to the last stage at
/// which all that it reads is there.
void GraphStages::assignBackward() {
  unsigned stage = stages.size() - 1;
  for (unsigned i = graph.numForward; i < graph.nodes.size(); ++i) {
    for (unsigned value : graph.nodes[i].reads)
      if (const Memory *memory = lookup(value))
        stage = std::min(stage, memory->lastStage);
    stages[stage].backward.push_back(i);
    for (unsigned value : graph.nodes[i].reads)
      if (Memory *memory = lookup(value))
        if (memory->backwardStages.empty() ||
            memory->backwardStages.back() != stage)
          memory->backwardStages.push_back(stage);
  }
}

bool GraphStages::isReadBackward(const Memory &memory, unsigned stage) const {
  return llvm::is_contained(memory.backwardStages, stage);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

void GraphStages::addBackwardCosts(ChainCosts &costs) const {
  // Gradients: what backward nodes make lives as in the plain order.
  size_t count = graph.nodes.size() - graph.numForward;
  std::vector<unsigned> made(graph.values.size(), kNone);
  std::vector<unsigned> lastRead(graph.values.size(), kNone);
  for (size_t i = 0; i < count; ++i) {
    const MemoryGraph::Node &node = graph.nodes[graph.numForward + i];
    for (unsigned value : node.reads)
      lastRead[graph.values[value].storage] = i;
    for (unsigned value : node.makes)
      if (graph.values[value].storage == value)
        made[value] = lastRead[value] = i;
  }
  // Alive while a node runs, and of it what was there before.
  std::vector<int64_t> alive(count + 1, 0), before(count + 1, 0);
  for (auto [value, first] : llvm::enumerate(made)) {
    if (first == kNone)
      continue;
    int64_t bytes = graph.values[value].bytes;
    alive[first] += bytes;
    alive[lastRead[value] + 1] -= bytes;
    before[first + 1] += bytes;
    before[lastRead[value] + 1] -= bytes;
  }
  for (size_t i = 1; i <= count; ++i) {
    alive[i] += alive[i - 1];
    before[i] += before[i - 1];
  }

  unsigned next = 0;
  for (unsigned s = stages.size(); s-- > 0;) {
    ChainCosts::Stage &stage = costs.stages[s];
    stage.gradient = before[next];
    // What the stage kept goes after its last reader.
    llvm::ArrayRef<unsigned> nodes = stages[s].backward;
    std::vector<int64_t> keptUntil(nodes.size(), 0);
    llvm::DenseSet<unsigned> seen;
    for (size_t i = nodes.size(); i-- > 0;)
      for (unsigned value : graph.nodes[nodes[i]].reads)
        if (const Memory *memory = lookup(value);
            memory && memory->stage == s && seen.insert(memory->value).second)
          keptUntil[i] += bytesOf(*memory);
    int64_t kept = 0;
    for (size_t i = nodes.size(); i-- > 0;) {
      kept += keptUntil[i];
      stage.backwardPeak =
          std::max(stage.backwardPeak,
                   kept + alive[next + i] + graph.nodes[nodes[i]].scratch);
    }
    next += nodes.size();
  }
}

void GraphStages::addForwardCosts(ChainCosts &costs) const {
  size_t count = stages.size();
  for (const Memory &memory : memories) {
    int64_t bytes = bytesOf(memory);
    // What several stages read stays longer than a keeping run of the next.
    ChainCosts::Boundary &kept = costs.stages[memory.stage].kept;
    if (isReadBackward(memory, memory.stage) || memory.lastStage > memory.stage)
      kept.whole += bytes;
    if (!memory.backwardStages.empty() || memory.lastStage > memory.stage + 1)
      kept.read += bytes;
    for (unsigned e = memory.stage + 1; e <= memory.lastStage; ++e) {
      bool isRead = memory.lastStage > e ||
                    llvm::any_of(memory.backwardStages,
                                 [&](unsigned reader) { return reader >= e; });
      for (unsigned first = 0; first <= memory.stage; ++first) {
        costs.boundary[first][e].whole += bytes;
        costs.boundary[first][e].read += isRead ? bytes : 0;
      }
    }
  }

  // While a node runs, of memory from stage `first` on: what is alive there.
  auto getPeak = [&](unsigned first, unsigned stage, bool keeps) {
    int64_t peak = 0, bytes = 0;
    unsigned begin = llvm::lower_bound(needed, stages[stage].forward.front()) -
                     needed.begin();
    size_t nodes = stages[stage].forward.size();
    std::vector<int64_t> change(nodes + 1, 0);
    for (const Memory &memory : memories) {
      if (memory.stage < first || memory.stage > stage ||
          memory.lastRead < begin)
        continue;
      bool stays = keeps && isReadBackward(memory, stage);
      size_t from = memory.made < begin ? 0 : memory.made - begin;
      size_t to = stays ? nodes - 1
                        : std::min<size_t>(memory.lastRead - begin, nodes - 1);
      change[from] += bytesOf(memory);
      change[to + 1] -= bytesOf(memory);
    }
    for (size_t i = 0; i < nodes; ++i) {
      bytes += change[i];
      peak =
          std::max(peak, bytes + graph.nodes[stages[stage].forward[i]].scratch);
    }
    return peak;
  };
  for (unsigned s = 0; s < count; ++s) {
    costs.stages[s].keepingPeak = getPeak(s, s, /*keeps=*/true);
    for (unsigned k = s; k < count; ++k)
      costs.passingPeak[s][k] = getPeak(s, k, /*keeps=*/false);
  }
}

/// The work of the nodes of a stage that lead to the memory that is wanted.
double
GraphStages::getWork(unsigned stage,
                     llvm::function_ref<bool(const Memory &)> isWanted) const {
  llvm::DenseSet<unsigned> read;
  double work = 0;
  for (unsigned index : llvm::reverse(stages[stage].forward)) {
    const MemoryGraph::Node &node = graph.nodes[index];
    if (llvm::none_of(node.makes, [&](unsigned value) {
          const Memory *memory = lookup(value);
          return read.contains(value) || (memory && isWanted(*memory));
        }))
      continue;
    work += node.work;
    for (unsigned value : node.reads)
      read.insert(graph.values[value].storage);
  }
  return work;
}

void GraphStages::addWork(ChainCosts &costs) const {
  for (auto [s, stage] : llvm::enumerate(costs.stages)) {
    auto isKept = [&, s = s](const Memory &memory) {
      return isReadBackward(memory, s);
    };
    auto isPassed = [&, s = s](const Memory &memory) {
      return memory.lastStage > s;
    };
    stage.lastWork = getWork(s, isKept);
    stage.passingWork = getWork(s, isPassed);
    stage.keepingWork = getWork(s, [&](const Memory &memory) {
      return isKept(memory) || isPassed(memory);
    });
  }
}

ChainCosts GraphStages::getCosts() const {
  ChainCosts costs;
  costs.stages.resize(stages.size());
  costs.passingPeak.assign(stages.size(),
                           std::vector<int64_t>(stages.size(), 0));
  costs.boundary.assign(stages.size(),
                        std::vector<ChainCosts::Boundary>(stages.size()));
  addBackwardCosts(costs);
  addForwardCosts(costs);
  addWork(costs);
  return costs;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

RunOrder GraphStages::getOrder(llvm::ArrayRef<ChainStep> steps) const {
  RunOrder order;
  for (unsigned i = 0; i < graph.numForward; ++i)
    order.push_back(i);
  bool isOpen = false;
  for (ChainStep step : steps) {
    if (!isOpen)
      order.push_back(kGate);
    isOpen = true;
    if (!step.isBackward) {
      appendRepetition(graph, stages[step.stage].forward, order);
      continue;
    }
    llvm::append_range(order, stages[step.stage].backward);
    isOpen = stages[step.stage].backward.empty();
  }
  return order;
}

} // namespace amp
