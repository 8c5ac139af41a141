//===- CallScopes.cpp - what operations are part of -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallScopes.h"

#include "amp/Interfaces/FunctionNames.h"

using namespace mlir;
using namespace amp;

/// Looks at what is around an operation in its own function, and at that.
static bool matchesAround(Operation *op, CallScopes::Matches matches) {
  SmallVector<std::string> scopes;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (auto autocast = dyn_cast<AutocastOpInterface>(parent)) {
      scopes.push_back(autocast.getAutocastNodeName().str());
      autocast.getAutocastScopes(scopes);
    } else if (auto function = dyn_cast<FunctionOpInterface>(parent)) {
      scopes.push_back(function.getName().str());
      getScopes(function, scopes);
    }
  }
  return llvm::any_of(scopes, matches);
}

const CallScopes::Functions &CallScopes::getCalled(const void *rule,
                                                   Matches matches) {
  auto [entry, isNew] = called.try_emplace(rule);
  Functions &result = entry->second;
  if (!isNew)
    return result;
  if (!functions)
    functions.emplace(module);
  // Callees by caller, for calls that are no part of a scope themselves.
  DenseMap<Operation *, SmallVector<Operation *, 2>> others;
  SmallVector<Operation *> reached;
  auto reach = [&](Operation *function) {
    if (result.insert(function).second)
      reached.push_back(function);
  };
  for (const auto &[callee, function] : functions->getFunctions()) {
    for (CallOpInterface call : function.calls) {
      SmallVector<std::string> scopes;
      getScopes(call, scopes);
      if (llvm::any_of(scopes, matches) || matchesAround(call, matches))
        reach(callee);
      else if (auto caller = call->getParentOfType<FunctionOpInterface>())
        others[caller].push_back(callee);
    }
  }
  while (!reached.empty())
    for (Operation *callee : others.lookup(reached.pop_back_val()))
      reach(callee);
  return result;
}

bool CallScopes::contains(AutocastOpInterface op, const void *rule,
                          Matches matches) {
  SmallVector<std::string> scopes;
  op.getAutocastScopes(scopes);
  if (llvm::any_of(scopes, matches) || matchesAround(op, matches))
    return true;
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && getCalled(rule, matches).contains(function);
}
