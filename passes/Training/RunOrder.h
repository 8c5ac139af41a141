//===- RunOrder.h - the memory that an order of nodes takes -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph with gradients without its operations: what recomputation is planned
// on. A plan is an order in which nodes run, where nodes of the forward part
// may run again: who reads a value, reads what was made last. So every order
// that has all nodes once in the graph's own order, and others before their
// readers, computes the same.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_RUNORDER_H
#define AMP_PASSES_TRAINING_RUNORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace amp {

struct MemoryGraph {
  /// What a node makes, or sees in another shape.
  struct Value {
    /// Of its own memory; 0 for what is not counted.
    int64_t bytes = 0;
    /// Whose memory it is; itself unless it is a view.
    unsigned storage = 0;
    /// True if it stays to the end: then its readers read what was made first.
    bool isKept = false;
    /// Nodes of the forward part that see it in another shape.
    llvm::SmallVector<unsigned, 1> views = {};
  };
  struct Node {
    llvm::SmallVector<unsigned, 4> reads, makes;
    /// Of one run, in flops.
    double work = 0;
    /// What it takes only while it runs.
    int64_t scratch = 0;
    /// True if it can run again, and gives the same.
    bool isRepeatable = false;
    /// True if its one result is the memory of the one value that it reads, but
    /// for what can't be made again.
    bool isView = false;
  };

  std::vector<Value> values;
  /// In the graph's order: the forward part, and behind it the backward part.
  std::vector<Node> nodes;
  unsigned numForward = 0;

  bool isForward(unsigned node) const { return node < numForward; }
  bool isKept(unsigned value) const {
    return values[values[value].storage].isKept;
  }
};

/// Nodes in the order of their runs. kGate may stand between runs of the
/// backward part: what was made before is complete there, and all that comes
/// later begins there.
using RunOrder = std::vector<unsigned>;
inline constexpr unsigned kGate = ~0u;

/// The order without repetitions.
RunOrder getPlainOrder(const MemoryGraph &graph);

/// Appends runs of forward nodes, and of the views of what they make. Nodes
/// that can't run again are left out.
void appendRepetition(const MemoryGraph &graph, llvm::ArrayRef<unsigned> nodes,
                      RunOrder &order);

/// What an order takes.
struct OrderCosts {
  /// For each entry of the order: false for repetitions that nobody reads.
  std::vector<bool> isUsed;
  /// Of all that is counted and alive at a time, with what a node reads and
  /// makes while it runs.
  int64_t peakBytes = 0;
  /// Of repetitions that are used.
  double repeatedWork = 0;
  unsigned numRepeated = 0;
};
OrderCosts getCosts(const MemoryGraph &graph, llvm::ArrayRef<unsigned> order);

} // namespace amp

#endif // AMP_PASSES_TRAINING_RUNORDER_H
