//===- InterfaceTypes.h - types that callers rely on ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_INTERFACETYPES_H
#define AMP_LIB_ANALYSIS_INTERFACETYPES_H

#include "OperationPlan.h"

namespace amp {

/// Which arguments and results of functions that others may call become low:
/// what the options say, else the policy, unless they were measured to be too
/// large. All others keep their types.
class InterfaceTypes {
public:
  /// Refers to its arguments for as long as it lives.
  InterfaceTypes(const FunctionFlow &functions, const Policy &policy,
                 const PrecisionOptions &options, const OperationPlans &plans);

  /// False for functions that nobody else calls, and for declarations.
  bool isArgumentLow(mlir::Operation *function, unsigned argument) const;
  bool isResultLow(mlir::Operation *function, unsigned result) const;

private:
  bool mayBeLow(mlir::Operation *function) const;

  const FunctionFlow &functions;
  const Policy &policy;
  const PrecisionOptions &options;
  const OperationPlans &plans;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_INTERFACETYPES_H
