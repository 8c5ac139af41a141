//===- OperationPlan.h - what is known before formats flow ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything about the operations of a module that does not depend on the
// formats of values: what the policy says, how type variables lie, which of
// them could be low, and which values are constants.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_OPERATIONPLAN_H
#define AMP_LIB_ANALYSIS_OPERATIONPLAN_H

#include "CallScopes.h"
#include "MeasuredRanges.h"
#include "StaticRanges.h"

#include "amp/Analysis/PrecisionAnalysis.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace amp {

/// One type variable of one operation.
struct TypeVariable {
  /// The float type of its operands and results; null for a number that the
  /// operation does not use.
  mlir::FloatType elementType;
  /// It is float32, and autocast may choose.
  bool moves = false;
  bool hasOperands = false;
  bool hasResults = false;
  /// Some operand is no constant.
  bool hasData = false;
  /// Why it can't be low; null if it can.
  mlir::StringAttr obstacle;
};

struct OperationPlan {
  AutocastOpInterface op;
  Decision decision;
  /// What the operation runs in where it is low.
  FloatFormat low;
  llvm::SmallVector<TypeVariable, 2> variables;
  /// Per operand and result its type variable, -1 without float elements.
  llvm::SmallVector<int, 4> operandVariables;
  llvm::SmallVector<int, 2> resultVariables;
  /// The smallest variable that moves, -1 if none does: that of its data.
  int mainVariable = -1;
  /// It moves constants' data only: its results adopt a format as constants do.
  bool adopts = false;
  /// The number of the plan whose format the main variable takes: of its
  /// forward operation, if the operation is a gradient.
  std::optional<unsigned> leader;
  /// It is one of a pair: what moves data only can't run in another format on
  /// its own.
  bool isPaired = false;

  /// True if it multiplies in tf32, which is stored as float32.
  bool computesTF32() const {
    return low == FloatFormat::tf32() && mainVariable >= 0 &&
           decision.category == Category::Allow;
  }
};

/// The plans of a module's operations.
class OperationPlans {
public:
  /// Fails, with a diagnostic, if the policy bans an operation. Without the
  /// values of constants, nothing is known of whether they fit.
  static llvm::FailureOr<OperationPlans>
  compute(mlir::ModuleOp module, const Policy &policy,
          const PrecisionOptions &options, bool readConstants = true);

  /// In program order.
  llvm::ArrayRef<OperationPlan> get() const { return plans; }
  /// The plan of an operation, or null.
  const OperationPlan *lookup(mlir::Operation *op) const;
  /// The plan that another one takes its format from, or null.
  const OperationPlan *getLeader(const OperationPlan &plan) const {
    return plan.leader ? &plans[*plan.leader] : nullptr;
  }
  /// A result that has the format of a plan's main variable; null if none has.
  static mlir::Value getMainResult(const OperationPlan &plan);
  /// True for an operation with regions that the policy keeps, and for those
  /// inside: all in it keeps its type.
  bool isKeptInside(mlir::Operation *op) const {
    return keptInside.contains(op);
  }
  /// True for the results of constants and of operations that adopt formats.
  bool isConstant(mlir::Value value) const { return constants.count(value); }
  /// The range of a constant's values; null if that is not known, or `value` no
  /// constant. Ranges are found for constants that might become low.
  const FloatRange *getRange(mlir::Value value) const;
  /// Constants that control flow and calls read.
  llvm::ArrayRef<mlir::Value> getFlowingConstants() const {
    return flowing.getArrayRef();
  }
  /// What the policy says of them.
  Decision getFlowingDecision() const;
  /// True if such a constant may become low.
  bool fits(mlir::Value constant, FloatFormat format) const;
  /// True for a value that was measured to be too large for the low format, and
  /// has no bounds within.
  bool isTooLarge(mlir::Value value) const {
    return bool(getMeasuredObstacle(value));
  }
  /// True if a function returns such a value as this result.
  bool returnsTooLarge(const FunctionFlow::Function &function,
                       unsigned result) const;

private:
  struct Constant {
    /// The values' range, if known.
    std::optional<FloatRange> range;
    /// What the user calls it.
    llvm::StringRef name;
    /// Of a moved constant: see canSaturate().
    bool canSaturate = false;
  };

  OperationPlans(mlir::ModuleOp module, const Policy &policy,
                 const PrecisionOptions &options)
      : policy(&policy), low(options.low),
        ranges(module, options.low, options.rangeMargin),
        bounds(module, options.useEstimates),
        useEstimates(options.useEstimates), scopes(module),
        keepName(mlir::StringAttr::get(module.getContext(), AMPDialect::kKeep)),
        pairName(
            mlir::StringAttr::get(module.getContext(), AMPDialect::kPair)) {}
  mlir::StringAttr getKeptByAttribute(mlir::Operation *op) const {
    return llvm::dyn_cast_if_present<mlir::StringAttr>(
        op->getDiscardableAttr(keepName));
  }
  void keepInside(mlir::Operation *op, mlir::StringAttr reason);
  llvm::LogicalResult addOperation(AutocastOpInterface op,
                                   mlir::StringAttr kept);
  Decision decide(AutocastOpInterface op);
  std::optional<double> getAbsmax(mlir::Value value);
  void addVariables(OperationPlan &plan);
  void pinVariables(OperationPlan &plan);
  void checkRanges(OperationPlan &plan);
  /// Null where bounds prove the contrary: the margin was for data not seen.
  mlir::StringAttr getMeasuredObstacle(mlir::Value value) const {
    mlir::StringAttr obstacle = ranges.getObstacle(value);
    return obstacle && bounds.fits(value, low) ? mlir::StringAttr() : obstacle;
  }
  void keepIllConditioned();
  void addConstant(AutocastOpInterface op);
  void addFlowing(mlir::Operation *op);
  void growIslands();
  void joinPair(OperationPlan &plan, bool isKept);
  void settlePairs();
  void settlePair(llvm::ArrayRef<unsigned> members);
  void shareObstacles();
  bool mayBeLow(const OperationPlan &plan) const;
  void scanConstants(mlir::MLIRContext *context);
  void mergeRanges(const OperationPlan &plan);
  bool canSaturate(mlir::Value constant, FloatFormat format) const;
  std::string explainMisfit(mlir::Value constant, FloatFormat format,
                            Decision decision) const;
  void checkConstants(OperationPlan &plan);
  void guardSmallValues();
  std::optional<FloatRange> getParameterRange(mlir::Value constant) const;

  const Policy *policy;
  FloatFormat low;
  MeasuredRanges ranges;
  StaticRanges bounds;
  bool useEstimates;
  CallScopes scopes;
  mlir::StringAttr keepName, pairName;
  llvm::SmallVector<OperationPlan, 0> plans;
  /// The plans of each number of `amp.pair`, the forward operation's first.
  llvm::MapVector<int64_t, llvm::SmallVector<unsigned, 4>> pairs;
  llvm::DenseMap<mlir::Operation *, unsigned> planOf;
  /// With the reason.
  llvm::DenseMap<mlir::Operation *, mlir::StringAttr> keptInside;
  llvm::DenseMap<mlir::Value, Constant> constants;
  llvm::SetVector<mlir::Value> flowing;
  /// Of constants that rules asked for: their largest magnitudes.
  llvm::DenseMap<mlir::Value, double> absmax;
  /// What rules of decisions refer to.
  std::vector<std::unique_ptr<std::string>> ownRules;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_OPERATIONPLAN_H
