//===- Elementwise.cpp - operators of each element by itself --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic, functions of a number, comparisons, logic, bits, casts, and what
// selects among numbers.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "amp/Dialect/ONNX/ConstantNumber.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

LogicalResult buildElementwise(Node &node, const ElementwiseRule &rule) {
  if (!node.isPlain() || (rule.accepts && !rule.accepts(node)))
    return failure();
  if (rule.kind == ElementwiseRule::Elementary &&
      (node.getElementType().isF64() || node.getResultElementType().isF64()))
    return failure();
  SmallVector<Value> values;
  for (unsigned i = 0; i < node.getNumInputs(); ++i)
    if (node.x(i))
      values.push_back(node.x(i));
  SmallVector<Operand> operands;
  std::optional<Space> space = node.broadcast(values, operands);
  if (!space)
    return failure();
  // Inputs that are left out have no element.
  auto formula = [&](Body &body) {
    SmallVector<Scalar> x;
    unsigned next = 0;
    for (unsigned i = 0; i < node.getNumInputs(); ++i)
      x.push_back(node.x(i) ? body.x(next++) : Scalar());
    return rule.formula(node, x);
  };
  node.set(0, node.map(*space, operands, node.getResultElementType(), formula,
                       rule.kind != ElementwiseRule::Raw));
  return success();
}

