//===- CastMotion.h - casts where they cost least ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts move past operations that move data, and into branches. Moving data and
// converting it element by element commute: no value that is left changes.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_AUTOCAST_CASTMOTION_H
#define AMP_PASSES_AUTOCAST_CASTMOTION_H

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"

namespace amp {

/// Lets operations with `amp.transparent` run in another format where casts
/// around them make that cheaper. Refers to the module's operations as they are
/// when it is made; casts may come and go.
class CastMotion {
public:
  CastMotion(mlir::ModuleOp module, CostOptions options);

  /// Changes the operations that gain, and erases casts that nobody reads then.
  /// Returns how many operations changed.
  unsigned run();

private:
  /// What an operation reads and writes in one type variable.
  struct Data {
    llvm::SmallVector<mlir::OpOperand *, 2> operands;
    llvm::SmallVector<mlir::OpResult, 1> results;
  };
  Data getData(AutocastOpInterface op) const;
  bool tryToMove(AutocastOpInterface op);
  bool move(AutocastOpInterface op, const Data &data, mlir::FloatType wanted);
  int64_t getCastCost(mlir::Value value, mlir::FloatType from,
                      mlir::FloatType to);

  CostModel costs;
  llvm::SmallVector<AutocastOpInterface> transparent;
};

/// Moves a cast into the branch that all its users are in, if they are in one:
/// other branches do not need it. Not into loops, which would repeat it, and
/// not one of a constant, which is converted before the program runs. Returns
/// true if it has moved.
bool moveIntoBranch(CastOp cast);

} // namespace amp

#endif // AMP_PASSES_AUTOCAST_CASTMOTION_H
