//===- GridSample.cpp - the gradient of GridSample ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along each axis a point of the grid reads a few elements, its taps; what it
// reads of the image are all combinations of taps, weighted by the product of
// their weights. The slopes at clipped and reflected points are PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "GridSample.h"

using namespace mlir;

namespace amp::onnx {

namespace {

enum class Mode { Nearest, Linear, Cubic };
enum class Padding { Zeros, Border, Reflection };

/// An element that is read, by its position on an axis (int64), and its weight
/// with the slope by the point's coordinate; each [N, points].
struct Tap {
  Expr position, weight, slope;
};

struct Axis {
  SmallVector<Tap, 4> taps;
  /// The slope of the coordinate, in elements, by the grid.
  Expr slope;
};

/// A coordinate in elements, and its slope.
struct Coordinate {
  Expr value, slope;
};

class Sampling {
public:
  explicit Sampling(Gradient &g) : g(g), b(g.b) {}

  LogicalResult build();

private:
  void addAxis(int64_t spatial, Expr normalized);
  void addLinearTaps(Axis &axis, Expr u, Expr size) const;
  void addCubicTaps(Axis &axis, Expr u, Expr size) const;
  Coordinate pad(Coordinate u, Expr size) const;
  Tap tap(Expr position, Expr weight, Expr slope, Expr size) const;
  Expr size(int64_t spatial, Type elementType) const;
  /// The taps of the combination of this number, one an axis.
  SmallVector<const Tap *, 3> combination(unsigned number) const;
  unsigned countCombinations() const;
  Expr position(unsigned combination) const;
  Expr weight(unsigned combination, std::optional<unsigned> slopeOf) const;
  void setImage() const;
  void setGrid() const;

