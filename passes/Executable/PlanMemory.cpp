//===- PlanMemory.cpp - whose memory results are made in ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that share memory, views and what is made in place, have one root. A
// root is free when its last user has run; nobody may write it before.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Passes/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace amp {
#define GEN_PASS_DEF_PLANMEMORY
#include "amp/Passes/Executable.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using rt::AMPRTDialect;

namespace {

/// A state: its present value, and the index in the signature.
struct State {
  BlockArgument present;
  int64_t index;
};

/// States by the value that is the next one.
using States = llvm::DenseMap<Value, State>;
/// What a value shares memory with, if it is not its own.
using Roots = llvm::DenseMap<Value, Value>;

/// One block, then those inside: a branch may make the next value of a state, a
/// loop may not.
class BlockPlan {
public:
  BlockPlan(Block &block, SymbolTable &symbols, const Roots &outside)
      : block(block), symbols(symbols), roots(outside) {}

  void run(const States &states);

  unsigned numInPlace = 0, numStates = 0;

private:
  void findRoots();
  Value getRoot(Value value) const {
    while (Value next = roots.lookup(value))
      value = next;
    return value;
  }
  /// For each result of a launch the operands whose memory it may take.
  SmallVector<SmallVector<int64_t>> getCandidates(Operation *op) const;
  /// Nobody but `op` by this operand has the root, from here on.
  bool isLastUse(Operation *op, int64_t operand) const;
  bool takeState(OpResult result, const State &state,
                 ArrayRef<int64_t> candidates);
  bool takeState(rt::IfOp branch, OpResult result, const State &state);
  void runInside(Operation *op, const States &states);
  int64_t findPlace(Operation *op, ArrayRef<int64_t> candidates) const;

  Block &block;
  SymbolTable &symbols;
  Roots roots;
  /// By root: the position of the last operation that uses it.
  llvm::DenseMap<Value, int64_t> lastUses;
  llvm::DenseMap<Operation *, int64_t> positions;
  /// Roots whose memory is the session's for one step.
  llvm::DenseSet<Value> writable;
};

struct PlanMemory : public amp::impl::PlanMemoryBase<PlanMemory> {
  using Base::Base;

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto graph : getOperation().getOps<func::FuncOp>()) {
      if (!graph->hasAttr(AMPRTDialect::kSignature))
        continue;
      BlockPlan plan(graph.getBody().front(), symbols, Roots());
      plan.run(getStates(graph));
      numInPlace += plan.numInPlace;
      numStates += plan.numStates;
    }
  }

private:
  /// States by their next values, if nothing else is to be their next value.
  static States getStates(func::FuncOp graph) {
    States states;
    auto signature =
        graph->getAttrOfType<DictionaryAttr>(AMPRTDialect::kSignature);
    Operation *end = graph.getBody().front().getTerminator();
    auto list = signature.getAs<ArrayAttr>("states");
    auto number = [](DictionaryAttr entry, StringRef name) {
      return entry.getAs<IntegerAttr>(name).getInt();
    };
    for (auto [index, entry] :
         llvm::enumerate(list.getAsRange<DictionaryAttr>()))
      states.try_emplace(end->getOperand(number(entry, "result")),
                         State{graph.getArgument(number(entry, "argument")),
                               static_cast<int64_t>(index)});
    return states;
  }
};

} // namespace

/// True for an operation whose only result has the memory of its first operand.
static bool isView(Operation *op) {
  if (op->hasAttr(AMPRTDialect::kAtEntry))
    return false;
  auto call = dyn_cast<rt::CallOp>(op);
  return isa<rt::ViewOp, tensor::CastOp>(op) || (call && call.getView());
}

void BlockPlan::findRoots() {
  for (Operation &op : block) {
    positions[&op] = positions.size();
    if (isView(&op))
      roots[op.getResult(0)] = op.getOperand(0);
    if (isa<rt::ConstantOp>(op) || op.hasAttr(AMPRTDialect::kAtEntry))
      continue;
    for (Value result : op.getResults())
      if (!roots.contains(result))
        writable.insert(result);
  }
  for (Operation &op : block)
    op.walk([&](Operation *user) {
      for (Value operand : user->getOperands()) {
        auto [last, isNew] =
            lastUses.try_emplace(getRoot(operand), positions[&op]);
        last->second = std::max(last->second, positions[&op]);
      }
    });
}

SmallVector<SmallVector<int64_t>>
BlockPlan::getCandidates(Operation *op) const {
  SmallVector<SmallVector<int64_t>> candidates(op->getNumResults());
  auto launch = dyn_cast<rt::LaunchOp>(op);
  if (!launch)
    return candidates;
  auto function = symbols.lookup<func::FuncOp>(launch.getFunction());
  auto compiled =
      function->getAttrOfType<DictionaryAttr>(AMPRTDialect::kCompiled);
  if (!compiled)
    return candidates;
  for (auto [list, entry] :
       llvm::zip(candidates,
                 compiled.getAs<ArrayAttr>("aliases").getAsRange<ArrayAttr>()))
    for (auto operand : entry.getAsRange<IntegerAttr>())
      list.push_back(operand.getInt());
  return candidates;
}

