//===- ValueMoments.cpp - what results are like, by statistics ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batch normalizations hold the means and variances of the data that a model
// was trained on. From there moments are carried on by operators that heads of
// models are made of, as if channels and positions were independent of each
// other, and normal before a nonlinearity.
//
//===----------------------------------------------------------------------===//

#include "RangeModel.h"

#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace amp::onnx {

namespace {
/// One node and what is known of its inputs.
struct Node {
  Operation *op;
  MomentsOf momentsOf;
  ElementsOf elementsOf;

  Value input(unsigned position) const {
    for (auto [at, value] :
         llvm::zip_equal(inputPositions(op), op->getOperands()))
      if (at == position)
        return value;
    return {};
  }
  const Moments *moments(unsigned position) const {
    for (auto [index, at] : llvm::enumerate(inputPositions(op)))
      if (at == position)
        return momentsOf(index);
    return nullptr;
  }
  /// The elements of a constant input, also behind a cast.
  std::optional<SmallVector<double>> constant(unsigned position) const {
    Value value = input(position);
    while (value && isa_and_present<CastOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value ? elementsOf(value) : std::nullopt;
  }
  /// The sizes of an input; none if they are not all known.
  std::optional<ArrayRef<int64_t>> shape(unsigned position) const {
    Value value = input(position);
    auto type = value ? dyn_cast<ShapedType>(value.getType()) : ShapedType();
    if (!type || !type.hasStaticShape())
      return std::nullopt;
    return type.getShape();
  }
};

using Result = std::optional<Moments>;

/// What a normal number of this mean and variance is, and its square, if
/// negative numbers become 0.
std::pair<double, double> rectify(double mean, double variance) {
  double deviation = std::sqrt(variance);
  if (deviation == 0)
    return {std::max(mean, 0.0), std::max(mean, 0.0) * std::max(mean, 0.0)};
  double z = mean / deviation;
  double above = std::erfc(-z / llvm::numbers::sqrt2) / 2;
  double density =
      std::exp(-z * z / 2) * llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2;
  return {mean * above + deviation * density,
          (mean * mean + variance) * above + mean * deviation * density};
}

Result ofRelu(const Node &node) {
  const Moments *x = node.moments(0);
  if (!x)
    return std::nullopt;
  Moments result;
  for (auto [mean, variance] : llvm::zip_equal(x->mean, x->variance)) {
    auto [first, second] = rectify(mean, variance);
    result.mean.push_back(first);
    result.variance.push_back(std::max(second - first * first, 0.0));
    result.terms.push_back(second);
  }
  return result;
}

Result ofBatchNormalization(const Node &node) {
  std::optional<Normalization> normalization =
      getNormalization(node.op, node.elementsOf);
  if (!normalization)
    return std::nullopt;
  Moments result;
  for (auto [mean, variance, scale, offset] :
       llvm::zip_equal(normalization->mean, normalization->variance,
                       normalization->scale, normalization->offset)) {
    result.mean.push_back(scale * mean + offset);
    result.variance.push_back(scale * scale * variance);
    result.terms.push_back(result.variance.back() +
                           result.mean.back() * result.mean.back());
  }
  return result;
}

/// Of a linear map: its `output`s add up weighted `input`s. Each output of the
/// map has as many taps as `share` says of the weights that lead to it.
class LinearMap {
public:
  explicit LinearMap(size_t outputs, double share = 1)
      : share(share),
        result{SmallVector<double>(outputs), SmallVector<double>(outputs),
               SmallVector<double>(outputs)} {}

