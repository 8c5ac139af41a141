//===- PrecisionAnalysis.cpp - which operation runs in which format -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. OperationPlans: what does not depend on the formats of values.
// 2. PrecisionFlow: formats flow forward through the module, to a fixpoint; or
//    OptimalPlacement: all are chosen at once.
// 3. PrecisionPlanner: each operation's decision is read off. After the flow,
//    operations on constants alone take, backwards, what their users ask for.
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/PrecisionAnalysis.h"

#include "ConstantFit.h"
#include "OptimalPlacement.h"
#include "PrecisionFlow.h"

#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/ElementTypes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp;

//===----------------------------------------------------------------------===//
// PrecisionPlanner
//===----------------------------------------------------------------------===//

namespace amp {
/// Reads decisions off the solved flow.
class PrecisionPlanner {
public:
  PrecisionPlanner(ModuleOp module, const OperationPlans &plans,
                   const FunctionFlow &functions,
                   const InterfaceTypes &interfaces,
                   const PrecisionOptions &options)
      : context(module.getContext()), module(module), plans(plans),
        functions(functions), interfaces(interfaces), options(options) {}

  LogicalResult run() {
    LogicalResult done = options.placement == Placement::Optimal
                             ? placeOptimally()
                             : placeEagerly();
    if (succeeded(done))
      recordRules();
    return done;
  }

  PrecisionAnalysis result;

private:
  using FormatOf = llvm::function_ref<FloatFormat(Value)>;

  static bool isLow(const PrecisionDecision &decision, int variable) {
    return variable >= 0 && decision.elementTypes[variable];
  }

  /// The type of a low format; null for float32, and where nothing is known.
  FloatType getLowType(FloatFormat format) const {
    return format.storageBits() == 16 ? getFloatType(context, format)
                                      : FloatType();
  }

  LogicalResult placeEagerly() {
    PrecisionFlow flow(module, plans, functions, interfaces, options);
    if (failed(flow.solve()))
      return failure();
    auto formatOf = [&](Value value) { return flow.getFormat(value); };

    decideOperations(formatOf);
    adoptFromUsers(flow);
    recordOverflows([&](OpOperand &use) { return flow.getFlowFormat(use); });
    for (Value target : flow.getJoinedValues())
      if (FloatType lowType = getLowType(formatOf(target)))
        result.valueTypes[target] = lowType;
    retypeFunctions(flow);
    return success();
  }

  void decideOperations(FormatOf formatOf) {
    for (const OperationPlan &plan : plans.get()) {
      const OperationPlan *leader = plans.getLeader(plan);
      SmallVector<FloatFormat, 2> formats = transferFormats(
          plan, plans,
          [&](unsigned i) { return formatOf(plan.op->getOperand(i)); },
          leader ? formatOf(OperationPlans::getMainResult(*leader))
                 : FloatFormat::bottom());
      PrecisionDecision &decision = addDecision(
          plan, [&](unsigned number) { return formats[number] == plan.low; });
      decision.reason = explain(plan, decision);
    }
  }

  static bool isTransparent(const OperationPlan &plan) {
    bool hasData = llvm::any_of(
        plan.variables, [](const TypeVariable &each) { return each.hasData; });
    return plan.decision.category == Category::Clear && hasData &&
           !plan.isPaired && plan.op->getNumRegions() == 0 &&
           !plan.decision.noPull && plan.decision.pinnedOperands.empty() &&
           llvm::none_of(plan.variables, [](const TypeVariable &each) {
             return bool(each.obstacle);
           });
  }

  PrecisionDecision &
  addDecision(const OperationPlan &plan,
              llvm::function_ref<bool(unsigned number)> isLow) {
    PrecisionDecision &decision = result.decisions.emplace_back();
    decision.operation = plan.op;
    decision.category = plan.decision.category;
    decision.moves = plan.mainVariable >= 0;
    decision.computesTF32 = plan.computesTF32();
    decision.isTransparent = isTransparent(plan);
    for (auto [number, variable] : llvm::enumerate(plan.variables))
      decision.elementTypes.push_back(
          variable.moves && isLow(number) ? getLowType(plan.low) : FloatType());
    return decision;
  }

