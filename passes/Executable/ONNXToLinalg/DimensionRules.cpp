//===- DimensionRules.cpp - sizes of results, by operator -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dimensions.h"

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ConstantInts.h"
#include "amp/Dialect/ONNX/ConstantNumber.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

namespace {

using MaybeSize = std::optional<Size>;

Size number(int64_t value) { return {value, Value(), 0}; }
const Size kOne = number(1);

int64_t getRank(Value value) {
  auto type =
      dyn_cast_if_present<RankedTensorType>(value ? value.getType() : Type());
  return type ? type.getRank() : -1;
}

Value getInput(Operation *op, unsigned position) {
  SmallVector<Value, 4> inputs = onnx::inputsByPosition(op);
  return position < inputs.size() ? inputs[position] : Value();
}

/// An attribute that counts from the end if it is negative; -1 if it is
/// nowhere.
int64_t normalize(int64_t axis, int64_t rank) {
  axis = axis < 0 ? axis + rank : axis;
  return axis < rank ? axis : -1;
}

/// The size of a dimension of an input, from the front.
MaybeSize at(Dimensions &d, Value value, int64_t dimension) {
  if (dimension < 0 || dimension >= getRank(value))
    return std::nullopt;
  return d.get(value, dimension);
}

//===----------------------------------------------------------------------===//
// Shapes that are those of inputs
//===----------------------------------------------------------------------===//

MaybeSize asFirst(Dimensions &d, OpResult result, unsigned dimension) {
  Value first = getInput(result.getOwner(), 0);
  if (result.getResultNumber() != 0 || getRank(first) != getRank(result))
    return std::nullopt;
  return at(d, first, dimension);
}

/// The number of elements that a Slice of a dimension leaves at most: its end,
/// where it begins at 0.
MaybeSize getBound(Dimensions &d, const Size &size) {
  Operation *op = size.value ? size.value.getDefiningOp() : nullptr;
  if (!isa_and_present<onnx::SliceOp>(op))
    return std::nullopt;
  auto starts = onnx::getConstantInts(getInput(op, 1));
  auto axes = onnx::getConstantInts(getInput(op, 3));
  if (!starts || !axes || starts->size() != 1 || axes->size() != 1 ||
      starts->front() != 0 ||
      normalize(axes->front(), getRank(size.value)) != size.dimension)
    return std::nullopt;
  return d.getElement(getInput(op, 2), 0);
}

/// The one size that all of them have that are not 1.
MaybeSize join(Dimensions &d, ArrayRef<Size> sizes) {
  SmallVector<Size> others;
  for (const Size &size : sizes) {
    if (size == kOne || llvm::is_contained(others, size))
      continue;
    // Broadcasting knows no other numbers.
    if (size.isStatic())
      return size;
    others.push_back(size);
  }
  if (others.empty())
    return kOne;
  // What is at most as large as another one is that, or 1.
  if (others.size() == 2)
    for (unsigned i : {0, 1})
      if (getBound(d, others[i]) == others[1 - i])
        return others[1 - i];
  return others.size() == 1 ? MaybeSize(others.front()) : std::nullopt;
}

MaybeSize broadcast(Dimensions &d, OpResult result, unsigned dimension) {
  SmallVector<Size> sizes;
  int64_t fromEnd = getRank(result) - dimension;
  for (Value operand : result.getOwner()->getOperands()) {
    int64_t rank = getRank(operand);
    if (rank < 0)
      return std::nullopt;
    if (rank >= fromEnd)
      sizes.push_back(d.get(operand, rank - fromEnd));
  }
  return join(d, sizes);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Of matrices of these ranks whose last two dimensions may be exchanged.
MaybeSize product(Dimensions &d, Value a, Value b, bool transA, bool transB,
                  int64_t dimension) {
  int64_t rankA = getRank(a), rankB = getRank(b);
  if (rankA < 2 || rankB < 2)
    return std::nullopt;
  int64_t rank = std::max(rankA, rankB), fromEnd = rank - dimension;
  if (fromEnd == 1)
    return at(d, b, rankB - (transB ? 2 : 1));
  if (fromEnd == 2)
    return at(d, a, rankA - (transA ? 1 : 2));
  SmallVector<Size> sizes;
  if (rankA >= fromEnd)
    sizes.push_back(d.get(a, rankA - fromEnd));
  if (rankB >= fromEnd)
    sizes.push_back(d.get(b, rankB - fromEnd));
  return join(d, sizes);
}

MaybeSize matMul(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  return product(d, op->getOperand(0), op->getOperand(1),
                 onnx::getInt(op, "transA", 0), onnx::getInt(op, "transB", 0),
                 dimension);
}

/// Where a dimension is padded by as much as the kernel takes away.
MaybeSize conv(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  Value x = op->getOperand(0), w = op->getOperand(1);
  if (dimension == 0)
    return at(d, x, 0);
  int64_t rank = getRank(x), i = int64_t(dimension) - 2;
  if (!isa<onnx::ConvOp>(op) || i < 0 || getRank(w) != rank)
    return std::nullopt;
  auto get = [&](StringRef name, int64_t index, int64_t missing) {
    auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return list && index < list.size() ? list[index] : missing;
  };
  Size kernel = d.get(w, dimension);
  auto padding = op->getAttrOfType<StringAttr>("auto_pad");
  if (!kernel.isStatic() || get("strides", i, 1) != 1)
    return std::nullopt;
  bool isSame = padding && padding.getValue().starts_with("SAME");
  if (padding && padding != "NOTSET" && !isSame)
    return std::nullopt;
  int64_t taken = (kernel.number - 1) * get("dilations", i, 1);
  int64_t padded = get("pads", i, 0) + get("pads", rank - 2 + i, 0);
  return isSame || taken == padded ? at(d, x, dimension) : std::nullopt;
}

MaybeSize batchOfFirst(Dimensions &d, OpResult result, unsigned dimension) {
  return dimension == 0 ? at(d, result.getOwner()->getOperand(0), 0)
                        : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

MaybeSize transpose(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  auto order = op->getAttrOfType<DenseI64ArrayAttr>("perm");
  Value x = op->getOperand(0);
  if (!order)
    return at(d, x, getRank(x) - 1 - dimension);
  return dimension < unsigned(order.size()) ? at(d, x, order[dimension])
                                            : std::nullopt;
}

MaybeSize concat(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  int64_t axis =
      normalize(onnx::getInt(op, "axis", 0), getRank(op->getOperand(0)));
  if (axis < 0 || axis == dimension)
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (MaybeSize size = at(d, operand, dimension); size && size->isStatic())
      return size;
  return at(d, op->getOperand(0), dimension);
}

MaybeSize split(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  Value x = op->getOperand(0);
  int64_t axis = normalize(onnx::getInt(op, "axis", 0), getRank(x));
  if (axis != dimension)
    return axis < 0 ? std::nullopt : at(d, x, dimension);
  if (Value sizes = getInput(op, 1))
    return d.getElement(sizes, result.getResultNumber());
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> getAxes(Operation *op, unsigned position,
                                            int64_t rank) {
  auto axes = onnx::getConstantInts(getInput(op, position));
  if (!axes)
    return std::nullopt;
  for (int64_t &axis : *axes)
    axis = normalize(axis, rank);
  return axes;
}

MaybeSize slice(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  Value x = op->getOperand(0);
  int64_t rank = getRank(x);
  Value axesInput = getInput(op, 3);
  if (!axesInput)
    return std::nullopt;
  auto axes = getAxes(op, 3, rank);
  if (!axes || llvm::is_contained(*axes, int64_t(dimension)))
    return std::nullopt;
  return at(d, x, dimension);
}

MaybeSize unsqueeze(Dimensions &d, OpResult result, unsigned dimension) {
  auto axes = getAxes(result.getOwner(), 1, getRank(result));
  if (!axes)
    return std::nullopt;
  if (llvm::is_contained(*axes, int64_t(dimension)))
    return kOne;
  int64_t before = llvm::count_if(
      *axes, [&](int64_t axis) { return axis < int64_t(dimension); });
  return at(d, result.getOwner()->getOperand(0), dimension - before);
}

MaybeSize squeeze(Dimensions &d, OpResult result, unsigned dimension) {
  Value x = result.getOwner()->getOperand(0);
  auto axes = getAxes(result.getOwner(), 1, getRank(x));
  if (!axes)
    return std::nullopt;
  for (int64_t i = 0, kept = 0; i < getRank(x); ++i)
    if (!llvm::is_contained(*axes, i) && kept++ == int64_t(dimension))
      return at(d, x, i);
  return std::nullopt;
}

/// A dimension that is scaled by 1, or whose size is listed.
MaybeSize resize(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  if (op->hasAttr("axes") || op->hasAttr("keep_aspect_ratio_policy"))
    return std::nullopt;
  if (Value sizes = getInput(op, 3))
    return d.getElement(sizes, dimension);
  Value scales = getInput(op, 2);
  std::optional<SmallVector<double>> numbers =
      scales ? readConstant(scales) : std::nullopt;
  return numbers && dimension < numbers->size() && (*numbers)[dimension] == 1.0
             ? at(d, op->getOperand(0), dimension)
             : std::nullopt;
}

MaybeSize pad(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  auto pads = onnx::getConstantInts(getInput(op, 1));
  size_t rank = getRank(result);
  return !getInput(op, 3) && pads && pads->size() == 2 * rank &&
                 (*pads)[dimension] == 0 && (*pads)[rank + dimension] == 0
             ? at(d, op->getOperand(0), dimension)
             : std::nullopt;
}

MaybeSize flatten(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  return dimension == 0 && onnx::getInt(op, "axis", 1) == 1
             ? at(d, op->getOperand(0), 0)
             : std::nullopt;
}

MaybeSize gather(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  Value data = op->getOperand(0), indices = op->getOperand(1);
  int64_t axis = normalize(onnx::getInt(op, "axis", 0), getRank(data));
  int64_t count = getRank(indices), i = dimension;
  if (axis < 0 || count < 0)
    return std::nullopt;
  if (i < axis)
    return at(d, data, i);
  return i < axis + count ? at(d, indices, i - axis)
                          : at(d, data, i - count + 1);
}

MaybeSize gatherND(Dimensions &d, OpResult result, unsigned dimension) {
  Value indices = result.getOwner()->getOperand(1);
  return int64_t(dimension) + 1 < getRank(indices) ? at(d, indices, dimension)
                                                   : std::nullopt;
}

MaybeSize asIndices(Dimensions &d, OpResult result, unsigned dimension) {
  return at(d, result.getOwner()->getOperand(1), dimension);
}

MaybeSize reduce(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  Value x = op->getOperand(0);
  auto axes = getAxes(op, 1, getRank(x));
  if (!axes || axes->empty())
    return std::nullopt;
  if (onnx::getInt(op, "keepdims", 1) != 0)
    return llvm::is_contained(*axes, int64_t(dimension)) ? kOne
                                                         : at(d, x, dimension);
  return squeeze(d, result, dimension);
}

//===----------------------------------------------------------------------===//
// Shapes from lists
//===----------------------------------------------------------------------===//

/// Takes a size away that is among others, or divides one by a number.
bool cancel(SmallVectorImpl<Size> &sizes, const Size &size) {
  for (Size &other : sizes) {
    if (other == size) {
      other = kOne;
      return true;
    }
    if (other.isStatic() && size.isStatic() && size.number > 0 &&
        other.number % size.number == 0) {
      other.number /= size.number;
      return true;
    }
  }
  return false;
}

/// A list that holds -1 leaves the rest of the elements to that dimension.
MaybeSize findRest(Dimensions &d, Operation *op, unsigned dimension,
                   int64_t rank) {
  SmallVector<Size> rest = d.get(op->getOperand(0));
  // Numbers are one, so that they cancel whatever they come from.
  Size product = kOne;
  for (Size &size : rest)
    if (size.isStatic()) {
      product.number *= size.number;
      size = kOne;
    }
  rest.push_back(product);
  for (int64_t i = 0; i < rank; ++i) {
    if (i == int64_t(dimension))
      continue;
    MaybeSize size = d.getElement(op->getOperand(1), i);
    if (size == number(0))
      size = at(d, op->getOperand(0), i);
    if (!size || !cancel(rest, *size))
      return std::nullopt;
  }
  llvm::erase(rest, kOne);
  if (rest.empty())
    return kOne;
  return rest.size() == 1 ? MaybeSize(rest.front()) : std::nullopt;
}

/// Where a size is 0, a list from which it comes asks for the input's: then
/// there are no elements.
MaybeSize reshape(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  if (getRank(op->getOperand(0)) < 0)
    return std::nullopt;
  MaybeSize size = d.getElement(op->getOperand(1), dimension);
  if (size == number(0) && onnx::getInt(op, "allowzero", 0) == 0)
    return at(d, op->getOperand(0), dimension);
  if (size == number(-1))
    return findRest(d, op, dimension, getRank(result));
  return size;
}

MaybeSize expand(Dimensions &d, OpResult result, unsigned dimension) {
  Operation *op = result.getOwner();
  Value x = op->getOperand(0), list = op->getOperand(1);
  auto listType = dyn_cast<RankedTensorType>(list.getType());
  if (!listType || !listType.hasStaticShape() || getRank(x) < 0)
    return std::nullopt;
  int64_t fromEnd = getRank(result) - dimension;
  SmallVector<Size> sizes;
  if (getRank(x) >= fromEnd)
    sizes.push_back(d.get(x, getRank(x) - fromEnd));
  if (int64_t count = listType.getNumElements(); count >= fromEnd) {
    MaybeSize size = d.getElement(list, count - fromEnd);
    if (!size)
      return std::nullopt;
    // -1 is what exporters write for a dimension that stays.
    if (size != number(-1))
      sizes.push_back(*size);
  }
  return join(d, sizes);
}

MaybeSize range(Dimensions &d, OpResult result, unsigned) {
  Operation *op = result.getOwner();
  if (onnx::getConstantNumber(op->getOperand(0)) != 0.0 ||
      onnx::getConstantNumber(op->getOperand(2)) != 1.0)
    return std::nullopt;
  return d.getElement(op->getOperand(1), 0);
}

MaybeSize constantOfShape(Dimensions &d, OpResult result, unsigned dimension) {
  return d.getElement(result.getOwner()->getOperand(0), dimension);
}

//===----------------------------------------------------------------------===//
// Elements of lists
//===----------------------------------------------------------------------===//

MaybeSize constantElement(Dimensions &, OpResult result, unsigned index) {
  auto numbers = onnx::getConstantInts(result);
  if (!numbers || numbers->empty())
    return std::nullopt;
  if (numbers->size() == 1 && index == 0)
    return number(numbers->front());
  return index < numbers->size() ? MaybeSize(number((*numbers)[index]))
                                 : std::nullopt;
}

MaybeSize shapeElement(Dimensions &d, OpResult result, unsigned index) {
  Operation *op = result.getOwner();
  Value x = op->getOperand(0);
  int64_t rank = getRank(x), start = onnx::getInt(op, "start", 0);
  if (rank < 0)
    return std::nullopt;
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  return at(d, x, start + index);
}

/// The number of elements of a list; none if it is not known.
std::optional<int64_t> getLength(Value list) {
  auto type = dyn_cast<RankedTensorType>(list.getType());
  if (!type || !type.hasStaticShape() || type.getRank() > 1)
    return std::nullopt;
  return type.getNumElements();
}

MaybeSize concatElement(Dimensions &d, OpResult result, unsigned index) {
  int64_t rest = index;
  for (Value operand : result.getOwner()->getOperands()) {
    std::optional<int64_t> length = getLength(operand);
    if (!length)
      return std::nullopt;
    if (rest < *length)
      return d.getElement(operand, rest);
    rest -= *length;
  }
  return std::nullopt;
}

MaybeSize sameElement(Dimensions &d, OpResult result, unsigned index) {
  Value x = result.getOwner()->getOperand(0);
  auto type = dyn_cast<RankedTensorType>(x.getType());
  return type && type.getRank() <= 1 && getRank(result) <= 1
             ? d.getElement(x, index)
             : std::nullopt;
}

MaybeSize gatherElement(Dimensions &d, OpResult result, unsigned index) {
  Value data = result.getOwner()->getOperand(0);
  MaybeSize position = d.getElement(result.getOwner()->getOperand(1), index);
  std::optional<int64_t> length = getLength(data);
  if (!position || !position->isStatic() || !length || getRank(data) != 1)
    return std::nullopt;
  int64_t i = normalize(position->number, *length);
  return i < 0 ? std::nullopt : d.getElement(data, i);
}

MaybeSize sliceElement(Dimensions &d, OpResult result, unsigned index) {
  Operation *op = result.getOwner();
  Value data = op->getOperand(0);
  auto starts = onnx::getConstantInts(getInput(op, 1));
  std::optional<int64_t> length = getLength(data);
  int64_t step = 1;
  if (Value steps = getInput(op, 4)) {
    auto numbers = onnx::getConstantInts(steps);
    step = numbers && numbers->size() == 1 ? numbers->front() : 0;
  }
  if (!starts || starts->size() != 1 || step < 1 || !length ||
      getRank(data) != 1)
    return std::nullopt;
  int64_t start = starts->front();
  start = start < 0 ? start + *length : start;
  int64_t position = std::max<int64_t>(start, 0) + index * step;
  return position < *length ? d.getElement(data, position) : std::nullopt;
}

/// Numbers, and what leaves a size as it is.
template <typename Fold>
MaybeSize arithmetic(Dimensions &d, OpResult result, unsigned index,
                     int64_t neutral, bool commutes, Fold fold) {
  MaybeSize sides[2];
  for (unsigned i : {0, 1}) {
    Value operand = result.getOwner()->getOperand(i);
    std::optional<int64_t> length = getLength(operand);
    if (!length)
      return std::nullopt;
    sides[i] = d.getElement(operand, *length == 1 ? 0 : index);
    if (!sides[i])
      return std::nullopt;
  }
  if (sides[1] == number(neutral))
    return sides[0];
  if (commutes && sides[0] == number(neutral))
    return sides[1];
  if (!sides[0]->isStatic() || !sides[1]->isStatic())
    return std::nullopt;
  return fold(sides[0]->number, sides[1]->number);
}

MaybeSize addElement(Dimensions &d, OpResult result, unsigned index) {
  return arithmetic(d, result, index, 0, true, [](int64_t a, int64_t b) {
    int64_t sum;
    return llvm::AddOverflow(a, b, sum) ? MaybeSize() : number(sum);
  });
}
MaybeSize subElement(Dimensions &d, OpResult result, unsigned index) {
  return arithmetic(d, result, index, 0, false, [](int64_t a, int64_t b) {
    int64_t difference;
    return llvm::SubOverflow(a, b, difference) ? MaybeSize()
                                               : number(difference);
  });
}
MaybeSize mulElement(Dimensions &d, OpResult result, unsigned index) {
  return arithmetic(d, result, index, 1, true, [](int64_t a, int64_t b) {
    int64_t product;
    return llvm::MulOverflow(a, b, product) ? MaybeSize() : number(product);
  });
}
MaybeSize divElement(Dimensions &d, OpResult result, unsigned index) {
  return arithmetic(d, result, index, 1, false, [](int64_t a, int64_t b) {
    return a < 0 || b <= 0 ? MaybeSize() : number(a / b);
  });
}

/// Where(Equal(list, -1), ones, list), before Expand: a size is not negative.
MaybeSize whereElement(Dimensions &d, OpResult result, unsigned index) {
  Operation *op = result.getOwner();
  Operation *equal = op->getOperand(0).getDefiningOp();
  if (!isa_and_present<onnx::EqualOp>(equal))
    return std::nullopt;
  MaybeSize sides[2];
  for (unsigned i : {0, 1}) {
    std::optional<int64_t> length = getLength(equal->getOperand(i));
    if (!length)
      return std::nullopt;
    sides[i] = d.getElement(equal->getOperand(i), *length == 1 ? 0 : index);
    if (!sides[i])
      return std::nullopt;
  }
  auto isNegative = [](const Size &size) {
    return size.isStatic() && size.number < 0;
  };
  bool isEqual;
  if (sides[0]->isStatic() && sides[1]->isStatic())
    isEqual = sides[0]->number == sides[1]->number;
  else if (isNegative(*sides[0]) || isNegative(*sides[1]))
    isEqual = false;
  else
    return std::nullopt;
  Value chosen = op->getOperand(isEqual ? 1 : 2);
  std::optional<int64_t> length = getLength(chosen);
  if (!length)
    return std::nullopt;
  return d.getElement(chosen, *length == 1 ? 0 : index);
}

MaybeSize filledElement(Dimensions &, OpResult result, unsigned) {
  auto value = result.getOwner()->getAttrOfType<onnx::TensorAttr>("value");
  if (!value)
    return number(0);
  auto elements = dyn_cast<DenseIntElementsAttr>(value.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return number(elements.getSplatValue<APInt>().getSExtValue());
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

constexpr struct {
  llvm::StringLiteral op;
  DimensionRule rule;
} kRules[] = {
    {"AveragePool", batchOfFirst},
    {"Concat", concat},
    {"ConstantOfShape", constantOfShape},
    {"Conv", conv},
    {"ConvTranspose", batchOfFirst},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Gather", gather},
    {"GatherElements", asIndices},
    {"GatherND", gatherND},
    {"Gemm", matMul},
    {"GlobalAveragePool", batchOfFirst},
    {"GlobalMaxPool", batchOfFirst},
    {"MatMul", matMul},
    {"MaxPool", batchOfFirst},
    {"Pad", pad},
    {"Range", range},
    {"ReduceMax", reduce},
    {"ReduceMean", reduce},
    {"ReduceMin", reduce},
    {"ReduceSum", reduce},
    {"Reshape", reshape},
    {"Resize", resize},
    {"Slice", slice},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

/// The result has the dimensions of the first input.
constexpr llvm::StringLiteral kAsFirst[] = {"Abs",
                                            "Acos",
                                            "Acosh",
                                            "Asin",
                                            "Asinh",
                                            "Atan",
                                            "Atanh",
                                            "BatchNormalization",
                                            "BitwiseNot",
                                            "Cast",
                                            "CastLike",
                                            "Ceil",
                                            "Celu",
                                            "Clip",
                                            "Cos",
                                            "Cosh",
                                            "CumSum",
                                            "DequantizeLinear",
                                            "Dropout",
                                            "Elu",
                                            "Erf",
                                            "Exp",
                                            "Floor",
                                            "Gelu",
                                            "GroupNormalization",
                                            "HardSigmoid",
                                            "HardSwish",
                                            "Hardmax",
                                            "Identity",
                                            "InstanceNormalization",
                                            "IsInf",
                                            "IsNaN",
                                            "LayerNormalization",
                                            "LeakyRelu",
                                            "Log",
                                            "LogSoftmax",
                                            "LpNormalization",
                                            "Mish",
                                            "Neg",
                                            "Not",
                                            "PRelu",
                                            "QuantizeLinear",
                                            "RMSNormalization",
                                            "Reciprocal",
                                            "Relu",
                                            "RotaryEmbedding",
                                            "Round",
                                            "ScatterElements",
                                            "ScatterND",
                                            "Selu",
                                            "Shrink",
                                            "Sigmoid",
                                            "Sign",
                                            "Sin",
                                            "Sinh",
                                            "Softmax",
                                            "Softplus",
                                            "Softsign",
                                            "Sqrt",
                                            "Swish",
                                            "Tan",
                                            "Tanh",
                                            "ThresholdedRelu",
                                            "Trilu"};

/// Operands are broadcast.
constexpr llvm::StringLiteral kBroadcast[] = {
    "Add",       "And",         "BitwiseAnd",
    "BitwiseOr", "BitwiseXor",  "Div",
    "Equal",     "Greater",     "GreaterOrEqual",
    "Less",      "LessOrEqual", "Max",
    "Mean",      "Min",         "Mod",
    "Mul",       "Or",          "Pow",
    "Sub",       "Sum",         "Where",
    "Xor"};

/// Of the runtime's kernels.
constexpr struct {
  llvm::StringLiteral kernel;
  DimensionRule rule;
} kKernelRules[] = {
    {"attention",
     [](Dimensions &d, OpResult result, unsigned dimension) -> MaybeSize {
       // Batch, heads and positions are those of Q.
       Operation *op = result.getOwner();
       if (result.getResultNumber() != 0)
         return std::nullopt;
       if (int64_t(dimension) + 1 < getRank(result))
         return at(d, op->getOperand(0), dimension);
       return getRank(result) == 4 ? at(d, op->getOperand(2), dimension)
                                   : std::nullopt;
     }},
    {"conv", batchOfFirst},
    {"conv_transpose", batchOfFirst},
    {"gemm",
     [](Dimensions &d, OpResult result, unsigned dimension) -> MaybeSize {
       auto call = cast<rt::CallOp>(result.getOwner());
       auto isSet = [&](StringRef name) {
         auto value = call.getSettings().getAs<IntegerAttr>(name);
         return value && value.getInt() != 0;
       };
       return product(d, call.getOperand(0), call.getOperand(1),
                      isSet("transA"), isSet("transB"), dimension);
     }},
};

constexpr struct {
  llvm::StringLiteral op;
  ElementRule rule;
} kElementRules[] = {
    {"Add", addElement},
    {"Cast", sameElement},
    {"Concat", concatElement},
    {"Constant", constantElement},
    {"ConstantOfShape", filledElement},
    {"Div", divElement},
    {"Gather", gatherElement},
    {"Identity", sameElement},
    {"Mul", mulElement},
    {"Reshape", sameElement},
    {"Shape", shapeElement},
    {"Slice", sliceElement},
    {"Squeeze", sameElement},
    {"Sub", subElement},
    {"Unsqueeze", sameElement},
    {"Where", whereElement},
};

} // namespace

DimensionRule findDimensionRule(Operation *op) {
  static const llvm::StringMap<DimensionRule> kernels = [] {
    llvm::StringMap<DimensionRule> all;
    for (const auto &[kernel, rule] : kKernelRules)
      all[kernel] = rule;
    all["matmul"] = all["gemm"];
    return all;
  }();
  static const llvm::StringMap<DimensionRule> rules = [] {
    llvm::StringMap<DimensionRule> all;
    auto add = [&](StringRef op, DimensionRule rule) {
      if (const onnx::OperatorInfo *info = onnx::lookupOperator("", op))
        all[info->operationName] = rule;
    };
    for (const auto &[op, rule] : kRules)
      add(op, rule);
    for (StringRef op : kAsFirst)
      add(op, asFirst);
    for (StringRef op : kBroadcast)
      add(op, broadcast);
    return all;
  }();
  if (auto call = dyn_cast<rt::CallOp>(op))
    return kernels.lookup(call.getKernel());
  return rules.lookup(op->getName().getStringRef());
}

ElementRule findElementRule(Operation *op) {
  static const llvm::StringMap<ElementRule> rules = [] {
    llvm::StringMap<ElementRule> all;
    for (const auto &[op, rule] : kElementRules)
      if (const onnx::OperatorInfo *info = onnx::lookupOperator("", op))
        all[info->operationName] = rule;
    return all;
  }();
  if (isa<onnx::InitializerOp>(op))
    return constantElement;
  return rules.lookup(op->getName().getStringRef());
}

} // namespace amp
