//===- RegionFlow.h - values that share an element type ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What flows through an operation with regions, as seen by element types. For
//
//   %r = loop(%init) { ^body(%state): …; yield %next }
//
// the operands %init and %next flow into the values %state and %r. One operand
// has one type, so whatever it flows into has that type, too: {%init, %next} ->
// {%state, %r} is one group. If an operand's value has another type, it is cast
// where it enters the group.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_ANALYSIS_REGIONFLOW_H
#define AMP_ANALYSIS_REGIONFLOW_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace amp {

/// True if values flow through the operation's regions in a way that is known:
/// by RegionBranchOpInterface, or by AutocastOpInterface alone.
bool hasRegionFlow(mlir::Operation *op);

/// The groups of one operation. A snapshot: it is not updated when the
/// operation changes, other than in types.
class RegionFlow {
public:
  struct Group {
    /// Operands of the operation and of its regions' terminators.
    llvm::SmallVector<mlir::OpOperand *, 2> sources;
    /// Results of the operation and arguments of its regions.
    llvm::SmallVector<mlir::Value, 2> targets;
  };

  /// Asks RegionBranchOpInterface and AutocastOpInterface, where `op` has them.
  /// Takes time linear in the operands and results concerned.
  explicit RegionFlow(mlir::Operation *op);

  /// In the order of the operands that begin them. Values of any type.
  llvm::ArrayRef<Group> getGroups() const { return groups; }

  /// The group that `value` is a target of, or null.
  const Group *getGroupOf(mlir::Value target) const;

private:
  llvm::SmallVector<Group, 2> groups;
  llvm::DenseMap<mlir::Value, unsigned> groupOfTarget;
};

} // namespace amp

#endif // AMP_ANALYSIS_REGIONFLOW_H
