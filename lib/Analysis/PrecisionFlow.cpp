//===- PrecisionFlow.cpp - formats flow through a module ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionFlow.h"

#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/ElementTypes.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"

using namespace mlir;
using namespace amp;

//===----------------------------------------------------------------------===//
// Transfer function
//===----------------------------------------------------------------------===//

SmallVector<FloatFormat, 2>
amp::transferFormats(const OperationPlan &plan, const OperationPlans &plans,
                     llvm::function_ref<FloatFormat(unsigned)> formatOf,
                     FloatFormat leader) {
  SmallVector<FloatFormat, 2> formats(plan.variables.size());
  for (auto [i, number] : llvm::enumerate(plan.operandVariables))
    if (number >= 0 && !plans.isConstant(plan.op->getOperand(i)))
      formats[number] = FloatFormat::join(formats[number], formatOf(i));

  for (auto [number, variable] : llvm::enumerate(plan.variables)) {
    FloatFormat &format = formats[number];
    switch (plan.decision.category) {
    case Category::Allow:
      format = plan.low;
      break;
    case Category::Promote:
    case Category::Follow:
    case Category::Clear:
      if (plan.leader && int(number) == plan.mainVariable) {
        format = leader;
        break;
      }
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
    if (!format.isBottom() && (format != plan.low || variable.obstacle))
      format = FloatFormat::fp32();
  }
  return formats;
}

//===----------------------------------------------------------------------===//
// The data-flow analysis
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

/// The solver, with what FlowAnalysis wants to know of its progress.
class PrecisionSolver : public DataFlowSolver {
public:
  /// Values whose format changed and was not passed on along control flow yet.
  SmallVector<Value> changed;
  /// Changes so far.
  uint64_t numChanges = 0;
};

/// The format of a value that is float32 in the program; says nothing of other
/// values.
class FormatState : public dataflow::Lattice<FloatFormat> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FormatState)
  using Lattice::Lattice;

  void onUpdate(DataFlowSolver *solver) const final {
    auto *precision = static_cast<PrecisionSolver *>(solver);
    precision->changed.push_back(getAnchor());
    ++precision->numChanges;
    Lattice::onUpdate(solver);
  }
};

/// What flows into values by control flow.
class ControlFlow {
public:
  struct Group {
    /// What it is where it is low.
    FloatFormat low;
    /// The join of what has flowed in.
    FloatFormat format;
    /// The same without constants that may adopt another format.
    FloatFormat dataFormat;
    /// They do.
    bool adopts = false;
    SmallVector<Value, 2> targets;
    std::optional<std::pair<Operation *, unsigned>> argument;
  };

  explicit ControlFlow(ArrayRef<FlowGroup> flowGroups) {
    for (const FlowGroup &group : flowGroups) {
      if (group.isLow)
        continue;
      for (OpOperand *source : group.sources)
        groupOfSource[source] = groups.size();
      targets.insert(group.targets.begin(), group.targets.end());
      groups.push_back({group.low, FloatFormat::bottom(), FloatFormat::bottom(),
                        false, group.targets, group.argument});
    }
  }

  /// The group that an operand flows into, or null.
  Group *getGroupOf(OpOperand &source) {
    auto found = groupOfSource.find(&source);
    return found == groupOfSource.end() ? nullptr : &groups[found->second];
  }

  /// Lets constants adopt the low format where they alone hold a group back,
  /// and forgets what has flowed; returns false if there is nothing to be had.
  /// A call that passes a constant alone agrees with the other calls of its
  /// function, though each has a copy.
  bool adoptConstants() {
    DenseMap<std::pair<Operation *, unsigned>, FloatFormat> passed;
    for (const Group &group : groups)
      if (group.argument) {
        FloatFormat &format = passed[*group.argument];
        format = FloatFormat::join(format, group.dataFormat);
      }
    bool changes = false;
    for (Group &group : groups) {
      FloatFormat data = group.dataFormat;
      if (data.isBottom() && group.argument)
        data = passed.lookup(*group.argument);
      if (group.format != group.low && data == group.low)
        changes = group.adopts = true;
    }
    if (changes)
      for (Group &group : groups)
        group.format = group.dataFormat = FloatFormat::bottom();
    return changes;
  }

