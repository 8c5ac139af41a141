//===- MeasuredRanges.cpp - values that were seen to be too large ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasuredRanges.h"

#include "ConstantFit.h"

#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Support/Quoted.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace amp;

MeasuredRanges::MeasuredRanges(ModuleOp module, FloatFormat format,
                               double margin)
    : format(format), margin(margin) {
  auto name = StringAttr::get(module.getContext(), AMPDialect::kRanges);
  // Outer operations first: what flows out of an inner one into an outer one is
  // known to be large before the inner one is looked at.
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumRegions() > 0)
      addArguments(op);
    if (auto ranges =
            dyn_cast_if_present<ArrayAttr>(op->getDiscardableAttr(name)))
      addOperation(op, ranges);
    if (!obstacles.empty() && op->getNumRegions() > 0)
      flowBack(op);
  });
}

void MeasuredRanges::add(Value value, const std::string &what,
                         Attribute range) {
  auto number = dyn_cast<FloatAttr>(range);
  if (!number)
    return;
  double absmax = number.getValueAsDouble();
  FloatRange scaled;
  scaled.absmax = absmax * margin;
  if (!overflows(scaled, format))
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << what << " reaches " << llvm::format("%g", absmax)
         << " on the calibration data, "
         << (absmax > format.maxFinite() ? "beyond " : "too close to ")
         << spellFormat(format) << "'s "
         << llvm::format("%g", format.maxFinite());
  obstacles[value] = StringAttr::get(value.getContext(), text);
}

void MeasuredRanges::addOperation(Operation *op, ArrayAttr ranges) {
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  for (auto [result, range] : llvm::zip(op->getResults(), ranges)) {
    StringRef name =
        autocast ? autocast.getAutocastResultName(result.getResultNumber())
                 : StringRef();
    add(result, name.empty() ? "a value" : "value " + quoted(name), range);
  }
}

void MeasuredRanges::addArguments(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  auto ranges = op->getAttrOfType<ArrayAttr>(AMPDialect::kArgumentRanges);
  if (!function || !ranges || function.isExternal())
    return;
  for (auto [argument, range] : llvm::zip(function.getArguments(), ranges))
    add(argument, "argument " + std::to_string(argument.getArgNumber()), range);
}

std::optional<double> MeasuredRanges::getMeasured(Value value) {
  Operation *op = value.getParentBlock()->getParentOp();
  StringRef name = AMPDialect::kArgumentRanges;
  unsigned index;
  if (auto result = dyn_cast<OpResult>(value)) {
    op = result.getOwner();
    name = AMPDialect::kRanges;
    index = result.getResultNumber();
  } else {
    index = cast<BlockArgument>(value).getArgNumber();
  }
  auto ranges = op ? op->getAttrOfType<ArrayAttr>(name) : ArrayAttr();
  auto range = ranges && index < ranges.size()
                   ? dyn_cast<FloatAttr>(ranges[index])
                   : FloatAttr();
  return range ? std::optional(range.getValueAsDouble()) : std::nullopt;
}

void MeasuredRanges::flowBack(Operation *op) {
  if (!hasRegionFlow(op))
    return;
  RegionFlow flow(op);
  for (const RegionFlow::Group &group : flow.getGroups()) {
    StringAttr obstacle;
    for (OpOperand *source : group.sources)
      if (!obstacle)
        obstacle = getObstacle(source->get());
    for (Value target : group.targets)
      if (!obstacle)
        obstacle = getObstacle(target);
    if (!obstacle)
      continue;
    for (OpOperand *source : group.sources)
      obstacles.insert({source->get(), obstacle});
    for (Value target : group.targets)
      obstacles.insert({target, obstacle});
  }
}
