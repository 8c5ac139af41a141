//===- ChainPlanTest.cpp - plans for chains, beside a search --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <optional>
#include <queue>
#include <random>
#include <tuple>

using namespace amp;

namespace {

/// A chain of nodes: stage s makes one value that the next one reads, and keeps
/// `extra` bytes for its backward part, which may read what comes in, too.
struct Chain {
  struct Stage {
    int64_t value, extra, gradient, scratch;
    double work;
    bool readsInput = true;
  };
  std::vector<Stage> stages;

  size_t size() const { return stages.size(); }
  /// What comes over the boundary before a stage.
  int64_t boundary(size_t s) const { return s == 0 ? 0 : stages[s - 1].value; }
  bool isRead(size_t s) const { return s < size() && stages[s].readsInput; }

  ChainCosts getCosts() const {
    ChainCosts costs;
    costs.boundary.resize(size(), std::vector<ChainCosts::Boundary>(size()));
    costs.passingPeak.resize(size(), std::vector<int64_t>(size(), 0));
    for (size_t s = 0; s < size(); ++s) {
      const Stage &stage = stages[s];
      ChainCosts::Stage &cost = costs.stages.emplace_back();
      cost.gradient = stage.gradient;
      cost.kept = {stage.value + stage.extra,
                   stage.extra + (isRead(s + 1) ? stage.value : 0)};
      cost.keepingPeak = stage.value + stage.extra + stage.scratch;
      cost.backwardPeak = stage.extra + stage.gradient + stage.scratch;
      cost.keepingWork = cost.lastWork = cost.passingWork = stage.work;
      for (size_t k = s; k < size(); ++k) {
        int64_t incoming = k == s ? 0 : boundary(k);
        costs.boundary[s][k] = {incoming, isRead(k) ? incoming : 0};
        costs.passingPeak[s][k] =
            incoming + stages[k].value + stages[k].scratch;
      }
    }
    return costs;
  }
};

Chain makeChain(std::mt19937 &random, size_t size, bool isUniform) {
  Chain chain;
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (size_t s = 0; s < size; ++s)
    if (isUniform)
      chain.stages.push_back({4, 4, 2, 0, 1});
    else
      chain.stages.push_back({pick(1, 6), pick(0, 6), pick(0, 4), pick(0, 2),
                              double(pick(1, 5)), pick(0, 1) == 0});
  return chain;
}

/// Searches all plans for the least work within some memory, operation by
/// operation. `isPersistent`: what is kept goes only when its backward part is
/// done; else whenever that is of use.
class Search {
public:
  Search(const Chain &chain, int64_t memory, bool isPersistent)
      : chain(chain), last(int(chain.size()) - 1), memory(memory),
        isPersistent(isPersistent) {}

  /// None if there is none. The first run of each stage counts, too.
  std::optional<double> run() {
    add({1, 0, 0, last}, 0);
    while (!open.empty()) {
      auto [work, state] = open.top();
      open.pop();
      if (work > best[state])
        continue;
      if (state.backward < 0)
        return work;
      advance(state, work);
    }
    return std::nullopt;
  }

private:
  /// Boundaries that are held, and stages whose extra bytes are kept, as sets
  /// of bits; the boundary that a forward run has come to, or kIdle; whose
  /// backward part is next. The boundary before the first stage is held for
  /// nothing.
  struct State {
    unsigned held, kept;
    int at, backward;
    bool operator<(const State &other) const {
      return std::tie(held, kept, at, backward) <
             std::tie(other.held, other.kept, other.at, other.backward);
    }
  };
  static constexpr int kIdle = -1;

  static bool has(unsigned bits, int i) { return bits >> i & 1; }
  int64_t bytes(const State &state) const {
    // There are gradients once the last stage has been kept.
    bool isFirstRun = state.backward == last && !has(state.kept, last);
    int64_t sum = isFirstRun ? 0 : chain.stages[state.backward].gradient;
    for (int s = 0; s <= last; ++s) {
      sum += has(state.kept, s) ? chain.stages[s].extra : 0;
      sum += has(state.held, s) || s == state.at ? chain.boundary(s) : 0;
    }
    return sum;
  }
  void add(const State &state, double work) {
    auto [entry, isNew] = best.try_emplace(state, work);
    if (!isNew && entry->second <= work)
      return;
    entry->second = work;
    open.push({work, state});
  }