  Gradient &g;
  NodeBuilder &b;
  Mode mode = Mode::Linear;
  Padding padding = Padding::Zeros;
  bool alignCorners = false;
  /// [N, C, points].
  Expr dy;
  SmallVector<Axis, 3> axes;
};

/// Spatial dimensions as one.
Expr flatten(Expr value) {
  NodeBuilder &b = value.getBuilder();
  return b.apply("Reshape", {value, b.ints({0, 0, -1})});
}

/// The size of a spatial dimension of the image, a scalar.
Expr Sampling::size(int64_t spatial, Type elementType) const {
  if (std::optional<int64_t> known = g.x().getSize(2 + spatial))
    return b.number(double(*known), elementType);
  return b.cast(b.squeeze(b.sizeOf(g.x(), 2 + spatial), {0}), elementType);
}

Expr clip(Expr value, Expr high) {
  NodeBuilder &b = value.getBuilder();
  return b.apply("Clip", {value, b.number(0.0, value.getElementType()), high});
}

/// Brings a coordinate to where the image is.
Coordinate Sampling::pad(Coordinate u, Expr size) const {
  if (padding == Padding::Zeros)
    return u;
  Expr last = size - 1.0;
  if (padding == Padding::Reflection) {
    // Back and forth between the centers, or the edges, of the outer elements.
    Expr span = alignCorners ? last : size;
    double low = alignCorners ? 0.0 : -0.5;
    Expr isPoint = span == 0.0;
    Expr distance = abs(u.value - low);
    Expr turns = floor(distance / b.where(isPoint, 1.0, span));
    Expr rest = distance - turns * span;
    Expr isOdd = b.apply("Mod", {turns, b.number(2.0, turns.getElementType())},
                         b.attr("fmod", 1)) == 1.0;
    Expr isBack = b.apply("Xor", {isOdd, u.value < low});
    u.value = b.where(isPoint, 0.0, b.where(isOdd, span - rest, rest) + low);
    u.slope = b.where(isBack, -u.slope, u.slope);
  }
  Expr isInside = logicalAnd(u.value > 0.0, u.value < last);
  return {clip(u.value, last), b.where(isInside, u.slope, 0.0)};
}

/// A tap whose position, a float, may be outside.
Tap Sampling::tap(Expr position, Expr weight, Expr slope, Expr size) const {
  Expr last = size - 1.0;
  if (padding == Padding::Zeros) {
    Expr isInside = logicalAnd(position >= 0.0, position <= last);
    weight = b.where(isInside, weight, 0.0);
    if (slope)
      slope = b.where(isInside, slope, 0.0);
  }
  Type i64 = b.getBuilder().getI64Type();
  return {b.cast(clip(position, last), i64), weight, slope};
}

void Sampling::addLinearTaps(Axis &axis, Expr u, Expr size) const {
  Expr first = floor(u), part = u - first;
  Expr one = b.number(1.0, u.getElementType());
  axis.taps.push_back(tap(first, 1.0 - part, -one, size));
  axis.taps.push_back(tap(first + 1.0, part, one, size));
}

void Sampling::addCubicTaps(Axis &axis, Expr u, Expr size) const {
  constexpr double a = -0.75;
  // The weight of an element at this distance, and its slope.
  auto near = [&](Expr t) {
    return std::pair(((a + 2) * t - (a + 3)) * t * t + 1.0,
                     (3 * (a + 2) * t - 2 * (a + 3)) * t);
  };
  auto far = [&](Expr t) {
    return std::pair(((a * t - 5 * a) * t + 8 * a) * t - 4 * a,
                     (3 * a * t - 10 * a) * t + 8 * a);
  };
  Expr first = floor(u), part = u - first;
  for (int64_t offset = -1; offset <= 2; ++offset) {
    Expr distance = offset <= 0 ? part - double(offset) : double(offset) - part;
    auto [weight, slope] =
        offset == 0 || offset == 1 ? near(distance) : far(distance);
    Expr position = pad({first + double(offset), part}, size).value;
    axis.taps.push_back(
        tap(position, weight, offset <= 0 ? slope : -slope, size));
  }
}

/// `normalized`: -1 to 1, [N, points].
void Sampling::addAxis(int64_t spatial, Expr normalized) {
  Expr size = this->size(spatial, normalized.getElementType());
  Expr scale = (alignCorners ? size - 1.0 : size) / 2.0;
  Expr shifted = (normalized + 1.0) * scale;
  Coordinate u = {alignCorners ? shifted : shifted - 0.5, scale};
  if (mode != Mode::Cubic) // each of its taps is padded
    u = pad(u, size);
  Axis &axis = axes.emplace_back();
  axis.slope = u.slope;
  if (mode == Mode::Linear)
    return addLinearTaps(axis, u.value, size);
  if (mode == Mode::Cubic)
    return addCubicTaps(axis, u.value, size);
  Expr one = b.number(1.0, normalized.getElementType());
  axis.taps.push_back(tap(b.apply("Round", {u.value}), one, Expr(), size));
}

unsigned Sampling::countCombinations() const {
  unsigned count = 1;
  for (const Axis &axis : axes)
    count *= axis.taps.size();
  return count;
}

SmallVector<const Tap *, 3> Sampling::combination(unsigned number) const {
  SmallVector<const Tap *, 3> taps;
  for (const Axis &axis : axes) {
    taps.push_back(&axis.taps[number % axis.taps.size()]);
    number /= axis.taps.size();
  }
  return taps;
}

/// In the image's spatial dimensions as one: [N, 1, points].
Expr Sampling::position(unsigned number) const {
  Expr sum;
  for (auto [spatial, tap] : llvm::enumerate(combination(number))) {
    Type i64 = tap->position.getElementType();
    sum =
        spatial == 0 ? tap->position : sum * size(spatial, i64) + tap->position;
  }
  return b.unsqueeze(sum, {1});
}

/// Its slope by the coordinate of one axis, if that is given: [N, points], or
/// a scalar.
Expr Sampling::weight(unsigned number, std::optional<unsigned> slopeOf) const {
  Expr product;
  for (auto [spatial, tap] : llvm::enumerate(combination(number))) {
    Expr factor = slopeOf == spatial ? tap->slope : tap->weight;
    product = product ? product * factor : factor;
  }
  return product;
}

void Sampling::setImage() const {
  SmallVector<Value> positions, updates;
  for (unsigned i = 0; i < countCombinations(); ++i) {
    Expr factor = b.castLike(weight(i, std::nullopt), dy);
    positions.push_back(position(i));
    updates.push_back(
        dy * (factor.getRank() == 0 ? factor : b.unsqueeze(factor, {1})));
  }
  Expr update = b.concat(updates, 2);
  // ONNX Runtime's ScatterND loses updates when it adds: indices of elements.
  Expr index = b.apply("Expand", {b.concat(positions, 2), b.shape(update)});
  Expr zeros = b.cast(b.filledLike(flatten(g.x()), 0.0), dy.getElementType());
  Expr sum = b.apply("ScatterElements", {zeros, index, update},
                     {b.attr("axis", 2), b.attr("reduction", "add")});
  g.setAlike(0, b.reshapeLike(sum, g.x()));
}

void Sampling::setGrid() const {
  Expr x = b.castLike(flatten(g.x()), dy);
  // What the output's gradient says of each element that is read.
  SmallVector<Expr> read;
  for (unsigned i = 0; i < countCombinations(); ++i) {
    Expr index = b.apply("Expand", {position(i), b.shape(dy)});
    Expr value = b.apply("GatherElements", {x, index}, b.attr("axis", 2));
    read.push_back(b.reduceSum(dy * value, {1}, /*keepDims=*/false));
  }
  // The last axis comes first in the grid.
  SmallVector<Value> parts;
  for (unsigned spatial = axes.size(); spatial-- > 0;) {
    SmallVector<Value> terms;
    for (unsigned i = 0; i < countCombinations(); ++i)
      terms.push_back(read[i] * b.castLike(weight(i, spatial), dy));
    Expr sum = b.sum(terms) * b.castLike(axes[spatial].slope, dy);
    parts.push_back(b.unsqueeze(sum, {2}));
  }
  g.setAlike(1, b.reshapeLike(b.concat(parts, 2), g.x(1)));
}

LogicalResult Sampling::build() {
  FailureOr<int64_t> rank = g.getRank(0);
  if (failed(rank))
    return failure();
  if (*rank < 3)
    return g.fail("without spatial dimensions");
  StringRef modeName = g.getString("mode", "linear");
  StringRef paddingName = g.getString("padding_mode", "zeros");
  mode = modeName == "nearest"          ? Mode::Nearest
         : modeName.ends_with("linear") ? Mode::Linear
                                        : Mode::Cubic;
  padding = paddingName == "zeros"    ? Padding::Zeros
            : paddingName == "border" ? Padding::Border
                                      : Padding::Reflection;
  alignCorners = g.getInt("align_corners", 0);
  dy = flatten(b.widen(g.dy()));
  int64_t count = *rank - 2;
  Expr grid = b.apply("Reshape", {b.widen(g.x(1)), b.ints({0, -1, count})});
  for (int64_t spatial = 0; spatial < count; ++spatial)
    addAxis(spatial, b.apply("Gather", {grid, b.integer(count - 1 - spatial)},
                             b.attr("axis", 2)));
  if (g.isNeeded(0))
    setImage();
  // The nearest element stays the nearest: zero slope.
  if (g.isNeeded(1) && mode != Mode::Nearest)
    setGrid();
  return success();
}

} // namespace

LogicalResult gridSample(Gradient &g) { return Sampling(g).build(); }

} // namespace amp::onnx
