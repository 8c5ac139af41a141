//===- Activation.cpp - gradients of activation functions -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Swish and SwiGLU have no rule: ONNX Runtime lacks their kernels, and runs the
// functions that they are replaced by.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace amp::onnx {

/// True for zeros and ones.
static bool isMask(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && getElementTypeOrSelf(cast->getOperand(0)).isInteger(1);
}

/// True for sums of products, through what moves or masks them: an element is
/// infinite only where a sum overflows, which the gradient is lost by in any
/// case.
static bool isSumOfProducts(Value value, int depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<MatMulOp, GemmOp, ConvOp, ConvTransposeOp>(op))
    return true;
  auto isOne = [&](Value operand) {
    return isSumOfProducts(operand, depth - 1);
  };
  auto isNearest = [&] {
    auto mode = op->getAttrOfType<StringAttr>("mode");
    return !mode || mode == "nearest";
  };
  if (isa<ReshapeOp, TransposeOp, CastOp>(op) ||
      (isa<ResizeOp>(op) && isNearest()))
    return isOne(op->getOperand(0));
  if (isa<MulOp>(op))
    return (isMask(op->getOperand(1)) && isOne(op->getOperand(0))) ||
           (isMask(op->getOperand(0)) && isOne(op->getOperand(1)));
  if (isa<ScatterElementsOp>(op))
    return isOne(op->getOperand(2));
  return isa<AddOp, SumOp>(op) && llvm::all_of(op->getOperands(), isOne);
}

/// By a product, which is what ONNX Runtime is fast at: its Where takes ten
/// times as long. But zero times infinity is not zero, and the root of a Relu
/// has such gradients.
Expr keepWhere(Expr condition, Expr gradient) {
  NodeBuilder &b = gradient.getBuilder();
  if (isSumOfProducts(gradient))
    return gradient * b.castLike(condition, gradient);
  return b.where(condition, gradient, 0.0);
}

