//===- AutocastOpInterface.cpp - what autocast asks an op -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/AutocastOpInterface.h"

#include "amp/Interfaces/ElementTypes.h"

#include "amp/Interfaces/AutocastOpInterface.cpp.inc"

int amp::detail::defaultTypeVariable(mlir::Type type) {
  return getFloatElementType(type) ? 0 : -1;
}
