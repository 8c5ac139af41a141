//===- Product.cpp - a product and what is around it ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using amp::rt::AMPRTDialect;

namespace amp {

Product::Product(Nodes &nodes, Operation *op, StringRef kernel)
    : nodes(nodes), op(op), kernel(kernel), a(Nodes::getInput(op, 0)),
      b(Nodes::getInput(op, 1)), bias(Nodes::getInput(op, 2)),
      transA(onnx::getInt(op, "transA", 0) != 0),
      transB(onnx::getInt(op, "transB", 0) != 0), last(op->getResult(0)) {
  auto getFloat = [&](StringRef name) {
    auto value = op->getAttrOfType<FloatAttr>(name);
    return value ? static_cast<float>(value.getValueAsDouble()) : 1.0f;
  };
  alpha = getFloat("alpha");
  beta = getFloat("beta");
}

std::optional<Product> Product::get(Nodes &nodes, Operation *op) {
  auto kernel =
      llvm::TypeSwitch<Operation *, StringRef>(op)
          .Case<onnx::MatMulOp>([](auto) { return "matmul"; })
          .Case<onnx::GemmOp>([](auto) { return "gemm"; })
          .Case<onnx::ConvOp>([](auto) { return "conv"; })
          .Case<onnx::ConvTransposeOp>([](auto) { return "conv_transpose"; })
          .Default([](auto) { return ""; });
  if (kernel.empty() || !llvm::all_of(op->getOperands(), Nodes::isFloat) ||
      !Nodes::isFloat(op->getResult(0)))
    return std::nullopt;
  return Product(nodes, op, kernel);
}

//===----------------------------------------------------------------------===//
// Before
//===----------------------------------------------------------------------===//

bool Product::takeExchange(Value &operand, bool &isTransposed) {
  Value source = nodes.getExchanged(operand);
  if (!source)
    return false;
  operand = source;
  isTransposed = !isTransposed;
  return isExchanged = true;
}

bool Product::takeFactor(Value &operand) {
  Operation *factor = operand.getDefiningOp();
  if (!isa_and_present<onnx::MulOp, onnx::DivOp>(factor) ||
      Nodes::getOnlyUser(operand) != op || !nodes.mayJoin(operand))
    return false;
  for (unsigned i : {1, 0}) {
    Value source = factor->getOperand(1 - i);
    if (i == 0 && isa<onnx::DivOp>(factor))
      break;
    std::optional<double> number =
        nodes.getNumberFor(factor->getOperand(i), source);
    if (!number || !isPowerOfTwo(*number))
      continue;
    alpha *= isa<onnx::DivOp>(factor) ? 1.0 / *number : *number;
    operand = source;
    ++count;
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Behind
//===----------------------------------------------------------------------===//

/// Constants for channels; a number that multiplies a Gemm is alpha.
bool Product::takeAffine(Operation *user) {
  bool isNormalization = isa<onnx::BatchNormalizationOp>(user);
  if ((!isNormalization &&
       !(isConv() && isa<onnx::AddOp, onnx::MulOp>(user))) ||
      kernel == "matmul" || residual || !views.empty() || alpha != 1.0f ||
      (bias && beta != 1.0f) ||
      (!isNormalization &&
       !isa_and_present<onnx::ConstantOp, onnx::InitializerOp>(
           Nodes::getOther(user, last).getDefiningOp())))
    return false;
  if (!affine) {
    bool isTransposed = kernel == "conv_transpose";
    affine =
        ChannelAffine::get(b, bias, isConv() ? isTransposed : !transB,
                           isTransposed ? onnx::getInt(op, "group", 1) : 1);
    if (!affine)
      return false;
    if (!affine->take(user, last)) {
      affine.reset();
      return false;
    }
  } else if (!affine->take(user, last)) {
    return false;
  }
  last = user->getResult(0);
  return true;
}

bool Product::takeScale(Operation *user) {
  if (!isa<onnx::MulOp, onnx::DivOp>(user) || bias || residual || isConv())
    return false;
  bool isDiv = isa<onnx::DivOp>(user);
  if (isDiv && user->getOperand(0) != last)
    return false;
  std::optional<double> number =
      nodes.getNumberFor(Nodes::getOther(user, last), last);
  if (!number || (isDiv && !isPowerOfTwo(*number)) ||
      (alpha != 1.0f && !isPowerOfTwo(alpha) && !isPowerOfTwo(*number)))
    return false;
  double factor = isDiv ? 1.0 / *number : *number;
  if (!std::isfinite(factor) || !std::isnormal(float(alpha * factor)))
    return false;
  alpha = static_cast<float>(alpha * factor);
  last = user->getResult(0);
  return true;
}

/// A convolution's bias as one dimension; null for what is none.
Value Product::asChannels(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = Nodes::getRank(getResult());
  Size channels = nodes.getDimensions().get(getResult(), 1);
  if (!channels.isStatic() || !type.hasStaticShape() ||
      type.getRank() < rank - 1 || type.getNumElements() != channels.number ||
      type.getDimSize(type.getRank() - (rank - 1)) != channels.number)
    return {};
  OpBuilder builder(op);
  // Dominates what the value dominates.
  builder.setInsertionPointAfterValue(value);
  return rt::ViewOp::create(
      builder, op->getLoc(),
      RankedTensorType::get({channels.number}, type.getElementType()), value);
}

/// What is added behind a view, as the product has it; null for what is none.
Value Product::asResidual(Value value) {
  SmallVector<Size> sizes = nodes.getDimensions().get(getResult());
  if (views.empty())
    return nodes.isBroadcastTo(value, sizes) ? value : Value();
  // Rows stay rows: one for all, or one number.
  int64_t rank = Nodes::getRank(value);
  SmallVector<Size> own = nodes.getDimensions().get(value);
  auto isOne = [](const Size &size) { return size == Size{1, Value(), 0}; };
  if (rank <= int64_t(sizes.size()) && llvm::all_of(own, isOne))
    return value;
  if (rank == 1 && own[0] == sizes.back() &&
      nodes.getDimensions().get(last).back() == sizes.back())
    return value;
  if (!nodes.haveSameShape(value, last))
    return {};
  auto type = cast<RankedTensorType>(getResult().getType());
  OpBuilder builder(op);
  builder.setInsertionPointAfterValue(value);
  if (type.getNumDynamicDims() <= 1)
    return rt::ViewOp::create(
        builder, op->getLoc(),
        RankedTensorType::get(
            type.getShape(),
            cast<RankedTensorType>(value.getType()).getElementType()),
        value);
  return {};
}

bool Product::takeSum(Operation *user) {
  if (!isa<onnx::AddOp>(user) || residual)
    return false;
  Value other = Nodes::getOther(user, last);
  if (!Nodes::isFloat(other))
    return false;
  if (isConv()) {
    Value channels = bias || affine ? Value() : asChannels(other);
    if (channels)
      bias = channels;
    else if (nodes.haveSameShape(other, getResult()))
      residual = other;
    else
      return false;
  } else {
    Value added = asResidual(other);
    if (!added)
      return false;
    if (bias || affine) {
      residual = added;
    } else {
      bias = added;
      beta = 1.0f;
    }
  }
  last = user->getResult(0);
  return true;
}

bool Product::takeActivation() {
  FusedActivation found = findActivation(nodes, last);
  if (!found)
    return false;
  activation = found;
  last = found.result;
  return true;
}

/// A Reshape of rows or into rows, behind which elements are what they were.
bool Product::takeView(Operation *user) {
  if (!isa<onnx::ReshapeOp>(user) || isConv() || user->getOperand(0) != last ||
      Nodes::getRank(user->getResult(0)) < 1)
    return false;
  // What follows must profit from it.
  Operation *next = Nodes::getOnlyUser(user->getResult(0));
  if (!isa_and_present<onnx::AddOp>(next) &&
      !findActivation(nodes, user->getResult(0)))
    return false;
  views.push_back(user);
  last = user->getResult(0);
  return true;
}

void Product::grow() {
  if (!isConv()) {
    while (takeExchange(a, transA) || takeFactor(a))
      ;
    while (takeExchange(b, transB) || takeFactor(b))
      ;
  }
  if (!nodes.mayJoin(getResult()))
    return;
  // What is behind the last view that nothing profits from stays there.
  auto done = std::make_tuple(last, views.size());
  while (!activation) {
    if (takeActivation()) {
      ++count;
      done = {last, views.size()};
      break;
    }
    Operation *user = Nodes::getOnlyUser(last);
    if (!user)
      break;
    if (takeAffine(user) || takeScale(user) || takeSum(user)) {
      ++count;
      done = {last, views.size()};
      continue;
    }
    if (!takeView(user))
      break;
  }
  last = std::get<0>(done);
  views.resize(std::get<1>(done));
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

void nameCall(Operation *call, Operation *node, Value result) {
  if (Attribute name = node->getAttr(onnx::ONNXDialect::kName))
    call->setAttr(AMPRTDialect::kNode, name);
  auto names = result.getDefiningOp()->getAttrOfType<ArrayAttr>(
      onnx::ONNXDialect::kOutputs);
  if (names && names.size() == 1)
    call->setAttr(AMPRTDialect::kNames, names);
}

void Product::build() {
  OpBuilder builder(last.getDefiningOp());
  NamedAttrList settings;
  for (StringRef name : {"auto_pad", "dilations", "group", "kernel_shape",
                         "output_padding", "output_shape", "pads", "strides"})
    if (Attribute value = op->getAttr(name)) {
      auto number = dyn_cast<IntegerAttr>(value);
      settings.set(name,
                   number ? builder.getI64IntegerAttr(number.getInt()) : value);
    }
  auto setNumber = [&](StringRef name, double value, double missing) {
    if (value != missing)
      settings.set(name, builder.getF32FloatAttr(float(value)));
  };
  setNumber("alpha", alpha, 1.0);
  setNumber("beta", beta, 1.0);
  if (transA)
    settings.set("transA", builder.getI64IntegerAttr(1));
  if (transB)
    settings.set("transB", builder.getI64IntegerAttr(1));
  if (activation) {
    settings.set("activation", builder.getStringAttr(activation.name));
    setNumber("activation_alpha", activation.alpha, 1.0);
    setNumber("activation_beta", activation.beta, 0.0);
  }
  if (affine) {
    b = affine->isWeightChanged() ? affine->makeWeight(builder, op->getLoc())
                                  : b;
    bias = affine->makeBias(builder, op->getLoc());
  }
  SmallVector<Value> operands = {a, b};
  SmallVector<int32_t> inputs = {0, 1};
  for (Value input : {bias, residual}) {
    inputs.push_back(input ? int32_t(operands.size()) : -1);
    if (input)
      operands.push_back(input);
  }
  while (inputs.back() < 0)
    inputs.pop_back();
  bool isInOrder = inputs.size() == operands.size();
  Value first = views.empty() ? last : getResult();
  auto call = rt::CallOp::create(
      builder, op->getLoc(), first.getType(), kernel, operands,
      isInOrder ? DenseI32ArrayAttr() : builder.getDenseI32ArrayAttr(inputs),
      /*view=*/false, settings.getDictionary(op->getContext()));
  nameCall(call, op, first);
  if (!views.empty())
    call->removeAttr(AMPRTDialect::kNames);
  Value made = call.getResult(0);
  for (Operation *view : views) {
    Operation *again = builder.clone(*view);
    again->setOperand(0, made);
    made = again->getResult(0);
    if (made.getType() != last.getType() && view == views.back())
      made.setType(last.getType());
  }
  nodes.replace(last, made);
}

} // namespace amp