  /// True if the value's format is the join of a group.
  bool isTarget(Value value) const { return targets.contains(value); }
  const DenseSet<Value> &getTargets() const { return targets; }

private:
  SmallVector<Group, 0> groups;
  DenseMap<OpOperand *, unsigned> groupOfSource;
  DenseSet<Value> targets;
};

/// Lets formats flow forward. Along operations, the base class visits whoever
/// uses a value that changed. Along control flow, where thousands of callers
/// may meet in one function, and thousands of values in one loop, the change
/// alone is passed on: looking at everything that meets, whenever one changes,
/// would take quadratic time.
class FlowAnalysis
    : public dataflow::SparseForwardDataFlowAnalysis<FormatState> {
  using Base = dataflow::SparseForwardDataFlowAnalysis<FormatState>;
  using AbstractLattices = ArrayRef<dataflow::AbstractSparseLattice *>;

public:
  FlowAnalysis(DataFlowSolver &solver, const OperationPlans &plans,
               const FunctionFlow &functions, const InterfaceTypes &interfaces,
               ControlFlow &controlFlow, FloatFormat low)
      : Base(solver), solver(static_cast<PrecisionSolver &>(solver)),
        plans(plans), functions(functions), interfaces(interfaces),
        controlFlow(controlFlow), low(low) {}

  LogicalResult initialize(Operation *top) final {
    if (failed(Base::initialize(top)))
      return failure();
    passOn();
    return success();
  }

  LogicalResult visit(ProgramPoint *point) final {
    // An operation with many operands is scheduled once for each that changes;
    // the first visit sees them all.
    auto [last, isNew] = lastVisits.try_emplace(point, 0);
    if (!isNew && last->second == solver.numChanges)
      return success();
    LogicalResult result = Base::visit(point);
    // Before passing on, which may change what was just looked at.
    lastVisits[point] = solver.numChanges;
    passOn();
    return result;
  }

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const FormatState *> operands,
                               ArrayRef<FormatState *> results) final {
    const OperationPlan *plan = plans.lookup(op);
    if (!plan) {
      visitTargets(results);
      return success();
    }
    FloatFormat leader;
    if (const OperationPlan *forward = plans.getLeader(*plan))
      leader = getLatticeElementFor(getProgramPointAfter(op),
                                    OperationPlans::getMainResult(*forward))
                   ->getValue();
    SmallVector<FloatFormat, 2> formats = transferFormats(
        *plan, plans, [&](unsigned i) { return operands[i]->getValue(); },
        leader);
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
    if (isFloat32(value))
      propagateIfChanged(
          lattice,
          lattice->join(isLowByInterface(value) ? low : FloatFormat::fp32()));
  }

  LogicalResult
  visitCallOperation(CallOpInterface,
                     ArrayRef<const dataflow::AbstractSparseLattice *>,
                     AbstractLattices results) final {
    visitTargets(results);
    return success();
  }
  void visitCallableOperation(CallableOpInterface,
                              AbstractLattices arguments) final {
    visitTargets(arguments);
  }
  /// Arguments of regions without RegionBranchOpInterface.
  void visitNonControlFlowArguments(Operation *, const RegionSuccessor &,
                                    ArrayRef<FormatState *> arguments,
                                    unsigned) final {
    visitTargets(arguments);
  }
  void visitRegionSuccessors(ProgramPoint *, RegionBranchOpInterface,
                             RegionSuccessor, AbstractLattices lattices) final {
    visitTargets(lattices);
  }