  LogicalResult placeOptimally() {
    OptimalPlacement placement(module, plans, functions, interfaces, options);
    const PlacementProblem &problem = placement.getProblem();
    for (const OperationPlan &plan : plans.get()) {
      PrecisionDecision &decision = addDecision(plan, [&](unsigned number) {
        return problem.isLow(placement.getVariable(plan, number));
      });
      decision.reason = explain(plan, decision, placement);
    }
    recordOverflows(
        [&](OpOperand &use) { return placement.getFlowFormat(use); });
    for (auto [value, format] : placement.getLowValues())
      result.valueTypes[value] = getLowType(format);
    for (auto [function, index, format] : placement.getLowResults())
      result.resultTypes[{function, index}] = getLowType(format);
    return success();
  }

  /// Where something came before the policy.
  void recordRules() {
    for (auto [plan, decision] : llvm::zip_equal(plans.get(), result.decisions))
      if (!decision.reason.getValue().starts_with(plan.decision.rule))
        decision.rule = StringAttr::get(context, plan.decision.rule);
  }

  /// Later operations come first: they are the users.
  void adoptFromUsers(const PrecisionFlow &flow) {
    for (size_t i = plans.get().size(); i-- > 0;) {
      const OperationPlan &plan = plans.get()[i];
      if (!plan.adopts || plan.variables[plan.mainVariable].obstacle)
        continue;
      bool allLow = true;
      bool anyUse = false;
      for (auto [value, variable] :
           llvm::zip_equal(plan.op->getResults(), plan.resultVariables)) {
        if (variable != plan.mainVariable)
          continue;
        for (OpOperand &use : value.getUses()) {
          const OperationPlan *user = plans.lookup(use.getOwner());
          int read = user ? user->operandVariables[use.getOperandNumber()] : -1;
          if (read >= 0 && user->low == plan.low && goesAlong(*user, read))
            continue;
          anyUse = true;
          allLow = allLow && asksFor(use, plan.low, flow);
        }
      }
      if (!anyUse || !allLow)
        continue;
      PrecisionDecision &decision = result.decisions[i];
      decision.elementTypes[plan.mainVariable] = getLowType(plan.low);
      decision.reason = explain(plan, decision);
      takeAlong(plan);
    }
  }

  /// True for a user that has no reason of its own to read float32.
  bool goesAlong(const OperationPlan &user, int variable) const {
    return user.decision.noPull && variable == user.mainVariable &&
           !user.variables[variable].hasData &&
           !user.variables[variable].obstacle &&
           llvm::count(user.operandVariables, variable) == 1;
  }

  void takeAlong(const OperationPlan &plan) {
    for (OpResult value : plan.op->getResults()) {
      for (OpOperand &use : value.getUses()) {
        const OperationPlan *user = plans.lookup(use.getOwner());
        int variable =
            user ? user->operandVariables[use.getOperandNumber()] : -1;
        if (variable < 0 || user->low != plan.low ||
            !goesAlong(*user, variable))
          continue;
        PrecisionDecision &decision =
            result.decisions[user - plans.get().data()];
        decision.elementTypes[variable] = getLowType(plan.low);
        decision.reason =
            StringAttr::get(context, user->decision.rule + "; its inputs are " +
                                         spellFormat(plan.low));
      }
    }
  }

  bool asksFor(OpOperand &use, FloatFormat low,
               const PrecisionFlow &flow) const {
    const OperationPlan *plan = plans.lookup(use.getOwner());
    if (!plan)
      return flow.getFlowFormat(use) == low;
    return plan->low == low &&
           isLow(result.decisions[plan - plans.get().data()],
                 plan->operandVariables[use.getOperandNumber()]);
  }

