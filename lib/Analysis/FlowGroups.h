//===- FlowGroups.h - formats that control flow joins -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_FLOWGROUPS_H
#define AMP_LIB_ANALYSIS_FLOWGROUPS_H

#include "OperationPlan.h"

#include "amp/Analysis/FunctionFlow.h"

namespace amp {

/// True for a tensor of float32, or what holds such tensors.
bool isFloat32(mlir::Value value);

/// float16 or bfloat16 for a tensor of it, or what holds such tensors; bottom
/// for others.
FloatFormat getLowFormat(mlir::Type type);

/// Operands of float32, and the values that they flow into by control flow:
/// into arguments and results of region operations, into functions and back.
/// All of a group may become low, or none of it. Or all of it is low already.
struct FlowGroup {
  llvm::SmallVector<mlir::OpOperand *, 2> sources;
  llvm::SmallVector<mlir::Value, 2> targets;
  /// The function whose result `result` this is; null for other groups.
  mlir::Operation *function = nullptr;
  unsigned result = 0;
  /// The argument that this is, of the function or of its copies.
  std::optional<std::pair<mlir::Operation *, unsigned>> argument;
  /// What the group is where it is low: the low format of the operations around
  /// it if they agree, else the program's.
  FloatFormat low;
  bool isLow = false;
};

/// The groups of a module, by region operations that the policy does not keep
/// and functions that nobody else calls. An operand and a value are in one
/// group at most.
llvm::SmallVector<FlowGroup, 0> collectFlowGroups(mlir::ModuleOp module,
                                                  const OperationPlans &plans,
                                                  const FunctionFlow &functions,
                                                  FloatFormat low);

} // namespace amp

#endif // AMP_LIB_ANALYSIS_FLOWGROUPS_H