namespace {

//===----------------------------------------------------------------------===//
// Pieces of lines
//===----------------------------------------------------------------------===//

LogicalResult relu(Gradient &g) {
  g.setAlike(0, keepWhere(g.y() > 0.0, g.dy()));
  return success();
}

LogicalResult leakyRelu(Gradient &g) {
  double alpha = g.getFloat("alpha", 0.01);
  g.setAlike(0, g.b.where(g.x() > 0.0, g.dy(), g.dy() * alpha));
  return success();
}

LogicalResult parametricRelu(Gradient &g) {
  Expr x = g.x(0), isPositive = x > 0.0;
  if (g.isNeeded(0))
    g.setAlike(0, g.b.where(isPositive, g.dy(), g.dy() * g.x(1)));
  if (g.isNeeded(1))
    g.set(1, g.b.where(isPositive, 0.0, g.dy() * x));
  return success();
}

LogicalResult thresholdedRelu(Gradient &g) {
  g.setAlike(0, keepWhere(g.x() > g.getFloat("alpha", 1.0), g.dy()));
  return success();
}

LogicalResult shrink(Gradient &g) {
  double bound = g.getFloat("lambd", 0.5);
  Expr isOutside = logicalOr(g.x() < -bound, g.x() > bound);
  g.setAlike(0, g.b.where(isOutside, g.dy(), 0.0));
  return success();
}

LogicalResult hardSigmoid(Gradient &g) {
  Expr y = g.y(), isInside = logicalAnd(y > 0.0, y < 1.0);
  g.setAlike(0, g.b.where(isInside, g.dy() * g.getFloat("alpha", 0.2), 0.0));
  return success();
}

LogicalResult hardSwish(Gradient &g) {
  return slopeByInput(g, [&](Expr x) {
    Expr upper = g.b.where(x >= 3.0, 1.0, x / 3.0 + 0.5);
    return g.b.where(x <= -3.0, 0.0, upper);
  });
}

//===----------------------------------------------------------------------===//
// Exponentials below zero
//===----------------------------------------------------------------------===//

/// The slope is `above` for x > 0, and that of an exponential else, which is
/// y * scale + offset.
LogicalResult exponentialBelow(Gradient &g, double above, double scale,
                               double offset) {
  Expr dy = g.b.widen(g.dy()), y = g.b.widen(g.y());
  Expr below = scale == 1.0 ? y : y * scale;
  Expr positive = above == 1.0 ? dy : dy * above;
  g.setAlike(0, g.b.where(g.x() > 0.0, positive, dy * (below + offset)));
  return success();
}

LogicalResult elu(Gradient &g) {
  return exponentialBelow(g, 1.0, 1.0, g.getFloat("alpha", 1.0));
}

LogicalResult celu(Gradient &g) {
  return exponentialBelow(g, 1.0, 1.0 / g.getFloat("alpha", 1.0), 1.0);
}

LogicalResult selu(Gradient &g) {
  // As float32, like the schema's.
  double alpha = g.getFloat("alpha", 1.67326319217681884765625);
  double gamma = g.getFloat("gamma", 1.05070102214813232421875);
  return exponentialBelow(g, gamma, 1.0, alpha * gamma);
}

//===----------------------------------------------------------------------===//
// Smooth functions
//===----------------------------------------------------------------------===//

/// x times the normal distribution's cdf, or an approximation of it by tanh.
LogicalResult gelu(Gradient &g) {
  if (g.getString("approximate", "none") == "tanh")
    return slopeByInput(g, [](Expr x) {
      constexpr double kCubic = 0.044715;
      constexpr double kScale =
          llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
      Expr square = x * x;
      Expr t = tanh(x * (square * (kScale * kCubic) + kScale));
      Expr inner = square * (3.0 * kScale * kCubic) + kScale;
      return (t + 1.0) * 0.5 + (x * 0.5) * ((1.0 - t * t) * inner);
    });
  return slopeByInput(g, [](Expr x) {
    constexpr double kDensity =
        llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2;
    Expr cdf = (erf(x * (1.0 / llvm::numbers::sqrt2)) + 1.0) * 0.5;
    return cdf + x * (exp((x * x) * -0.5) * kDensity);
  });
}

/// x tanh(softplus(x)).
LogicalResult mish(Gradient &g) {
  return slopeByInput(g, [](Expr x) {
    Expr t = tanh(softplus(x));
    return t + x * ((1.0 - t * t) * sigmoid(x));
  });
}

LogicalResult softsign(Gradient &g) {
  return slopeByInput(g, [](Expr x) {
    Expr base = abs(x) + 1.0;
    return 1.0 / (base * base);
  });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult softmax(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr dy = b.widen(g.dy()), y = b.widen(g.y());
  Expr mean = b.reduceSum(dy * y, g.getInt("axis", -1), /*keepDims=*/true);
  g.setAlike(0, (dy - mean) * y);
  return success();
}

LogicalResult logSoftmax(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr dy = b.widen(g.dy()), y = b.widen(g.y());
  Expr total = b.reduceSum(dy, g.getInt("axis", -1), /*keepDims=*/true);
  g.setAlike(0, dy - exp(y) * total);
  return success();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

constexpr GradientRule rules[] = {
    {"Celu", celu},
    {"Elu", elu},
    {"Gelu", gelu},
    {"HardSigmoid", hardSigmoid},
    {"HardSwish", hardSwish},
    // Of the largest element's place alone.
    {"Hardmax", [](Gradient &) { return success(); }},
    {"LeakyRelu", leakyRelu},
    {"LogSoftmax", logSoftmax},
    {"Mish", mish},
    {"PRelu", parametricRelu},
    {"Relu", relu},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid",
     [](Gradient &g) {
       return slopeByOutput(g, [](Expr y) { return y * (1.0 - y); });
     }},
    {"Softmax", softmax},
    {"Softplus",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return sigmoid(x); });
     }},
    {"Softsign", softsign},
    {"Tanh",
     [](Gradient &g) {
       return slopeByOutput(g, [](Expr y) { return 1.0 - y * y; });
     }},
    {"ThresholdedRelu", thresholdedRelu},
};

} // namespace

ArrayRef<GradientRule> getActivationRules() { return rules; }

} // namespace amp::onnx