  void add(size_t output, const Moments &x, size_t input, double weight) {
    result.mean[output] += weight * x.mean[input] * share;
    result.variance[output] += weight * weight * x.variance[input] * share;
    result.terms[output] += weight * weight * x.terms[input] * share;
  }
  /// With a bias, if there is one.
  Result finish(const Node &node, unsigned position) {
    if (!node.input(position))
      return result;
    std::optional<SmallVector<double>> bias = node.constant(position);
    if (!bias || (bias->size() != 1 && bias->size() != result.channels()))
      return std::nullopt;
    for (auto [i, mean] : llvm::enumerate(result.mean))
      mean += (*bias)[bias->size() == 1 ? 0 : i];
    return result;
  }

private:
  double share;
  Moments result;
};

/// The number of elements of a window; of those of each group of channels.
int64_t windowOf(ArrayRef<int64_t> weights) {
  int64_t window = 1;
  for (int64_t size : weights.drop_front(2))
    window *= size;
  return window;
}

Result ofConv(const Node &node) {
  std::optional<ArrayRef<int64_t>> shape = node.shape(1);
  std::optional<SmallVector<double>> weights = node.constant(1);
  const Moments *x = shape && weights ? node.moments(0) : nullptr;
  int64_t groups = getInt(node.op, "group", 1);
  if (!x || shape->size() < 2 || groups < 1)
    return std::nullopt;
  auto outputs = static_cast<size_t>((*shape)[0]);
  auto depth = static_cast<size_t>((*shape)[1]);
  auto window = static_cast<size_t>(windowOf(*shape));
  if (weights->size() != outputs * depth * window ||
      x->channels() != depth * groups || outputs % groups != 0)
    return std::nullopt;
  LinearMap map(outputs);
  size_t perGroup = outputs / groups;
  for (size_t i = 0; i < weights->size(); ++i) {
    size_t output = i / window / depth;
    map.add(output, *x, output / perGroup * depth + i / window % depth,
            (*weights)[i]);
  }
  return map.finish(node, 2);
}

/// An output's position sees one in so many elements of the window as the
/// strides skip.
Result ofConvTranspose(const Node &node) {
  std::optional<ArrayRef<int64_t>> shape = node.shape(1);
  std::optional<SmallVector<double>> weights = node.constant(1);
  const Moments *x = shape && weights ? node.moments(0) : nullptr;
  int64_t groups = getInt(node.op, "group", 1);
  if (!x || shape->size() < 2 || groups < 1)
    return std::nullopt;
  auto inputs = static_cast<size_t>((*shape)[0]);
  auto perGroup = static_cast<size_t>((*shape)[1]);
  auto window = static_cast<size_t>(windowOf(*shape));
  if (weights->size() != inputs * perGroup * window ||
      x->channels() != inputs || inputs % groups != 0)
    return std::nullopt;
  double share = 1;
  if (auto strides = node.op->getAttrOfType<DenseI64ArrayAttr>("strides"))
    for (int64_t stride : strides.asArrayRef())
      share /= static_cast<double>(std::max<int64_t>(stride, 1));
  LinearMap map(perGroup * groups, share);
  for (size_t i = 0; i < weights->size(); ++i) {
    size_t input = i / window / perGroup;
    size_t group = input / (inputs / groups);
    map.add(group * perGroup + i / window % perGroup, *x, input, (*weights)[i]);
  }
  return map.finish(node, 2);
}

/// x * w, of a matrix of weights that may lie the other way; no bias at a
/// position that no input has.
Result ofProduct(const Node &node, bool transposed, double factor,
                 unsigned bias) {
  std::optional<ArrayRef<int64_t>> shape = node.shape(1);
  std::optional<SmallVector<double>> weights = node.constant(1);
  const Moments *x = shape && weights ? node.moments(0) : nullptr;
  if (!x || shape->size() != 2)
    return std::nullopt;
  auto depth = static_cast<size_t>((*shape)[transposed ? 1 : 0]);
  auto outputs = static_cast<size_t>((*shape)[transposed ? 0 : 1]);
  if (x->channels() != depth || weights->size() != depth * outputs)
    return std::nullopt;
  LinearMap map(outputs);
  for (size_t i = 0; i < weights->size(); ++i)
    map.add(transposed ? i / depth : i % outputs, *x,
            transposed ? i % depth : i / outputs, factor * (*weights)[i]);
  return map.finish(node, bias);
}

Result ofMatMul(const Node &node) { return ofProduct(node, false, 1, ~0U); }

Result ofGemm(const Node &node) {
  auto factor = node.op->getAttrOfType<FloatAttr>("alpha");
  if (getInt(node.op, "transA", 0) || node.op->getAttrOfType<FloatAttr>("beta"))
    return std::nullopt;
  return ofProduct(node, getInt(node.op, "transB", 0),
                   factor ? factor.getValueAsDouble() : 1, 2);
}

/// With a constant that has one element, or one for each channel; of two that
/// are no constants, their sum.
Result ofAdd(const Node &node) {
  for (unsigned data : {0, 1}) {
    std::optional<SmallVector<double>> added = node.constant(1 - data);
    if (!added)
      continue;
    const Moments *x = node.moments(data);
    if (!x || (added->size() != 1 && added->size() != x->channels()))
      return std::nullopt;
    Moments result = *x;
    for (auto [i, mean] : llvm::enumerate(result.mean))
      mean += (*added)[added->size() == 1 ? 0 : i];
    return result;
  }
  const Moments *a = node.moments(0);
  const Moments *b = a ? node.moments(1) : nullptr;
  if (!b || a->channels() != b->channels())
    return std::nullopt;
  Moments result = *a;
  for (size_t i = 0; i < result.channels(); ++i) {
    result.mean[i] += b->mean[i];
    result.variance[i] += b->variance[i];
    result.terms[i] += b->terms[i];
  }
  return result;
}

Result ofMul(const Node &node) {
  for (unsigned data : {0, 1}) {
    std::optional<SmallVector<double>> factors = node.constant(1 - data);
    const Moments *x = factors ? node.moments(data) : nullptr;
    if (!x || (factors->size() != 1 && factors->size() != x->channels()))
      continue;
    Moments result = *x;
    for (size_t i = 0; i < result.channels(); ++i) {
      double factor = (*factors)[factors->size() == 1 ? 0 : i];
      result.mean[i] *= factor;
      result.variance[i] *= factor * factor;
      result.terms[i] *= factor * factor;
    }
    return result;
  }
  return std::nullopt;
}

/// Neither the channels nor what they are like change much.
Result ofSame(const Node &node) {
  const Moments *x = node.moments(0);
  return x ? Result(*x) : std::nullopt;
}

} // namespace

std::optional<Moments> inferMoments(Operation *op, MomentsOf momentsOf,
                                    ElementsOf elementsOf) {
  using Function = Result (*)(const Node &);
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info)
    return std::nullopt;
  auto function = llvm::StringSwitch<Function>(info->name)
                      .Case("BatchNormalization", ofBatchNormalization)
                      .Case("Relu", ofRelu)
                      .Case("Conv", ofConv)
                      .Case("ConvTranspose", ofConvTranspose)
                      .Case("MatMul", ofMatMul)
                      .Case("Gemm", ofGemm)
                      .Case("Add", ofAdd)
                      .Case("Mul", ofMul)
                      .Cases({"Cast", "Identity", "GlobalAveragePool",
                              "AveragePool", "Resize", "Dropout"},
                             ofSame)
                      .Default(nullptr);
  return function ? function({op, momentsOf, elementsOf}) : std::nullopt;
}

