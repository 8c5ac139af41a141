//===- ChainPlan.h - least recomputation of a chain -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain is a sequence of stages. Each turns what comes over the boundary
// before it into what goes over the boundary behind it; its backward part needs
// what the stage kept, and some of what came in. Backward parts run in reverse
// order. A stage may run several times: keeping what its backward part needs,
// or just passing on.
//
// Plans are those that Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova call
// memory persistent (Optimal checkpointing for heterogeneous chains, 2019):
// what is kept stays until the backward part that needs it. To do a part of the
// chain from stage s to t, such a plan does one of two things:
//
//   - keep: run s, keeping; do the part from s+1 to t; the backward part of s;
//   - split: hold the boundary before s, pass through the stages before some e;
//     do the part from e to t, then that from s to e-1.
//
// Hence the best plans for each amount of memory follow from those for smaller
// parts. All that none other beats in both memory and work are found, by
// dynamic programming over parts; where they are too many for one part, an even
// selection.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_CHAINPLAN_H
#define AMP_PASSES_TRAINING_CHAINPLAN_H

#include <cstdint>
#include <vector>

namespace amp {

/// What the stages of a chain take, in bytes and flops.
struct ChainCosts {
  /// Of what goes over a boundary.
  struct Boundary {
    /// All of it, and what the backward part behind the boundary reads.
    int64_t whole = 0, read = 0;
  };
  /// Without what comes in over the boundary before the stage.
  struct Stage {
    /// Of gradients, when the backward part begins.
    int64_t gradient = 0;
    /// Peak of a run that keeps what backward parts need.
    int64_t keepingPeak = 0;
    /// What stays after it: what goes over the boundary with, or without, what
    /// only the forward part reads.
    Boundary kept;
    /// Peak of the backward part, with all that is kept for it.
    int64_t backwardPeak = 0;
    /// Of a run that keeps and passes on, keeps alone, or passes on alone.
    double keepingWork = 0, lastWork = 0, passingWork = 0;
  };
  std::vector<Stage> stages;
  /// Peak of passing through stage k from boundary s, by [s][k], without what
  /// boundary s takes.
  std::vector<std::vector<int64_t>> passingPeak;
  /// What the boundary before stage e takes beside that before s, by [s][e].
  std::vector<std::vector<Boundary>> boundary;
};

/// One of the best ways to do a part of a chain.
struct ChainPoint {
  int64_t bytes = 0;
  double work = 0;
  /// The first stage of the second part; 0 if the first stage keeps.
  unsigned split = 0;
  /// How the second part is done, and the first: by which of the ways that
  /// split, or else keep.
  struct Way {
    bool splits = false;
    unsigned index = 0;
  };
  Way second, first;
};

/// Ways to do a part: more bytes, less work.
using ChainFront = std::vector<ChainPoint>;

struct ChainStep {
  unsigned stage;
  /// False for a repeated run of the stage itself.
  bool isBackward;
};

class ChainPlan {
public:
  /// `repeatsOften` is false for plans in which no stage runs more than twice.
  /// For each part at most `maxPoints` ways that keep, and as many that split,
  /// are remembered; two at least.
  ChainPlan(const ChainCosts &costs, bool repeatsOften,
            unsigned maxPoints = 64);

  /// The best plans for the whole chain. Work is that of repetitions; the first
  /// runs of all stages come before.
  const ChainFront &getPlans() const { return plans; }

  /// What happens after the first runs.
  std::vector<ChainStep> expand(const ChainPoint &plan) const;

private:
  using Way = ChainPoint::Way;
  struct Part {
    /// Bytes of ways that keep are those after the run of the first stage, and
    /// without what comes in; of those that split, without what comes in.
    ChainFront keeping, splitting;
  };
  /// A way to do a part where it stands.
  struct Choice {
    int64_t bytes;
    double work;
    Way way;
  };

  const Part &getPart(unsigned first, unsigned last, bool isFirstRun) const {
    return isFirstRun ? whole[first] : parts[first * size + last];
  }
  const ChainPoint &getPoint(unsigned first, unsigned last, bool isFirstRun,
                             Way way) const {
    const Part &part = getPart(first, last, isFirstRun);
    return (way.splits ? part.splitting : part.keeping)[way.index];
  }
  Part solve(const ChainCosts &costs, unsigned first, unsigned last,
             bool isFirstRun, bool maySplit) const;
  std::vector<Choice> getChoices(const ChainCosts &costs, unsigned first,
                                 unsigned last, bool isFirstRun,
                                 ChainCosts::Boundary incoming) const;
  void addSplits(unsigned split, int64_t atLeast, double work,
                 const std::vector<Choice> &second,
                 const std::vector<Choice> &first, ChainFront &points) const;
  void thin(ChainFront &front) const;
  void expandPart(unsigned first, unsigned last, const ChainPoint &point,
                  bool isFirstRun, std::vector<ChainStep> &steps) const;

  unsigned size, maxPoints;
  /// Of stages [first, last], which run again.
  std::vector<Part> parts;
  /// Of stages from one to the end, which run for the first time.
  std::vector<Part> whole;
  /// The ways of parts that run again, where all that comes in is held.
  std::vector<std::vector<Choice>> alone;
  ChainFront plans;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_CHAINPLAN_H