  /// `getFlowFormat` is for operands that flow into other values.
  void
  recordOverflows(llvm::function_ref<FloatFormat(OpOperand &)> getFlowFormat) {
    for (auto [plan, decision] :
         llvm::zip_equal(plans.get(), result.decisions)) {
      for (auto [operand, variable] :
           llvm::zip_equal(plan.op->getOperands(), plan.operandVariables)) {
        const FloatRange *range = plans.getRange(operand);
        if (!range || !isLow(decision, variable) ||
            !overflows(*range, plan.low))
          continue;
        recordOverflow(operand, plan.decision);
      }
    }
    for (Value constant : plans.getFlowingConstants()) {
      const FloatRange *range = plans.getRange(constant);
      if (range && llvm::any_of(constant.getUses(), [&](OpOperand &use) {
            FloatFormat format = getFlowFormat(use);
            return getLowType(format) && overflows(*range, format);
          }))
        recordOverflow(constant, plans.getFlowingDecision());
    }
  }

  void recordOverflow(Value value, const Decision &decision) {
    auto constant = value.getDefiningOp<AutocastOpInterface>();
    if (!constant || !constant.isAutocastConstant())
      return;
    Overflow &overflow =
        result.overflows.insert({constant, Overflow::Saturate}).first->second;
    if (decision.outOfRange == OutOfRange::Convert)
      overflow = Overflow::Infinity;
  }

  void retypeFunctions(const PrecisionFlow &flow) {
    for (const auto &[op, function] : functions.getFunctions()) {
      auto callable = cast<FunctionOpInterface>(op);
      if (callable.isExternal())
        continue;
      for (BlockArgument argument : callable.getArguments())
        if (isFloat32(argument))
          if (FloatType lowType = getLowType(flow.getFormat(argument)))
            result.valueTypes[argument] = lowType;
      for (auto [i, type] : llvm::enumerate(callable.getResultTypes())) {
        FloatType elementType = getFloatElementType(type);
        if (elementType && elementType.isF32())
          if (FloatType lowType =
                  getLowType(getReturned(op, function, i, flow)))
            result.resultTypes[{op, i}] = lowType;
      }
    }
  }

  /// The format that a function returns; bottom where nothing is known.
  FloatFormat getReturned(Operation *op, const FunctionFlow::Function &function,
                          unsigned index, const PrecisionFlow &flow) const {
    if (function.isInterface)
      return interfaces.isResultLow(op, index) ? options.low
                                               : FloatFormat::fp32();
    FloatFormat returned;
    for (Operation *terminator : function.returns)
      returned = FloatFormat::join(
          returned, index < terminator->getNumOperands()
                        ? flow.getFlowFormat(terminator->getOpOperand(index))
                        : FloatFormat::fp32());
    return returned;
  }

  /// One line on why an operation runs in its format, if that was chosen.
  StringAttr explain(const OperationPlan &plan,
                     const PrecisionDecision &decision,
                     const OptimalPlacement &placement) {
    if (plan.mainVariable < 0)
      return explain(plan, decision);
    const PlacementProblem &problem = placement.getProblem();
    auto variable = placement.getVariable(plan, plan.mainVariable);
    if (!problem.canChoose(variable) || plan.leader)
      return explain(plan, decision);
    std::string low = spellFormat(plan.low);
    int64_t saving = problem.getSaving(variable);
    std::string why = plan.adopts ? "its users are " : "its inputs are ";
    switch (problem.getState(variable)) {
    case PlacementProblem::State::Low:
      if (plan.adopts || plan.decision.noPull)
        why += low;
      else
        why = llvm::formatv("{0} moves {1} bytes less", low, saving);
      break;
    case PlacementProblem::State::Implied:
      why += spellFormat(FloatFormat::fp32());
      break;
    case PlacementProblem::State::Island:
      why = "nothing near it is " + low;
      break;
    case PlacementProblem::State::Float32:
    case PlacementProblem::State::Free:
      why = llvm::formatv("casts would move more than the {0} bytes that {1} "
                          "saves",
                          saving, low);
      break;
    }
    return StringAttr::get(context, plan.decision.rule + "; " + why);
  }

