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

/// True if each element is in one place of a known window, the places' gradient
/// can go to the image by enlarging it, and numbers up to the size of the
/// window are exact. Float64 is not enlarged by ONNX Runtime.
bool isTiled(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto kernel = op->getAttrOfType<DenseI64ArrayAttr>("kernel_shape");
  if (!type || !kernel || op->getNumResults() != 1 ||
      !(type.getElementType().isF32() || type.getElementType().isF16() ||
        type.getElementType().isBF16()))
    return false;
  ArrayRef<int64_t> sizes = type.getShape(), window = kernel.asArrayRef();
  if (sizes.size() != window.size() + 2)
    return false;
  auto isEach = [&](StringRef name, int64_t number) {
    auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return !list || llvm::all_of(list.asArrayRef(),
                                 [&](int64_t each) { return each == number; });
  };
  auto strides = op->getAttrOfType<DenseI64ArrayAttr>("strides");
  if (!strides || strides.asArrayRef() != window || !isEach("pads", 0) ||
      !isEach("dilations", 1))
    return false;
  constexpr int64_t kMostExact = 256; // in bfloat16
  int64_t count = 1;
  for (auto [size, extent] : llvm::zip_equal(sizes.drop_front(2), window)) {
    if (extent < 1 || extent > kMostExact || ShapedType::isDynamic(size) ||
        size % extent != 0)
      return false;
    count *= extent;
    if (count > kMostExact)
      return false;
  }
  return true;
}

/// Repeats each element over a window of these sizes.
Expr enlarge(Expr value, ArrayRef<int64_t> window) {
  NodeBuilder &b = value.getBuilder();
  SmallVector<float> scales = {1, 1};
  llvm::append_range(scales, window);
  auto type = RankedTensorType::get({int64_t(scales.size())},
                                    b.getBuilder().getF32Type());
  // ONNX Runtime has fast code for twos in this form. Positions are quotients
  // then, which some runtimes may round down below a whole number: not those by
  // powers of two. The others are taken from the middle.
  bool isExact = llvm::all_of(
      window, [](int64_t size) { return llvm::isPowerOf2_64(size); });
  return b.apply(
      "Resize",
      {value, {}, b.constant(DenseElementsAttr::get(type, ArrayRef(scales)))},
      {b.attr("mode", "nearest"),
       b.attr("coordinate_transformation_mode",
              isExact ? "asymmetric" : "half_pixel"),
       b.attr("nearest_mode", isExact ? "floor" : "round_prefer_floor")});
}

/// Where windows do not overlap: the largest of a window are numbered, the
/// first with the highest number, and the largest number wins. That reads and
/// writes the image a dozen times, and is still faster than to ask MaxPool for
/// indices: ONNX Runtime has vector code without (19 to 365 us for 64x16x8x8,
/// where these nodes take 188 us; TensorRT has no indices).
Expr spreadMaxima(Gradient &g) {
  NodeBuilder &b = g.b;
  auto type = cast<RankedTensorType>(g.x().getType());
  SmallVector<int64_t> window = *g.getInts("kernel_shape");
  // From the number of elements down to 1, in each window.
  SmallVector<int64_t> numbers(ShapedType::getNumElements(window)), repeats;
  std::iota(numbers.rbegin(), numbers.rend(), 1);
  for (auto [size, extent] :
       llvm::zip_equal(type.getShape().drop_front(2), window))
    repeats.push_back(size / extent);
  Expr priority =
      b.apply("Tile", {b.castLike(b.reshape(b.ints(numbers), window), g.x()),
                       b.ints(repeats)});
  auto at = [&](Expr isThere) { return b.castLike(isThere, g.x()); };
  Expr candidates = at(g.x() == enlarge(g.y(), window)) * priority;
  Expr first =
      b.apply("MaxPool", {candidates},
              {b.attr("kernel_shape", window), b.attr("strides", window)});
  return enlarge(g.dy(), window) * at(candidates == enlarge(first, window));
}

/// To the elements that were chosen: the first ones that are largest.
LogicalResult maxPool(Gradient &g) {
  NodeBuilder &b = g.b;
  if (isTiled(g.getOperation())) {
    g.setAlike(0, spreadMaxima(g));
    return success();
  }
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
    {"MaxPool", maxPool, [](Operation *op) { return isTiled(op) ? 1u : 2u; }},
    {"MaxUnpool", maxUnpool},
};

} // namespace

ArrayRef<GradientRule> getPoolingRules() { return rules; }

} // namespace amp::onnx
