//===- OptimalPlacement.cpp - formats by the bytes they move --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimalPlacement.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/ElementTypes.h"

using namespace mlir;
using namespace amp;

/// True for a tensor of 16-bit floats, or what holds such tensors.
static bool isLowTensor(Type type) { return !getLowFormat(type).isBottom(); }

/// True for a cast that a program in mixed precision has because of where its
/// other operations run: autocast's own, of what is no rounding itself. What
/// reads it reads the value that it casts, so that a program that is placed
/// again is placed as it was.
static bool isView(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  auto isPlaced = [](Value value) {
    return isFloat32(value) || isLowTensor(value.getType());
  };
  return cast && isPlaced(cast.getInput()) && isPlaced(cast.getOutput()) &&
         !cast.getInput().getDefiningOp<CastOp>();
}

/// Puts a module into the terms of a PlacementProblem.
class OptimalPlacement::Builder {
public:
  Builder(OptimalPlacement &result, ModuleOp module,
          const FunctionFlow &functions, const InterfaceTypes &interfaces,
          const PrecisionOptions &options)
      : result(result), problem(result.problem), plans(result.plans),
        module(module), functions(functions), interfaces(interfaces),
        low(options.low), costs(functions, options.costs),
        groups(collectFlowGroups(module, plans, functions, low)) {}

  void build() {
    result.firstVariable.reserve(plans.get().size());
    for (const OperationPlan &plan : plans.get())
      addOperation(plan);
    for (const FlowGroup &group : groups)
      addGroup(group);
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { addValues(op); });
  }

  void readLowValues() {
    for (auto [group, variable] : llvm::zip_equal(groups, groupVariables)) {
      if (group.isLow || !problem.isLow(variable))
        continue;
      for (Value target : group.targets)
        result.lowValues.push_back({target, group.low});
      if (group.function)
        result.lowResults.push_back({group.function, group.result, group.low});
    }
    for (const auto &[op, function] : functions.getFunctions()) {
      auto callable = cast<FunctionOpInterface>(op);
      if (callable.isExternal())
        continue;
      for (BlockArgument argument : callable.getArguments())
        if (isFloat32(argument) &&
            interfaces.isArgumentLow(op, argument.getArgNumber()))
          result.lowValues.push_back({argument, low});
      for (auto [i, type] : llvm::enumerate(callable.getResultTypes())) {
        FloatType elementType = getFloatElementType(type);
        if (elementType && elementType.isF32() && interfaces.isResultLow(op, i))
          result.lowResults.push_back({op, unsigned(i), low});
      }
    }
  }

private:
  // 1. Variables.
  void addOperation(const OperationPlan &plan);
  Variable addVariable(const OperationPlan &plan, unsigned number);
  bool readsMoved(const OperationPlan &plan, unsigned number) const;
  void addSavings(const OperationPlan &plan);
  void addGroup(const FlowGroup &group);

  // 2. Values.
  void addValues(Operation *op);
  Place getProducer(Value value) const;
  void addValue(Value value);
  void addUsers(Value value, Place producer, bool adopts);
  void addUser(OpOperand &use, Place producer, bool adopts);
  Place getInterfaceOf(OpOperand &use) const;

  /// What can't choose.
  Place fix(bool isLow) const {
    return {isLow ? PlacementProblem::kLow : PlacementProblem::kFloat32, low};
  }
  /// The same, of what is low already.
  static Place fixLow(Type type) {
    return {PlacementProblem::kLow, getLowFormat(type)};
  }
  /// What is low already is so in its own format, whatever the plan's is.
  Place getPlace(const OperationPlan &plan, int number, Type type) const {
    return {result.getVariable(plan, number),
            isLowTensor(type) ? getLowFormat(type) : plan.low};
  }

  OptimalPlacement &result;
  PlacementProblem &problem;
  const OperationPlans &plans;
  ModuleOp module;
  const FunctionFlow &functions;
  const InterfaceTypes &interfaces;
  FloatFormat low;
  CostModel costs;
  SmallVector<FlowGroup, 0> groups;
  SmallVector<Variable, 0> groupVariables;
  DenseMap<Value, Place> variableOfTarget;
};

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// The operation has no reason to be low but its inputs.
static bool joinsInputs(const OperationPlan &plan) {
  if (plan.leader)
    return false;
  return plan.decision.category == Category::Promote || plan.decision.noPull;
}

