//===- FunctionCopies.h - a body for each kind of caller --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. Every call gets a copy of its function, callers before callees.
// 2. All is analysed: what is decided in a copy is what its call asks for.
// 3. Copies in which the same is decided become one again, callees before
//    callers: whether two bodies are the same depends on what they call.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_AUTOCAST_FUNCTIONCOPIES_H
#define AMP_PASSES_AUTOCAST_FUNCTIONCOPIES_H

#include "amp/Analysis/PrecisionAnalysis.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace amp {

/// Copies of the functions that nobody but calls of the module knows. Recursive
/// functions, and what they call, have none.
class FunctionCopies {
public:
  /// All copies have so many operations at most, where a constant counts one
  /// more for each KiB; a function that would need more stays shared.
  static constexpr uint64_t kMostOperations = 100000;

  explicit FunctionCopies(mlir::ModuleOp module) : functions(module) {}

  /// Gives each call a copy of its function, the first call the function
  /// itself.
  void create();
  const FunctionFlow::Originals &getOriginals() const { return originals; }

  /// Lets the calls for which the same was decided have the same body: the
  /// first one's, which has the function's name and a number unless it is the
  /// function itself. The other copies are not called any more. Returns how
  /// many are.
  unsigned merge(const PrecisionAnalysis &analysis);
  /// True for an operation in a copy that is not called any more.
  bool isUnused(mlir::Operation *op) const;
  /// These copies go.
  void eraseUnused();

private:
  /// Of one function, the function itself first.
  struct Copies {
    llvm::SmallVector<mlir::FunctionOpInterface, 2> bodies;
    /// Per body the one call of it.
    llvm::SmallVector<mlir::CallOpInterface, 2> calls;
  };
  /// What is decided in a body: the same entries for each copy of a function.
  using Decisions = std::vector<const void *>;

  llvm::SmallVector<mlir::Operation *> sortCallersFirst();
  void copy(mlir::FunctionOpInterface function,
            llvm::ArrayRef<mlir::CallOpInterface> itsCalls);
  Decisions collectDecisions(mlir::FunctionOpInterface body,
                             const PrecisionAnalysis &analysis) const;
  void nameCopy(mlir::FunctionOpInterface copy,
                mlir::FunctionOpInterface original);

  FunctionFlow functions;
  mlir::SymbolTableCollection symbols;
  /// Calls by the function that they are in, and of the function.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::CallOpInterface>>
      callsIn, callsOf;
  /// In the order of copying.
  llvm::SmallVector<Copies, 0> copied;
  FunctionFlow::Originals originals;
  uint64_t numOperations = 0;
  llvm::DenseMap<mlir::Operation *, const PrecisionDecision *> decisionOf;
  llvm::SetVector<mlir::Operation *> unused;
};

} // namespace amp

#endif // AMP_PASSES_AUTOCAST_FUNCTIONCOPIES_H
