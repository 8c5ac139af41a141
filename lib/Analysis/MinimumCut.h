//===- MinimumCut.h - the cheapest way to part a network --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cut puts every node of a network on the side of the source or on that of
// the sink, and costs the capacities of the arcs that lead from the first side
// to the second. Among the cheapest cuts, one has the largest source side: all
// nodes that can't reach the sink in the residual network. It is this one that
// is found, so that the result does not depend on the order of nodes or arcs.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_MINIMUMCUT_H
#define AMP_LIB_ANALYSIS_MINIMUMCUT_H

#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <vector>

namespace amp {

class MinimumCut {
public:
  using Node = uint32_t;
  static constexpr Node kSource = 0;
  static constexpr Node kSink = 1;

  /// What no cut may pay; so is every larger capacity.
  static constexpr int64_t kInfinite = int64_t(1) << 50;

  Node addNode() { return numNodes++; }

  /// Capacities are not negative. If the finite ones add up to kInfinite or
  /// more, they are compared in larger units.
  void addArc(Node tail, Node head, int64_t capacity);

  /// Finds the cut. Fails if every cut is infinite. To be called once, when all
  /// arcs are there.
  llvm::LogicalResult solve();

  /// After solve().
  bool isOnSourceSide(Node node) const { return distance[node] == kUnreached; }

private:
  struct Arc {
    Node tail, head;
    int64_t capacity;
  };
  /// An arc as one of its nodes sees it.
  struct HalfArc {
    Node head;
    /// The index of the same arc at the other node, in reverse.
    uint32_t reverse;
    int64_t residual;
  };
  static constexpr uint32_t kUnreached = UINT32_MAX;

  unsigned getShift() const;
  void buildHalfArcs();
  void saturateSource();
  void measureDistances();
  void push(uint32_t arc, int64_t amount);
  void discharge(Node node);
  void relabel(Node node);

  Node numNodes = 2;
  std::vector<Arc> arcs;
  /// The half arcs of node n begin at begins[n] and end at begins[n + 1].
  std::vector<HalfArc> halfArcs;
  std::vector<uint32_t> begins;
  /// What has flowed into each node and not out again.
  std::vector<int64_t> excess;
  /// A lower bound for the number of arcs to the sink.
  std::vector<uint32_t> distance;
  /// Per node the first half arc that may lead on.
  std::vector<uint32_t> current;
  /// Nodes with excess, from `firstActive` on, in the order of their turns.
  std::vector<Node> active;
  size_t firstActive = 0;
  /// Half arcs looked at since distances were measured.
  size_t work = 0;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_MINIMUMCUT_H
