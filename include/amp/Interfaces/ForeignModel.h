//===- ForeignModel.h - autocast for operations of others -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the models of AutocastOpInterface for MLIR's own dialects share. Such a
// dialect has many operations that one model suits: it is attached to the
// registered operations that a predicate selects, by no list of names.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_FOREIGNMODEL_H
#define AMP_INTERFACES_FOREIGNMODEL_H

#include "amp/Interfaces/AutocastOpInterface.h"

#include "mlir/IR/MLIRContext.h"

namespace amp {

/// The type variable of a value of type `type` in an operation that admits
/// operands of different float types, and moves those of one type together: the
/// position of the type among those of the operation's operands, then results.
/// -1 if the type has no float elements.
int getGroupVariable(mlir::Operation *op, mlir::Type type);

/// The name in an operation's location, if it is a NameLoc: what the importers
/// of frameworks know the operation by.
llvm::StringRef getLocationName(mlir::Operation *op);

/// What suits operations of any class: floats of one type move together.
/// Whether they must be of one type is for the operation's own verifier.
template <typename Model>
struct ForeignModel
    : AutocastOpInterface::ExternalModel<Model, AutocastOpInterface> {
  llvm::StringRef getAutocastNodeName(mlir::Operation *op) const {
    return getLocationName(op);
  }
  int getOperandTypeVariable(mlir::Operation *op, unsigned operand) const {
    return getGroupVariable(op, op->getOperand(operand).getType());
  }
  int getResultTypeVariable(mlir::Operation *op, unsigned result) const {
    return getGroupVariable(op, op->getResult(result).getType());
  }
};

/// A cast of the program's own: its result has the type that it was given.
struct ForeignCastModel : ForeignModel<ForeignCastModel> {
  int getResultTypeVariable(mlir::Operation *, unsigned) const { return -1; }
};

/// Attaches `Model` to these operations, as Op::attachInterface() does to those
/// of the model's own class.
template <typename Model, typename... Ops>
void attachModelTo(mlir::MLIRContext *context) {
  (mlir::OperationName(Ops::getOperationName(), context)
       .attachInterface<Model>(),
   ...);
}

/// Attaches `Model` to all registered operations of a dialect that `select`
/// returns true for and that have no model yet.
template <typename Model, typename Predicate>
void attachModel(mlir::MLIRContext *context, llvm::StringRef dialect,
                 Predicate select) {
  // MLIR 22 does not find the operations of a dialect reliably.
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect &&
        !name.hasInterface<AutocastOpInterface>() && select(name))
      name.attachInterface<Model>();
}

} // namespace amp

#endif // AMP_INTERFACES_FOREIGNMODEL_H
