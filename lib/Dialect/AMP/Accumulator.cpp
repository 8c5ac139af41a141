//===- Accumulator.cpp - sums of low precision products -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/Accumulator.h"

#include "amp/Dialect/AMP/AMPDialect.h"

using namespace mlir;
using namespace amp;

void amp::keepAccumulator(OpBuilder &builder, OpResult result,
                          Type accumulator) {
  Type low = result.getType();
  if (low == accumulator)
    return;
  SmallVector<OpOperand *> lowUses;
  SmallVector<CastOp> castsBack;
  for (OpOperand &use : result.getUses()) {
    auto cast = dyn_cast<CastOp>(use.getOwner());
    if (cast && cast.getType() == accumulator)
      castsBack.push_back(cast);
    else
      lowUses.push_back(&use);
  }
  result.setType(accumulator);
  for (CastOp cast : castsBack) {
    cast->replaceAllUsesWith(ValueRange(result));
    cast->erase();
  }
  // One of the casts may have been where the builder was.
  builder.setInsertionPointAfter(result.getOwner());
  if (lowUses.empty())
    return;
  Value rounded = CastOp::create(builder, result.getLoc(), low, result);
  for (OpOperand *use : lowUses)
    use->set(rounded);
}
