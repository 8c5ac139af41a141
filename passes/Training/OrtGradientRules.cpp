//===- OrtGradientRules.cpp - gradient operators of ONNX Runtime ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16-bit values are float32 in formulas, and rounded once.
//
//===----------------------------------------------------------------------===//

#include "OrtNode.h"

#include "amp/Dialect/ONNX/OperatorTable.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

namespace {

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// dX = dY slope(X), of X or of Y, whichever the operator reads.
template <typename Formula>
LogicalResult elementwise(OrtNode &n, Formula slope) {
  Expr x = n.b.widen(n.x(1));
  if (n.x(2))
    x = x + n.b.widen(n.x(2)); // the bias
  n.set(0, n.b.widen(n.x(0)) * slope(x));
  return success();
}

Expr geluSlope(Expr x) {
  Expr normal = (erf(x * std::sqrt(0.5)) + 1.0) * 0.5;
  return normal + x * exp(x * x * -0.5) * (1 / std::sqrt(2 * M_PI));
}

/// Of x/2 (1 + tanh(u)), u = x (c + c' x^2).
Expr fastGeluSlope(Expr x) {
  double c = std::sqrt(2 / M_PI), cubic = c * 0.044715;
  Expr square = x * x, t = tanh(x * (square * cubic + c));
  Expr slope = square * (3 * cubic) + c;
  return (t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * slope;
}

/// Positive, x and relu(x) are the same.
LogicalResult reluGrad(OrtNode &n) {
  n.set(0, n.b.where(n.x(1) > 0.0, n.x(0), 0.0));
  return success();
}

/// dX = dY / (1 - ratio) where the mask is true.
LogicalResult dropoutGrad(OrtNode &n) {
  NodeBuilder &b = n.b;
  Expr dy = b.widen(n.x(0));
  Expr ratio =
      n.x(2) ? b.castLike(n.x(2), dy) : b.number(0.5, dy.getElementType());
  Expr dx = b.where(n.x(1), dy / (1.0 - ratio), 0.0);
  n.set(0, n.x(3) ? b.where(n.x(3), dx, dy) : dx);
  return success();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The axes that probabilities sum up along: one, or before opset 13 all from
/// there on.
FailureOr<SmallVector<int64_t>> getSoftmaxAxes(OrtNode &n, bool isCoerced) {
  int64_t axis = n.getInt("axis", isCoerced ? 1 : -1);
  if (!isCoerced)
    return SmallVector<int64_t>{axis};
  std::optional<int64_t> rank = n.x(1).getRank();
  if (!rank)
    return n.fail("the rank of its input is not known");
  return llvm::to_vector(
      llvm::seq<int64_t>(axis < 0 ? axis + *rank : axis, *rank));
}

/// dX = Y (dY - sum(dY Y)), and of the logarithm dX = dY - exp(Y) sum(dY).
template <bool isLog, bool isCoerced> LogicalResult softmaxGrad(OrtNode &n) {
  NodeBuilder &b = n.b;
  FailureOr<SmallVector<int64_t>> axes = getSoftmaxAxes(n, isCoerced);
  if (failed(axes))
    return failure();
  Expr dy = b.widen(n.x(0)), y = b.widen(n.x(1));
  Expr sum = b.reduceSum(isLog ? dy : dy * y, *axes, /*keepDims=*/true);
  n.set(0, isLog ? dy - exp(y) * sum : y * (dy - sum));
  return success();
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

/// n = (x - mean) inverse, over the axes from `axis` on; without a mean if it
/// is null.
LogicalResult normalizationGrad(OrtNode &n, Expr mean, Expr inverse) {
  NodeBuilder &b = n.b;
  Expr x = b.widen(n.x(1)), dy = b.widen(n.x(0));
  int64_t axis = n.getInt("axis", -1);
  if (axis >= 0) {
    std::optional<int64_t> rank = x.getRank();
    if (!rank)
      return n.fail("the rank of its input is not known");
    axis -= *rank;
  }
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(axis, 0));
  inverse = b.castLike(inverse, x);
  Expr normal = (mean ? x - b.castLike(mean, x) : x) * inverse;
  Expr h = dy * b.castLike(n.x(2), x);
  Expr slope = normal * b.reduceMean(h * normal, axes, /*keepDims=*/true);
  Expr level = mean ? h - b.reduceMean(h, axes, /*keepDims=*/true) : h;
  n.set(0, (level - slope) * inverse);
  if (n.isUsed(1))
    n.set(1, b.sumTo(dy * normal, n.x(2)));
  if (n.isUsed(2))
    n.set(2, b.sumTo(dy, n.x(2)));
  return success();
}

LogicalResult batchNormalizationGrad(OrtNode &n) {
  NodeBuilder &b = n.b;
  std::optional<int64_t> rank = n.x(1).getRank();
  if (!rank)
    return n.fail("the rank of its input is not known");
  SmallVector<int64_t> axes, perChannel(*rank, 1);
  for (int64_t i = 0; i < *rank; ++i)
    if (i != 1)
      axes.push_back(i);
  perChannel[std::min<int64_t>(1, *rank - 1)] = -1;
  Expr x = b.widen(n.x(1)), dy = b.widen(n.x(0));
  auto wide = [&](Expr channels) {
    return b.reshape(b.castLike(channels, x), perChannel);
  };
  Expr inverse = wide(n.x(4)), normal = (x - wide(n.x(3))) * inverse;
  Expr meanSlope = b.reduceMean(dy * normal, axes, /*keepDims=*/true);
  Expr level = dy - b.reduceMean(dy, axes, /*keepDims=*/true);
  n.set(0, wide(n.x(2)) * inverse * (level - normal * meanSlope));
  if (n.isUsed(1))
    n.set(1, b.reduceSum(dy * normal, axes, /*keepDims=*/false));
  if (n.isUsed(2))
    n.set(2, b.reduceSum(dy, axes, /*keepDims=*/false));
  return success();
}

//===----------------------------------------------------------------------===//
// By the rule of the forward operation
//===----------------------------------------------------------------------===//

/// The bias may be another one than the forward operation's: it is a sum.
LogicalResult convGrad(OrtNode &n) {
  NodeBuilder &b = n.b;
  if (n.isUsed(2)) {
    std::optional<int64_t> rank = n.x(0).getRank();
    if (!rank)
      return n.fail("the rank of its input is not known");
    SmallVector<int64_t> axes = {0};
    llvm::append_range(axes, llvm::seq<int64_t>(2, *rank));
    n.set(2, b.reduceSum(n.x(0), axes, /*keepDims=*/false));
  }
  if (!n.isUsed(0) && !n.isUsed(1))
    return success();
  Operation *of = n.getForward();
  bool reads = of && of->getNumOperands() >= 2 &&
               of->getOperand(0) == Value(n.x(1)) &&
               of->getOperand(1) == Value(n.x(2));
  if (!reads)
    of = b.node(
        n.getOperation().getOpType().drop_back(strlen("Grad")),
        {n.x(1), n.x(2)},
        n.getAttributes({"auto_pad", "dilations", "group", "kernel_shape",
                         "output_padding", "output_shape", "pads", "strides"}));
  return n.setGradients(of, n.x(0), {0, 1});
}

/// The tensor that a list of sizes was taken of, or one like it.
Expr toTensor(OrtNode &n, Expr shape, Expr dy) {
  NodeBuilder &b = n.b;
  Operation *maker = Value(shape).getDefiningOp();
  auto isWhole = [&] {
    auto start = maker->getAttrOfType<IntegerAttr>("start");
    return !maker->hasAttr("end") && (!start || start.getInt() == 0);
  };
  if (isa_and_present<onnx::ShapeOp>(maker) && isWhole()) {
    Expr data = b.expr(maker->getOperand(0));
    if (data.getElementType() == dy.getElementType())
      return data;
  }
  return b.apply("Expand", {b.number(0.0, dy.getElementType()), shape});
}

LogicalResult gatherGrad(OrtNode &n) {
  Expr data = toTensor(n, n.x(0), n.x(2));
  Operation *of = n.b.node("Gather", {data, n.x(1)}, n.getAttributes({"axis"}));
  return n.setGradients(of, n.x(2), {0});
}

LogicalResult gatherNDGrad(OrtNode &n) {
  Expr data = toTensor(n, n.x(0), n.x(2));
  Operation *of =
      n.b.node("GatherND", {data, n.x(1)}, n.getAttributes({"batch_dims"}));
  return n.setGradients(of, n.x(2), {0});
}

LogicalResult gatherElementsGrad(OrtNode &n) {
  Expr data = toTensor(n, n.x(1), n.x(0));
  Operation *of =
      n.b.node("GatherElements", {data, n.x(2)}, n.getAttributes({"axis"}));
  return n.setGradients(of, n.x(0), {0});
}

LogicalResult sliceGrad(OrtNode &n) {
  Expr data = toTensor(n, n.x(1), n.x(0));
  Operation *of = n.b.node("Slice", {data, n.x(2), n.x(3), n.x(4), n.x(5)});
  return n.setGradients(of, n.x(0), {0});
}

LogicalResult maxPoolGrad(OrtNode &n) {
  return n.setForwardGradients(n.x(0), {0});
}

/// It reads nothing of the forward operation but attributes, and takes the
/// input's shape from its output's declaration. In three dimensions ONNX
/// Runtime 1.19's kernel mixes up axes, and overwrites where windows overlap:
/// this is the gradient.
LogicalResult averagePoolGrad(OrtNode &n) {
  if (Operation *of = n.getForward(); of && !isa<onnx::CustomOp>(of))
    return n.setGradients(of, n.x(0), {0});
  Value dx = n.getOutput(0);
  auto type =
      dx ? dyn_cast<RankedTensorType>(dx.getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape())
    return n.fail("its forward operation is not in the model, and the shape of "
                  "its output is not declared");
  Expr zero = n.b.number(0.0, n.x(0).getElementType());
  Expr x = n.b.apply("Expand", {zero, n.b.ints(type.getShape())});
  Operation *of = n.b.node(
      "AveragePool", {x},
      n.getAttributes({"auto_pad", "ceil_mode", "count_include_pad",
                       "dilations", "kernel_shape", "pads", "strides"}));
  return n.setGradients(of, n.x(0), {0});
}

LogicalResult lossGrad(OrtNode &n) {
  bool isInternal = n.getOperation().getOpType().contains("Internal");
  if (n.x(isInternal ? 5 : 4))
    return n.fail("it adds another gradient to its own");
  return n.setForwardGradients(n.x(0), {0});
}

constexpr OrtRule rules[] = {
    {"AveragePoolGrad", averagePoolGrad},
    {"BatchNormalizationGrad", batchNormalizationGrad},
    {"BiasFastGeluGrad_dX",
     [](OrtNode &n) { return elementwise(n, fastGeluSlope); }},
    {"BiasGeluGrad_dX", [](OrtNode &n) { return elementwise(n, geluSlope); }},
    {"ConvGrad", convGrad},
    {"ConvTransposeGrad", convGrad},
    {"DropoutGrad", dropoutGrad},
    {"FastGeluGrad", [](OrtNode &n) { return elementwise(n, fastGeluSlope); }},
    {"GatherElementsGrad", gatherElementsGrad},
    {"GatherGrad", gatherGrad},
    {"GatherNDGrad", gatherNDGrad},
    {"GeluGrad", [](OrtNode &n) { return elementwise(n, geluSlope); }},
    {"LayerNormalizationGrad",
     [](OrtNode &n) { return normalizationGrad(n, n.x(3), n.x(4)); }},
    {"LogSoftmaxGrad", softmaxGrad</*isLog=*/true, /*isCoerced=*/true>},
    {"LogSoftmaxGrad_13", softmaxGrad</*isLog=*/true, /*isCoerced=*/false>},
    {"MaxPoolGrad", maxPoolGrad},
    {"QuickGeluGrad",
     [](OrtNode &n) {
       double alpha = n.getFloat("alpha", 1.702f);
       return elementwise(n, [&](Expr x) {
         Expr s = sigmoid(x * alpha);
         return s + x * alpha * s * (1.0 - s);
       });
     }},
    {"ReluGrad", reluGrad},
    {"SigmoidGrad",
     [](OrtNode &n) {
       return elementwise(n, [](Expr y) { return y * (1.0 - y); });
     }},
    {"SimplifiedLayerNormalizationGrad",
     [](OrtNode &n) { return normalizationGrad(n, Expr(), n.x(3)); }},
    {"SliceGrad", sliceGrad},
    {"SoftmaxCrossEntropyLossGrad", lossGrad},
    {"SoftmaxCrossEntropyLossInternalGrad", lossGrad},
    {"SoftmaxGrad", softmaxGrad</*isLog=*/false, /*isCoerced=*/true>},
    {"SoftmaxGrad_13", softmaxGrad</*isLog=*/false, /*isCoerced=*/false>},
    {"TanhGrad",
     [](OrtNode &n) {
       return elementwise(n, [](Expr y) { return 1.0 - y * y; });
     }},
};

} // namespace

ArrayRef<OrtRule> getOrtGradientRules() { return rules; }

} // namespace amp