  void advance(const State &state, double work) {
    auto change = [&](auto how, double more = 0) {
      State next = state;
      how(next);
      add(next, work + more);
    };
    for (int s = 0; !isPersistent && s <= last; ++s) {
      change([&](State &next) { next.held &= ~(1u << s) | 1; });
      change([&](State &next) { next.kept &= ~(1u << s); });
    }
    if (state.at != kIdle) {
      int s = state.at;
      const Chain::Stage &stage = chain.stages[s];
      int64_t peak = bytes(state) + stage.value + stage.scratch;
      change([&](State &next) { next.held |= 1u << s; });
      if (s < state.backward && peak <= memory)
        change([&](State &next) { next.at = s + 1; }, stage.work);
      if (!has(state.kept, s) && peak + stage.extra <= memory &&
          (!stage.readsInput || has(state.held, s)))
        change(
            [&](State &next) {
              next.kept |= 1u << s;
              next.at = s == state.backward ? kIdle : s + 1;
            },
            stage.work);
      return;
    }
    int b = state.backward;
    const Chain::Stage &stage = chain.stages[b];
    if (has(state.kept, b)) {
      if ((!stage.readsInput || has(state.held, b)) &&
          bytes(state) + stage.scratch <= memory)
        change([&](State &next) {
          next.kept &= ~(1u << b);
          next.held &= (1u << b) - 1;
          next.held |= 1;
          next.backward = b - 1;
        });
      return;
    }
    for (int s = 0; s <= b; ++s)
      if (has(state.held, s))
        change([&](State &next) { next.at = s; });
  }

  const Chain &chain;
  int last;
  int64_t memory;
  bool isPersistent;
  std::map<State, double> best;
  using Entry = std::pair<double, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
};

double getFirstWork(const Chain &chain) {
  double work = 0;
  for (const Chain::Stage &stage : chain.stages)
    work += stage.work;
  return work;
}

std::optional<double> getPlanned(const ChainPlan &plan, int64_t memory) {
  std::optional<double> work;
  for (const ChainPoint &point : plan.getPlans())
    if (point.bytes <= memory)
      work = point.work;
  return work;
}

TEST(ChainPlan, FindsWhatASearchOfAllPersistentPlansFinds) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    Chain chain = makeChain(random, 2 + round % 4, round % 5 == 0);
    ChainPlan plan(chain.getCosts(), /*repeatsOften=*/true, 1000);
    const ChainFront &plans = plan.getPlans();
    for (int64_t memory = plans.front().bytes - 1; memory <= plans.back().bytes;
         ++memory) {
      std::optional<double> searched = Search(chain, memory, true).run();
      std::optional<double> planned = getPlanned(plan, memory);
      ASSERT_EQ(searched.has_value(), planned.has_value())
          << "round " << round << ", memory " << memory;
      if (planned) {
        EXPECT_DOUBLE_EQ(*searched, *planned + getFirstWork(chain))
            << "round " << round << ", memory " << memory;
      }
    }
  }
}

TEST(ChainPlan, IsOptimalAmongAllPlansForUniformChains) {
  for (size_t size = 2; size <= 5; ++size) {
    std::mt19937 random(1);
    Chain chain = makeChain(random, size, /*isUniform=*/true);
    ChainPlan plan(chain.getCosts(), /*repeatsOften=*/true, 1000);
    for (const ChainPoint &point : plan.getPlans())
      EXPECT_DOUBLE_EQ(*Search(chain, point.bytes, false).run(),
                       point.work + getFirstWork(chain));
  }
}

TEST(ChainPlan, StepsAreAsManyAsTheWorkSays) {
  std::mt19937 random(7);
  for (bool repeatsOften : {false, true}) {
    Chain chain = makeChain(random, 20, /*isUniform=*/false);
    ChainPlan plan(chain.getCosts(), repeatsOften);
    for (const ChainPoint &point : plan.getPlans()) {
      double work = 0;
      std::vector<unsigned> runs(chain.size(), 0);
      unsigned next = chain.size();
      for (ChainStep step : plan.expand(point)) {
        if (step.isBackward) {
          EXPECT_EQ(step.stage, --next);
          continue;
        }
        EXPECT_LT(step.stage, next);
        work += chain.stages[step.stage].work;
        ++runs[step.stage];
      }
      EXPECT_EQ(next, 0u);
      EXPECT_DOUBLE_EQ(work, point.work);
      if (!repeatsOften) {
        EXPECT_LE(*llvm::max_element(runs), 1u);
      }
    }
  }
}

TEST(ChainPlan, LeastMemoryGrowsLikeTheRoot) {
  std::mt19937 random(1);
  auto getLeast = [&](size_t size) {
    Chain chain = makeChain(random, size, /*isUniform=*/true);
    return ChainPlan(chain.getCosts(), /*repeatsOften=*/false)
        .getPlans()
        .front()
        .bytes;
  };
  EXPECT_LT(getLeast(64), 2.3 * double(getLeast(16)));
}

TEST(ChainPlan, FewerPointsAreStillPlans) {
  std::mt19937 random(3);
  Chain chain = makeChain(random, 24, /*isUniform=*/false);
  ChainPlan all(chain.getCosts(), /*repeatsOften=*/true, 100000);
  ChainPlan some(chain.getCosts(), /*repeatsOften=*/true, 8);
  EXPECT_LE(some.getPlans().size(), 2 * 8u);
  EXPECT_EQ(some.getPlans().back().work, 0);
  for (const ChainPoint &point : some.getPlans())
    EXPECT_GE(point.work, *getPlanned(all, point.bytes));
}

} // namespace
