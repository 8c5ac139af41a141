//===- Normalization.cpp - gradients of normalizations --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics are of float32 at least. Here x is normalized as
//
//   n = (x - mean) * inverse,  inverse = 1 / sqrt(variance + epsilon)
//
// over `axes`, and h is the gradient of n.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"
#include "Positions.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// The axes from one to the last; the rank matters only where the axis does not
/// count from the end.
FailureOr<SmallVector<int64_t>> axesFrom(Gradient &g, int64_t axis) {
  if (axis >= 0) {
    FailureOr<int64_t> rank = g.getRank();
    if (failed(rank))
      return failure();
    axis -= *rank;
  }
  return llvm::to_vector<6>(llvm::seq<int64_t>(axis, 0));
}

/// One over the deviation.
Expr inverseOf(Expr variance, double epsilon) {
  return reciprocal(sqrt(variance + epsilon));
}

Expr square(Expr a) { return a * a; }

/// The gradient of x by way of x - mean, of the mean, and of the deviation.
Expr normalized(Expr h, Expr n, Expr inverse, ArrayRef<int64_t> axes) {
  NodeBuilder &b = h.getBuilder();
  Expr mean = b.reduceMean(h, axes, /*keepDims=*/true);
  Expr slope = b.reduceMean(h * n, axes, /*keepDims=*/true);
  return inverse * (h - mean - n * slope);
}

//===----------------------------------------------------------------------===//
// BatchNormalization
//===----------------------------------------------------------------------===//

/// All axes but that of the channels.
SmallVector<int64_t> batchAxes(int64_t rank) {
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != 1)
      axes.push_back(i);
  return axes;
}

/// Gradients by the statistics of the batch, and of the running statistics
///
///   running = old * momentum + batch * (1 - momentum)
LogicalResult trainBatchNormalization(Gradient &g, int64_t rank) {
  NodeBuilder &b = g.b;
  double momentum = g.getFloat("momentum", 0.9f);
  SmallVector<int64_t> axes = batchAxes(rank);
  SmallVector<int64_t> perChannel(rank, 1);
  perChannel[std::min<int64_t>(rank - 1, 1)] = -1;
  auto wide = [&](Expr channels) {
    return b.reshape(b.widen(channels), perChannel);
  };
  for (unsigned i : {1, 2})
    if (g.dy(i))
      g.setAlike(i + 2, b.castLike(g.dy(i), g.x(i + 2)) * momentum);

  Expr x = b.widen(g.x());
  Expr centered = x - b.reduceMean(x, axes, /*keepDims=*/true);
  Expr variance = b.reduceMean(square(centered), axes, /*keepDims=*/true);
  Expr inverse = inverseOf(variance, g.getFloat("epsilon", 1e-5f));
  Expr n = centered * inverse;
  Expr count = b.castLike(countOf(g.x(), 0, 1) * countOf(g.x(), 2), x);
  Expr dx;
  auto add = [&](Expr part) { dx = dx ? dx + part : part; };
  if (g.dy()) {
    Expr dy = b.widen(g.dy());
    Expr dScale = b.reduceSum(dy * n, axes, /*keepDims=*/true);
    Expr dBias = b.reduceSum(dy, axes, /*keepDims=*/true);
    if (g.isNeeded(0))
      add(wide(g.x(1)) * inverse * (dy - (dBias + n * dScale) / count));
    g.setAlike(1, b.reshapeLike(dScale, g.x(1)));
    g.setAlike(2, b.reshapeLike(dBias, g.x(2)));
  }
  if (!g.isNeeded(0))
    return success();
  if (g.dy(1))
    add(b.expandLike(wide(g.dy(1)) * ((1.0 - momentum) / count), x));
  if (g.dy(2))
    add(centered * (wide(g.dy(2)) * (2.0 * (1.0 - momentum) / count)));
  g.setAlike(0, dx);
  return success();
}

