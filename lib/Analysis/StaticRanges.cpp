//===- StaticRanges.cpp - ranges of values that the program shows ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticRanges.h"

#include "ConstantFit.h"

#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace amp;

/// Constants of more elements are not read: bounds come from parameters.
static constexpr uint64_t kMostElements = 4096;

/// How many deviations from its mean a value is taken to go: of a normal one,
/// two elements in 10^9 go farther, and activations have tens of millions.
static constexpr double kDeviations = 6;

/// What the element type alone says.
static Interval getTypeRange(Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  if (!integer || integer.getWidth() > 64)
    return Interval::top();
  auto bits = static_cast<int>(integer.getWidth());
  // Short integers are used up to their ends: truth, pixels, quantized numbers.
  auto kind = bits <= 8 ? Interval::Kind::Attained : Interval::Kind::Bound;
  if (bits == 1 || integer.isUnsigned())
    return {0, std::ldexp(1.0, bits) - 1, kind};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1, kind};
}

static Interval getConstantRange(AutocastOpInterface constant,
                                 unsigned result) {
  std::optional<SmallVector<double>> elements =
      readElements(constant.getAutocastConstantValue(result), kMostElements);
  if (!elements)
    return Interval::top();
  Interval interval = Interval::bottom();
  for (double element : *elements)
    interval.include(element);
  return interval;
}

StaticRanges::StaticRanges(ModuleOp module, bool useStatistics)
    : useStatistics(useStatistics) {
  visit(module.getBodyRegion());
}

void StaticRanges::visit(Region &region) {
  for (Block &block : region)
    for (Operation &op : block)
      visit(&op);
}

void StaticRanges::visit(Operation *op) {
  for (Region &region : op->getRegions())
    visit(region);
  if (hasRegionFlow(op)) {
    RegionFlow flow(op);
    for (OpResult result : op->getResults()) {
      const RegionFlow::Group *group = flow.getGroupOf(result);
      if (!group)
        continue;
      Interval interval = Interval::bottom();
      for (OpOperand *source : group->sources)
        interval = join(interval, get(source->get()));
      setResult(result, interval);
    }
    return;
  }
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  if (autocast && autocast.isAutocastConstant()) {
    for (OpResult result : op->getResults())
      setResult(result, getConstantRange(autocast, result.getResultNumber()));
    return;
  }
  auto ranged = dyn_cast<RangeOpInterface>(op);
  if (!ranged || op->getNumResults() == 0)
    return;
  SmallVector<Interval> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  for (Type type : op->getResultTypes())
    results.push_back(getTypeRange(type));
  ranged.inferRanges(operands, results);
  for (auto [value, interval] : llvm::zip_equal(op->getResults(), results))
    setResult(value, interval);
  if (useStatistics && ranged.getNormalization(readConstant))
    normalized[op->getOperand(0)] = op;
}

void StaticRanges::setResult(Value value, Interval interval) {
  if (!interval.isTop())
    intervals[value] = interval;
}

Interval StaticRanges::get(Value value) const {
  auto found = intervals.find(value);
  return found == intervals.end() ? getTypeRange(value.getType())
                                  : found->second;
}

static FloatRange toFloatRange(double absmax) {
  FloatRange range;
  range.absmax = absmax;
  return range;
}

bool StaticRanges::fits(Value value, FloatFormat format) const {
  Interval interval = get(value);
  return interval.isFinite() &&
         !overflows(toFloatRange(interval.absmax()), format);
}

/// "value 'x'", or "a value" of one without a name.
static std::string describeValue(Value value) {
  auto op = value.getDefiningOp<AutocastOpInterface>();
  StringRef name =
      op ? op.getAutocastResultName(cast<OpResult>(value).getResultNumber())
         : StringRef();
  return name.empty() ? "a value" : "value " + quoted(name);
}

/// How large the data of a normalization is taken to be.
static double getReach(const Normalization &normalization) {
  double reach = 0;
  for (auto [mean, variance] :
       llvm::zip_equal(normalization.mean, normalization.variance))
    reach = std::max(reach, std::abs(mean) + kDeviations * std::sqrt(variance));
  return reach;
}

StringAttr StaticRanges::getObstacle(Value value, FloatFormat format) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Interval interval = get(value);
  auto isTooLarge = [&](double absmax) {
    return overflows(toFloatRange(absmax), format);
  };
  auto found = normalized.find(value);
  std::optional<Normalization> normalization;
  if (found != normalized.end() && !fits(value, format))
    normalization =
        cast<RangeOpInterface>(found->second).getNormalization(readConstant);
  // What stands for infinity may become it, or the largest number.
  if (interval.kind != Interval::Kind::Bound && interval.isFinite() &&
      isTooLarge(interval.absmax()) && interval.absmax() < kStandsForInfinity)
    stream << describeValue(value) << " has the static range ["
           << llvm::format("%g", interval.lo) << ", "
           << llvm::format("%g", interval.hi) << "]";
  else if (normalization && isTooLarge(getReach(*normalization)))
    stream << describeValue(value) << " may reach "
           << llvm::format("%g", getReach(*normalization))
           << " by the statistics of " << describeOperation(found->second);
  else
    return {};
  stream << ", beyond " << spellFormat(format) << "'s "
         << llvm::format("%g", format.maxFinite());
  return StringAttr::get(value.getContext(), text);
}