std::optional<Normalization> getNormalization(Operation *op,
                                              ElementsOf elementsOf) {
  if (!isa<BatchNormalizationOp>(op) || getInt(op, "training_mode", 0) != 0 ||
      op->getNumOperands() != 5)
    return std::nullopt;
  Node node{op, nullptr, elementsOf};
  auto scale = node.constant(1), offset = node.constant(2),
       mean = node.constant(3), variance = node.constant(4);
  if (!scale || !offset || !mean || !variance)
    return std::nullopt;
  size_t channels = scale->size();
  for (auto *values : {&*offset, &*mean, &*variance})
    if (values->size() != channels)
      return std::nullopt;
  auto epsilon = op->getAttrOfType<FloatAttr>("epsilon");
  Normalization result;
  for (size_t i = 0; i < channels; ++i) {
    double spread = std::max((*variance)[i], 0.0);
    double factor =
        (*scale)[i] /
        std::sqrt(spread + (epsilon ? epsilon.getValueAsDouble() : 1e-5));
    result.mean.push_back((*mean)[i]);
    result.variance.push_back(spread);
    result.scale.push_back(factor);
    result.offset.push_back((*offset)[i] - factor * (*mean)[i]);
  }
  return result;
}

std::optional<double> getDecisionSlope(Operation *op) {
  if (isa<SigmoidOp, SoftmaxOp>(op))
    return 0.25;
  return std::nullopt;
}

} // namespace amp::onnx
