//===- OptimalPlacement.h - formats by the bytes they move ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_OPTIMALPLACEMENT_H
#define AMP_LIB_ANALYSIS_OPTIMALPLACEMENT_H

#include "FlowGroups.h"
#include "InterfaceTypes.h"
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
                   const InterfaceTypes &interfaces,
                   const PrecisionOptions &options);

  /// The variable of the problem for a type variable that moves.
  PlacementProblem::Variable getVariable(const OperationPlan &plan,
                                         unsigned number) const {
    return variables[firstVariable[&plan - plans.get().data()] + number];
  }
  const PlacementProblem &getProblem() const { return problem; }

  /// The low format of what control flow takes an operand into; bottom if that
  /// is not low.
  FloatFormat getFlowFormat(mlir::OpOperand &operand) const {
    auto found = variableOfSource.find(&operand);
    return found != variableOfSource.end() &&
                   problem.isLow(found->second.variable)
               ? found->second.low
               : FloatFormat::bottom();
  }

  /// Arguments of functions and blocks, and results of region operations and
  /// calls, that are low, with their formats.
  llvm::ArrayRef<std::pair<mlir::Value, FloatFormat>> getLowValues() const {
    return lowValues;
  }
  struct Result {
    mlir::Operation *function;
    unsigned number;
    FloatFormat format;
  };
  /// Results of functions that are low.
  llvm::ArrayRef<Result> getLowResults() const { return lowResults; }

private:
  using Variable = PlacementProblem::Variable;
  /// A variable and what it is where it is low.
  struct Place {
    Variable variable;
    FloatFormat low;
  };
  class Builder;

  const OperationPlans &plans;
  PlacementProblem problem;
  /// Per type variable of each plan, one plan after the other.
  std::vector<Variable> variables;
  std::vector<size_t> firstVariable;
  llvm::DenseMap<mlir::OpOperand *, Place> variableOfSource;
  llvm::SmallVector<std::pair<mlir::Value, FloatFormat>, 0> lowValues;
  llvm::SmallVector<Result, 0> lowResults;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_OPTIMALPLACEMENT_H
