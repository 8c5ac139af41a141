//===- PrecisionFlow.h - formats flow through a module ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_PRECISIONFLOW_H
#define AMP_LIB_ANALYSIS_PRECISIONFLOW_H

#include "FlowGroups.h"
#include "InterfaceTypes.h"
#include "OperationPlan.h"

#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace amp {

/// The formats of an operation's type variables that move, from those of its
/// operands and of what leads it (bottom without); bottom where nothing is
/// known yet. Monotonic.
llvm::SmallVector<FloatFormat, 2>
transferFormats(const OperationPlan &plan, const OperationPlans &plans,
                llvm::function_ref<FloatFormat(unsigned)> formatOf,
                FloatFormat leader);

/// The formats of all values of a module that are float32, by data flow.
class PrecisionFlow {
public:
  /// Refers to its arguments for as long as it lives.
  PrecisionFlow(mlir::ModuleOp module, const OperationPlans &plans,
                const FunctionFlow &functions, const InterfaceTypes &interfaces,
                const PrecisionOptions &options);
  ~PrecisionFlow();

  /// Runs to the fixpoint: time linear in operations, operands and uses, but
  /// for operations with many operands that change at different times.
  ///
  /// A constant that flows into a value by control flow (the initial value of a
  /// loop's state) is float32 at first. If everything else that flows in is low
  /// all the same, it adopts that format in a second and last run: a state that
  /// the body rounds anyhow is low, a sum that it carries along stays float32.
  llvm::LogicalResult solve();

  /// The format of a value, after solve(); bottom if it is not float32, or
  /// nothing reaches it.
  FloatFormat getFormat(mlir::Value value) const;

  /// The format of what an operand flows into by control flow, after solve();
  /// bottom if there is no such value, or it is not float32.
  FloatFormat getFlowFormat(mlir::OpOperand &operand) const;

  /// Values whose format is the join of what flows into them: arguments and
  /// results of region operations, arguments of functions, results of calls.
  const llvm::DenseSet<mlir::Value> &getJoinedValues() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_PRECISIONFLOW_H