LogicalResult batchNormalization(Gradient &g) {
  FailureOr<int64_t> rank = g.getRank();
  if (failed(rank))
    return failure();
  if (g.getInt("training_mode", 0))
    return trainBatchNormalization(g, *rank);
  NodeBuilder &b = g.b;
  SmallVector<int64_t> axes = batchAxes(*rank);
  SmallVector<int64_t> perChannel(*rank, 1);
  perChannel[std::min<int64_t>(*rank - 1, 1)] = -1;
  Expr scale = b.widen(g.x(1)), dy = b.widen(g.dy());
  Expr inverse = inverseOf(b.widen(g.x(4)), g.getFloat("epsilon", 1e-5f));
  Expr slope = scale * inverse;
  if (g.isNeeded(0))
    g.setAlike(0, dy * b.reshape(slope, perChannel));
  if (llvm::none_of(llvm::seq(1u, 5u),
                    [&](unsigned i) { return g.isNeeded(i); }))
    return success();
  Expr dBias = b.reduceSum(dy, axes, /*keepDims=*/false);
  g.setAlike(2, dBias);
  if (g.isNeeded(3))
    g.setAlike(3, -(dBias * slope));
  if (!g.isNeeded(1) && !g.isNeeded(4))
    return success();
  Expr centered = b.widen(g.x()) - b.reshape(b.widen(g.x(3)), perChannel);
  Expr dScale = b.reduceSum(dy * centered, axes, /*keepDims=*/false) * inverse;
  g.setAlike(1, dScale);
  if (g.isNeeded(4))
    g.setAlike(4, dScale * slope * inverse * -0.5);
  return success();
}

//===----------------------------------------------------------------------===//
// Of the last axes
//===----------------------------------------------------------------------===//

LogicalResult layerNormalization(Gradient &g) {
  NodeBuilder &b = g.b;
  FailureOr<SmallVector<int64_t>> axes = axesFrom(g, g.getInt("axis", -1));
  if (failed(axes))
    return failure();
  Expr x = b.widen(g.x());
  Expr inverse = b.castLike(g.y(2), x);
  Expr n = (x - b.castLike(g.y(1), x)) * inverse;
  Expr dx;
  auto add = [&](Expr part) { dx = dx ? dx + part : part; };
  if (g.dy()) {
    Expr dy = b.widen(g.dy());
    if (g.isNeeded(1))
      g.set(1, dy * n);
    g.set(2, dy);
    if (g.isNeeded(0))
      add(normalized(dy * b.widen(g.x(1)), n, inverse, *axes));
  }
  if (!g.isNeeded(0))
    return success();
  if (bool(g.dy(1)) || bool(g.dy(2))) {
    Expr count = b.castLike(countOf(g.x(), axes->front()), x);
    if (g.dy(1))
      add(b.expandLike(b.castLike(g.dy(1), x) / count, x));
    if (g.dy(2))
      add(-(n * (b.castLike(g.dy(2), x) * square(inverse) / count)));
  }
  g.setAlike(0, dx);
  return success();
}

