//===- Reduction.cpp - gradients of reductions ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions over axes, and running ones. Without axes to reduce
// (noop_with_empty_axes) they are functions of each element, of which the same
// formulas hold.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// What a reduction made, with the dimensions that it took away as ones.
Expr restoreAxes(Gradient &g, Expr reduced) {
  if (g.getInt("keepdims", 1))
    return reduced;
  if (std::optional<SmallVector<int64_t>> axes = g.getConstantInts(1)) {
    if (!axes->empty())
      return g.b.unsqueeze(reduced, *axes);
  } else if (g.x(1)) {
    return g.b.apply("Unsqueeze", {reduced, g.x(1)});
  }
  // Of all axes: a scalar, which is broadcast as it is.
  return reduced;
}

/// Reduces a value over the same axes, which become ones.
Expr reduceAlike(Gradient &g, StringRef op, Expr value) {
  SmallVector<NamedAttribute> attributes = {g.b.attr("keepdims", 1)};
  if (g.getInt("noop_with_empty_axes", 0))
    attributes.push_back(g.b.attr("noop_with_empty_axes", 1));
  return g.b.apply(op, {value, g.x(1)}, attributes);
}

/// The gradient and the result, with ones for what was reduced; 16-bit values
/// as float32.
Expr restoredGradient(Gradient &g) { return restoreAxes(g, g.b.widen(g.dy())); }
Expr restoredResult(Gradient &g) { return restoreAxes(g, g.b.widen(g.y())); }

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

LogicalResult reduceSum(Gradient &g) {
  g.setAlike(0, g.b.expandLike(restoreAxes(g, g.dy()), g.x()));
  return success();
}

/// How many elements of the input make one of the output, as a number to divide
/// by.
Expr countReduced(Gradient &g, Type elementType) {
  auto from = dyn_cast<RankedTensorType>(g.x().getType());
  auto to = dyn_cast<RankedTensorType>(g.y().getType());
  if (from && to && from.hasStaticShape() && to.hasStaticShape() &&
      to.getNumElements() != 0)
    return g.b.number(double(from.getNumElements() / to.getNumElements()),
                      elementType);
  // As floats: of nothing, it is not a number, and nothing is divided by it.
  Expr all = g.b.apply("Size", {g.x()}), results = g.b.apply("Size", {g.y()});
  return g.b.cast(all, elementType) / g.b.cast(results, elementType);
}

LogicalResult reduceMean(Gradient &g) {
  Expr dy = g.b.widen(g.dy());
  Expr share = g.b.castLike(dy / countReduced(g, dy.getElementType()), g.x());
  g.setAlike(0, g.b.expandLike(restoreAxes(g, share), g.x()));
  return success();
}

LogicalResult reduceL1(Gradient &g) {
  g.setAlike(0, restoreAxes(g, g.dy()) * sign(g.x()));
  return success();
}

LogicalResult reduceL2(Gradient &g) {
  Expr dy = g.b.widen(g.dy()), norm = g.b.widen(g.y());
  Expr scale = g.b.where(norm == 0.0, 0.0, dy / norm);
  g.setAlike(0, restoreAxes(g, scale) * g.b.widen(g.x()));
  return success();
}

LogicalResult reduceSumSquare(Gradient &g) {
  Expr twice = restoreAxes(g, g.b.widen(g.dy()) * 2.0);
  g.setAlike(0, twice * g.b.widen(g.x()));
  return success();
}

LogicalResult reduceLogSum(Gradient &g) {
  Expr share = g.b.widen(g.dy()) * exp(-g.b.widen(g.y()));
  g.setAlike(0, g.b.expandLike(restoreAxes(g, share), g.x()));
  return success();
}

LogicalResult reduceLogSumExp(Gradient &g) {
  Expr part = exp(g.b.widen(g.x()) - restoredResult(g));
  g.setAlike(0, restoredGradient(g) * part);
  return success();
}