private:
  template <typename Lattice> void visitTargets(ArrayRef<Lattice *> lattices) {
    // What is known by now is known inside, before it is looked at.
    passOn();
    for (Lattice *lattice : lattices)
      if (!controlFlow.isTarget(lattice->getAnchor()))
        setToEntryState(static_cast<FormatState *>(lattice));
  }

  /// Passes changes on along control flow, until there are none.
  void passOn() {
    while (!solver.changed.empty()) {
      Value value = solver.changed.pop_back_val();
      FloatFormat format = getLatticeElement(value)->getValue();
      if (format.isBottom())
        continue;
      bool isConstant = plans.isConstant(value);
      for (OpOperand &use : value.getUses()) {
        ControlFlow::Group *group = controlFlow.getGroupOf(use);
        if (!group)
          continue;
        bool adopts = isConstant && plans.fits(value, group->low);
        // Low in the group's own format, or not at all.
        FloatFormat flowing = format == group->low || (adopts && group->adopts)
                                  ? group->low
                                  : FloatFormat::fp32();
        if (!adopts)
          group->dataFormat = FloatFormat::join(group->dataFormat, flowing);
        if (group->format.contains(flowing))
          continue;
        group->format = FloatFormat::join(group->format, flowing);
        for (Value target : group->targets) {
          FormatState *lattice = getLatticeElement(target);
          propagateIfChanged(lattice, lattice->join(group->format));
        }
      }
    }
  }

  /// True for what crosses the border of a function that others may call, if
  /// the options say that its types become low.
  bool isLowByInterface(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner()->isEntryBlock() &&
             interfaces.isArgumentLow(argument.getOwner()->getParentOp(),
                                      argument.getArgNumber());
    auto result = cast<OpResult>(value);
    return interfaces.isResultLow(functions.getCallee(result.getOwner()),
                                  result.getResultNumber());
  }

  PrecisionSolver &solver;
  const OperationPlans &plans;
  const FunctionFlow &functions;
  const InterfaceTypes &interfaces;
  ControlFlow &controlFlow;
  FloatFormat low;
  DenseMap<ProgramPoint *, uint64_t> lastVisits;
};
} // namespace

//===----------------------------------------------------------------------===//
// PrecisionFlow
//===----------------------------------------------------------------------===//

struct PrecisionFlow::Impl {
  Impl(ModuleOp module, const OperationPlans &plans,
       const FunctionFlow &functions, const InterfaceTypes &interfaces,
       const PrecisionOptions &options)
      : module(module), plans(plans), functions(functions),
        interfaces(interfaces), low(options.low),
        controlFlow(collectFlowGroups(module, plans, functions, options.low)) {}

  LogicalResult run() {
    solver.emplace();
    solver->load<EverythingIsLive>();
    solver->load<FlowAnalysis>(plans, functions, interfaces, controlFlow, low);
    return solver->initializeAndRun(module);
  }

  ModuleOp module;
  const OperationPlans &plans;
  const FunctionFlow &functions;
  const InterfaceTypes &interfaces;
  FloatFormat low;
  ControlFlow controlFlow;
  std::optional<PrecisionSolver> solver;
};

PrecisionFlow::PrecisionFlow(ModuleOp module, const OperationPlans &plans,
                             const FunctionFlow &functions,
                             const InterfaceTypes &interfaces,
                             const PrecisionOptions &options)
    : impl(std::make_unique<Impl>(module, plans, functions, interfaces,
                                  options)) {}

PrecisionFlow::~PrecisionFlow() = default;

LogicalResult PrecisionFlow::solve() {
  if (failed(impl->run()))
    return failure();
  return impl->controlFlow.adoptConstants() ? impl->run() : success();
}

FloatFormat PrecisionFlow::getFormat(Value value) const {
  const auto *state = impl->solver->lookupState<FormatState>(value);
  return state ? state->getValue() : FloatFormat::bottom();
}

FloatFormat PrecisionFlow::getFlowFormat(OpOperand &operand) const {
  const ControlFlow::Group *group = impl->controlFlow.getGroupOf(operand);
  return group ? group->format : FloatFormat::bottom();
}

const DenseSet<Value> &PrecisionFlow::getJoinedValues() const {
  return impl->controlFlow.getTargets();
}
