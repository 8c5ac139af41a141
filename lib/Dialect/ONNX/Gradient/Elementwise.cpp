//===- Elementwise.cpp - gradients of elementwise operators ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic, functions of a number, and what selects among numbers.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

#include "amp/Dialect/ONNX/OperatorTable.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace amp::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult add(Gradient &g) {
  g.set(0, g.dy());
  g.set(1, g.dy());
  return success();
}

LogicalResult subtract(Gradient &g) {
  g.set(0, g.dy());
  if (g.isNeeded(1))
    g.set(1, -g.dy());
  return success();
}

LogicalResult multiply(Gradient &g) {
  if (g.isNeeded(0))
    g.set(0, g.dy() * g.x(1));
  if (g.isNeeded(1))
    g.set(1, g.dy() * g.x(0));
  return success();
}

LogicalResult divide(Gradient &g) {
  Expr scaled = g.dy() / g.x(1);
  g.set(0, scaled);
  if (g.isNeeded(1))
    g.set(1, -(scaled * g.y()));
  return success();
}

/// a - q b, where the integer q has no slope.
LogicalResult modulo(Gradient &g) {
  g.set(0, g.dy());
  if (g.isNeeded(1)) {
    NodeBuilder &b = g.b;
    Expr quotient = (b.widen(g.x(0)) - b.widen(g.y())) / b.widen(g.x(1));
    g.set(1, -(b.widen(g.dy()) * quotient));
  }
  return success();
}

/// The slope of x^c at x, of which y is the value.
Expr powerSlope(Expr x, Expr y, double exponent) {
  if (exponent == 2.0)
    return x * 2.0;
  if (exponent == 3.0)
    return (x * x) * 3.0;
  if (exponent == 0.5)
    return 0.5 / y;
  if (exponent == -1.0)
    return -(y * y);
  return pow(x, x.getBuilder().number(exponent - 1.0, x.getElementType())) *
         exponent;
}

void powerBase(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr x = g.x(0), exponent = g.x(1);
  std::optional<double> number = getConstantNumber(exponent);
  if (number == 0.0)
    return;
  if (number == 1.0)
    return g.set(0, g.dy());
  Expr dy = b.widen(g.dy()), base = b.widen(x);
  // Exactly: as a float, and one less.
  if (number && std::abs(*number) < 0x1p20)
    return g.set(0, dy * powerSlope(base,
                                    *number == 0.5 || *number == -1.0
                                        ? b.widen(g.y())
                                        : Expr(),
                                    *number));
  exponent = b.castLike(exponent, base);
  Expr slope = exponent * pow(base, exponent - 1.0);
  // 0 * 0^-1 is not a number, but x^0 is 1 everywhere.
  g.set(0, b.where(exponent == 0.0, 0.0, dy * slope));
}

void powerExponent(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr base = b.widen(g.x(0)), exponent = b.castLike(g.x(1), base);
  Expr slope = b.widen(g.y()) * log(base);
  // 0^y is 0 for all y > 0; PyTorch counts 0^0 among them.
  Expr isFlat = logicalAnd(base == 0.0, exponent >= 0.0);
  g.set(1, b.where(isFlat, 0.0, b.widen(g.dy()) * slope));
}

LogicalResult power(Gradient &g) {
  if (g.isNeeded(0))
    powerBase(g);
  if (g.isNeeded(1))
    powerExponent(g);
  return success();
}

LogicalResult sum(Gradient &g) {
  for (unsigned i = 0; i < g.getNumInputs(); ++i)
    g.set(i, g.dy());
  return success();
}

LogicalResult mean(Gradient &g) {
  Expr share = g.dy();
  if (g.getNumInputs() != 1)
    share = share / double(g.getNumInputs());
  for (unsigned i = 0; i < g.getNumInputs(); ++i)
    g.set(i, share);
  return success();
}

//===----------------------------------------------------------------------===//
// What selects
//===----------------------------------------------------------------------===//

/// Max and Min: the inputs that are like the result share its gradient.
LogicalResult extremum(Gradient &g) {
  NodeBuilder &b = g.b;
  if (g.getNumInputs() == 1) {
    g.setAlike(0, g.dy());
    return success();
  }
  SmallVector<Expr> isChosen;
  Expr count;
  for (unsigned i = 0; i < g.getNumInputs(); ++i) {
    isChosen.push_back(g.x(i) == g.y());
    Expr one = b.castLike(isChosen.back(), g.dy());
    count = count ? count + one : one;
  }
  Expr share = g.dy() / count;
  for (auto [i, chosen] : llvm::enumerate(isChosen))
    if (g.isNeeded(i))
      g.set(i, b.where(chosen, share, 0.0));
  return success();
}

