//===- WeightGradient.cpp - gradients of convolutions' weights ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight is a convolution of the image with the gradient of
// the output, batches in the place of channels, which ONNX can only write with
// Transposes around it; of a point it is a product of matrices. As
// lib/Dialect/ONNX/Gradient/SlidingWindow.cpp writes them.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

using namespace mlir;

namespace amp {

namespace {

/// The value whose first two dimensions are exchanged in this one; null if
/// there is none.
Value getSwapped(Value value) {
  Operation *op = value.getDefiningOp();
  auto order = isa_and_present<onnx::TransposeOp>(op)
                   ? op->getAttrOfType<DenseI64ArrayAttr>("perm")
                   : DenseI64ArrayAttr();
  if (!order || order.size() < 2 || order[0] != 1 || order[1] != 0)
    return {};
  for (int64_t i = 2; i < order.size(); ++i)
    if (order[i] != i)
      return {};
  return op->getOperand(0);
}

Value getReshaped(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<onnx::ReshapeOp>(op) ? op->getOperand(0) : Value();
}

bool isStatic(Value value, int64_t first) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > first &&
         llvm::none_of(type.getShape().drop_front(first),
                       ShapedType::isDynamic);
}

/// The image [N, C, ...] of an operand [C / groups, groups * N, ...].
Value getImage(Nodes &nodes, Value operand, int64_t groups) {
  if (groups == 1)
    return getSwapped(operand);
  Value inner = getReshaped(operand);
  int64_t rank = Nodes::getRank(operand);
  if (!inner)
    return {};
  auto isGroups = [&](Value value, int64_t axis, int64_t expected) {
    return nodes.getDimensions().get(value, axis) == Size{expected, Value(), 0};
  };
  if (isGroups(operand, 0, 1)) {
    // [C, N, ...]
    Value image = Nodes::getRank(inner) == rank ? getSwapped(inner) : Value();
    return image && isGroups(image, 1, groups) ? image : Value();
  }
  // [C / groups, groups, N, ...] of [groups, C / groups, N, ...].
  Value split = Nodes::getRank(inner) == rank + 1 ? getSwapped(inner) : Value();
  Value channelsFirst = split ? getReshaped(split) : Value();
  if (!channelsFirst || !isGroups(split, 0, groups) ||
      Nodes::getRank(channelsFirst) != rank)
    return {};
  Value image = getSwapped(channelsFirst);
  Dimensions &d = nodes.getDimensions();
  if (!image || d.get(split, 1) != d.get(operand, 0) ||
      d.get(split, 2) != d.get(image, 0))
    return {};
  return image;
}

bool build(Nodes &nodes, Operation *op, Value image, Value gradient,
           NamedAttrList settings, ArrayRef<int64_t> kernel, Value result) {
  OpBuilder builder(result.getDefiningOp());
  settings.set("kernel_shape", builder.getDenseI64ArrayAttr(kernel));
  auto call = rt::CallOp::create(
      builder, op->getLoc(), TypeRange(result.getType()),
      "conv_weight_gradient", ValueRange{image, gradient}, DenseI32ArrayAttr(),
      /*view=*/false, settings.getDictionary(op->getContext()));
  nameCall(call, op, result);
  nodes.replace(result, call.getResult(0));
  return true;
}

/// Conv with exchanged batches and channels all around.
bool fuseConv(Nodes &nodes, Operation *op) {
  Operation *swap = Nodes::getOnlyUser(op->getResult(0));
  if (!swap || op->getNumOperands() != 2 ||
      getSwapped(swap->getResult(0)) != op->getResult(0))
    return false;
  Value result = swap->getResult(0);
  int64_t groups = onnx::getInt(op, "group", 1);
  Value gradient = getSwapped(op->getOperand(1));
  Value image = getImage(nodes, op->getOperand(0), groups);
  if (!gradient || !image || !isStatic(result, 2) || !isStatic(image, 2) ||
      !isStatic(gradient, 2) ||
      nodes.getDimensions().get(image, 0) !=
          nodes.getDimensions().get(gradient, 0))
    return false;
  auto padding = op->getAttrOfType<StringAttr>("auto_pad");
  if (padding && padding != "NOTSET")
    return false;

  // Strides are dilations of a kernel that is as large as the output was.
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().drop_front(2);
  };
  ArrayRef<int64_t> in = shapeOf(image), out = shapeOf(gradient),
                    kernel = shapeOf(result);
  SmallVector<int64_t> strides, dilations, pads;
  auto get = [&](StringRef name, size_t index, int64_t missing) {
    auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return list && int64_t(index) < list.size() ? list[index] : missing;
  };
  for (size_t i = 0; i < in.size(); ++i) {
    strides.push_back(get("dilations", i, 1));
    dilations.push_back(get("strides", i, 1));
    int64_t padded = in[i] + get("pads", i, 0) + get("pads", in.size() + i, 0);
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    if (padded < extent || (padded - extent) / strides[i] + 1 != out[i])
      return false;
  }
  for (size_t i = 0; i < 2 * in.size(); ++i)
    pads.push_back(get("pads", i, 0));
  Builder builder(op->getContext());
  NamedAttrList settings;
  settings.set("dilations", builder.getDenseI64ArrayAttr(dilations));
  settings.set("group", builder.getI64IntegerAttr(groups));
  settings.set("pads", builder.getDenseI64ArrayAttr(pads));
  settings.set("strides", builder.getDenseI64ArrayAttr(strides));
  return build(nodes, op, image, gradient, settings, kernel, result);
}

