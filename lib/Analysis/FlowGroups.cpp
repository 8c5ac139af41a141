//===- FlowGroups.cpp - formats that control flow joins -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlowGroups.h"

#include "amp/Analysis/RegionFlow.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"

using namespace mlir;
using namespace amp;

bool amp::isFloat32(Value value) {
  FloatType elementType = getFloatElementType(value.getType());
  return elementType && elementType.isF32();
}

namespace {
class Collector {
public:
  SmallVector<FlowGroup, 0> groups;

  void addRegions(RegionBranchOpInterface op, FloatType lowType) {
    RegionFlow flow(op);
    llvm::SmallDenseMap<int, bool> admitted;
    for (const RegionFlow::Group &group : flow.getGroups())
      if (admits(op, group, lowType, admitted))
        addGroup({group.sources, group.targets});
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
      if (group.sources.size() == function.returns.size())
        addGroup(std::move(group));
    }
  }

private:
  /// A group with something else than float32 in it is left alone.
  void addGroup(FlowGroup &&group) {
    if (group.sources.empty() ||
        llvm::any_of(
            group.sources,
            [](OpOperand *source) { return !isFloat32(source->get()); }) ||
        !llvm::all_of(group.targets, isFloat32))
      return;
    groups.push_back(std::move(group));
  }

  /// True if the operation's own types may be low for all of a group. The
  /// answer looks at all operands and results: asked once for each variable.
  static bool admits(RegionBranchOpInterface op, const RegionFlow::Group &group,
                     FloatType lowType,
                     llvm::SmallDenseMap<int, bool> &admitted) {
    auto autocast = dyn_cast<AutocastOpInterface>(op.getOperation());
    return !autocast || llvm::all_of(group.targets, [&](Value target) {
      auto result = dyn_cast<OpResult>(target);
      if (!result || result.getOwner() != op)
        return true;
      int variable = autocast.getResultTypeVariable(result.getResultNumber());
      auto [known, isNew] = admitted.try_emplace(variable, false);
      if (isNew)
        known->second = autocast.supportsElementType(variable, lowType);
      return known->second;
    });
  }
};
} // namespace

SmallVector<FlowGroup, 0> amp::collectFlowGroups(ModuleOp module,
                                                 const OperationPlans &plans,
                                                 const FunctionFlow &functions,
                                                 FloatType lowType) {
  Collector collector;
  module.walk([&](RegionBranchOpInterface op) {
    if (!plans.isKeptInside(op))
      collector.addRegions(op, lowType);
  });
  for (const auto &[op, function] : functions.getFunctions())
    if (!function.isInterface)
      collector.addFunction(cast<FunctionOpInterface>(op), function);
  return std::move(collector.groups);
}
