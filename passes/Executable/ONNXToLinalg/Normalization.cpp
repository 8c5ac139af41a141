//===- Normalization.cpp - softmax and normalisations ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

namespace {

Scalar element(Body &b) { return b.x(); }

int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// True for a node whose values are plain, and its first input of floats.
bool isOfFloats(const Node &n, int64_t rank) {
  return n.isPlain() && isa<FloatType>(n.getElementType()) &&
         getRank(n.x()) >= rank;
}

/// An axis counted from the front; none if there is no such.
std::optional<int64_t> getAxis(const Node &n, int64_t missing) {
  int64_t rank = getRank(n.x()), axis = n.getInt("axis", missing);
  axis = axis < 0 ? axis + rank : axis;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(first, std::max(first, rank)));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult softmax(Node &n) {
  if (!isOfFloats(n, 1))
    return failure();
  std::optional<int64_t> axis = getAxis(n, -1);
  if (!axis)
    return failure();
  Space space = n.getSpace(n.x(), {*axis});
  Type wide = widen(n.getElementType());
  Value most = n.reduce(space, Fold::Max, {n.x()}, element);
  Value power = n.map(space, {n.x(), n.perRow(space, most)}, wide,
                      [](Body &b) { return exp(b.x(0) - b.x(1)); });
  Value sum = n.reduce(space, Fold::Sum, {power}, element);
  n.set(0, n.map(space, {power, n.perRow(space, sum)}, n.getResultElementType(),
                 [](Body &b) { return b.x(0) / b.x(1); }));
  return success();
}

LogicalResult logSoftmax(Node &n) {
  if (!isOfFloats(n, 1))
    return failure();
  std::optional<int64_t> axis = getAxis(n, -1);
  if (!axis)
    return failure();
  Space space = n.getSpace(n.x(), {*axis});
  Value most = n.reduce(space, Fold::Max, {n.x()}, element);
  Value sum = n.reduce(space, Fold::Sum, {n.x(), n.perRow(space, most)},
                       [](Body &b) { return exp(b.x(0) - b.x(1)); });
  Value logarithm = n.mapKept(space, {sum}, widen(n.getElementType()),
                              [](Body &b) { return log(b.x()); });
  n.set(0,
        n.map(space, {n.x(), n.perRow(space, most), n.perRow(space, logarithm)},
              n.getResultElementType(),
              [](Body &b) { return (b.x(0) - b.x(1)) - b.x(2); }));
  return success();
}

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

/// The mean of what a formula makes of a value's elements, over the reduced
/// dimensions.
Value makeMean(Node &n, const Space &space, ArrayRef<Operand> operands,
               Node::Formula formula) {
  Value sum = n.reduce(space, Fold::Sum, operands, formula);
  std::optional<int64_t> count = space.countReduced();
  Value index = count ? Value() : n.countReduced(space);
  return n.mapKept(space, {sum}, getElementTypeOrSelf(sum.getType()),
                   [&](Body &b) {
                     return count ? b.x() / double(*count)
                                  : b.x() / b.outer(index, b.x().getType());
                   });
}

struct Moments {
  Value mean, variance;
};

/// In two passes: the difference of two squares would lose digits.
Moments makeMoments(Node &n, const Space &space, Value x) {
  Value mean = makeMean(n, space, {x}, element);
  Value variance = makeMean(n, space, {x, n.perRow(space, mean)}, [](Body &b) {
    Scalar distance = b.x(0) - b.x(1);
    return distance * distance;
  });
  return {mean, variance};
}

/// 1 / sqrt(x + epsilon)
Value makeInverseDeviation(Node &n, const Space &space, Value variance,
                           double epsilon) {
  return n.mapKept(space, {variance}, getElementTypeOrSelf(variance.getType()),
                   [&](Body &b) { return 1.0 / sqrt(b.x() + epsilon); });
}

/// True if float32, in which statistics are computed here, is what stash_type
/// asks for.
bool stashesFloats(const Node &n) {
  return n.getInt("stash_type", 1) == 1 && !n.getElementType().isF64();
}

//===----------------------------------------------------------------------===//
// Over the last axes
//===----------------------------------------------------------------------===//

LogicalResult layerNormalization(Node &n) {
  if (!isOfFloats(n, 1) || !stashesFloats(n))
    return failure();
  std::optional<int64_t> axis = getAxis(n, -1);
  SmallVector<Value> values = {n.x(), n.x(1)};
  if (n.x(2))
    values.push_back(n.x(2));
  SmallVector<Operand> operands;
  std::optional<Space> all = n.broadcast(values, operands);
  if (!axis || !all)
    return failure();
  Space space = n.getSpace(n.x(), axesFrom(*axis, getRank(n.x())));
  if (all->sizes != space.sizes)
    return failure();
  auto [mean, variance] = makeMoments(n, space, n.x());
  Value inverse =
      makeInverseDeviation(n, space, variance, n.getFloat("epsilon", 1e-5));
  operands.push_back(n.perRow(space, mean));
  operands.push_back(n.perRow(space, inverse));
  n.set(0, n.map(space, operands, n.getResultElementType(), [](Body &b) {
    ArrayRef<Scalar> x = b.getOperands();
    Scalar y = (x.front() - x.drop_back().back()) * x.back() * x[1];
    return x.size() == 5 ? y + x[2] : y;
  }));
  for (auto [position, value] : {std::pair(1, mean), std::pair(2, inverse)})
    if (n.isUsed(position))
      n.set(position, n.keepDims(space, value, n.getResultElementType(position),
                                 element));
  return success();
}

LogicalResult rmsNormalization(Node &n) {
  if (!isOfFloats(n, 1) || !stashesFloats(n))
    return failure();
  std::optional<int64_t> axis = getAxis(n, -1);
  SmallVector<Operand> operands;
  std::optional<Space> all = n.broadcast({n.x(), n.x(1)}, operands);
  if (!axis || !all)
    return failure();
  Space space = n.getSpace(n.x(), axesFrom(*axis, getRank(n.x())));
  if (all->sizes != space.sizes)
    return failure();
  Value square =
      makeMean(n, space, {n.x()}, [](Body &b) { return b.x() * b.x(); });
  Value inverse =
      makeInverseDeviation(n, space, square, n.getFloat("epsilon", 1e-5));
  operands.push_back(n.perRow(space, inverse));
  n.set(0, n.map(space, operands, n.getResultElementType(),
                 [](Body &b) { return b.x(0) * b.x(2) * b.x(1); }));
  return success();
}

//===----------------------------------------------------------------------===//
// Over channels
//===----------------------------------------------------------------------===//

/// (x - mean) / deviation * scale + bias, where scale and bias have the
/// dimensions `channels` of the space.
Value normalize(Node &n, const Space &space, Value x, Value scale, Value bias,
                ArrayRef<int64_t> channels, Type type) {
  auto [mean, variance] = makeMoments(n, space, x);
  Value inverse =
      makeInverseDeviation(n, space, variance, n.getFloat("epsilon", 1e-5));
  return n.map(space,
               {x, n.perRow(space, mean), n.perRow(space, inverse),
                Operand(scale, channels), Operand(bias, channels)},
               type, [](Body &b) {
                 return (b.x(0) - b.x(1)) * b.x(2) * b.x(3) + b.x(4);
               });
}

LogicalResult instanceNormalization(Node &n) {
  if (!isOfFloats(n, 3))
    return failure();
  Space space = n.getSpace(n.x(), axesFrom(2, getRank(n.x())));
  n.set(0, normalize(n, space, n.x(), n.x(1), n.x(2), {1},
                     n.getResultElementType()));
  return success();
}

/// Channels become groups of channels.
LogicalResult groupNormalization(Node &n) {
  if (!isOfFloats(n, 2) || !stashesFloats(n))
    return failure();
  Space whole = n.getSpace(n.x());
  int64_t groups = n.getInt("num_groups", 0);
  if (!whole.sizes[1].isStatic() || groups <= 0 ||
      whole.sizes[1].number % groups != 0)
    return failure();
  const Size outer{groups, Value(), 0};
  const Size inner{whole.sizes[1].number / groups, Value(), 0};
  SmallVector<Size> sizes = whole.sizes;
  sizes[1] = outer;
  sizes.insert(sizes.begin() + 2, inner);
  SmallVector<ReassociationIndices> split;
  for (int64_t i = 0; i < whole.getRank(); ++i) {
    if (i == 1)
      split.push_back({1, 2});
    else
      split.push_back({i < 1 ? i : i + 1});
  }
  const ReassociationIndices channels = {0, 1};
  Value x = n.expand(n.x(), sizes, split);
  Value scale = n.expand(n.x(1), {outer, inner}, {channels});
  Value bias = n.expand(n.x(2), {outer, inner}, {channels});
  Space space = n.getSpace(x, axesFrom(2, sizes.size()));
  Value y =
      normalize(n, space, x, scale, bias, {1, 2}, n.getResultElementType());
  n.set(0, n.collapse(y, whole.sizes, split));
  return success();
}

LogicalResult batchNormalization(Node &n) {
  if (!isOfFloats(n, 2))
    return failure();
  int64_t rank = getRank(n.x());
  SmallVector<int64_t> axes = axesFrom(2, rank);
  axes.insert(axes.begin(), 0);
  Space space = n.getSpace(n.x(), axes);
  Value mean = n.x(3), variance = n.x(4);
  if (n.getInt("training_mode", 0)) {
    Moments batch = makeMoments(n, space, n.x());
    double momentum = n.getFloat("momentum", 0.9);
    auto mix = [&](Body &b) {
      return b.x(0) * momentum + b.x(1) * (1.0 - momentum);
    };
    for (auto [position, running, current] :
         {std::tuple(1, mean, batch.mean),
          std::tuple(2, variance, batch.variance)})
      if (n.isUsed(position))
        n.set(position, n.mapKept(space, {running, current},
                                  n.getResultElementType(position), mix));
    mean = batch.mean;
    variance = batch.variance;
  }
  double epsilon = n.getFloat("epsilon", 1e-5);
  Value factor =
      n.mapKept(space, {variance, n.x(1)}, widen(n.getElementType()),
                [&](Body &b) { return b.x(1) / sqrt(b.x(0) + epsilon); });
  n.set(0, n.map(space,
                 {n.x(), n.perRow(space, mean), n.perRow(space, factor),
                  n.perRow(space, n.x(2))},
                 n.getResultElementType(),
                 [](Body &b) { return (b.x(0) - b.x(1)) * b.x(2) + b.x(3); }));
  return success();
}

constexpr LinalgRule rules[] = {
    {"BatchNormalization", batchNormalization},
    {"GroupNormalization", groupNormalization},
    {"InstanceNormalization", instanceNormalization},
    {"LayerNormalization", layerNormalization},
    {"LogSoftmax", logSoftmax},
    {"RMSNormalization", rmsNormalization},
    {"Softmax", softmax},
};

} // namespace

ArrayRef<LinalgRule> getNormalizationRules() { return rules; }

} // namespace amp
