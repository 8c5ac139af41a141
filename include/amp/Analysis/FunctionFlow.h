//===- FunctionFlow.h - what flows into and out of functions ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_ANALYSIS_FUNCTIONFLOW_H
#define AMP_ANALYSIS_FUNCTIONFLOW_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace amp {

/// The functions of a module with the calls that reach them. A snapshot.
class FunctionFlow {
public:
  struct Function {
    /// All calls, if `isInterface` is false.
    llvm::SmallVector<mlir::CallOpInterface, 1> calls;
    /// The terminators that return from it.
    llvm::SmallVector<mlir::Operation *, 1> returns;
    /// Someone else may rely on its types: it is public or a declaration, or
    /// its name is used otherwise than by a call.
    bool isInterface = true;
    /// The function that this is a copy of, or the function itself.
    mlir::Operation *original = nullptr;
  };
  /// Functions by their copies.
  using Originals = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;

  explicit FunctionFlow(mlir::ModuleOp module,
                        const Originals &originals = Originals());

  /// Every function, in program order, but those with a call that passes fewer
  /// arguments, or takes fewer results, than there are: nothing is known of
  /// these and of their calls.
  const llvm::MapVector<mlir::Operation *, Function> &getFunctions() const {
    return functions;
  }

  /// What is known of a function; null for other operations.
  const Function *lookup(mlir::Operation *function) const;

  /// The function that a call reaches, or null if that is not a function of
  /// this module.
  mlir::FunctionOpInterface getCallee(mlir::Operation *call) const {
    return callees.lookup(call);
  }

private:
  void findOtherUses(mlir::ModuleOp module);

  llvm::MapVector<mlir::Operation *, Function> functions;
  llvm::DenseMap<mlir::Operation *, mlir::FunctionOpInterface> callees;
};

} // namespace amp

#endif // AMP_ANALYSIS_FUNCTIONFLOW_H
