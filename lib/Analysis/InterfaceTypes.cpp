//===- InterfaceTypes.cpp - types that callers rely on --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InterfaceTypes.h"

#include "amp/Interfaces/FunctionNames.h"

using namespace mlir;
using namespace amp;

InterfaceTypes::InterfaceTypes(const FunctionFlow &functions,
                               const Policy &policy,
                               const PrecisionOptions &options,
                               const OperationPlans &plans)
    : functions(functions), policy(policy), options(options), plans(plans) {}

bool InterfaceTypes::mayBeLow(Operation *function) const {
  // Nothing is stored in tf32.
  if (options.low.storageFormat() != options.low)
    return false;
  const FunctionFlow::Function *known = functions.lookup(function);
  return known && known->isInterface &&
         !cast<FunctionOpInterface>(function).isExternal();
}

bool InterfaceTypes::isArgumentLow(Operation *function,
                                   unsigned argument) const {
  if (!mayBeLow(function) ||
      plans.isTooLarge(
          cast<FunctionOpInterface>(function).getArgument(argument)))
    return false;
  if (options.keepIOTypes)
    return !*options.keepIOTypes;
  return !policy
              .keepsInput(getArgumentName(cast<FunctionOpInterface>(function),
                                          argument))
              .value_or(true);
}

bool InterfaceTypes::isResultLow(Operation *function, unsigned result) const {
  if (!mayBeLow(function) ||
      plans.returnsTooLarge(*functions.lookup(function), result))
    return false;
  if (options.keepIOTypes)
    return !*options.keepIOTypes;
  return !policy
              .keepsOutput(
                  getResultName(cast<FunctionOpInterface>(function), result))
              .value_or(true);
}