/// Gemm of [O, N * places] and [C, N * places].
bool fuseGemm(Nodes &nodes, Operation *op) {
  auto getFactor = [&](StringRef name) {
    auto value = op->getAttrOfType<FloatAttr>(name);
    return value ? value.getValueAsDouble() : 1.0;
  };
  if (op->getNumOperands() != 2 || onnx::getInt(op, "transA", 0) != 0 ||
      onnx::getInt(op, "transB", 0) == 0 || getFactor("alpha") != 1.0)
    return false;
  Operation *reshape = Nodes::getOnlyUser(op->getResult(0));
  if (!isa_and_present<onnx::ReshapeOp>(reshape))
    return false;
  Value result = reshape->getResult(0), sides[2];
  Dimensions &d = nodes.getDimensions();
  for (unsigned i : {0, 1}) {
    Value matrix = op->getOperand(i);
    Value swapped = getReshaped(matrix);
    sides[i] = swapped ? getSwapped(swapped) : Value();
    if (!sides[i] || Nodes::getRank(sides[i]) < 3 ||
        Nodes::getRank(sides[i]) > 5 || d.get(sides[i], 1) != d.get(matrix, 0))
      return false;
  }
  int64_t rank = Nodes::getRank(sides[0]);
  if (Nodes::getRank(sides[1]) != rank || Nodes::getRank(result) != rank ||
      d.get(sides[0], 0) != d.get(sides[1], 0))
    return false;
  for (int64_t i = 2; i < rank; ++i)
    if (d.get(sides[0], i) != d.get(sides[1], i) ||
        d.get(result, i) != Size{1, Value(), 0})
      return false;
  for (int64_t i : {0, 1})
    if (d.get(result, i) != d.get(op->getResult(0), i))
      return false;
  return build(nodes, op, sides[1], sides[0], NamedAttrList(),
               SmallVector<int64_t>(rank - 2, 1), result);
}

} // namespace

bool fuseWeightGradient(Nodes &nodes, Operation *op) {
  if (!llvm::all_of(op->getOperands(), Nodes::isFloat))
    return false;
  if (isa<onnx::ConvOp>(op))
    return fuseConv(nodes, op);
  return isa<onnx::GemmOp>(op) && fuseGemm(nodes, op);
}

} // namespace amp
