//===- FunctionCopies.cpp - a body for each kind of caller ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionCopies.h"

#include "amp/Interfaces/AutocastOpInterface.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace amp;

static void setCallee(CallOpInterface call, StringAttr name) {
  auto callee = cast<SymbolRefAttr>(call.getCallableForCallee());
  auto leaf = FlatSymbolRefAttr::get(name);
  SmallVector<FlatSymbolRefAttr> path(callee.getNestedReferences());
  if (path.empty())
    return call.setCalleeFromCallable(leaf);
  path.back() = leaf;
  call.setCalleeFromCallable(
      SymbolRefAttr::get(callee.getRootReference(), path));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// In operations: a constant counts one more for each KiB, which a copy that
/// stays has again.
static uint64_t getSize(Operation *op) {
  auto constant = dyn_cast<AutocastOpInterface>(op);
  if (!constant || !constant.isAutocastConstant())
    return 1;
  uint64_t bits = 0;
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    if (TypedAttr value = constant.getAutocastConstantValue(i))
      if (auto type = dyn_cast<ShapedType>(value.getType());
          type && type.hasStaticShape() && type.getElementType().isIntOrFloat())
        bits += type.getNumElements() * type.getElementTypeBitWidth();
  return 1 + bits / (8 << 10);
}

/// Without recursive functions, and what they call.
SmallVector<Operation *> FunctionCopies::sortCallersFirst() {
  DenseMap<Operation *, size_t> openCalls;
  for (const auto &[callee, function] : functions.getFunctions()) {
    for (CallOpInterface call : function.calls) {
      auto caller = call->getParentOfType<FunctionOpInterface>();
      if (!caller || !functions.lookup(caller))
        continue;
      callsIn[caller].push_back(call);
      ++openCalls[callee];
    }
  }
  SmallVector<Operation *> sorted;
  for (const auto &[op, function] : functions.getFunctions())
    if (!openCalls.contains(op))
      sorted.push_back(op);
  for (size_t i = 0; i < sorted.size(); ++i)
    for (CallOpInterface call : callsIn.lookup(sorted[i])) {
      Operation *callee = functions.getCallee(call);
      if (--openCalls[callee] == 0)
        sorted.push_back(callee);
    }
  return sorted;
}

void FunctionCopies::create() {
  SmallVector<Operation *> sorted = sortCallersFirst();
  for (const auto &[op, function] : functions.getFunctions())
    callsOf[op].assign(function.calls.begin(), function.calls.end());
  for (Operation *op : sorted) {
    if (functions.lookup(op)->isInterface)
      continue;
    // Those in copies of callers are there by now.
    ArrayRef<CallOpInterface> calls = callsOf[op];
    if (calls.size() < 2)
      continue;
    uint64_t size = 0;
    op->walk([&](Operation *inner) { size += getSize(inner); });
    uint64_t copies =
        llvm::SaturatingMultiply<uint64_t>(calls.size() - 1, size);
    if (copies > kMostOperations - numOperations) {
      op->emitRemark() << "is shared by all of its " << calls.size()
                       << " calls: to look at each alone, functions with more "
                          "than "
                       << kMostOperations
                       << " operations would have to be copied";
      continue;
    }
    numOperations += copies;
    copy(cast<FunctionOpInterface>(op), calls);
  }
}

/// Gives each call but the first a copy.
void FunctionCopies::copy(FunctionOpInterface function,
                          ArrayRef<CallOpInterface> itsCalls) {
  SymbolTable &table = symbols.getSymbolTable(function->getParentOp());
  Copies copies;
  copies.bodies.push_back(function);
  copies.calls.assign(itsCalls.begin(), itsCalls.end());
  for (CallOpInterface call : itsCalls.drop_front()) {
    IRMapping mapping;
    auto body = cast<FunctionOpInterface>(function->clone(mapping));
    // Not a name that the copy could keep.
    SymbolTable::setSymbolName(body, "amp.copy");
    table.insert(body, std::next(copies.bodies.back()->getIterator()));
    setCallee(call, SymbolTable::getSymbolName(body));
    copies.bodies.push_back(body);
    originals[body] = function;
    for (CallOpInterface inner : callsIn.lookup(function))
      callsOf[functions.getCallee(inner)].push_back(
          cast<CallOpInterface>(mapping.lookup(inner.getOperation())));
  }
  copied.push_back(std::move(copies));
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

FunctionCopies::Decisions
FunctionCopies::collectDecisions(FunctionOpInterface body,
                                 const PrecisionAnalysis &analysis) const {
  Decisions decisions;
  auto addType = [&](FloatType type) {
    decisions.push_back(type.getAsOpaquePointer());
  };
  for (unsigned i = 0, e = body.getNumResults(); i < e; ++i)
    addType(analysis.getNewResultElementType(body, i));
  static constexpr char kTF32 = 0, kOverflows[] = {0, 0};
  body->walk([&](Operation *op) {
    for (Value result : op->getResults())
      addType(analysis.getNewElementType(result));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          addType(analysis.getNewElementType(argument));
    if (const PrecisionDecision *decision = decisionOf.lookup(op)) {
      llvm::for_each(decision->elementTypes, addType);
      decisions.push_back(decision->computesTF32 ? &kTF32 : nullptr);
    }
    auto overflow = analysis.getOverflows().find(op);
    decisions.push_back(
        overflow == analysis.getOverflows().end()
            ? nullptr
            : &kOverflows[overflow->second == Overflow::Infinity]);
    // By now calls of the same body are calls of the same name.
    if (auto call = dyn_cast<CallOpInterface>(op))
      if (auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
        decisions.push_back(callee.getAsOpaquePointer());
  });
  return decisions;
}

/// The next free one of `name_1`, `name_2` and so on.
void FunctionCopies::nameCopy(FunctionOpInterface copy,
                              FunctionOpInterface original) {
  SymbolTable &table = symbols.getSymbolTable(copy->getParentOp());
  std::string name;
  for (unsigned number = 1; name.empty() || table.lookup(name); ++number)
    name = original.getName().str() + "_" + std::to_string(number);
  table.remove(copy);
  SymbolTable::setSymbolName(copy, name);
  table.insert(copy);
}

unsigned FunctionCopies::merge(const PrecisionAnalysis &analysis) {
  for (const PrecisionDecision &decision : analysis.getDecisions())
    decisionOf[decision.operation] = &decision;
  unsigned numCopies = 0;
  for (Copies &copies : llvm::reverse(copied)) {
    std::map<Decisions, StringAttr> names;
    for (auto [body, call] : llvm::zip_equal(copies.bodies, copies.calls)) {
      auto [name, isNew] = names.try_emplace(collectDecisions(body, analysis));
      if (isNew) {
        if (body != copies.bodies.front()) {
          nameCopy(body, copies.bodies.front());
          ++numCopies;
        }
        name->second = SymbolTable::getSymbolName(body);
      } else {
        unused.insert(body);
      }
      setCallee(call, name->second);
    }
  }
  return numCopies;
}

bool FunctionCopies::isUnused(Operation *op) const {
  return !unused.empty() &&
         unused.contains(op->getParentOfType<FunctionOpInterface>());
}

void FunctionCopies::eraseUnused() {
  for (Operation *body : unused)
    symbols.getSymbolTable(body->getParentOp()).erase(body);
}
