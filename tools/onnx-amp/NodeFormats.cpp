//===- NodeFormats.cpp - the formats that a node runs in ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeFormats.h"

#include "amp/Interfaces/ElementTypes.h"

using namespace amp;
using namespace mlir;

llvm::SmallSetVector<FloatType, 2> amp::getFormats(AutocastOpInterface op) {
  llvm::SmallSetVector<FloatType, 2> formats;
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    if (FloatType type = getFloatElementType(op->getOperand(i).getType()))
      if (op.getOperandTypeVariable(i) >= 0)
        formats.insert(type);
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    if (FloatType type = getFloatElementType(op->getResult(i).getType()))
      if (op.getResultTypeVariable(i) >= 0)
        formats.insert(type);
  return formats;
}

bool amp::isLow(FloatType type) { return type.isF16() || type.isBF16(); }