/// min(max(x, low), high); the bounds belong to x.
LogicalResult clip(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr x = g.x(0), low = g.x(1), high = g.x(2), dy = g.dy();
  if (!Value(low) && !Value(high)) {
    g.setAlike(0, dy);
    return success();
  }
  if (g.isNeeded(0)) {
    Expr isInside = low ? x >= low : Expr();
    if (high)
      isInside = isInside ? logicalAnd(isInside, x <= high) : x <= high;
    g.setAlike(0, keepWhere(isInside, dy));
  }
  // Where the bounds cross, the upper one is the result.
  if (g.isNeeded(1)) {
    Expr isLow = x < low;
    if (high)
      isLow = logicalAnd(isLow, low <= high);
    g.set(1, b.where(isLow, dy, 0.0));
  }
  if (g.isNeeded(2)) {
    Expr isHigh = x > high;
    if (low)
      isHigh = logicalOr(isHigh, low > high);
    g.set(2, b.where(isHigh, dy, 0.0));
  }
  return success();
}

LogicalResult where(Gradient &g) {
  if (g.isNeeded(1))
    g.set(1, g.b.where(g.x(0), g.dy(), 0.0));
  if (g.isNeeded(2))
    g.set(2, g.b.where(g.x(0), 0.0, g.dy()));
  return success();
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// Whether a Dropout drops anything; none if that is known at run time only.
std::optional<bool> isTraining(Value mode) {
  if (!mode)
    return false;
  std::optional<double> number = getConstantNumber(mode);
  return number ? std::optional(*number != 0.0) : std::nullopt;
}

LogicalResult dropout(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr ratio = g.x(1), mode = g.x(2), dy = b.widen(g.dy());
  std::optional<bool> training = isTraining(mode);
  if (training == false) {
    g.setAlike(0, g.dy());
    return success();
  }
  // The ratio has a float type of its own.
  Expr scale;
  std::optional<double> number = ratio ? getConstantNumber(ratio) : 0.5;
  if (number)
    scale = b.number(1.0 / (1.0 - *number), dy.getElementType());
  else
    scale = 1.0 / (1.0 - b.castLike(ratio, dy));
  // The mask is all true when nothing is dropped.
  if (!training)
    scale = b.where(mode, scale, 1.0);
  // Everything may be dropped, by an infinite scale.
  if (number && *number < 1.0)
    g.setAlike(0, dy * (b.castLike(g.y(1), dy) * scale));
  else
    g.setAlike(0, b.where(g.y(1), dy * scale, 0.0));
  return success();
}

/// The mask is what the gradient is made of.
unsigned countDropoutOutputs(Operation *op) {
  Value mode;
  for (auto [value, position] :
       llvm::zip_equal(op->getOperands(), inputPositions(op)))
    if (position == 2)
      mode = value;
  return isTraining(mode) == false ? 0 : 2;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// The gradient as it is, in the input's type.
LogicalResult pass(Gradient &g) {
  g.setAlike(0, g.dy());
  return success();
}

/// Steps: flat wherever they have a slope.
LogicalResult none(Gradient &) { return success(); }

constexpr GradientRule rules[] = {
    {"Abs",
     [](Gradient &g) {
       g.setAlike(0, g.dy() * sign(g.x()));
       return success();
     }},
    {"Acos",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return -1.0 / sqrt(1.0 - x * x); });
     }},
    {"Acosh",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return 1.0 / sqrt(x * x - 1.0); });
     }},
    {"Add", add},
    {"Asin",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return 1.0 / sqrt(1.0 - x * x); });
     }},
    {"Asinh",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return 1.0 / sqrt(x * x + 1.0); });
     }},
    {"Atan",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return 1.0 / (x * x + 1.0); });
     }},
    {"Atanh",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return 1.0 / (1.0 - x * x); });
     }},
    {"Cast", pass},
    {"CastLike", pass},
    {"Ceil", none},
    {"Clip", clip},
    {"Cos",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return -sin(x); });
     }},
    {"Cosh",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return sinh(x); });
     }},
    {"Div", divide},
    {"Dropout", dropout, countDropoutOutputs},
    {"Erf",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) {
         return exp(-(x * x)) * (2.0 * llvm::numbers::inv_sqrtpi);
       });
     }},
    {"Exp",
     [](Gradient &g) {
       g.setAlike(0, g.dy() * g.y());
       return success();
     }},
    {"Floor", none},
    {"Identity", pass},
    {"Log",
     [](Gradient &g) {
       g.setAlike(0, g.dy() / g.x());
       return success();
     }},
    {"Max", extremum},
    {"Mean", mean},
    {"Min", extremum},
    {"Mod", modulo},
    {"Mul", multiply},
    {"Neg",
     [](Gradient &g) {
       g.setAlike(0, -g.dy());
       return success();
     }},
    {"Pow", power},
    {"Reciprocal",
     [](Gradient &g) {
       return slopeByOutput(g, [](Expr y) { return -(y * y); });
     }},
    {"Round", none},
    {"Sign", none},
    {"Sin",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return cos(x); });
     }},
    {"Sinh",
     [](Gradient &g) {
       return slopeByInput(g, [](Expr x) { return cosh(x); });
     }},
    {"Sqrt",
     [](Gradient &g) {
       g.setAlike(0, g.dy() / (g.y() * 2.0));
       return success();
     }},
    {"Sub", subtract},
    {"Sum", sum},
    {"Tan",
     [](Gradient &g) {
       return slopeByOutput(g, [](Expr y) { return y * y + 1.0; });
     }},
    {"Where", where},
};

} // namespace

ArrayRef<GradientRule> getElementwiseRules() { return rules; }

} // namespace amp::onnx
