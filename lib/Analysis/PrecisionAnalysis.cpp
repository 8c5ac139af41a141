//===- PrecisionAnalysis.cpp - which operation runs in which format -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. OperationPlans: what does not depend on the formats of values.
// 2. PrecisionFlow: formats flow forward through the module, to a fixpoint.
// 3. PrecisionPlanner: each operation's decision is read off; operations on
//    constants alone take, backwards, what their users ask for.
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/PrecisionAnalysis.h"

#include "ConstantFit.h"
#include "OperationPlan.h"

#include "amp/Analysis/FunctionFlow.h"
#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/ElementTypes.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"

#include <memory>

using namespace mlir;
using namespace amp;

//===----------------------------------------------------------------------===//
// Transfer function
//===----------------------------------------------------------------------===//

static bool isFloat32(Value value) {
  FloatType elementType = getFloatElementType(value.getType());
  return elementType && elementType.isF32();
}

/// The formats of an operation's type variables that move, from those of its
/// operands; bottom where nothing is known yet. Monotonic.
static SmallVector<FloatFormat, 2>
transfer(const OperationPlan &plan, const OperationPlans &plans,
         FloatFormat low, llvm::function_ref<FloatFormat(unsigned)> formatOf) {
  SmallVector<FloatFormat, 2> formats(plan.variables.size());
  for (auto [i, number] : llvm::enumerate(plan.operandVariables))
    if (number >= 0 && !plans.isConstant(plan.op->getOperand(i)))
      formats[number] = FloatFormat::join(formats[number], formatOf(i));

  for (auto [number, variable] : llvm::enumerate(plan.variables)) {
    FloatFormat &format = formats[number];
    switch (plan.decision.category) {
    case Category::Allow:
      format = low;
      break;
    case Category::Promote:
    case Category::Follow:
    case Category::Clear:
      if (variable.hasData)
        break;
      // Nothing but constants. Results go with the data; parameters stay.
      format = variable.hasResults && int(number) != plan.mainVariable &&
                       plan.mainVariable >= 0
                   ? formats[plan.mainVariable]
                   : FloatFormat::fp32();
      break;
    case Category::Deny:
    case Category::Keep:
    case Category::Ban:
      format = FloatFormat::fp32();
      break;
    }
    // tf32, where float16 meets bfloat16, is stored as float32.
    if (!format.isBottom() && (format != low || variable.obstacle))
      format = FloatFormat::fp32();
  }
  return formats;
}

//===----------------------------------------------------------------------===//
// PrecisionFlow
//===----------------------------------------------------------------------===//

namespace {
/// Marks all code as live: what never runs has types, too. It stands where
/// other analyses load dead code analysis and constant propagation.
class EverythingIsLive : public DataFlowAnalysis {
public:
  using DataFlowAnalysis::DataFlowAnalysis;

  LogicalResult initialize(Operation *top) final {
    top->walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          markLive(block);
    });
    return success();
  }
  LogicalResult visit(ProgramPoint *) final { return success(); }

private:
  void markLive(Block &block) {
    // Nobody has subscribed yet: there is nobody to tell.
    (void)getOrCreate<dataflow::Executable>(getProgramPointBefore(&block))
        ->setToLive();
    for (Block *successor : block.getSuccessors())
      (void)getOrCreate<dataflow::Executable>(
          getLatticeAnchor<dataflow::CFGEdge>(&block, successor))
          ->setToLive();
  }
};

using FormatState = dataflow::Lattice<FloatFormat>;

