//===- FunctionFlow.cpp - what flows into and out of functions ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/FunctionFlow.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace amp;

FunctionFlow::FunctionFlow(ModuleOp module, const Originals &originals) {
  SymbolTableCollection symbols;
  SmallVector<CallOpInterface> calls;
  bool anyPrivate = false;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto call = dyn_cast<CallOpInterface>(op))
      calls.push_back(call);
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return;
    Function &entry = functions[op];
    entry.isInterface = !function.isPrivate() || function.isExternal();
    Operation *original = originals.lookup(op);
    entry.original = original ? original : op;
    anyPrivate |= !entry.isInterface;
    for (Block &block : function.getFunctionBody())
      if (!block.empty() && block.back().getNumSuccessors() == 0)
        entry.returns.push_back(&block.back());
  });

  for (CallOpInterface call : calls) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        call.resolveCallableInTable(&symbols));
    auto found = callee ? functions.find(callee) : functions.end();
    if (found == functions.end())
      continue;
    callees[call] = callee;
    found->second.calls.push_back(call);
  }

  // A call that leaves arguments or results away does not say which.
  functions.remove_if([&](auto &entry) {
    auto function = cast<FunctionOpInterface>(entry.first);
    if (llvm::all_of(entry.second.calls, [&](CallOpInterface call) {
          return call.getArgOperands().size() == function.getNumArguments() &&
                 call->getNumResults() == function.getNumResults();
        }))
      return false;
    for (CallOpInterface call : entry.second.calls)
      callees.erase(call);
    return true;
  });

  // Looking for other uses walks every attribute: only where it matters.
  if (anyPrivate)
    findOtherUses(module);
}

/// Functions whose name something else than a call knows are interfaces.
void FunctionFlow::findOtherUses(ModuleOp module) {
  SymbolTableCollection symbols;
  module.walk([&](Operation *table) {
    if (!table->hasTrait<OpTrait::SymbolTable>())
      return;
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(&table->getRegion(0));
    if (!uses) {
      // Something inside may be a symbol table without saying so.
      for (auto &entry : functions)
        entry.second.isInterface = true;
      return;
    }
    for (const SymbolTable::SymbolUse &use : *uses) {
      auto call = dyn_cast<CallOpInterface>(use.getUser());
      if (call && dyn_cast<SymbolRefAttr>(call.getCallableForCallee()) ==
                      use.getSymbolRef())
        continue;
      auto found = functions.find(
          symbols.lookupNearestSymbolFrom(use.getUser(), use.getSymbolRef()));
      if (found != functions.end())
        found->second.isInterface = true;
    }
  });
}

const FunctionFlow::Function *FunctionFlow::lookup(Operation *function) const {
  auto found = functions.find(function);
  return found == functions.end() ? nullptr : &found->second;
}
