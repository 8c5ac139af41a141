//===- ChainPlan.cpp - least recomputation of a chain ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace amp {

ChainPlan::ChainPlan(const ChainCosts &costs, bool repeatsOften,
                     unsigned maxPoints)
    : size(costs.stages.size()), maxPoints(maxPoints), parts(size * size),
      whole(size), alone(size * size) {
  for (unsigned length = 1; length < size; ++length)
    for (unsigned first = 0; first + length < size; ++first) {
      unsigned last = first + length - 1;
      parts[first * size + last] =
          solve(costs, first, last, /*isFirstRun=*/false, repeatsOften);
      alone[first * size + last] =
          getChoices(costs, first, last, /*isFirstRun=*/false, {});
    }
  for (unsigned first = size; first-- > 0;)
    whole[first] = solve(costs, first, size - 1, /*isFirstRun=*/true,
                         /*maySplit=*/true);
  for (const Choice &choice :
       getChoices(costs, 0, size - 1, /*isFirstRun=*/true, {})) {
    plans.push_back(getPoint(0, size - 1, /*isFirstRun=*/true, choice.way));
    plans.back().bytes = choice.bytes;
  }
}

/// Adds points to those of a front, both by growing memory, and leaves those
/// that no other beats.
template <typename Point>
static void addPoints(std::vector<Point> &front,
                      const std::vector<Point> &points) {
  std::vector<Point> all;
  all.reserve(front.size() + points.size());
  auto add = [&](const Point &point) {
    if (!all.empty() && all.back().work <= point.work)
      return;
    if (!all.empty() && all.back().bytes == point.bytes)
      all.back() = point;
    else
      all.push_back(point);
  };
  auto one = front.begin();
  for (const Point &point : points) {
    for (; one != front.end() && one->bytes <= point.bytes; ++one)
      add(*one);
    add(point);
  }
  for (; one != front.end(); ++one)
    add(*one);
  front = std::move(all);
}

/// Selects as many points as are allowed.
void ChainPlan::thin(ChainFront &front) const {
  size_t last = front.size() - 1;
  if (last < maxPoints)
    return;
  for (size_t i = 0; i < maxPoints; ++i)
    front[i] = front[i * last / (maxPoints - 1)];
  front.resize(maxPoints);
}

/// The ways to do a part, with what comes in: all of it while the first stage
/// runs and until a part that splits is done, what is read backward until then.
std::vector<ChainPlan::Choice>
ChainPlan::getChoices(const ChainCosts &costs, unsigned first, unsigned last,
                      bool isFirstRun, ChainCosts::Boundary incoming) const {
  const Part &part = getPart(first, last, isFirstRun);
  int64_t gradient = isFirstRun ? 0 : costs.stages[last].gradient;
  int64_t running = incoming.whole + gradient + costs.stages[first].keepingPeak;
  std::vector<Choice> keeping, splitting, choices;
  for (auto [i, point] : llvm::enumerate(part.keeping))
    keeping.push_back({std::max(running, incoming.read + point.bytes),
                       point.work,
                       {/*splits=*/false, unsigned(i)}});
  for (auto [i, point] : llvm::enumerate(part.splitting))
    splitting.push_back({incoming.whole + point.bytes,
                         point.work,
                         {/*splits=*/true, unsigned(i)}});
  addPoints(choices, keeping);
  addPoints(choices, splitting);
  return choices;
}

void ChainPlan::addSplits(unsigned split, int64_t atLeast, double work,
                          const std::vector<Choice> &second,
                          const std::vector<Choice> &first,
                          ChainFront &points) const {
  // With a certain memory both parts take the best that fits: only where one of
  // them can change for the better is there something new.
  size_t i = 0, j = 0;
  int64_t bytes =
      std::max({atLeast, second.front().bytes, first.front().bytes});
  while (true) {
    while (i + 1 < second.size() && second[i + 1].bytes <= bytes)
      ++i;
    while (j + 1 < first.size() && first[j + 1].bytes <= bytes)
      ++j;
    points.push_back({bytes, work + second[i].work + first[j].work, split,
                      second[i].way, first[j].way});
    int64_t next = INT64_MAX;
    if (i + 1 < second.size())
      next = second[i + 1].bytes;
    if (j + 1 < first.size())
      next = std::min(next, first[j + 1].bytes);
    if (next == INT64_MAX)
      return;
    bytes = next;
  }
}

ChainPlan::Part ChainPlan::solve(const ChainCosts &costs, unsigned first,
                                 unsigned last, bool isFirstRun,
                                 bool maySplit) const {
  // First runs are no repetitions, and before all gradients.
  double repeats = isFirstRun ? 0 : 1;
  const ChainCosts::Stage &stage = costs.stages[first];
  Part part;
  if (first == last) {
    part.keeping.push_back({stage.backwardPeak, repeats * stage.lastWork,
                            /*split=*/0, Way(), Way()});
    return part;
  }
  ChainFront ways;
  for (const Choice &rest :
       getChoices(costs, first + 1, last, isFirstRun, stage.kept))
    ways.push_back({std::max(rest.bytes, stage.backwardPeak),
                    repeats * stage.keepingWork + rest.work,
                    /*split=*/0, rest.way, Way()});
  addPoints(part.keeping, ways);
  thin(part.keeping);

  int64_t atLeast = isFirstRun ? 0 : costs.stages[last].gradient;
  int64_t gradient = atLeast;
  double work = 0;
  for (unsigned split = first + 1; maySplit && split <= last; ++split) {
    atLeast = std::max(atLeast, gradient + costs.passingPeak[first][split - 1]);
    work += repeats * costs.stages[split - 1].passingWork;
    ways.clear();
    addSplits(split, atLeast, work,
              getChoices(costs, split, last, isFirstRun,
                         costs.boundary[first][split]),
              alone[first * size + split - 1], ways);
    addPoints(part.splitting, ways);
  }
  if (!part.splitting.empty())
    thin(part.splitting);
  return part;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ChainPlan::expandPart(unsigned first, unsigned last,
                           const ChainPoint &point, bool isFirstRun,
                           std::vector<ChainStep> &steps) const {
  unsigned stage = first;
  const ChainPoint *at = &point;
  for (; at->split == 0; ++stage) {
    if (!isFirstRun)
      steps.push_back({stage, /*isBackward=*/false});
    if (stage == last)
      break;
    at = &getPoint(stage + 1, last, isFirstRun, at->second);
  }
  unsigned numKept = stage - first + (at->split == 0 ? 1 : 0);
  if (at->split != 0) {
    for (unsigned k = stage; !isFirstRun && k < at->split; ++k)
      steps.push_back({k, /*isBackward=*/false});
    expandPart(at->split, last,
               getPoint(at->split, last, isFirstRun, at->second), isFirstRun,
               steps);
    expandPart(stage, at->split - 1,
               getPoint(stage, at->split - 1, /*isFirstRun=*/false, at->first),
               /*isFirstRun=*/false, steps);
  }
  for (unsigned k = first + numKept; k-- > first;)
    steps.push_back({k, /*isBackward=*/true});
}

std::vector<ChainStep> ChainPlan::expand(const ChainPoint &plan) const {
  std::vector<ChainStep> steps;
  expandPart(0, size - 1, plan, /*isFirstRun=*/true, steps);
  return steps;
}

} // namespace amp