/// True if some operand is a constant that was moved. An operation that has no
/// reason of its own must not hold what it reads in float32 then.
bool OptimalPlacement::Builder::readsMoved(const OperationPlan &plan,
                                           unsigned number) const {
  for (auto [operand, variable] :
       llvm::zip_equal(plan.op->getOperands(), plan.operandVariables)) {
    Operation *producer = operand.getDefiningOp();
    const OperationPlan *moved = producer ? plans.lookup(producer) : nullptr;
    if (variable == int(number) && moved && moved->adopts)
      return true;
  }
  return false;
}

/// Comes for the main variable first, with which others may go.
OptimalPlacement::Variable
OptimalPlacement::Builder::addVariable(const OperationPlan &plan,
                                       unsigned number) {
  const TypeVariable &variable = plan.variables[number];
  Category category = plan.decision.category;
  if (FloatType present = variable.elementType;
      present && present.getWidth() == 16) {
    bool isOpen = category == Category::Promote ||
                  category == Category::Follow || category == Category::Clear;
    return isOpen && variable.hasData ? problem.addLowVariable()
                                      : PlacementProblem::kLow;
  }
  if (!variable.moves || variable.obstacle)
    return PlacementProblem::kFloat32;
  switch (category) {
  case Category::Allow:
    return PlacementProblem::kLow;
  case Category::Promote:
  case Category::Follow:
  case Category::Clear:
    if (const OperationPlan *leader = plans.getLeader(plan);
        leader && int(number) == plan.mainVariable)
      return result.getVariable(*leader, leader->mainVariable);
    if (variable.hasData || (plan.adopts && int(number) == plan.mainVariable) ||
        (plan.decision.noPull && readsMoved(plan, number)))
      return problem.addVariable(/*saving=*/0);
    // Nothing but constants. Results go with the data; parameters stay.
    return variable.hasResults && int(number) != plan.mainVariable
               ? result.getVariable(plan, plan.mainVariable)
               : PlacementProblem::kFloat32;
  case Category::Deny:
  case Category::Keep:
  case Category::Ban:
    return PlacementProblem::kFloat32;
  }
  llvm_unreachable("a category");
}

void OptimalPlacement::Builder::addOperation(const OperationPlan &plan) {
  size_t first = result.variables.size();
  result.firstVariable.push_back(first);
  result.variables.resize(first + plan.variables.size(),
                          PlacementProblem::kFloat32);
  bool touchesLow = llvm::any_of(plan.op->getOperandTypes(), isLowTensor) ||
                    llvm::any_of(plan.op->getResultTypes(), isLowTensor);
  problem.addOperation(touchesLow);
  // The main variable is the smallest that moves: others come after it, or are
  // what they are.
  for (unsigned i = 0, e = plan.variables.size(); i < e; ++i)
    result.variables[first + i] = addVariable(plan, i);
  if (plan.mainVariable >= 0 && !plan.decision.noPull)
    addSavings(plan);
}

void OptimalPlacement::Builder::addSavings(const OperationPlan &plan) {
  Block *block = plan.op->getBlock();
  auto add = [&](int number, Type type) {
    if (number < 0)
      return;
    Variable variable = result.getVariable(plan, number);
    if (problem.canChoose(variable) && !isLowTensor(type))
      problem.addSaving(variable, costs.getSaving(type, block));
  };
  for (auto [number, type] :
       llvm::zip_equal(plan.operandVariables, plan.op->getOperandTypes()))
    add(number, type);
  for (auto [number, type] :
       llvm::zip_equal(plan.resultVariables, plan.op->getResultTypes()))
    add(number, type);
}

void OptimalPlacement::Builder::addGroup(const FlowGroup &group) {
  // A constant that would lose its meaning (the start of a running maximum)
  // keeps all that it meets.
  bool hasConstant = false, allFit = true;
  for (OpOperand *source : group.sources) {
    if (!plans.isConstant(source->get()))
      continue;
    hasConstant = true;
    allFit = allFit && plans.fits(source->get(), group.low);
  }
  Variable variable = PlacementProblem::kFloat32;
  if (allFit || group.isLow) {
    problem.addOperation();
    variable = group.isLow ? problem.addLowVariable()
                           : problem.addVariable(/*saving=*/0);
  }
  // Constants cost nothing, but what is carried around from one is float32.
  if (hasConstant && !group.isLow) {
    problem.addValue(PlacementProblem::kFloat32, /*castCost=*/0);
    problem.addUser(variable, PlacementProblem::Use::Flows);
  }
  groupVariables.push_back(variable);
  for (OpOperand *source : group.sources)
    result.variableOfSource[source] = {variable, group.low};
  for (Value target : group.targets)
    variableOfTarget[target] = {variable, group.low};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void OptimalPlacement::Builder::addValues(Operation *op) {
  // What reads a view was a user of the value that it casts.
  if (!isView(op))
    for (OpResult value : op->getResults())
      addValue(value);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument value : block.getArguments())
        addValue(value);
}

