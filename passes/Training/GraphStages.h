//===- GraphStages.h - a graph with gradients as a chain --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward nodes that gradients need, in the graph's order, are cut into
// stages; what goes over a boundary are the values that are made before it and
// read behind it. If at most `maxStages` nodes can run again, each is a stage,
// and the chain is the graph. Otherwise boundaries are where few bytes go over
// them: a heuristic.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_GRAPHSTAGES_H
#define AMP_PASSES_TRAINING_GRAPHSTAGES_H

#include "ChainPlan.h"
#include "RunOrder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace amp {

class GraphStages {
public:
  GraphStages(const MemoryGraph &graph, unsigned maxStages);

  /// 0 if nothing can run again.
  unsigned size() const { return stages.size(); }
  /// Upper bounds for what getOrder() makes of a plan, without what no plan
  /// changes: values of nodes that can't run again, or need not.
  ChainCosts getCosts() const;
  RunOrder getOrder(llvm::ArrayRef<ChainStep> steps) const;

private:
  struct Stage {
    llvm::SmallVector<unsigned> forward, backward;
  };
  /// Memory that can be made again; positions are those of nodes in `needed`.
  struct Memory {
    unsigned value;
    unsigned made, lastRead;
    /// The stages of these, and of the backward parts that read it.
    unsigned stage = 0, lastStage = 0;
    llvm::SmallVector<unsigned, 2> backwardStages = {};
  };

  void findNeeded();
  void findMemory();
  llvm::SmallVector<unsigned> chooseCuts(unsigned maxStages) const;
  void assignForward(llvm::ArrayRef<unsigned> cuts);
  void assignBackward();
  /// The memory of a value, if it is one of `memories`.
  const Memory *lookup(unsigned value) const {
    unsigned index = indices[graph.values[value].storage];
    return index == kNone ? nullptr : &memories[index];
  }
  Memory *lookup(unsigned value) {
    unsigned index = indices[graph.values[value].storage];
    return index == kNone ? nullptr : &memories[index];
  }
  int64_t bytesOf(const Memory &memory) const {
    return graph.values[memory.value].bytes;
  }
  bool isReadBackward(const Memory &memory, unsigned stage) const;
  void addBackwardCosts(ChainCosts &costs) const;
  void addForwardCosts(ChainCosts &costs) const;
  void addWork(ChainCosts &costs) const;
  double getWork(unsigned stage,
                 llvm::function_ref<bool(const Memory &)> isWanted) const;

  static constexpr unsigned kNone = ~0u;
  const MemoryGraph &graph;
  /// Forward nodes that run again, without views, in order.
  std::vector<unsigned> needed;
  std::vector<Memory> memories;
  /// Of memories, by value.
  std::vector<unsigned> indices;
  std::vector<Stage> stages;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_GRAPHSTAGES_H
