//===- CastConversion.cpp - the amp dialect by another dialect ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CastConversion.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/ConstantData.h"

using namespace mlir;
using namespace amp;

static LogicalResult convertCast(CastOp op, StringRef dialect,
                                 BuildCast build) {
  if (!isa<TensorType>(op.getType()))
    return op.emitOpError("to ")
           << op.getType() << " has no operation of '" << dialect << "'";
  FloatType from = getFloatElementType(op.getInput().getType());
  FloatType to = getFloatElementType(op.getType());
  OpBuilder builder(op);
  Value value = op.getInput();
  // Two formats of one width: neither holds the other, float32 holds both.
  if (from != to && from.getWidth() == to.getWidth())
    value =
        build(builder, op.getLoc(),
              amp::withFloatElementType(value.getType(), builder.getF32Type()),
              value);
  if (from != to)
    value = build(builder, op.getLoc(), op.getType(), value);
  op.replaceAllUsesWith(value);
  op.erase();
  return success();
}

static LogicalResult convertConstants(Operation *op) {
  for (NamedAttribute attribute : op->getAttrs()) {
    auto rounded = dyn_cast<RoundedAttr>(attribute.getValue());
    if (!rounded)
      continue;
    ElementsAttr values = evaluate(rounded);
    if (!values)
      return op->emitOpError() << "has no data for the constant '"
                               << attribute.getName().getValue() << "'";
    op->setAttr(attribute.getName(), values);
  }
  return success();
}

LogicalResult amp::convertAMP(ModuleOp module, StringRef dialect,
                              BuildCast build) {
  WalkResult walk = module.walk([&](Operation *op) {
    if (auto cast = dyn_cast<CastOp>(op))
      return WalkResult(convertCast(cast, dialect, build));
    return WalkResult(convertConstants(op));
  });
  return success(!walk.wasInterrupted());
}
