//===- FlowGroups.cpp - formats that control flow joins -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlowGroups.h"

#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"

using namespace mlir;
using namespace amp;

bool amp::isFloat32(Value value) {
  FloatType elementType = getFloatElementType(value.getType());
  return elementType && elementType.isF32();
}

FloatFormat amp::getLowFormat(Type type) {
  FloatType elementType = getFloatElementType(type);
  return elementType && elementType.getWidth() == 16
             ? getFloatFormat(elementType).value_or(FloatFormat::bottom())
             : FloatFormat::bottom();
}

namespace {
class Collector {
public:
  SmallVector<FlowGroup, 0> groups;

  Collector(const OperationPlans &plans, FloatFormat low)
      : plans(plans), low(low) {}

  void addRegions(Operation *op) {
    RegionFlow flow(op);
    Admitted admitted;
    for (const RegionFlow::Group &regionGroup : flow.getGroups()) {
      FlowGroup group;
      group.sources = regionGroup.sources;
      group.targets = regionGroup.targets;
      group.low = chooseLow(group);
      if (admits(op, group, admitted))
        addGroup(std::move(group));
    }
  }

  void addFunction(FunctionOpInterface callable,
                   const FunctionFlow::Function &function) {
    for (BlockArgument argument : callable.getArguments()) {
      FlowGroup group;
      for (CallOpInterface call : function.calls) {
        OperandRange arguments = call.getArgOperands();
        if (argument.getArgNumber() < arguments.size())
          group.sources.push_back(&call->getOpOperand(
              arguments.getBeginOperandIndex() + argument.getArgNumber()));
      }
      group.targets.push_back(argument);
      group.argument = {function.original, argument.getArgNumber()};
      group.low = chooseLow(group);
      if (group.sources.size() == function.calls.size())
        addGroup(std::move(group));
    }
    for (unsigned i = 0, e = callable.getNumResults(); i < e; ++i) {
      FlowGroup group;
      group.function = callable;
      group.result = i;
      for (Operation *terminator : function.returns)
        if (i < terminator->getNumOperands())
          group.sources.push_back(&terminator->getOpOperand(i));
      for (CallOpInterface call : function.calls)
        if (i < call->getNumResults())
          group.targets.push_back(call->getResult(i));
      group.low = chooseLow(group);
      if (group.sources.size() == function.returns.size())
        addGroup(std::move(group));
    }
  }

private:
  /// By type variable and low type.
  using Admitted = llvm::SmallDenseMap<std::pair<int, Type>, bool>;

  FloatFormat chooseLow(FlowGroup &group) const {
    FloatFormat present =
        group.sources.empty()
            ? FloatFormat::bottom()
            : getLowFormat(group.sources.front()->get().getType());
    group.isLow = !present.isBottom();
    if (group.isLow)
      return present;
    FloatFormat agreed;
    bool disagree = false;
    auto ask = [&](Operation *op) {
      const OperationPlan *plan = op ? plans.lookup(op) : nullptr;
      if (!plan || plan->mainVariable < 0)
        return;
      disagree |= !agreed.isBottom() && agreed != plan->low;
      agreed = plan->low;
    };
    for (OpOperand *source : group.sources)
      ask(source->get().getDefiningOp());
    for (Value target : group.targets)
      llvm::for_each(target.getUsers(), ask);
    return disagree || agreed.isBottom() ? low : agreed;
  }

  /// A group of something else than float32 and its low format is left alone,
  /// and so is one of float32 with a value that is too large, or of a format
  /// that nothing is stored in.
  void addGroup(FlowGroup &&group) {
    auto isFree = [&](Value value) {
      return group.isLow ? getLowFormat(value.getType()) == group.low
                         : isFloat32(value) && !plans.isTooLarge(value);
    };
    if (group.sources.empty() || group.low.storageFormat() != group.low ||
        llvm::any_of(
            group.sources,
            [&](OpOperand *source) { return !isFree(source->get()); }) ||
        !llvm::all_of(group.targets, isFree))
      return;
    groups.push_back(std::move(group));
  }

  /// True if the operation's own types may be low for all of a group. The
  /// answer looks at all operands and results: asked once for each variable.
  static bool admits(Operation *op, const FlowGroup &group,
                     Admitted &admitted) {
    FloatType lowType = getFloatType(op->getContext(), group.low);
    if (!lowType)
      return false;
    auto autocast = dyn_cast<AutocastOpInterface>(op);
    return !autocast || llvm::all_of(group.targets, [&](Value target) {
      auto result = dyn_cast<OpResult>(target);
      if (!result || result.getOwner() != op)
        return true;
      int variable = autocast.getResultTypeVariable(result.getResultNumber());
      auto [known, isNew] = admitted.try_emplace({variable, lowType}, false);
      if (isNew)
        known->second = autocast.supportsElementType(variable, lowType);
      return known->second;
    });
  }

  const OperationPlans &plans;
  FloatFormat low;
};
} // namespace

SmallVector<FlowGroup, 0> amp::collectFlowGroups(ModuleOp module,
                                                 const OperationPlans &plans,
                                                 const FunctionFlow &functions,
                                                 FloatFormat low) {
  Collector collector(plans, low);
  module.walk([&](Operation *op) {
    if (hasRegionFlow(op) && !plans.isKeptInside(op))
      collector.addRegions(op);
  });
  for (const auto &[op, function] : functions.getFunctions())
    if (!function.isInterface)
      collector.addFunction(cast<FunctionOpInterface>(op), function);
  return std::move(collector.groups);
}