/// The format of every value that is float32 in the program; the states of
/// other values say nothing.
class PrecisionFlow
    : public dataflow::SparseForwardDataFlowAnalysis<FormatState> {
public:
  PrecisionFlow(DataFlowSolver &solver, const OperationPlans &plans,
                const FunctionFlow &functions, const PrecisionOptions &options)
      : SparseForwardDataFlowAnalysis(solver), plans(plans),
        functions(functions), options(options) {}

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const FormatState *> operands,
                               ArrayRef<FormatState *> results) final {
    const OperationPlan *plan = plans.lookup(op);
    if (!plan) {
      setAllToEntryStates(results);
      return success();
    }
    SmallVector<FloatFormat, 2> formats =
        transfer(*plan, plans, options.low,
                 [&](unsigned i) { return operands[i]->getValue(); });
    for (auto [result, number] :
         llvm::zip_equal(results, plan->resultVariables)) {
      if (number < 0 || !plan->variables[number].moves)
        setToEntryState(result);
      else
        propagateIfChanged(result, result->join(formats[number]));
    }
    return success();
  }

  void setToEntryState(FormatState *lattice) final {
    Value value = lattice->getAnchor();
    if (!isFloat32(value))
      return;
    FloatFormat format =
        isLowArgument(value) ? options.low : FloatFormat::fp32();
    propagateIfChanged(lattice, lattice->join(format));
  }

  LogicalResult visitCallOperation(
      CallOpInterface call, ArrayRef<const dataflow::AbstractSparseLattice *>,
      ArrayRef<dataflow::AbstractSparseLattice *> results) final {
    FunctionOpInterface callee = functions.getCallee(call);
    const FunctionFlow::Function *function = functions.lookup(callee);
    ProgramPoint *point = getProgramPointAfter(call);
    for (auto [i, lattice] : llvm::enumerate(results)) {
      auto *result = static_cast<FormatState *>(lattice);
      if (!function || function->returns.empty())
        setToEntryState(result);
      else if (function->isInterface)
        joinFormat(result, interfaceFormat());
      else
        for (Operation *terminator : function->returns)
          joinOperand(result, point, terminator, i);
    }
    return success();
  }

  void visitCallableOperation(
      CallableOpInterface callable,
      ArrayRef<dataflow::AbstractSparseLattice *> arguments) final {
    const FunctionFlow::Function *function = functions.lookup(callable);
    if (!function || function->isInterface || function->calls.empty())
      return AbstractSparseForwardDataFlowAnalysis::setAllToEntryStates(
          arguments);
    ProgramPoint *point =
        getProgramPointBefore(&callable.getCallableRegion()->front());
    for (auto [i, lattice] : llvm::enumerate(arguments))
      for (CallOpInterface call : function->calls)
        joinOperand(static_cast<FormatState *>(lattice), point, call,
                    call.getArgOperands().getBeginOperandIndex() + i);
  }

  void visitRegionSuccessors(
      ProgramPoint *point, RegionBranchOpInterface branch, RegionSuccessor,
      ArrayRef<dataflow::AbstractSparseLattice *> lattices) final {
    const RegionFlow &flow = getRegionFlow(branch);
    for (dataflow::AbstractSparseLattice *lattice : lattices) {
      auto *target = static_cast<FormatState *>(lattice);
      const RegionFlow::Group *group = flow.getGroupOf(target->getAnchor());
      if (!group || !admitsLow(branch, *group)) {
        setToEntryState(target);
        continue;
      }
      for (OpOperand *source : group->sources)
        joinOperand(target, point, source->getOwner(),
                    source->getOperandNumber());
    }
  }

  const RegionFlow &getRegionFlow(RegionBranchOpInterface op) {
    std::unique_ptr<RegionFlow> &flow = regionFlows[op];
    if (!flow)
      flow = std::make_unique<RegionFlow>(op);
    return *flow;
  }

