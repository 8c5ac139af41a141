//===- ReductionLength.cpp - how much an operator adds up -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table at the end has one function for each shape of a reduction. What an
// operator's opset changed (axes became an input, Softmax stopped to flatten)
// is asked of the node and of its schema.
//
//===----------------------------------------------------------------------===//

#include "ReductionLength.h"

#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace amp::onnx {

namespace {
using Length = std::optional<int64_t>;

Value getInput(Operation *op, unsigned position) {
  for (auto [at, value] :
       llvm::zip_equal(inputPositions(op), op->getOperands()))
    if (at == position)
      return value;
  return {};
}

/// None if the input is left out, or of unknown rank.
std::optional<ArrayRef<int64_t>> getShape(Operation *op, unsigned position) {
  Value value = getInput(op, position);
  auto type = value ? dyn_cast<ShapedType>(value.getType()) : ShapedType();
  if (!type || !type.hasRank())
    return std::nullopt;
  return type.getShape();
}

/// None for a size that is not known.
Length multiply(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (size < 0 || llvm::MulOverflow(product, size, product))
      return std::nullopt;
  return product;
}

/// Of a constant with integers, all its values.
std::optional<SmallVector<int64_t>> getConstant(Value value) {
  TypedAttr data;
  if (auto initializer = value.getDefiningOp<InitializerOp>())
    data = initializer.getValue().getValue();
  else if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto tensor = constant->getAttrOfType<TensorAttr>("value"))
      data = tensor.getValue();
  auto elements = dyn_cast_if_present<DenseElementsAttr>(data);
  if (!elements || !elements.getElementType().isInteger(64))
    return std::nullopt;
  SmallVector<int64_t> values;
  for (const APInt &number : elements.getValues<APInt>())
    values.push_back(number.getSExtValue());
  return values;
}

/// The size of one axis; counted from the end if it is negative.
Length getSize(ArrayRef<int64_t> shape, int64_t axis) {
  auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis >= rank)
    return std::nullopt;
  return multiply(shape[axis]);
}

/// The product of the sizes from an axis on.
Length getSizeFrom(ArrayRef<int64_t> shape, int64_t axis) {
  auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis > rank)
    return std::nullopt;
  return multiply(shape.drop_front(axis));
}

//===----------------------------------------------------------------------===//
// Matrix products and convolutions
//===----------------------------------------------------------------------===//

Length ofMatMul(Operation *op) {
  if (auto a = getShape(op, 0))
    if (Length size = getSize(*a, -1))
      return size;
  auto b = getShape(op, 1);
  return b ? getSize(*b, b->size() > 1 ? -2 : -1) : std::nullopt;
}

Length ofGemm(Operation *op) {
  auto a = getShape(op, 0);
  return a ? getSize(*a, getInt(op, "transA", 0) ? 0 : 1) : std::nullopt;
}

Length ofConv(Operation *op) {
  auto weight = getShape(op, 1);
  return weight ? getSizeFrom(*weight, 1) : std::nullopt;
}

/// At most so many: with strides less of the kernel meets one element.
Length ofConvTranspose(Operation *op) {
  auto weight = getShape(op, 1);
  if (!weight || weight->size() < 2)
    return std::nullopt;
  Length channels = multiply(weight->front());
  Length kernel = multiply(weight->drop_front(2));
  int64_t groups = std::max<int64_t>(getInt(op, "group", 1), 1);
  return channels && kernel ? multiply({*channels / groups, *kernel})
                            : std::nullopt;
}

/// Both products of a cell are added.
Length ofRecurrent(Operation *op) {
  auto weight = getShape(op, 1), recurrence = getShape(op, 2);
  Length a = weight ? getSize(*weight, -1) : std::nullopt;
  Length b = recurrence ? getSize(*recurrence, -1) : std::nullopt;
  return a && b && *a < (INT64_MAX >> 1) && *b < (INT64_MAX >> 1)
             ? Length(*a + *b)
             : std::nullopt;
}

