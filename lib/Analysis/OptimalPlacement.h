//===- OptimalPlacement.h - formats by the bytes they move ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_OPTIMALPLACEMENT_H
#define AMP_LIB_ANALYSIS_OPTIMALPLACEMENT_H

#include "FlowGroups.h"
#include "OperationPlan.h"
#include "PlacementProblem.h"

namespace amp {

/// Chooses the formats of a whole module at once, so that no other choice that
/// obeys the policy moves less bytes (CostModel.h, PlacementProblem.h).
class OptimalPlacement {
public:
  /// Refers to `plans` for as long as it lives.
  OptimalPlacement(mlir::ModuleOp module, const OperationPlans &plans,
                   const FunctionFlow &functions,
                   const PrecisionOptions &options);

  /// The variable of the problem for a type variable that moves.
  PlacementProblem::Variable getVariable(const OperationPlan &plan,
                                         unsigned number) const {
    return variables[firstVariable[&plan - plans.get().data()] + number];
  }
  const PlacementProblem &getProblem() const { return problem; }

  /// True if control flow takes the operand into a value that is low.
  bool isFlowLow(mlir::OpOperand &operand) const {
    auto found = variableOfSource.find(&operand);
    return found != variableOfSource.end() && problem.isLow(found->second);
  }

  /// Arguments of functions and blocks, and results of region operations and
  /// calls, that are low.
  llvm::ArrayRef<mlir::Value> getLowValues() const { return lowValues; }
  /// Functions and the numbers of those of their results that are low.
  llvm::ArrayRef<std::pair<mlir::Operation *, unsigned>> getLowResults() const {
    return lowResults;
  }

private:
  using Variable = PlacementProblem::Variable;
  class Builder;

  const OperationPlans &plans;
  PlacementProblem problem;
  /// Per type variable of each plan, one plan after the other.
  std::vector<Variable> variables;
  std::vector<size_t> firstVariable;
  llvm::DenseMap<mlir::OpOperand *, Variable> variableOfSource;
  llvm::SmallVector<mlir::Value, 0> lowValues;
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>, 0> lowResults;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_OPTIMALPLACEMENT_H