private:
  FloatFormat interfaceFormat() const {
    return options.keepIOTypes ? FloatFormat::fp32() : options.low;
  }

  bool isLowArgument(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    if (options.keepIOTypes || !argument ||
        !argument.getOwner()->isEntryBlock())
      return false;
    const FunctionFlow::Function *function =
        functions.lookup(argument.getOwner()->getParentOp());
    return function && function->isInterface;
  }

  /// True if the operation's own types may be low for all of a group.
  bool admitsLow(RegionBranchOpInterface branch,
                 const RegionFlow::Group &group) const {
    auto autocast = dyn_cast<AutocastOpInterface>(branch.getOperation());
    if (!autocast)
      return true;
    FloatType lowType = getFloatType(branch->getContext(), options.low);
    return llvm::all_of(group.targets, [&](Value target) {
      auto result = dyn_cast<OpResult>(target);
      return !result ||
             autocast.supportsElementType(
                 autocast.getResultTypeVariable(result.getResultNumber()),
                 lowType);
    });
  }

  void joinFormat(FormatState *lattice, FloatFormat format) {
    if (isFloat32(lattice->getAnchor()))
      propagateIfChanged(lattice, lattice->join(format));
  }

  /// What reaches `lattice` at `point` from an operand; what is not float32
  /// there, or missing, can't be told.
  void joinOperand(FormatState *lattice, ProgramPoint *point, Operation *op,
                   unsigned operand) {
    if (operand >= op->getNumOperands() || !isFloat32(op->getOperand(operand)))
      return setToEntryState(lattice);
    joinFormat(
        lattice,
        getLatticeElementFor(point, op->getOperand(operand))->getValue());
  }

  const OperationPlans &plans;
  const FunctionFlow &functions;
  const PrecisionOptions &options;
  DenseMap<Operation *, std::unique_ptr<RegionFlow>> regionFlows;
};
} // namespace

//===----------------------------------------------------------------------===//
// PrecisionPlanner
//===----------------------------------------------------------------------===//

namespace amp {
/// Reads decisions off the solved flow.
class PrecisionPlanner {
public:
  PrecisionPlanner(ModuleOp module, const OperationPlans &plans,
                   const FunctionFlow &functions,
                   const PrecisionOptions &options)
      : context(module.getContext()), module(module), plans(plans),
        functions(functions), options(options),
        lowType(getFloatType(context, options.low)) {}

  LogicalResult run() {
    DataFlowSolver solver;
    solver.load<EverythingIsLive>();
    auto *flow = solver.load<PrecisionFlow>(plans, functions, options);
    if (failed(solver.initializeAndRun(module)))
      return failure();
    auto formatOf = [&](Value value) {
      const auto *state = solver.lookupState<FormatState>(value);
      return state ? state->getValue() : FloatFormat::bottom();
    };

    decideOperations(formatOf);
    adoptFromUsers();
    recordOverflows();
    retypeRegions(*flow, formatOf);
    retypeFunctions(formatOf);
    return success();
  }

  PrecisionAnalysis result;

private:
  using FormatOf = llvm::function_ref<FloatFormat(Value)>;

  bool isLow(const PrecisionDecision &decision, int variable) const {
    return variable >= 0 && decision.elementTypes[variable] == lowType;
  }

  void decideOperations(FormatOf formatOf) {
    for (const OperationPlan &plan : plans.get()) {
      SmallVector<FloatFormat, 2> formats =
          transfer(plan, plans, options.low, [&](unsigned i) {
            return formatOf(plan.op->getOperand(i));
          });
      PrecisionDecision decision;
      decision.operation = plan.op;
      decision.category = plan.decision.category;
      decision.moves = plan.mainVariable >= 0;
      for (auto [variable, format] : llvm::zip_equal(plan.variables, formats)) {
        bool low = variable.moves && format == options.low;
        decision.elementTypes.push_back(low ? lowType : FloatType());
      }
      decision.reason = explain(plan, decision);
      result.decisions.push_back(std::move(decision));
    }
  }