bool BlockPlan::isLastUse(Operation *op, int64_t operand) const {
  Value root = getRoot(op->getOperand(operand));
  if (lastUses.lookup(root) > positions.lookup(op))
    return false;
  for (auto [index, other] : llvm::enumerate(op->getOperands()))
    if (static_cast<int64_t>(index) != operand && getRoot(other) == root)
      return false;
  return true;
}

int64_t BlockPlan::findPlace(Operation *op,
                             ArrayRef<int64_t> candidates) const {
  for (int64_t operand : candidates)
    if (writable.contains(getRoot(op->getOperand(operand))) &&
        isLastUse(op, operand))
      return operand;
  return -1;
}

bool BlockPlan::takeState(OpResult result, const State &state,
                          ArrayRef<int64_t> candidates) {
  Operation *op = result.getOwner();
  if (result.getType() != state.present.getType() ||
      !isa<rt::LaunchOp, rt::CallOp>(op) || !writable.contains(result))
    return false;
  // Nobody reads the present value any more, or only what writes the next one.
  auto last = lastUses.find(state.present);
  if (last == lastUses.end() || last->second < positions.lookup(op))
    return true;
  return llvm::any_of(candidates, [&](int64_t operand) {
    return getRoot(op->getOperand(operand)) == state.present &&
           isLastUse(op, operand);
  });
}

void BlockPlan::run(const States &states) {
  findRoots();
  Builder builder(block.getParent()->getContext());
  for (Operation &op : block) {
    if (op.getNumRegions()) {
      runInside(&op, states);
      continue;
    }
    if (op.hasAttr(AMPRTDialect::kAtEntry) ||
        !isa<rt::LaunchOp, rt::CallOp>(op))
      continue;
    SmallVector<SmallVector<int64_t>> candidates = getCandidates(&op);
    SmallVector<int64_t> inPlace(op.getNumResults(), -1);
    SmallVector<int64_t> nextStates(op.getNumResults(), -1);
    for (OpResult result : op.getResults()) {
      unsigned number = result.getResultNumber();
      auto state = states.find(result);
      if (state != states.end() &&
          takeState(result, state->second, candidates[number])) {
        nextStates[number] = state->second.index;
        writable.erase(result);
        continue;
      }
      int64_t operand = findPlace(&op, candidates[number]);
      if (operand < 0)
        continue;
      inPlace[number] = operand;
      Value root = getRoot(op.getOperand(operand));
      roots[result] = root;
      int64_t &last = lastUses[root];
      last = std::max(last, lastUses.lookup(result));
      // Another result must not take the same.
      last = std::max(last, positions[&op] + 1);
    }
    auto annotate = [&](StringRef name, ArrayRef<int64_t> list,
                        unsigned &count) {
      unsigned numTaken =
          llvm::count_if(list, [](int64_t i) { return i >= 0; });
      if (numTaken)
        op.setAttr(name, builder.getDenseI64ArrayAttr(list));
      count += numTaken;
    };
    annotate(AMPRTDialect::kInPlace, inPlace, numInPlace);
    annotate(AMPRTDialect::kNextState, nextStates, numStates);
  }
}

/// The result of a branch in the state's memory: the branch that gives the
/// present value copies nothing, nor does one that makes the next value there.
bool BlockPlan::takeState(rt::IfOp branch, OpResult result,
                          const State &state) {
  if (result.getType() != state.present.getType() ||
      lastUses.lookup(state.present) > positions.lookup(branch))
    return false;
  // Results are copied one after the other.
  for (Region &region : branch->getRegions())
    for (OpOperand &given : region.front().getTerminator()->getOpOperands()) {
      Value value = given.get();
      while (value.getDefiningOp() && isView(value.getDefiningOp()))
        value = value.getDefiningOp()->getOperand(0);
      if (given.getOperandNumber() != result.getResultNumber() &&
          value == state.present)
        return false;
    }
  return true;
}

void BlockPlan::runInside(Operation *op, const States &states) {
  Builder builder(op->getContext());
  SmallVector<int64_t> nextStates(op->getNumResults(), -1);
  SmallVector<States> inside(op->getNumRegions());
  if (auto branch = dyn_cast<rt::IfOp>(op))
    for (OpResult result : op->getResults()) {
      auto state = states.find(result);
      if (state == states.end() || !takeState(branch, result, state->second))
        continue;
      nextStates[result.getResultNumber()] = state->second.index;
      writable.erase(result);
      ++numStates;
      for (auto [region, next] : llvm::zip(op->getRegions(), inside))
        next.try_emplace(region.front().getTerminator()->getOperand(
                             result.getResultNumber()),
                         state->second);
    }
  if (llvm::any_of(nextStates, [](int64_t state) { return state >= 0; }))
    op->setAttr(AMPRTDialect::kNextState,
                builder.getDenseI64ArrayAttr(nextStates));
  for (auto [region, next] : llvm::zip(op->getRegions(), inside)) {
    BlockPlan plan(region.front(), symbols, roots);
    plan.run(next);
    numInPlace += plan.numInPlace;
  }
}
