//===- Resize.cpp - gradients of resampling -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resize is linear, and goes along one axis after the other: each is a product
// with a matrix, whose transpose gives the gradient. The matrix is what Resize
// itself makes of the unit vectors, so that coordinates, filters and their
// rounding are those of the forward pass, in whatever runs it; where sizes are
// known it is a constant expression.
//
//===----------------------------------------------------------------------===//

#include "GridSample.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace amp::onnx {

namespace {

/// The elements of a constant of float32.
std::optional<SmallVector<float>> getConstantFloats(Value value) {
  Operation *constant = value ? value.getDefiningOp() : nullptr;
  if (!isa_and_present<ConstantOp, InitializerOp>(constant))
    return std::nullopt;
  if (auto list = constant->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return SmallVector<float>(list.asArrayRef());
  auto tensor = constant->getAttrOfType<TensorAttr>("value");
  if (!tensor || !getElementTypeOrSelf(tensor.getValue().getType()).isF32())
    return std::nullopt;
  Attribute elements = tensor.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    return llvm::to_vector(dense.getValues<float>());
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  SmallVector<float> numbers(blob->getData().size() / sizeof(float));
  memcpy(numbers.data(), blob->getData().data(),
         numbers.size() * sizeof(float));
  return numbers;
}

/// True if an element of a list is seen to be the size of a dimension: where
/// sizes are put together from those of the input and others.
bool isSizeOf(Value list, int64_t index, Value value, int64_t dimension) {
  Operation *op = list.getDefiningOp();
  if (isa_and_present<ShapeOp>(op)) {
    auto rank = cast<RankedTensorType>(value.getType()).getRank();
    auto attribute = op->getAttrOfType<IntegerAttr>("start");
    int64_t start = attribute ? attribute.getInt() : 0;
    start = std::max<int64_t>(start < 0 ? start + rank : start, 0);
    return op->getOperand(0) == value && start + index == dimension;
  }
  if (!isa_and_present<ConcatOp>(op))
    return false;
  for (Value part : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(part.getType());
    if (!type || type.getRank() != 1 || type.isDynamicDim(0))
      return false;
    if (index < type.getDimSize(0))
      return isSizeOf(part, index, value, dimension);
    index -= type.getDimSize(0);
  }
  return false;
}

class Resampling {
public:
  static FailureOr<Resampling> get(Gradient &g);

  /// The gradient of the input.
  Expr build() const;

private:
  explicit Resampling(Gradient &g) : g(g), b(g.b), hasSizes(g.x(3)) {}
  bool repeats() const;
  std::optional<int64_t> getFactor(int64_t axis) const;
  Expr sumRepeated(ArrayRef<int64_t> factors) const;
  Expr matrix(int64_t axis, bool inputFirst) const;

  Gradient &g;
  NodeBuilder &b;
  bool hasSizes;
  /// Coordinates are those of `roi`.
  bool crops = false;
  int64_t rank = 0;
  /// The axes that `scales`, `sizes` and `roi` are of.
  SmallVector<int64_t> named;
  /// Those that may change.
  SmallVector<int64_t> axes;
  std::optional<SmallVector<float>> scales;
};

FailureOr<Resampling> Resampling::get(Gradient &g) {
  FailureOr<int64_t> rank = g.getRank();
  if (failed(rank))
    return failure();
  StringRef policy = g.getString("keep_aspect_ratio_policy", "stretch");
  Resampling result(g);
  if (!result.hasSizes && !Value(g.x(2)))
    return g.fail("without 'scales' and 'sizes'");
  if (result.hasSizes && policy != "stretch")
    return g.fail("with keep_aspect_ratio_policy '" + policy +
                  "': give 'scales' instead of 'sizes'");
  result.rank = *rank;
  SmallVector<int64_t> all(*rank);
  std::iota(all.begin(), all.end(), 0);
  result.named = g.getInts("axes").value_or(all);
  for (int64_t &axis : result.named) {
    axis += axis < 0 ? *rank : 0;
    if (axis < 0 || axis >= *rank)
      return g.fail("along an axis that the input has not");
  }
  if (g.x(2))
    result.scales = getConstantFloats(g.x(2));
  result.crops = g.getString("coordinate_transformation_mode", "half_pixel") ==
                     "tf_crop_and_resize" &&
                 bool(g.x(1));
  for (auto [i, axis] : llvm::enumerate(result.named)) {
    bool isSame = false;
    if (result.hasSizes) {
      isSame = haveSameSize(g.x(), axis, g.y(), axis) ||
               isSizeOf(g.x(3), i, g.x(), axis);
    } else if (result.scales && i < result.scales->size()) {
      isSame = (*result.scales)[i] == 1.0f;
    }
    if (!isSame || result.crops)
      result.axes.push_back(axis);
  }
  llvm::sort(result.axes);
  return result;
}

/// True if a whole factor repeats each element as many times.
bool Resampling::repeats() const {
  if (g.getString("mode", "nearest") != "nearest")
    return false;
  StringRef coordinates =
      g.getString("coordinate_transformation_mode", "half_pixel");
  StringRef rounding = g.getString("nearest_mode", "round_prefer_floor");
  if (coordinates == "asymmetric")
    return rounding == "floor";
  return (coordinates == "half_pixel" ||
          coordinates == "half_pixel_symmetric") &&
         rounding.starts_with("round_prefer");
}

/// How many times larger the output is, if that is a whole number.
std::optional<int64_t> Resampling::getFactor(int64_t axis) const {
  if (!hasSizes) {
    const int64_t *found = llvm::find(named, axis);
    size_t i = found - named.begin();
    if (!scales || i >= scales->size())
      return std::nullopt;
    float scale = (*scales)[i];
    return scale >= 1.0f && scale == std::floor(scale)
               ? std::optional(int64_t(scale))
               : std::nullopt;
  }
  std::optional<int64_t> from = g.x().getSize(axis), to = g.y().getSize(axis);
  if (!from || !to || *from == 0 || *to % *from != 0)
    return std::nullopt;
  return *to / *from;
}

/// Sums over the copies of each element, one factor for each axis.
Expr Resampling::sumRepeated(ArrayRef<int64_t> factors) const {
  SmallVector<Value> sizes;
  SmallVector<int64_t> known, copies;
  for (int64_t axis = 0; axis < rank; ++axis) {
    sizes.push_back(b.sizeOf(g.x(), axis));
    known.push_back(g.x().getSize(axis).value_or(ShapedType::kDynamic));
    if (factors[axis] == 1)
      continue;
    copies.push_back(known.size());
    sizes.push_back(b.ints(factors[axis]));
    known.push_back(factors[axis]);
  }
  Expr blocks = llvm::is_contained(known, ShapedType::kDynamic)
                    ? b.reshape(g.dy(), b.concat(sizes, 0))
                    : b.reshape(g.dy(), known);
  return copies.empty() ? g.dy()
                        : b.reduceSum(blocks, copies, /*keepDims=*/false);
}

/// What an axis does, as [input, output] or [output, input].
Expr Resampling::matrix(int64_t axis, bool inputFirst) const {
  Expr size = b.sizeOf(g.x(), axis);
  Expr square =
      b.apply("Expand", {b.number(0.0, Float32Type::get(b.getContext())),
                         b.concat({size, size}, 0)});
  Expr units = b.unsqueeze(b.apply("EyeLike", {square}), {0, 1});

  // The third or the fourth of the axes of a list is this one.
  size_t i = llvm::find(named, axis) - named.begin();
  auto list = [&](Expr of, int64_t index, double elsewhere) {
    Type f32 = Float32Type::get(b.getContext());
    Expr element = b.cast(b.slice(of, {index}, {index + 1}, {0}), f32);
    Expr other = b.unsqueeze(b.number(elsewhere, f32), {0});
    return SmallVector<Value>{other, other, inputFirst ? other : element,
                              inputFirst ? element : other};
  };
  Expr roi, scaling, sizes;
  if (crops) {
    SmallVector<Value> bounds = list(g.x(1), i, 0.0);
    bounds.append(list(g.x(1), named.size() + i, 1.0));
    roi = b.concat(bounds, 0);
  }
  if (hasSizes) {
    Expr target = b.sizeOf(g.y(), axis);
    sizes = b.concat({b.ints({1, 1}), inputFirst ? size : target,
                      inputFirst ? target : size},
                     0);
  } else {
    scaling = b.concat(list(g.x(2), i, 1.0), 0);
  }
  SmallVector<NamedAttribute> attributes;
  for (StringRef name :
       {"antialias", "coordinate_transformation_mode", "cubic_coeff_a",
        "exclude_outside", "mode", "nearest_mode"})
    if (Attribute value = g.getOperation()->getAttr(name))
      attributes.push_back(b.getBuilder().getNamedAttr(name, value));
  Expr resized = b.apply("Resize", {units, roi, scaling, sizes}, attributes);
  return b.castLike(b.squeeze(resized, {0, 1}), g.dy());
}

Expr Resampling::build() const {
  SmallVector<int64_t> factors(rank, 1);
  bool isRepeated = repeats();
  for (int64_t axis : axes) {
    std::optional<int64_t> factor = getFactor(axis);
    isRepeated &= factor.has_value();
    factors[axis] = factor.value_or(1);
  }
  if (isRepeated)
    return sumRepeated(factors);

  Expr gradient = g.dy();
  for (int64_t axis : llvm::reverse(axes)) {
    if (axis == rank - 1) {
      gradient = matmul(gradient, matrix(axis, /*inputFirst=*/false));
      continue;
    }
    SmallVector<int64_t> swapped(rank);
    std::iota(swapped.begin(), swapped.end(), 0);
    std::swap(swapped[axis], swapped[rank - 2]);
    gradient = b.transpose(matmul(matrix(axis, /*inputFirst=*/true),
                                  b.transpose(gradient, swapped)),
                           swapped);
  }
  return gradient;
}

LogicalResult resize(Gradient &g) {
  FailureOr<Resampling> resampling = Resampling::get(g);
  if (failed(resampling))
    return failure();
  g.setAlike(0, resampling->build());
  return success();
}

/// The grid is linear, too: each of its points is theta @ (place, 1), and
/// places are the grid of the identity.
LogicalResult affineGrid(Gradient &g) {
  NodeBuilder &b = g.b;
  std::optional<int64_t> count = g.x().getSize(1);
  if (!count)
    return g.fail(
        "where the number of spatial dimensions is not known: declare "
        "the shape of input 0");
  Type elementType = g.x().getElementType();
  auto type = RankedTensorType::get({1, *count, *count + 1}, elementType);
  SmallVector<Attribute> identity;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    identity.push_back(
        b.getBuilder().getFloatAttr(elementType, i % (*count + 2) == 0));
  Expr sizes =
      b.concat({b.ints(1), b.slice(g.x(1), {1}, {2 + *count}, {0})}, 0);
  Expr places = b.apply(
      "AffineGrid", {b.constant(DenseElementsAttr::get(type, identity)), sizes},
      b.attr("align_corners", g.getInt("align_corners", 0)));
  Expr flat = b.reshape(places, {-1, *count});
  Expr ones = b.filledLike(b.slice(flat, {0}, {1}, {1}), 1.0);
  Expr dy = b.apply("Reshape", {g.dy(), b.ints({0, -1, *count})});
  g.setAlike(0, matmul(b.transpose(dy, {0, 2, 1}), b.concat({flat, ones}, 1)));
  return success();
}

constexpr GradientRule rules[] = {
    {"AffineGrid", affineGrid},
    {"GridSample", gridSample},
    {"Resize", resize},
};

} // namespace

ArrayRef<GradientRule> getResizeRules() { return rules; }

} // namespace amp::onnx