/// An element's slope is the product of the others: that of all without the
/// zeros, divided by it, if no other one is zero.
LogicalResult reduceProd(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr x = b.widen(g.x()), isZero = x == 0.0;
  Expr zero = b.castLike(isZero, x), factor = b.where(isZero, 1.0, x);
  Expr product = reduceAlike(g, "ReduceProd", factor);
  Expr otherZeros = reduceAlike(g, "ReduceSum", zero) - zero;
  Expr slope = product / factor;
  g.setAlike(0, b.where(otherZeros == 0.0, restoredGradient(g) * slope, 0.0));
  return success();
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

/// Over one axis it is PyTorch's max(dim), which gives all to the first of the
/// extreme elements; over several its amax, by which they share.
LogicalResult reduceExtremum(Gradient &g, StringRef argument) {
  NodeBuilder &b = g.b;
  std::optional<SmallVector<int64_t>> axes = g.getConstantInts(1);
  if (axes && axes->size() == 1) {
    Expr index =
        b.apply(argument, {g.x()},
                {b.attr("axis", axes->front()), b.attr("keepdims", 1)});
    g.setAlike(
        0, b.apply("ScatterElements",
                   {b.filledLike(g.x(), 0.0), index, restoreAxes(g, g.dy())},
                   b.attr("axis", axes->front())));
    return success();
  }
  Expr isExtreme = g.x() == restoreAxes(g, g.y());
  Expr dy = restoredGradient(g);
  Expr count = reduceAlike(g, "ReduceSum", b.castLike(isExtreme, dy));
  g.setAlike(0, b.where(isExtreme, dy / count, 0.0));
  return success();
}

LogicalResult reduceMax(Gradient &g) { return reduceExtremum(g, "ArgMax"); }
LogicalResult reduceMin(Gradient &g) { return reduceExtremum(g, "ArgMin"); }

//===----------------------------------------------------------------------===//
// Running sums and products
//===----------------------------------------------------------------------===//

/// Accumulates as the node does, or from the other end.
Expr accumulate(Gradient &g, StringRef op, Expr value, bool fromOtherEnd) {
  bool reverse = g.getInt("reverse", 0) != 0;
  return g.b.apply(op, {value, g.x(1)},
                   {g.b.attr("exclusive", g.getInt("exclusive", 0)),
                    g.b.attr("reverse", int64_t(reverse != fromOtherEnd))});
}

LogicalResult runningSum(Gradient &g) {
  g.setAlike(0,
             accumulate(g, "CumSum", g.b.widen(g.dy()), /*fromOtherEnd=*/true));
  return success();
}

/// All products that an element is in are divided by it. That holds in front of
/// the first zero; behind it nothing has a slope, since all products are zero
/// with any value; and the first zero's own are those with 1 in its place.
LogicalResult runningProduct(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr x = b.widen(g.x()), dy = b.widen(g.dy()), y = b.widen(g.y());
  Expr isZero = x == 0.0;
  Expr zeros = b.apply("CumSum", {b.castLike(isZero, x), g.x(1)},
                       b.attr("reverse", g.getInt("reverse", 0)));
  Expr isFirst = logicalAnd(isZero, zeros == 1.0);
  auto sumOfProducts = [&](Expr products) {
    return accumulate(g, "CumSum", dy * products, /*fromOtherEnd=*/true);
  };
  Expr others = accumulate(g, "CumProd", b.where(isFirst, 1.0, x), false);
  Expr usual = sumOfProducts(y) / b.where(isZero, 1.0, x);
  g.setAlike(0, b.where(isFirst, sumOfProducts(others),
                        b.where(zeros == 0.0, usual, 0.0)));
  return success();
}

constexpr GradientRule rules[] = {
    {"CumProd", runningProduct},    {"CumSum", runningSum},
    {"ReduceL1", reduceL1},         {"ReduceL2", reduceL2},
    {"ReduceLogSum", reduceLogSum}, {"ReduceLogSumExp", reduceLogSumExp},
    {"ReduceMax", reduceMax},       {"ReduceMean", reduceMean},
    {"ReduceMin", reduceMin},       {"ReduceProd", reduceProd},
    {"ReduceSum", reduceSum},       {"ReduceSumSquare", reduceSumSquare},
};

} // namespace

ArrayRef<GradientRule> getReductionRules() { return rules; }

} // namespace amp::onnx