  /// Later operations come first: they are the users.
  void adoptFromUsers() {
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
          anyUse = true;
          allLow = allLow && asksForLow(use);
        }
      }
      if (!anyUse || !allLow)
        continue;
      PrecisionDecision &decision = result.decisions[i];
      decision.elementTypes[plan.mainVariable] = lowType;
      decision.reason = explain(plan, decision);
    }
  }

  bool asksForLow(OpOperand &use) const {
    const OperationPlan *plan = plans.lookup(use.getOwner());
    return plan && isLow(result.decisions[plan - plans.get().data()],
                         plan->operandVariables[use.getOperandNumber()]);
  }

  void recordOverflows() {
    for (auto [plan, decision] :
         llvm::zip_equal(plans.get(), result.decisions)) {
      for (auto [operand, variable] :
           llvm::zip_equal(plan.op->getOperands(), plan.operandVariables)) {
        const FloatRange *range = plans.getRange(operand);
        if (!range || !isLow(decision, variable) ||
            !overflows(*range, options.low))
          continue;
        auto constant = operand.getDefiningOp<AutocastOpInterface>();
        if (!constant || !constant.isAutocastConstant())
          continue;
        Overflow &overflow =
            result.overflows.insert({constant, Overflow::Saturate})
                .first->second;
        if (plan.decision.outOfRange == OutOfRange::Convert)
          overflow = Overflow::Infinity;
      }
    }
  }

  void retypeRegions(PrecisionFlow &flow, FormatOf formatOf) {
    module.walk([&](RegionBranchOpInterface op) {
      for (const RegionFlow::Group &group : flow.getRegionFlow(op).getGroups())
        for (Value target : group.targets)
          if (isFloat32(target) && formatOf(target) == options.low)
            result.valueTypes[target] = lowType;
    });
  }

  void retypeFunctions(FormatOf formatOf) {
    for (const auto &[op, function] : functions.getFunctions()) {
      auto callable = cast<FunctionOpInterface>(op);
      if (callable.isExternal())
        continue;
      for (BlockArgument argument : callable.getArguments())
        if (isFloat32(argument) && formatOf(argument) == options.low)
          result.valueTypes[argument] = lowType;
      for (auto [i, type] : llvm::enumerate(callable.getResultTypes())) {
        FloatType elementType = getFloatElementType(type);
        if (elementType && elementType.isF32() &&
            returnsLow(function, i, formatOf))
          result.resultTypes[{op, i}] = lowType;
      }
    }
  }

  bool returnsLow(const FunctionFlow::Function &function, unsigned index,
                  FormatOf formatOf) const {
    if (function.isInterface)
      return !options.keepIOTypes;
    return !function.returns.empty() &&
           llvm::all_of(function.returns, [&](Operation *terminator) {
             return index < terminator->getNumOperands() &&
                    isFloat32(terminator->getOperand(index)) &&
                    formatOf(terminator->getOperand(index)) == options.low;
           });
  }

  /// One line on why an operation runs in its format.
  StringAttr explain(const OperationPlan &plan,
                     const PrecisionDecision &decision) {
    StringRef rule = plan.decision.rule;
    if (plan.decision.category == Category::Keep)
      return StringAttr::get(context, rule);
    if (plan.mainVariable < 0)
      return StringAttr::get(context, explainFixed(plan));
    const TypeVariable &variable = plan.variables[plan.mainVariable];
    bool low = isLow(decision, plan.mainVariable);
    if (!low && variable.obstacle && plan.decision.category != Category::Deny)
      return variable.obstacle;
    if (plan.decision.category == Category::Allow ||
        plan.decision.category == Category::Deny)
      return StringAttr::get(context, rule);
    StringRef source = plan.adopts        ? "its users"
                       : variable.hasData ? "its inputs"
                                          : "all its inputs are constants";
    if (!variable.hasData && !plan.adopts)
      return StringAttr::get(context, rule + "; " + source);
    return StringAttr::get(
        context, rule + "; " + source + " are " +
                     spellFormat(low ? options.low : FloatFormat::fp32()));
  }

  /// Why no type variable of an operation moves, its category apart.
  static std::string explainFixed(const OperationPlan &plan) {
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
  const PrecisionOptions &options;
  FloatType lowType;
};
} // namespace amp

FailureOr<PrecisionAnalysis>
PrecisionAnalysis::compute(ModuleOp module, const Policy &policy,
                           const PrecisionOptions &options) {
  FailureOr<OperationPlans> plans =
      OperationPlans::compute(module, policy, options.low);
  if (failed(plans))
    return failure();
  FunctionFlow functions(module);
  PrecisionPlanner planner(module, *plans, functions, options);
  if (failed(planner.run()))
    return failure();
  return std::move(planner.result);
}