/// What gives a value that may be low, or is.
OptimalPlacement::Place
OptimalPlacement::Builder::getProducer(Value value) const {
  Operation *op = value.getDefiningOp();
  if (op) {
    if (const OperationPlan *plan = plans.lookup(op))
      if (int number =
              plan->resultVariables[cast<OpResult>(value).getResultNumber()];
          number >= 0)
        return getPlace(*plan, number, value.getType());
  }
  if (auto target = variableOfTarget.find(value);
      target != variableOfTarget.end())
    return target->second;
  if (isLowTensor(value.getType()))
    return fixLow(value.getType());
  if (op) {
    FunctionOpInterface callee = functions.getCallee(op);
    return fix(callee && interfaces.isResultLow(
                             callee, cast<OpResult>(value).getResultNumber()));
  }
  auto argument = cast<BlockArgument>(value);
  Block *block = argument.getOwner();
  return fix(
      block->isEntryBlock() &&
      interfaces.isArgumentLow(block->getParentOp(), argument.getArgNumber()));
}

void OptimalPlacement::Builder::addValue(Value value) {
  if (!isFloat32(value) && !isLowTensor(value.getType()))
    return;
  // A constant that was moved: it adopts what its users ask for, and is no
  // reason for anybody to be float32. Others are what everybody asks for.
  bool adopts = plans.isConstant(value);
  if (adopts && !plans.lookup(value.getDefiningOp()))
    return;
  Place producer = getProducer(value);
  problem.addValue(producer.variable, costs.getCastCost(value), adopts);
  addUsers(value, producer, adopts);
}

void OptimalPlacement::Builder::addUsers(Value value, Place producer,
                                         bool adopts) {
  for (OpOperand &use : value.getUses())
    if (isView(use.getOwner()))
      addUsers(use.getOwner()->getResult(0), producer, adopts);
    else
      addUser(use, producer, adopts);
}

void OptimalPlacement::Builder::addUser(OpOperand &use, Place producer,
                                        bool adopts) {
  using Use = PlacementProblem::Use;
  Type type = use.get().getType();
  Place user = isLowTensor(type) ? fixLow(type) : fix(/*isLow=*/false);
  Use how = Use::Reads;
  if (const OperationPlan *plan = plans.lookup(use.getOwner())) {
    int number = plan->operandVariables[use.getOperandNumber()];
    if (number >= 0) {
      user = getPlace(*plan, number, type);
      if (!adopts && joinsInputs(*plan))
        how = Use::Joins;
    }
  } else if (auto source = result.variableOfSource.find(&use);
             source != result.variableOfSource.end()) {
    user = source->second;
    how = Use::Flows;
  } else if (!isLowTensor(type)) {
    user = getInterfaceOf(use);
  }
  // Of a producer that is float32 for certain, too: its casts are not shared.
  bool hasOtherLow =
      user.variable != PlacementProblem::kFloat32 && user.low != producer.low;
  problem.addUser(user.variable, how, hasOtherLow);
}

/// What a return or a call asks for, other than by a group; float32 for others.
OptimalPlacement::Place
OptimalPlacement::Builder::getInterfaceOf(OpOperand &use) const {
  Operation *op = use.getOwner();
  if (op->hasTrait<OpTrait::IsTerminator>() && op->getNumSuccessors() == 0)
    if (auto function = dyn_cast<FunctionOpInterface>(op->getParentOp()))
      return fix(interfaces.isResultLow(function, use.getOperandNumber()));
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    unsigned first = call.getArgOperands().getBeginOperandIndex();
    if (FunctionOpInterface callee = functions.getCallee(op);
        callee && use.getOperandNumber() >= first)
      return fix(
          interfaces.isArgumentLow(callee, use.getOperandNumber() - first));
  }
  return fix(/*isLow=*/false);
}

//===----------------------------------------------------------------------===//
// OptimalPlacement
//===----------------------------------------------------------------------===//

OptimalPlacement::OptimalPlacement(ModuleOp module, const OperationPlans &plans,
                                   const FunctionFlow &functions,
                                   const InterfaceTypes &interfaces,
                                   const PrecisionOptions &options)
    : plans(plans) {
  Builder builder(*this, module, functions, interfaces, options);
  builder.build();
  problem.solve(options.keepIslands);
  builder.readLowValues();
}
