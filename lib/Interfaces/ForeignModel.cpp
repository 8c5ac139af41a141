//===- ForeignModel.cpp - autocast for operations of others ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/ForeignModel.h"

#include "amp/Interfaces/ElementTypes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

int amp::getGroupVariable(Operation *op, Type type) {
  FloatType wanted = getFloatElementType(type);
  if (!wanted)
    return -1;
  SmallVector<FloatType, 2> seen;
  for (Type other :
       llvm::concat<Type>(op->getOperandTypes(), op->getResultTypes())) {
    FloatType elementType = getFloatElementType(other);
    if (!elementType || llvm::is_contained(seen, elementType))
      continue;
    if (elementType == wanted)
      break;
    seen.push_back(elementType);
  }
  return seen.size();
}

StringRef amp::getLocationName(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().getValue() : StringRef();
}
