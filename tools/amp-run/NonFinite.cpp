//===- NonFinite.cpp - who makes a NaN or an infinity ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NonFinite.h"

#include "CPU/Conversion.h"
#include "Quote.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace amp::run;
using namespace amp::runtime;

/// Whether a type has NaN or infinities; others need not be looked at.
static bool canBeNonFinite(DataType type) {
  switch (type) {
  case DataType::Float:
  case DataType::Double:
  case DataType::Float16:
  case DataType::BFloat16:
  case DataType::Float8E4M3FN:
  case DataType::Float8E4M3FNUZ:
  case DataType::Float8E5M2:
  case DataType::Float8E5M2FNUZ:
    return true;
  default:
    return false;
  }
}

NonFiniteCount amp::run::countNonFinite(const TensorView &tensor) {
  NonFiniteCount result;
  if (!canBeNonFinite(tensor.type) || !tensor.data)
    return result;
  constexpr int64_t blockSize = 1024;
  double block[blockSize];
  int64_t elements = tensor.getElementCount();
  for (int64_t begin = 0; begin < elements; begin += blockSize) {
    int64_t size = std::min(blockSize, elements - begin);
    convertElements(tensor.type,
                    tensor.as<char>() +
                        static_cast<size_t>(begin) * getByteSize(tensor.type),
                    DataType::Double, block, size);
    for (int64_t i = 0; i < size; ++i) {
      if (std::isfinite(block[i]))
        continue;
      if (result.count++ == 0) {
        result.first = static_cast<uint64_t>(begin + i);
        result.value = block[i];
      }
      result.hasNaN |= std::isnan(block[i]);
      result.hasInfinity |= std::isinf(block[i]);
    }
  }
  return result;
}

std::string amp::run::describe(const NonFiniteCount &count,
                               const TensorView &tensor) {
  const char *value = std::isnan(count.value) ? "nan"
                      : count.value > 0       ? "inf"
                                              : "-inf";
  return std::to_string(count.count) + " of " +
         std::to_string(tensor.getElementCount()) + " elements " +
         (count.count == 1 ? "is" : "are") + " not finite; the first, " +
         value + ", is at index " + std::to_string(count.first);
}

static std::pair<const char *, const char *> getMemory(const TensorView &view) {
  return {view.as<char>(), view.as<char>() + view.getByteCount()};
}

Status NonFiniteFinder::begin(const Session &session) {
  ranges.clear();
  found.clear();
  first.reset();
  for (const TensorInfo &info : session.getExecutable().getStates()) {
    Result<TensorView> state = session.getState(info.name);
    if (!state.ok())
      return state.getStatus();
    markMemory(*state, countNonFinite(*state));
  }
  return {};
}

void NonFiniteFinder::markMemory(const TensorView &tensor,
                                 const NonFiniteCount &count) {
  auto [begin, end] = getMemory(tensor);
  // What is written over is gone; of a part, the rest may still be there.
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                              [begin = begin, end = end](const Range &range) {
                                return begin <= range.begin && range.end <= end;
                              }),
               ranges.end());
  if (count)
    ranges.push_back({begin, end, count.hasNaN, count.hasInfinity});
}

NonFiniteCount NonFiniteFinder::countBefore(const CommandEvent &event,
                                            size_t input) const {
  const TensorView &tensor = event.inputs[input];
  auto [begin, end] = getMemory(tensor);
  bool isOverwritten = false;
  for (size_t i = 0; i < event.outputCount; ++i) {
    auto [outBegin, outEnd] = getMemory(event.outputs[i]);
    isOverwritten |= begin < outEnd && outBegin < end;
  }
  if (!isOverwritten)
    return countNonFinite(tensor);
  NonFiniteCount count;
  for (const Range &range : ranges)
    if (begin < range.end && range.begin < end) {
      count.count = 1;
      count.hasNaN |= range.hasNaN;
      count.hasInfinity |= range.hasInfinity;
    }
  return count;
}

void NonFiniteFinder::handle(const CommandEvent &event) {
  NonFiniteCount all;
  size_t where = 0;
  std::vector<NonFiniteCount> counts;
  for (size_t i = 0; i < event.outputCount; ++i) {
    counts.push_back(countNonFinite(event.outputs[i]));
    if (counts[i] && !all)
      where = i;
    all.count += counts[i].count;
    all.hasNaN |= counts[i].hasNaN;
    all.hasInfinity |= counts[i].hasInfinity;
  }
  NonFiniteCount before;
  for (size_t i = 0; all && i < event.inputCount; ++i) {
    NonFiniteCount count = countBefore(event, i);
    before.hasNaN |= count.hasNaN;
    before.hasInfinity |= count.hasInfinity;
  }
  for (size_t i = 0; i < event.outputCount; ++i)
    markMemory(event.outputs[i], counts[i]);

  bool isMade = (all.hasNaN && !before.hasNaN) ||
                (all.hasInfinity && !before.hasNaN && !before.hasInfinity);
  Maker maker(event.node, event.operation);
  if (!isMade || ignored.count(maker))
    return;
  found.insert(maker);
  if (first)
    return;
  std::string_view name = event.outputNames[where];
  std::string node =
      event.node.empty() ? "a command" : "node " + quote(event.node);
  first = node + " (" + quote(event.operation) +
          ") makes them: of its output " +
          (name.empty() ? std::to_string(where) : quote(name)) + ", " +
          describe(counts[where], event.outputs[where]);
}

void NonFiniteFinder::ignoreFound() {
  ignored.insert(found.begin(), found.end());
}
