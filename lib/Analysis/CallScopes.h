//===- CallScopes.h - what operations are part of ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_CALLSCOPES_H
#define AMP_LIB_ANALYSIS_CALLSCOPES_H

#include "amp/Analysis/FunctionFlow.h"
#include "amp/Interfaces/AutocastOpInterface.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace amp {

/// The scopes of a module's operations, by the names that rules know them by:
/// what an operation comes from, the operations and the function around it and,
/// where that function is called, what the call is part of, and so on. A
/// function that several calls share is in the scopes of all of them.
class CallScopes {
public:
  using Matches = llvm::function_ref<bool(llvm::StringRef)>;

  explicit CallScopes(mlir::ModuleOp module) : module(module) {}

  /// True if one of the operation's scopes matches. Calls are looked at once
  /// for each rule.
  bool contains(AutocastOpInterface op, const void *rule, Matches matches);

private:
  using Functions = llvm::DenseSet<mlir::Operation *>;

  const Functions &getCalled(const void *rule, Matches matches);

  mlir::ModuleOp module;
  /// Known where a rule asks for a scope.
  std::optional<FunctionFlow> functions;
  /// Per rule the functions with a call that is part of a scope of the rule.
  llvm::DenseMap<const void *, Functions> called;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_CALLSCOPES_H
