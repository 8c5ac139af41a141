//===- RunOrder.cpp - the memory that an order of nodes takes -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace amp {

RunOrder getPlainOrder(const MemoryGraph &graph) {
  RunOrder order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void appendRepetition(const MemoryGraph &graph, llvm::ArrayRef<unsigned> nodes,
                      RunOrder &order) {
  // A view of what is made anew is made with it: another would be one of the
  // old memory, which would have to stay.
  llvm::SmallVector<unsigned> made;
  for (unsigned node : nodes) {
    if (!graph.nodes[node].isRepeatable || graph.nodes[node].isView)
      continue;
    order.push_back(node);
    made.append(graph.nodes[node].makes.begin(), graph.nodes[node].makes.end());
    while (!made.empty()) {
      unsigned value = made.pop_back_val();
      if (graph.isKept(value))
        continue;
      for (unsigned view : graph.values[value].views) {
        order.push_back(view);
        made.push_back(graph.nodes[view].makes.front());
      }
    }
  }
}

OrderCosts getCosts(const MemoryGraph &graph, llvm::ArrayRef<unsigned> order) {
  constexpr unsigned kNone = ~0u;
  OrderCosts costs;
  costs.isUsed.assign(order.size(), true);

  // Which run made what a run reads, and in which run that memory began.
  std::vector<unsigned> maker(graph.values.size(), kNone);
  std::vector<unsigned> begin(graph.values.size(), kNone);
  std::vector<llvm::SmallVector<unsigned, 4>> makers(order.size());
  struct Memory {
    unsigned storage, first, last;
  };
  std::vector<Memory> memories;
  std::vector<llvm::SmallVector<unsigned, 4>> memoriesRead(order.size());
  std::vector<bool> hasRun(graph.nodes.size(), false);
  for (auto [i, index] : llvm::enumerate(order)) {
    if (index == kGate)
      continue;
    const MemoryGraph::Node &node = graph.nodes[index];
    for (unsigned value : node.reads) {
      makers[i].push_back(maker[value]);
      memoriesRead[i].push_back(begin[value]);
    }
    costs.isUsed[i] = !hasRun[index];
    hasRun[index] = true;
    for (unsigned value : node.makes) {
      if (maker[value] != kNone && graph.isKept(value))
        continue;
      if (graph.values[value].storage != value) {
        begin[value] = begin[node.reads.front()];
      } else {
        begin[value] = memories.size();
        memories.push_back({value, unsigned(i), unsigned(i)});
      }
      maker[value] = i;
    }
  }
  for (size_t i = order.size(); i-- > 0;) {
    if (!costs.isUsed[i])
      continue;
    for (unsigned made : makers[i])
      if (made != kNone)
        costs.isUsed[made] = true;
    for (unsigned memory : memoriesRead[i])
      if (memory != kNone)
        memories[memory].last = std::max(memories[memory].last, unsigned(i));
  }

  std::vector<int64_t> change(order.size() + 1, 0);
  for (const Memory &memory : memories)
    if (costs.isUsed[memory.first]) {
      change[memory.first] += graph.values[memory.storage].bytes;
      change[memory.last + 1] -= graph.values[memory.storage].bytes;
    }
  int64_t bytes = 0;
  hasRun.assign(graph.nodes.size(), false);
  for (auto [i, index] : llvm::enumerate(order)) {
    bytes += change[i];
    if (index == kGate || !costs.isUsed[i])
      continue;
    const MemoryGraph::Node &node = graph.nodes[index];
    costs.peakBytes = std::max(costs.peakBytes, bytes + node.scratch);
    if (hasRun[index]) {
      costs.repeatedWork += node.work;
      ++costs.numRepeated;
    }
    hasRun[index] = true;
  }
  return costs;
}

} // namespace amp
