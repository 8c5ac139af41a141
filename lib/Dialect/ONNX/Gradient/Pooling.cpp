//===- Pooling.cpp - gradients of pools -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlidingWindow.h"

#include <numeric>

using namespace mlir;

namespace amp::onnx {

namespace {

SlidingWindow getWindow(Gradient &g) {
  return SlidingWindow::overInput(
      g, g.x(), g.y(),
      g.getInts("kernel_shape").value_or(SmallVector<int64_t>()));
}

//===----------------------------------------------------------------------===//
// Averages
//===----------------------------------------------------------------------===//

LogicalResult averagePool(Gradient &g) {
  SlidingWindow window = getWindow(g);
  bool padded = g.getInt("count_include_pad", 0);
  Expr scaled = window.isCountConstant(padded, g.getInt("ceil_mode", 0))
                    ? g.dy() / window.getSize()
                    : g.dy() / g.b.castLike(window.count(padded), g.dy());
  g.setAlike(0, window.spread(scaled));
  return success();
}

/// The number of elements of a channel, of the element type of the input.
FailureOr<Expr> countSpatial(Gradient &g) {
  FailureOr<int64_t> rank = g.getRank();
  if (failed(rank))
    return failure();
  auto shape = cast<RankedTensorType>(g.x().getType()).getShape().drop_front(2);
  if (!llvm::is_contained(shape, ShapedType::kDynamic))
    return g.b.number(double(ShapedType::getNumElements(shape)),
                      g.x().getElementType());
  Expr sizes = g.b.apply("Shape", {g.x()}, g.b.attr("start", 2));
  return g.b.castLike(g.b.apply("ReduceProd", {sizes}, g.b.attr("keepdims", 0)),
                      g.x());
}

LogicalResult globalAveragePool(Gradient &g) {
  FailureOr<Expr> count = countSpatial(g);
  if (failed(count))
    return failure();
  g.setAlike(0, g.b.expandLike(g.dy() / *count, g.x()));
  return success();
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

/// All elements as a list.
Expr flatten(Expr value) { return value.getBuilder().reshape(value, {-1}); }

/// To the elements that were chosen: the first ones that are largest.
LogicalResult maxPool(Gradient &g) {
  NodeBuilder &b = g.b;
  // Numbers of elements in the order of memory.
  bool isGiven = g.y(1) && g.getInt("storage_order", 0) == 0;
  Expr indices = g.y(1);
  if (!isGiven) {
    SmallVector<NamedAttribute> attributes;
    for (StringRef name : {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                           "pads", "strides"})
      if (Attribute value = g.getOperation()->getAttr(name))
        attributes.push_back(b.getBuilder().getNamedAttr(name, value));
    indices = b.expr(b.node("MaxPool", {g.x()}, attributes, 2)->getResult(1));
  }
  auto type = dyn_cast<RankedTensorType>(g.x().getType());
  Expr count = type && type.hasStaticShape()
                   ? b.ints(type.getNumElements())
                   : b.reshape(b.apply("Size", {g.x()}), {1});
  Expr dy = g.dy();
  SmallVector<NamedAttribute> attributes = {b.attr("axis", 0)};
  if (!getWindow(g).isDisjoint()) {
    dy = b.widen(dy);
    attributes.push_back(b.attr("reduction", "add"));
  }
  Expr zeros = b.apply("Expand", {b.number(0.0, dy.getElementType()), count});
  Expr scattered = b.apply("ScatterElements",
                           {zeros, flatten(indices), flatten(dy)}, attributes);
  g.setAlike(0, b.reshapeLike(scattered, g.x()));
  return success();
}

LogicalResult globalMaxPool(Gradient &g) {
  NodeBuilder &b = g.b;
  // [N, C, elements]; 0 is the size that was there.
  auto flat = [&](Expr value) {
    return b.apply("Reshape", {value, b.ints({0, 0, -1})});
  };
  Expr x = flat(g.x());
  Expr index = b.apply("ArgMax", {x}, b.attr("axis", -1));
  Expr scattered =
      b.apply("ScatterElements", {b.filledLike(x, 0.0), index, flat(g.dy())},
              b.attr("axis", 2));
  g.setAlike(0, b.reshapeLike(scattered, g.x()));
  return success();
}

/// The inverse of MaxPool by its indices.
LogicalResult maxUnpool(Gradient &g) {
  if (g.x(2))
    return g.fail("with an input 'output_shape', in which indices count "
                  "otherwise");
  Expr chosen = g.b.apply("GatherElements", {flatten(g.dy()), flatten(g.x(1))});
  g.setAlike(0, g.b.reshapeLike(chosen, g.x()));
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// y = (sum |x|^p)^(1/p): the slope is y^(1-p) |x|^(p-1) sign(x), and zero at
/// zero. `spread` takes what belongs to y to all of x that it came from.
void setNormGradient(Gradient &g, llvm::function_ref<Expr(Expr)> spread) {
  NodeBuilder &b = g.b;
  int64_t p = g.getInt("p", 2);
  Expr x = b.widen(g.x()), y = b.widen(g.y()), dy = b.widen(g.dy());
  if (p == 1)
    return g.setAlike(0, spread(dy) * sign(x));
  auto toPower = [](Expr value, int64_t exponent) {
    return exponent == 1
               ? value
               : pow(value, value.getBuilder().number(double(exponent),
                                                      value.getElementType()));
  };
  Expr scaled = b.where(y > 0.0, dy / toPower(y, p - 1), 0.0);
  Expr slope = p % 2 == 0 ? toPower(x, p - 1) : toPower(x, p - 2) * abs(x);
  g.setAlike(0, spread(scaled) * slope);
}

LogicalResult lpPool(Gradient &g) {
  SlidingWindow window = getWindow(g);
  setNormGradient(g, [&](Expr value) { return window.spread(value); });
  return success();
}

LogicalResult globalLpPool(Gradient &g) {
  setNormGradient(g, [](Expr value) { return value; });
  return success();
}

constexpr GradientRule rules[] = {
    {"AveragePool", averagePool},
    {"GlobalAveragePool", globalAveragePool},
    {"GlobalLpPool", globalLpPool},
    {"GlobalMaxPool", globalMaxPool},
    {"LpPool", lpPool},
    {"MaxPool", maxPool, [](Operation *) { return 2u; }},
    {"MaxUnpool", maxUnpool},
};

} // namespace

ArrayRef<GradientRule> getPoolingRules() { return rules; }

} // namespace amp::onnx
