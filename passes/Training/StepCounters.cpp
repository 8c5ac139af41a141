//===- StepCounters.cpp - what a step tells of gradients ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepCounters.h"

#include "amp/Dialect/AMP/AMPDialect.h"

#include <limits>

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

/// How many elements of a tensor of bools are true, in int32: exact, unlike a
/// sum of floats.
static Expr count(NodeBuilder &b, Expr flags) {
  return b.reduceSum(b.cast(flags, b.getBuilder().getI32Type()), {},
                     /*keepDims=*/false);
}

Value buildZeroShare(NodeBuilder &b, ArrayRef<Value> gradients) {
  Type f64 = b.getBuilder().getF64Type();
  double elements = 0;
  Expr zeros;
  for (Value gradient : gradients) {
    elements += cast<RankedTensorType>(gradient.getType()).getNumElements();
    Expr here = b.cast(count(b, b.expr(gradient) == 0.0), f64);
    zeros = zeros ? zeros + here : here;
  }
  return b.cast(zeros / std::max(elements, 1.0), b.getBuilder().getF32Type());
}

Value buildFirstOverflow(NodeBuilder &b, Value found, Value known,
                         ArrayRef<Value> gradients) {
  OpBuilder &builder = b.getBuilder();
  Value isFinite = logicalNot(b.expr(found));
  auto guard = GuardOp::create(builder, b.getLocation(), known.getType(),
                               isFinite, known);
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToStart(&guard.getBody().emplaceBlock());
  SmallVector<Value> flags;
  for (Value gradient : gradients) {
    // By Less, which NaN is not either.
    Expr isFiniteHere =
        abs(b.expr(gradient)) < std::numeric_limits<double>::infinity();
    Expr any = count(b, logicalNot(isFiniteHere)) > 0.0;
    flags.push_back(b.unsqueeze(b.cast(any, builder.getI32Type()), {0}));
  }
  // The first of the largest.
  Value first = b.apply("ArgMax", {b.concat(flags, 0)}, b.attr("keepdims", 0));
  first.setType(known.getType());
  YieldOp::create(builder, b.getLocation(), first);
  return guard.getNewState().front();
}

} // namespace amp