LogicalResult rmsNormalization(Gradient &g) {
  NodeBuilder &b = g.b;
  FailureOr<SmallVector<int64_t>> axes = axesFrom(g, g.getInt("axis", -1));
  if (failed(axes))
    return failure();
  Expr x = b.widen(g.x()), dy = b.castLike(g.dy(), x);
  Expr inverse = inverseOf(b.reduceMean(square(x), *axes, /*keepDims=*/true),
                           g.getFloat("epsilon", 1e-5f));
  Expr n = x * inverse;
  if (g.isNeeded(1))
    g.set(1, dy * n);
  if (g.isNeeded(0)) {
    Expr h = dy * b.castLike(g.x(1), x);
    Expr slope = b.reduceMean(h * n, *axes, /*keepDims=*/true);
    g.setAlike(0, inverse * (h - n * slope));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Of groups of channels
//===----------------------------------------------------------------------===//

/// Groups are rows of [batch, groups, elements]; scale and bias are those of
/// rows of [batch, channels, elements].
LogicalResult normalizeGroups(Gradient &g, ArrayRef<int64_t> groups) {
  NodeBuilder &b = g.b;
  // A size of 0 is that of the operand.
  auto rows = [&](Expr value, ArrayRef<int64_t> shape) {
    return b.apply("Reshape", {value, b.ints(shape)});
  };
  Expr x = rows(b.widen(g.x()), groups);
  Expr centered = x - b.reduceMean(x, -1, /*keepDims=*/true);
  Expr inverse =
      inverseOf(b.reduceMean(square(centered), -1, /*keepDims=*/true),
                g.getFloat("epsilon", 1e-5f));
  Expr n = centered * inverse;
  Expr dy = rows(b.widen(g.dy()), {0, 0, -1});
  if (g.isNeeded(1)) {
    Expr parts = dy * b.reshapeLike(n, dy);
    g.setAlike(1, b.reduceSum(parts, {0, 2}, /*keepDims=*/false));
  }
  if (g.isNeeded(2))
    g.setAlike(2, b.reduceSum(dy, {0, 2}, /*keepDims=*/false));
  if (g.isNeeded(0)) {
    Expr h = b.reshapeLike(dy * b.unsqueeze(b.widen(g.x(1)), 1), x);
    g.setAlike(0, b.reshapeLike(normalized(h, n, inverse, -1), g.x()));
  }
  return success();
}

LogicalResult groupNormalization(Gradient &g) {
  return normalizeGroups(g, {0, g.getInt("num_groups", 1), -1});
}

LogicalResult instanceNormalization(Gradient &g) {
  return normalizeGroups(g, {0, 0, -1});
}

//===----------------------------------------------------------------------===//
// Without scale
//===----------------------------------------------------------------------===//

/// y = x / norm; zeros stay zeros, and have no gradient.
LogicalResult lpNormalization(Gradient &g) {
  NodeBuilder &b = g.b;
  int64_t axis = g.getInt("axis", -1);
  bool isL1 = g.getInt("p", 2) == 1;
  Expr x = b.widen(g.x()), y = b.widen(g.y()), dy = b.widen(g.dy());
  Expr norm = b.apply(isL1 ? "ReduceL1" : "ReduceL2", {x, b.ints(axis)},
                      b.attr("keepdims", 1));
  Expr slope = b.reduceSum(dy * y, axis, /*keepDims=*/true);
  Expr inverse = b.where(norm > 0.0, reciprocal(norm), 0.0);
  g.setAlike(0, inverse * (dy - (isL1 ? sign(x) : y) * slope));
  return success();
}

/// y = (x - mean) / (deviation + 1e-9): without the last, which is there for
/// constant x alone, where y is zero.
LogicalResult meanVarianceNormalization(Gradient &g) {
  NodeBuilder &b = g.b;
  SmallVector<int64_t> axes =
      g.getInts("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  Expr x = b.widen(g.x());
  Expr centered = x - b.reduceMean(x, axes, /*keepDims=*/true);
  Expr variance = b.reduceMean(square(centered), axes, /*keepDims=*/true);
  Expr inverse = reciprocal(sqrt(variance) + 1e-9);
  g.setAlike(0, normalized(b.widen(g.dy()), b.widen(g.y()), inverse, axes));
  return success();
}

/// y = x * s^-beta, where s = bias + alpha * the mean of x^2 over a window of
/// channels.
LogicalResult localResponseNormalization(Gradient &g) {
  NodeBuilder &b = g.b;
  double beta = g.getFloat("beta", 0.75f), alpha = g.getFloat("alpha", 1e-4f);
  int64_t size = g.getInt("size", 1), before = (size - 1) / 2;
  auto meanOverWindow = [&](Expr value, int64_t front) {
    // Channels are rows of an image.
    Expr rows = b.apply("Reshape", {value, b.ints({0, 0, -1})});
    Expr mean = b.apply(
        "AveragePool", {b.unsqueeze(rows, 1)},
        {b.attr("kernel_shape", ArrayRef<int64_t>{size, 1}),
         b.attr("pads", ArrayRef<int64_t>{front, 0, size - 1 - front, 0}),
         b.attr("count_include_pad", 1)});
    return b.reshapeLike(mean, value);
  };
  Expr x = b.widen(g.x()), dy = b.widen(g.dy());
  Expr s = meanOverWindow(square(x), before) * alpha + g.getFloat("bias", 1.0);
  Expr direct = dy * pow(s, b.number(-beta, x.getElementType()));
  // The windows that an element is in are its own window turned around.
  Expr shared = meanOverWindow(direct * x / s, size - 1 - before);
  g.setAlike(0, direct - x * shared * (2.0 * alpha * beta));
  return success();
}

constexpr GradientRule rules[] = {
    {"BatchNormalization", batchNormalization},
    {"GroupNormalization", groupNormalization},
    {"InstanceNormalization", instanceNormalization},
    {"LRN", localResponseNormalization},
    {"LayerNormalization", layerNormalization, [](Operation *) { return 3u; }},
    {"LpNormalization", lpNormalization},
    {"MeanVarianceNormalization", meanVarianceNormalization},
    {"RMSNormalization", rmsNormalization},
};

} // namespace

ArrayRef<GradientRule> getNormalizationRules() { return rules; }

} // namespace amp::onnx
