//===- AnnotatePrecision.cpp - decide what runs in which format -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionCopies.h"

#include "amp/Analysis/PrecisionAnalysis.h"
#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Passes/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace amp {
#define GEN_PASS_DEF_ANNOTATEPRECISION
#include "amp/Passes/Autocast.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {
class AnnotatePrecisionPass final
    : public amp::impl::AnnotatePrecisionBase<AnnotatePrecisionPass> {
public:
  using Base::Base;

  void runOnOperation() final;

private:
  FailureOr<Policy> loadPolicy();
  FailureOr<PrecisionOptions> getOptions(const Policy &policy);
  void annotateOperations(const PrecisionAnalysis &analysis,
                          const FunctionCopies &copies);
  void annotateOverflows(const PrecisionAnalysis &analysis);
  void annotateRegions(Operation *op, const PrecisionAnalysis &analysis);
  void annotateFunction(FunctionOpInterface function,
                        const PrecisionAnalysis &analysis);

  /// `unit` for a null type.
  Attribute toAttribute(FloatType elementType) {
    if (elementType)
      return TypeAttr::get(elementType);
    return UnitAttr::get(&getContext());
  }
  /// An array of element types; null if all of them are.
  ArrayAttr toAttribute(ArrayRef<FloatType> elementTypes);
  /// The element types of the arguments of an operation's regions; null if no
  /// argument changes.
  ArrayAttr getArgumentTypes(Operation *op, const PrecisionAnalysis &analysis);
};

/// The annotations of one operation.
class Annotations {
public:
  void add(StringRef name, Attribute value) {
    if (value)
      attributes.emplace_back(StringAttr::get(value.getContext(), name), value);
  }
  void attachTo(Operation *op) const { addAnnotations(op, attributes); }

private:
  SmallVector<NamedAttribute, 4> attributes;
};
} // namespace

ArrayAttr AnnotatePrecisionPass::toAttribute(ArrayRef<FloatType> elementTypes) {
  if (llvm::none_of(elementTypes, [](FloatType type) { return bool(type); }))
    return {};
  SmallVector<Attribute> entries;
  for (FloatType type : elementTypes)
    entries.push_back(toAttribute(type));
  return ArrayAttr::get(&getContext(), entries);
}

/// The error's text as a diagnostic at `op`.
static LogicalResult emit(Operation *op, llvm::Error error) {
  return op->emitError() << llvm::toString(std::move(error));
}

FailureOr<Policy> AnnotatePrecisionPass::loadPolicy() {
  llvm::Expected<Policy> loaded = Policy::load(policy, keepOps, keepNodes);
  if (!loaded)
    return emit(getOperation(), loaded.takeError());
  return std::move(*loaded);
}

FailureOr<PrecisionOptions>
AnnotatePrecisionPass::getOptions(const Policy &policy) {
  PrecisionOptions options;
  if (ioTypes != IOTypes::Policy)
    options.keepIOTypes = ioTypes == IOTypes::Keep;
  options.placement = placement;
  options.keepIslands = keepIslands;
  if (!(rangeMargin >= 1))
    return getOperation().emitError()
           << "expects a margin of measured ranges of 1 or more, but got "
           << rangeMargin;
  options.rangeMargin = rangeMargin;
  options.useEstimates = estimates;
  for (const std::string &dimension : dimensions)
    if (llvm::Error error = options.costs.addDimension(dimension))
      return emit(getOperation(), std::move(error));
  std::optional<FloatFormat> format =
      low.empty() ? policy.low().value_or(FloatFormat::fp16())
                  : FloatFormat::parse(low);
  if (!format ||
      (*format != FloatFormat::fp16() && *format != FloatFormat::bf16() &&
       *format != FloatFormat::tf32()))
    return getOperation().emitError()
           << "expects fp16, bf16 or tf32 as the low format, but got '"
           << (format ? format->name() : low.getValue()) << "'";
  options.low = *format;
  return options;
}