/// Of letters alone; the sizes of those that the result does not have.
Length ofEinsum(Operation *op) {
  auto equation = op->getAttrOfType<StringAttr>("equation");
  if (!equation || equation.getValue().contains('.'))
    return std::nullopt;
  auto [left, right] = equation.getValue().split("->");
  bool isExplicit = equation.getValue().contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  llvm::MapVector<char, int64_t> sizes;
  llvm::SmallDenseMap<char, unsigned> counts;
  for (auto [position, term] : llvm::enumerate(terms)) {
    std::string letters;
    llvm::copy_if(term, std::back_inserter(letters),
                  [](char c) { return c != ' '; });
    auto shape = getShape(op, position);
    if (!shape || shape->size() != letters.size())
      return std::nullopt;
    for (auto [letter, size] : llvm::zip_equal(letters, *shape)) {
      ++counts[letter];
      int64_t &known = sizes.insert({letter, size}).first->second;
      known = std::max(known, size);
    }
  }
  SmallVector<int64_t> reduced;
  for (auto [letter, size] : sizes)
    if (isExplicit ? !right.contains(letter) : counts[letter] > 1)
      reduced.push_back(size);
  return multiply(reduced);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Axes by attribute, by input or by default; without, all of them.
Length ofAxes(Operation *op, SmallVector<int64_t> axes) {
  auto shape = getShape(op, 0);
  if (!shape)
    return std::nullopt;
  if (auto attribute = op->getAttrOfType<DenseI64ArrayAttr>("axes")) {
    axes.assign(attribute.asArrayRef().begin(), attribute.asArrayRef().end());
  } else if (Value input = getInput(op, 1)) {
    auto constant = getConstant(input);
    if (!constant)
      return std::nullopt;
    axes = *constant;
  }
  if (axes.empty())
    return getInt(op, "noop_with_empty_axes", 0) ? Length(1) : multiply(*shape);
  SmallVector<int64_t> sizes;
  for (int64_t axis : axes) {
    Length size = getSize(*shape, axis);
    if (!size)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return multiply(sizes);
}

Length ofReduce(Operation *op) { return ofAxes(op, {}); }
Length ofMeanVariance(Operation *op) { return ofAxes(op, {0, 2, 3}); }

/// Before opset 13 all from the axis on is one row.
Length ofSoftmax(Operation *op) {
  auto shape = getShape(op, 0);
  const Schema *schema = getSchema(op);
  if (!shape || !schema)
    return std::nullopt;
  return schema->sinceVersion >= 13
             ? getSize(*shape, getInt(op, "axis", -1))
             : getSizeFrom(*shape, getInt(op, "axis", 1));
}

Length ofLastAxis(Operation *op) {
  auto shape = getShape(op, 0);
  return shape ? getSize(*shape, getInt(op, "axis", -1)) : std::nullopt;
}

Length ofFirstAxis(Operation *op) {
  auto shape = getShape(op, 0);
  return shape ? getSize(*shape, getInt(op, "axis", 0)) : std::nullopt;
}

Length ofCumulative(Operation *op) {
  auto shape = getShape(op, 0);
  Value input = getInput(op, 1);
  auto axis = input ? getConstant(input) : std::nullopt;
  return shape && axis && axis->size() == 1 ? getSize(*shape, axis->front())
                                            : std::nullopt;
}

Length fromAxis(Operation *op) {
  auto shape = getShape(op, 0);
  return shape ? getSizeFrom(*shape, getInt(op, "axis", -1)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Windows and images
//===----------------------------------------------------------------------===//

Length ofWindow(Operation *op) {
  auto kernel = op->getAttrOfType<DenseI64ArrayAttr>("kernel_shape");
  return kernel ? multiply(kernel.asArrayRef()) : std::nullopt;
}

Length ofImage(Operation *op) {
  auto shape = getShape(op, 0);
  return shape ? getSizeFrom(*shape, 2) : std::nullopt;
}

Length ofGroup(Operation *op) {
  auto shape = getShape(op, 0);
  int64_t groups = getInt(op, "num_groups", 0);
  Length all = shape ? getSizeFrom(*shape, 1) : std::nullopt;
  return all && groups > 0 ? Length(*all / groups) : std::nullopt;
}

Length ofNeighbours(Operation *op) {
  int64_t size = getInt(op, "size", 0);
  return size > 0 ? Length(size) : std::nullopt;
}

Length ofOperands(Operation *op) { return Length(op->getNumOperands()); }

} // namespace

Length getReductionLength(Operation *op) {
  using Function = Length (*)(Operation *);
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info || !info->domain.empty())
    return std::nullopt;
  auto function =
      llvm::StringSwitch<Function>(info->name)
          .Case("MatMul", ofMatMul)
          .Case("Gemm", ofGemm)
          .Cases({"Conv", "DeformConv"}, ofConv)
          .Case("ConvTranspose", ofConvTranspose)
          .Cases({"GRU", "LSTM", "RNN"}, ofRecurrent)
          .Case("Einsum", ofEinsum)
          .Cases({"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                  "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"},
                 ofReduce)
          .Cases({"ReduceSum", "ReduceSumSquare"}, ofReduce)
          .Case("MeanVarianceNormalization", ofMeanVariance)
          .Cases({"Hardmax", "LogSoftmax", "Softmax"}, ofSoftmax)
          .Case("LpNormalization", ofLastAxis)
          .Cases({"ArgMax", "ArgMin"}, ofFirstAxis)
          .Cases({"CumProd", "CumSum"}, ofCumulative)
          .Cases({"LayerNormalization", "RMSNormalization"}, fromAxis)
          .Cases({"AveragePool", "LpPool", "MaxPool"}, ofWindow)
          .Cases({"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool",
                  "InstanceNormalization"},
                 ofImage)
          .Case("GroupNormalization", ofGroup)
          .Case("LRN", ofNeighbours)
          .Cases({"Max", "Mean", "Min", "Sum"}, ofOperands)
          .Default(nullptr);
  return function ? function(op) : std::nullopt;
}

} // namespace amp::onnx