namespace {

using Elements = ArrayRef<Scalar>;

bool isInteger(const Node &n) { return isa<IntegerType>(n.getElementType()); }

/// Joins any number of operands.
template <typename Join> Scalar joinAll(Elements x, Join join) {
  Scalar all = x.front();
  for (Scalar next : x.drop_front())
    all = join(all, next);
  return all;
}

Scalar addAll(Elements x) {
  return joinAll(x, [](Scalar a, Scalar b) { return a + b; });
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Of floats; of integers only those that are products.
bool acceptsPower(const Node &n) {
  std::optional<double> exponent = onnx::getConstantNumber(n.x(1));
  if (isInteger(n))
    return exponent &&
           (*exponent == 1.0 || *exponent == 2.0 || *exponent == 3.0);
  if (!n.getElementType().isF64())
    return !n.getElementType(1).isF64() || exponent;
  return exponent && llvm::is_contained({-1.0, 0.5, 1.0, 2.0, 3.0}, *exponent);
}

Scalar power(const Node &n, Elements x) {
  Scalar base = x[0];
  std::optional<double> exponent = onnx::getConstantNumber(n.x(1));
  if (exponent == 1.0)
    return base;
  if (exponent == 2.0)
    return base * base;
  if (exponent == 3.0)
    return base * base * base;
  // As PyTorch: of -inf, not a number.
  if (exponent == 0.5)
    return sqrt(base);
  if (exponent == -1.0)
    return 1.0 / base;
  return pow(base, exponent ? base.number(*exponent) : x[1].to(base.getType()));
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Casts that are one exact or rounding operation for all values: none from
/// floats to integers, which have no room for some, nor from float64 or wide
/// integers to 16 bits, which would round twice.
bool acceptsCast(const Node &n) {
  Type from = n.getElementType(), to = n.getResultElementType();
  if (isa<FloatType>(from))
    return to.isInteger(1) ||
           (isa<FloatType>(to) &&
            !(from.isF64() && to.getIntOrFloatBitWidth() == 16));
  return !to.isBF16() || from.getIntOrFloatBitWidth() <= 16;
}

Scalar convert(const Node &n, Elements x) {
  return x[0].to(n.getResultElementType());
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Scalar clip(const Node &, Elements x) {
  Scalar y = x[0];
  if (x.size() > 1 && x[1])
    y = max(y, x[1]);
  if (x.size() > 2 && x[2])
    y = min(y, x[2]);
  return y;
}

/// Bounds are scalars; others would widen the result.
bool acceptsClip(const Node &n) {
  for (unsigned i = 1; i < n.getNumInputs(); ++i)
    if (n.x(i) && cast<RankedTensorType>(n.x(i).getType()).getRank() != 0)
      return false;
  return true;
}

Scalar isInf(const Node &n, Elements x) {
  double infinity = std::numeric_limits<double>::infinity();
  Scalar up = x[0] == infinity, down = x[0] == -infinity;
  bool detectsUp = n.getInt("detect_positive", 1) != 0;
  bool detectsDown = n.getInt("detect_negative", 1) != 0;
  if (detectsUp && detectsDown)
    return up | down;
  return detectsUp ? up : detectsDown ? down : up.number(0.0);
}

/// ONNX's integers wrap; 0 and all bits are what a mask makes of bools.
Scalar shift(const Node &n, Elements x) {
  return n.getString("direction", "") == "LEFT" ? shiftLeft(x[0], x[1])
                                                : shiftRight(x[0], x[1]);
}

constexpr auto any = ElementwiseRule::Any;
constexpr auto elementary = ElementwiseRule::Elementary;
constexpr auto raw = ElementwiseRule::Raw;

constexpr ElementwiseRule rules[] = {
    {"Abs", [](const Node &, Elements x) { return abs(x[0]); }},
    {"Acos", [](const Node &, Elements x) { return acos(x[0]); }, elementary},
    {"Acosh", [](const Node &, Elements x) { return acosh(x[0]); }},
    {"Add", [](const Node &, Elements x) { return x[0] + x[1]; }},
    {"And", [](const Node &, Elements x) { return x[0] & x[1]; }},
    {"Asin", [](const Node &, Elements x) { return asin(x[0]); }, elementary},
    {"Asinh", [](const Node &, Elements x) { return asinh(x[0]); }},
    {"Atan", [](const Node &, Elements x) { return atan(x[0]); }},
    {"Atanh", [](const Node &, Elements x) { return atanh(x[0]); }},
    {"BitShift", shift},
    {"BitwiseAnd", [](const Node &, Elements x) { return x[0] & x[1]; }},
    {"BitwiseNot", [](const Node &, Elements x) { return ~x[0]; }},
    {"BitwiseOr", [](const Node &, Elements x) { return x[0] | x[1]; }},
    {"BitwiseXor", [](const Node &, Elements x) { return x[0] ^ x[1]; }},
    {"Cast", convert, any, acceptsCast},
    {"Ceil", [](const Node &, Elements x) { return ceil(x[0]); }},
    {"Clip", clip, any, acceptsClip},
    {"Cos", [](const Node &, Elements x) { return cos(x[0]); }, elementary},
    {"Cosh", [](const Node &, Elements x) { return cosh(x[0]); }},
    {"Div", [](const Node &, Elements x) { return x[0] / x[1]; }},
    {"Equal", [](const Node &, Elements x) { return x[0] == x[1]; }},
    {"Erf", [](const Node &, Elements x) { return erf(x[0]); }, elementary},
    {"Exp", [](const Node &, Elements x) { return exp(x[0]); }},
    {"Floor", [](const Node &, Elements x) { return floor(x[0]); }},
    {"Greater", [](const Node &, Elements x) { return x[0] > x[1]; }},
    {"GreaterOrEqual", [](const Node &, Elements x) { return x[0] >= x[1]; }},
    {"IsInf", isInf},
    {"IsNaN", [](const Node &, Elements x) { return isNaN(x[0]); }},
    {"Less", [](const Node &, Elements x) { return x[0] < x[1]; }},
    {"LessOrEqual", [](const Node &, Elements x) { return x[0] <= x[1]; }},
    {"Log", [](const Node &, Elements x) { return log(x[0]); }},
    {"Max",
     [](const Node &, Elements x) {
       return joinAll(x, [](Scalar a, Scalar b) { return max(a, b); });
     }},
    {"Mean",
     [](const Node &, Elements x) { return addAll(x) / double(x.size()); }},
    {"Min",
     [](const Node &, Elements x) {
       return joinAll(x, [](Scalar a, Scalar b) { return min(a, b); });
     }},
    // What two floats leave is the library's.
    {"Mod",
     [](const Node &n, Elements x) {
       return n.getInt("fmod", 0) ? remainder(x[0], x[1]) : modulo(x[0], x[1]);
     },
     any, isInteger},
    {"Mul", [](const Node &, Elements x) { return x[0] * x[1]; }},
    {"Neg", [](const Node &, Elements x) { return -x[0]; }},
    {"Not", [](const Node &, Elements x) { return ~x[0]; }},
    {"Or", [](const Node &, Elements x) { return x[0] | x[1]; }},
    {"Pow", power, any, acceptsPower},
    {"Reciprocal", [](const Node &, Elements x) { return 1.0 / x[0]; }},
    {"Round", [](const Node &, Elements x) { return roundEven(x[0]); }},
    {"Sign", [](const Node &, Elements x) { return sign(x[0]); }},
    {"Sin", [](const Node &, Elements x) { return sin(x[0]); }, elementary},
    {"Sinh", [](const Node &, Elements x) { return sinh(x[0]); }},
    {"Sqrt", [](const Node &, Elements x) { return sqrt(x[0]); }},
    {"Sub", [](const Node &, Elements x) { return x[0] - x[1]; }},
    {"Sum", [](const Node &, Elements x) { return addAll(x); }},
    {"Tan", [](const Node &, Elements x) { return tan(x[0]); }, elementary},
    {"Tanh", [](const Node &, Elements x) { return tanh(x[0]); }},
    {"Where", [](const Node &, Elements x) { return select(x[0], x[1], x[2]); },
     raw},
    {"Xor", [](const Node &, Elements x) { return x[0] ^ x[1]; }},
};

} // namespace

ArrayRef<ElementwiseRule> getElementwiseRules() { return rules; }

} // namespace amp
