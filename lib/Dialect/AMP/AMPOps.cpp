//===- AMPOps.cpp - operations of the amp dialect -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/FloatTypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace amp;

#include "amp/Dialect/AMP/AMPEnums.cpp.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/AMP/AMPOps.cpp.inc"

LogicalResult CastOp::verify() {
  Type input = getInput().getType();
  Type output = getOutput().getType();
  Type expected = withFloatElementType(input, amp::getFloatElementType(output));
  if (expected != output)
    return emitOpError() << "changes more than the element type: expects "
                         << expected << ", but got " << output;
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner ||
      !isExactCast(amp::getFloatElementType(inner.getInput().getType()),
                   amp::getFloatElementType(inner.getType())))
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  getInputMutable().assign(inner.getInput());
  return getResult();
}
