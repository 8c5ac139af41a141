//===- ChannelAffine.cpp - constants that scale and shift channels --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows weights that are constant, and computes f y + s of each channel
// with constants f and s, becomes part of the weights.
//
//===----------------------------------------------------------------------===//

#include "ChannelAffine.h"

#include "Nodes.h"

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>

using namespace mlir;

namespace amp {

std::optional<ChannelAffine> ChannelAffine::get(Value weight, Value bias,
                                                int64_t channelAxis,
                                                int64_t groups) {
  auto type = dyn_cast<RankedTensorType>(weight.getType());
  if (!type || !type.hasStaticShape() || channelAxis >= type.getRank() ||
      !weight.hasOneUse())
    return std::nullopt;
  ChannelAffine affine;
  affine.type = type;
  affine.channelAxis = channelAxis;
  affine.groups = groups;
  int64_t channels = type.getDimSize(channelAxis) * groups;
  std::optional<SmallVector<double>> weights = readConstant(weight);
  std::optional<SmallVector<double>> biases =
      bias ? readConstant(bias) : SmallVector<double>(channels, 0.0);
  if (!weights || !biases || int64_t(biases->size()) != channels ||
      (bias && Nodes::getRank(bias) != 1))
    return std::nullopt;
  affine.weights = std::move(*weights);
  affine.shifts = std::move(*biases);
  affine.factors.assign(channels, 1.0);
  return affine;
}

/// The number of each channel of a constant that is added to or multiplied with
/// a result of `rank` dimensions; none for other values.
static std::optional<SmallVector<double>>
readChannels(Value value, int64_t rank, size_t channels) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() > rank)
    return std::nullopt;
  int64_t count = type.getNumElements();
  int64_t axis = type.getRank() - (rank - 1);
  if (count != 1 && (count != int64_t(channels) || axis < 0 ||
                     type.getDimSize(axis) != count))
    return std::nullopt;
  std::optional<SmallVector<double>> numbers = readConstant(value);
  if (numbers && count == 1)
    numbers->assign(channels, numbers->front());
  return numbers;
}

bool ChannelAffine::take(Operation *op, Value before) {
  size_t channels = factors.size();
  int64_t rank = Nodes::getRank(before);
  SmallVector<double> factor(channels, 1.0), shift(channels, 0.0);
  if (isa<onnx::BatchNormalizationOp>(op)) {
    if (op->getOperand(0) != before ||
        onnx::getInt(op, "training_mode", 0) != 0 ||
        llvm::any_of(op->getResults().drop_front(),
                     [](Value result) { return !result.use_empty(); }))
      return false;
    std::optional<SmallVector<double>> parameters[4];
    for (unsigned i = 0; i < 4; ++i) {
      parameters[i] = readConstant(op->getOperand(i + 1));
      if (!parameters[i] || parameters[i]->size() != channels)
        return false;
    }
    const auto &[scale, offset, mean, variance] = parameters;
    auto epsilonAttribute = op->getAttrOfType<FloatAttr>("epsilon");
    double epsilon =
        epsilonAttribute ? epsilonAttribute.getValueAsDouble() : double(1e-5f);
    for (size_t c = 0; c < channels; ++c) {
      factor[c] = (*scale)[c] / std::sqrt((*variance)[c] + epsilon);
      shift[c] = (*offset)[c] - (*mean)[c] * factor[c];
    }
  } else if (isa<onnx::AddOp, onnx::MulOp>(op)) {
    auto numbers = readChannels(Nodes::getOther(op, before), rank, channels);
    if (!numbers)
      return false;
    (isa<onnx::AddOp>(op) ? shift : factor) = *numbers;
  } else {
    return false;
  }
  for (size_t c = 0; c < channels; ++c) {
    factors[c] *= factor[c];
    shifts[c] = shifts[c] * factor[c] + shift[c];
  }
  isChanged |= !isa<onnx::AddOp>(op);
  return true;
}

/// Numbers as a constant of these dimensions, each rounded to the element type.
/// Large ones are a resource, which the context does not keep for ever.
static Value makeConstant(OpBuilder &builder, Location loc,
                          ArrayRef<double> numbers, RankedTensorType type) {
  auto element = cast<FloatType>(type.getElementType());
  SmallVector<char> bytes;
  bytes.reserve(numbers.size() * element.getWidth() / 8);
  for (double number : numbers) {
    llvm::APFloat value(number);
    bool losesInfo;
    value.convert(element.getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint64_t bits = value.bitcastToAPInt().getZExtValue();
    auto *first = reinterpret_cast<const char *>(&bits);
    bytes.append(first, first + element.getWidth() / 8);
  }
  constexpr size_t large = 1024;
  TypedAttr attribute;
  if (numbers.size() <= large)
    attribute = DenseElementsAttr::getFromRawBuffer(type, bytes);
  else
    attribute = DenseResourceElementsAttr::get(
        type, "folded",
        HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, /*align=*/64));
  return rt::ConstantOp::create(builder, loc, type, attribute);
}

Value ChannelAffine::makeWeight(OpBuilder &builder, Location loc) const {
  // With groups, the first axis has the channels of all: [inputs, outputs of a
  // group, ...].
  ArrayRef<int64_t> shape = type.getShape();
  int64_t inner = ShapedType::getNumElements(shape.drop_front(channelAxis + 1));
  int64_t own = shape[channelAxis];
  int64_t perGroup =
      channelAxis == 0 ? 1 : std::max<int64_t>(1, shape[0] / groups);
  SmallVector<double> scaled(weights);
  for (auto [i, number] : llvm::enumerate(scaled)) {
    int64_t line = int64_t(i) / inner;
    int64_t group = groups == 1 ? 0 : line / own / perGroup;
    number *= factors[group * own + line % own];
  }
  return makeConstant(builder, loc, scaled, type);
}

Value ChannelAffine::makeBias(OpBuilder &builder, Location loc) const {
  return makeConstant(
      builder, loc, shifts,
      RankedTensorType::get({int64_t(shifts.size())}, type.getElementType()));
}

} // namespace amp
