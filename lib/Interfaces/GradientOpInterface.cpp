//===- GradientOpInterface.cpp - reverse mode asks an op ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/GradientOpInterface.h"

#include "amp/Interfaces/ElementTypes.h"

namespace amp {

GradientContext::~GradientContext() = default;

bool detail::areFloats(mlir::Value operand, mlir::Value result) {
  return getFloatElementType(operand.getType()) &&
         getFloatElementType(result.getType());
}

} // namespace amp

#include "amp/Interfaces/GradientOpInterface.cpp.inc"