ArrayAttr
AnnotatePrecisionPass::getArgumentTypes(Operation *op,
                                        const PrecisionAnalysis &analysis) {
  bool changes = false;
  SmallVector<Attribute> regions;
  for (Region &region : op->getRegions()) {
    SmallVector<Attribute> arguments;
    if (!region.empty()) {
      for (BlockArgument argument : region.getArguments()) {
        FloatType elementType = analysis.getNewElementType(argument);
        changes |= bool(elementType);
        arguments.push_back(toAttribute(elementType));
      }
    }
    regions.push_back(ArrayAttr::get(&getContext(), arguments));
  }
  return changes ? ArrayAttr::get(&getContext(), regions) : ArrayAttr();
}

void AnnotatePrecisionPass::annotateRegions(Operation *op,
                                            const PrecisionAnalysis &analysis) {
  SmallVector<FloatType> results;
  for (OpResult result : op->getResults())
    results.push_back(analysis.getNewElementType(result));
  Annotations annotations;
  annotations.add(AMPDialect::kResultTypes, toAttribute(results));
  annotations.add(AMPDialect::kArgumentTypes, getArgumentTypes(op, analysis));
  annotations.attachTo(op);
}

void AnnotatePrecisionPass::annotateFunction(
    FunctionOpInterface function, const PrecisionAnalysis &analysis) {
  SmallVector<FloatType> results;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    results.push_back(analysis.getNewResultElementType(function, i));
  Annotations annotations;
  annotations.add(AMPDialect::kResultTypes, toAttribute(results));
  annotations.add(AMPDialect::kArgumentTypes,
                  getArgumentTypes(function, analysis));
  annotations.attachTo(function);
}

void AnnotatePrecisionPass::annotateOperations(
    const PrecisionAnalysis &analysis, const FunctionCopies &copies) {
  for (const PrecisionDecision &decision : analysis.getDecisions()) {
    if (copies.isUnused(decision.operation))
      continue;
    ArrayAttr precision = toAttribute(decision.elementTypes);
    Annotations annotations;
    annotations.add(AMPDialect::kPrecision, precision);
    if (decision.computesTF32)
      annotations.add(AMPDialect::kCompute,
                      StringAttr::get(&getContext(), "tf32"));
    // Where operations run as PyTorch runs them, they stay so.
    if (decision.isTransparent && placement == Placement::Optimal)
      annotations.add(AMPDialect::kTransparent, UnitAttr::get(&getContext()));
    if (reasons) {
      annotations.add(
          AMPDialect::kCategory,
          StringAttr::get(&getContext(), stringifyCategory(decision.category)));
      annotations.add(AMPDialect::kReason, decision.reason);
      annotations.add(AMPDialect::kRule, decision.rule);
    }
    annotations.attachTo(decision.operation);
    if (precision)
      ++numLow;
    else if (decision.moves)
      ++numFloat32;
    else
      ++numFixed;
  }
}

void AnnotatePrecisionPass::annotateOverflows(
    const PrecisionAnalysis &analysis) {
  for (auto [constant, overflow] : analysis.getOverflows()) {
    Annotations annotations;
    annotations.add(
        AMPDialect::kOverflow,
        StringAttr::get(&getContext(), stringifyOverflow(overflow)));
    annotations.attachTo(constant);
  }
}

void AnnotatePrecisionPass::runOnOperation() {
  FailureOr<Policy> policy = loadPolicy();
  if (failed(policy))
    return signalPassFailure();
  FailureOr<PrecisionOptions> options = getOptions(*policy);
  if (failed(options))
    return signalPassFailure();
  FunctionCopies copies(getOperation());
  if (specialize)
    copies.create();
  FailureOr<PrecisionAnalysis> analysis = PrecisionAnalysis::compute(
      getOperation(), *policy, *options, copies.getOriginals());
  if (failed(analysis))
    return signalPassFailure();

  numCopies += copies.merge(*analysis);

  removeAnnotations(getOperation(),
                    {AMPDialect::kPrecision, AMPDialect::kResultTypes,
                     AMPDialect::kArgumentTypes, AMPDialect::kOverflow,
                     AMPDialect::kTransparent, AMPDialect::kCompute,
                     AMPDialect::kCategory, AMPDialect::kReason,
                     AMPDialect::kRule});
  annotateOperations(*analysis, copies);
  annotateOverflows(*analysis);
  getOperation().walk([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      annotateFunction(function, *analysis);
    else if (hasRegionFlow(op))
      annotateRegions(op, *analysis);
  });
  copies.eraseUnused();
}
