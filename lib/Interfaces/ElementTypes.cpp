//===- ElementTypes.cpp - the float elements of a type --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/ElementTypes.h"

#include "amp/Interfaces/AutocastTypeInterface.cpp.inc"

using namespace mlir;

FloatType amp::getFloatElementType(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return dyn_cast<FloatType>(tensor.getElementType());
  if (auto container = dyn_cast<AutocastTypeInterface>(type))
    return container.getFloatElementType();
  return {};
}

Type amp::withFloatElementType(Type type, FloatType elementType) {
  if (!getFloatElementType(type))
    return {};
  if (auto tensor = dyn_cast<TensorType>(type))
    return tensor.clone(elementType);
  return cast<AutocastTypeInterface>(type).withFloatElementType(elementType);
}