  /// The same, if it follows from the policy or from its inputs.
  StringAttr explain(const OperationPlan &plan,
                     const PrecisionDecision &decision) {
    StringRef rule = plan.decision.rule;
    if (plan.decision.category == Category::Keep)
      return StringAttr::get(context, rule);
    if (plan.mainVariable < 0)
      return StringAttr::get(context, explainFixed(plan));
    const TypeVariable &variable = plan.variables[plan.mainVariable];
    bool low = isLow(decision, plan.mainVariable);
    if (plan.computesTF32())
      return StringAttr::get(context, rule + "; multiplies in tf32");
    if (!low && variable.obstacle && plan.decision.category != Category::Deny)
      return variable.obstacle;
    if (plan.decision.category == Category::Allow ||
        plan.decision.category == Category::Deny || plan.leader)
      return StringAttr::get(context, rule);
    StringRef source = plan.adopts        ? "its users"
                       : variable.hasData ? "its inputs"
                                          : "all its inputs are constants";
    if (!variable.hasData && !plan.adopts)
      return StringAttr::get(context, rule + "; " + source);
    return StringAttr::get(
        context, rule + "; " + source + " are " +
                     spellFormat(low ? plan.low : FloatFormat::fp32()));
  }

  /// Why no type variable of an operation moves, its category apart.
  static std::string explainFixed(const OperationPlan &plan) {
    if (plan.op->getNumRegions() > 0)
      return "its regions are of no known control flow";
    for (const TypeVariable &variable : plan.variables) {
      if (!variable.hasOperands || variable.elementType.isF32())
        continue;
      std::optional<FloatFormat> format = getFloatFormat(variable.elementType);
      return format ? "its inputs are " + spellFormat(*format)
                    : "its inputs are of a format that is never converted";
    }
    return "its operands admit one float type only";
  }

  MLIRContext *context;
  ModuleOp module;
  const OperationPlans &plans;
  const FunctionFlow &functions;
  const InterfaceTypes &interfaces;
  const PrecisionOptions &options;
};
} // namespace amp

FailureOr<SmallVector<std::pair<Operation *, FloatType>>>
amp::findUnsupported(ModuleOp module, const Policy &policy,
                     const PrecisionOptions &options) {
  FailureOr<OperationPlans> plans =
      OperationPlans::compute(module, policy, options, /*readConstants=*/false);
  if (failed(plans))
    return failure();
  SmallVector<std::pair<Operation *, FloatType>> unsupported;
  for (const OperationPlan &plan : plans->get()) {
    FloatType lowType = getFloatType(module.getContext(), plan.low);
    if (!lowType || plan.decision.category != Category::Allow)
      continue;
    for (auto [number, variable] : llvm::enumerate(plan.variables)) {
      AutocastOpInterface op = plan.op;
      if (variable.moves && !op.supportsElementType(number, lowType)) {
        unsupported.push_back({op, lowType});
        break;
      }
    }
  }
  return unsupported;
}

FailureOr<PrecisionAnalysis>
PrecisionAnalysis::compute(ModuleOp module, const Policy &policy,
                           const PrecisionOptions &options,
                           const FunctionFlow::Originals &originals) {
  FailureOr<OperationPlans> plans =
      OperationPlans::compute(module, policy, options);
  if (failed(plans))
    return failure();
  FunctionFlow functions(module, originals);
  InterfaceTypes interfaces(functions, policy, options, *plans);
  PrecisionPlanner planner(module, *plans, functions, interfaces, options);
  if (failed(planner.run()))
    return failure();
  return std::move(planner.result);
}
