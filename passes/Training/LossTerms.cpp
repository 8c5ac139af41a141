//===- LossTerms.cpp - what a loss is a sum of ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossTerms.h"

#include "amp/Support/Quoted.h"

#include <cmath>

using namespace llvm;

namespace amp {

Expected<SmallVector<LossTerm>> parseLossTerms(ArrayRef<std::string> texts) {
  SmallVector<LossTerm> terms;
  for (StringRef text : texts) {
    LossTerm term;
    auto [name, digits] = text.rsplit('=');
    // Names may have equals signs.
    bool hasWeight = text.contains('=') && !digits.getAsDouble(term.weight);
    term.name = (hasWeight ? name : text).str();
    if (term.name.empty())
      return createStringError("loss: expected NAME or NAME=WEIGHT, but got " +
                               quoted(text));
    if (!std::isfinite(term.weight))
      return createStringError("loss: the weight of " + quoted(term.name) +
                               " expects a finite number, but got " +
                               quoted(digits));
    if (!term.isBuilt() && any_of(terms, [&](const LossTerm &other) {
          return other.name == term.name;
        }))
      return createStringError("loss: " + quoted(term.name) +
                               " is named twice");
    terms.push_back(std::move(term));
  }
  if (terms.empty())
    return createStringError("loss: expected NAME or NAME=WEIGHT");
  return terms;
}

bool isWeightedSum(ArrayRef<LossTerm> terms) {
  return terms.size() > 1 || terms.front().weight != 1;
}

std::string getTrainedLossName(ArrayRef<LossTerm> terms) {
  if (isWeightedSum(terms))
    return kTotalLossName.str();
  return terms.front().isBuilt() ? kLossName.str() : terms.front().name;
}

Expected<std::optional<int64_t>> parseClassAxis(StringRef text) {
  if (text.empty())
    return std::nullopt;
  int64_t axis;
  if (text.getAsInteger(10, axis))
    return createStringError("class-axis expects a whole number, but got " +
                             quoted(text));
  return axis;
}

} // namespace amp
