//===- ValueRanges.cpp - between which bounds results lie -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table at the end has one function for each shape of a rule. An operator
// that is not there gives anything that its type holds.
//
//===----------------------------------------------------------------------===//

#include "RangeModel.h"

#include "ReductionLength.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace amp::onnx {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Lowest values of functions that dip below zero, rounded down.
constexpr double kLowestHardSwish = -0.375;
constexpr double kLowestGelu = -0.171;
constexpr double kLowestSwish = -0.279;
constexpr double kLowestMish = -0.309;

/// One node with the bounds of what it reads.
struct Node {
  Operation *op;
  ArrayRef<Interval> operands;

  /// The operand's index; none if the input is left out.
  std::optional<unsigned> indexOf(unsigned position) const {
    for (auto [index, at] : llvm::enumerate(inputPositions(op)))
      if (at == position)
        return index;
    return std::nullopt;
  }
  /// `missing` for an input that is left out.
  Interval input(unsigned position, Interval missing = Interval::top()) const {
    std::optional<unsigned> index = indexOf(position);
    return index ? operands[*index] : missing;
  }
  bool has(unsigned position) const { return bool(indexOf(position)); }
  float attribute(StringRef name, float missing) const {
    auto value = op->getAttrOfType<FloatAttr>(name);
    return value ? value.getValue().convertToFloat() : missing;
  }
  StringRef text(StringRef name, StringRef missing) const {
    auto value = op->getAttrOfType<StringAttr>(name);
    return value ? value.getValue() : missing;
  }
};

/// Of elements of a choice that inputs make.
Interval chosen(Interval x) {
  x.kind = std::min(x.kind, Interval::Kind::Attained);
  return x;
}

/// The elements are those of the first input.
Interval moved(const Node &node) { return node.input(0); }

Interval joined(const Node &node) {
  Interval all = Interval::bottom();
  for (const Interval &operand : node.operands)
    all = join(all, operand);
  return all;
}

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

/// By a part of each bound: what implementations are off by.
Interval widened(const Interval &x, double part) {
  auto slack = [&](double bound) {
    return std::isfinite(bound) ? std::abs(bound) * part : 0;
  };
  return {x.lo - slack(x.lo), x.hi + slack(x.hi), x.kind};
}

/// An increasing function with these limits, which float32 reaches. Nothing
/// says that inputs go so far, but that is what the functions are for.
Interval within(double lo, double hi, const Interval &x,
                llvm::function_ref<double(double)> function) {
  if (x.isTop())
    return Interval::attained(lo, hi);
  // Implementations are off by some units in the last place.
  constexpr double slack = 1e-6;
  Interval image = increasing(x, function);
  Interval wider = {image.lo - slack, image.hi + slack, Interval::Kind::Bound};
  return meet(wider, Interval::bound(lo, hi));
}

Interval ofSigmoid(const Node &node) {
  return within(0, 1, node.input(0),
                [](double x) { return 1 / (1 + std::exp(-x)); });
}
Interval ofTanh(const Node &node) {
  return within(-1, 1, node.input(0), [](double x) { return std::tanh(x); });
}
Interval ofErf(const Node &node) {
  return within(-1, 1, node.input(0), [](double x) { return std::erf(x); });
}
Interval probability(const Node &) { return Interval::attained(0, 1); }
Interval sineOrSign(const Node &) { return Interval::attained(-1, 1); }
Interval ofSoftsign(const Node &) { return Interval::bound(-1, 1); }
Interval ofLogSoftmax(const Node &) { return Interval::bound(-kInfinity, 0); }
/// Rounded up to float32, as results are.
Interval ofAtan(const Node &) { return Interval::bound(-1.570797, 1.570797); }
Interval ofAcos(const Node &) { return Interval::bound(0, 3.141593); }
Interval sizes(const Node &) { return Interval::bound(0, kInfinity); }

Interval ofRelu(const Node &node) {
  return increasing(node.input(0), [](double x) { return std::max(x, 0.0); });
}
/// An increasing function that is not rounded to nearest everywhere.
Interval nearly(const Interval &x,
                llvm::function_ref<double(double)> function) {
  Interval image = widened(increasing(x, function), 1e-6);
  image.kind = Interval::Kind::Bound;
  return image;
}
Interval ofExp(const Node &node) {
  return meet(nearly(node.input(0), [](double x) { return std::exp(x); }),
              Interval::bound(0, kInfinity));
}
Interval ofLog(const Node &node) {
  return nearly(meet(node.input(0), Interval::bound(0, kInfinity)),
                [](double x) { return std::log(x); });
}
Interval ofSqrt(const Node &node) {
  return nearly(meet(node.input(0), Interval::bound(0, kInfinity)),
                [](double x) { return std::sqrt(x); });
}
Interval ofSoftplus(const Node &node) {
  Interval image = nearly(node.input(0), [](double x) {
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  });
  return meet(image, Interval::bound(0, kInfinity));
}
Interval ofFloor(const Node &node) {
  return increasing(node.input(0), [](double x) { return std::floor(x); });
}
Interval ofCeil(const Node &node) {
  return increasing(node.input(0), [](double x) { return std::ceil(x); });
}
Interval ofRound(const Node &node) {
  return increasing(node.input(0), [](double x) { return std::rint(x); });
}
Interval ofNeg(const Node &node) { return -node.input(0); }
Interval ofAbs(const Node &node) { return abs(node.input(0)); }
Interval ofReciprocal(const Node &node) {
  return Interval{1, 1, Interval::Kind::Constant} / node.input(0);
}

/// Of a function that is at least `lowest`, and no larger than its argument
/// where that is positive.
Interval dips(const Interval &x, double lowest) {
  return {x.lo >= 0 ? 0 : lowest, std::max(x.hi, 0.0), Interval::Kind::Bound};
}
Interval ofHardSwish(const Node &node) {
  return dips(node.input(0), kLowestHardSwish);
}
Interval ofGelu(const Node &node) { return dips(node.input(0), kLowestGelu); }
Interval ofMish(const Node &node) { return dips(node.input(0), kLowestMish); }
Interval ofSwish(const Node &node) {
  return node.attribute("alpha", 1) == 1 ? dips(node.input(0), kLowestSwish)
                                         : Interval::top();
}
Interval ofElu(const Node &node) {
  float alpha = node.attribute("alpha", 1);
  return alpha >= 0 ? dips(node.input(0), -alpha) : Interval::top();
}
Interval ofLeakyRelu(const Node &node) {
  float alpha = node.attribute("alpha", 0.01f);
  if (!(alpha >= 0))
    return Interval::top();
  return increasing(node.input(0),
                    [&](double x) { return x < 0 ? alpha * x : x; });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Interval ofAdd(const Node &node) { return node.input(0) + node.input(1); }
Interval ofSub(const Node &node) { return node.input(0) - node.input(1); }
Interval ofMul(const Node &node) {
  if (node.op->getOperand(0) == node.op->getOperand(1))
    return square(node.input(0));
  return node.input(0) * node.input(1);
}
Interval ofDiv(const Node &node) {
  // Integers are rounded towards zero.
  Interval quotient = node.input(0) / node.input(1);
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(node.op->getResult(0)));
  return isFloat || !quotient.isFinite()
             ? quotient
             : join(quotient, Interval::bound(0, 0));
}

/// With the powers that models are full of: squares, roots, cubes.
Interval ofPow(const Node &node) {
  Interval base = node.input(0), exponent = node.input(1);
  if (exponent.lo != exponent.hi)
    return base.lo >= 0 ? Interval::bound(0, kInfinity) : Interval::top();
  double power = exponent.lo;
  auto raise = [&](double x) { return std::pow(x, power); };
  bool isEven = std::fmod(power, 2) == 0;
  if (power > 0 && (base.lo >= 0 || isEven))
    return nearly(base.lo >= 0 ? base : abs(base), raise);
  if (power > 0 && std::abs(std::fmod(power, 2)) == 1)
    return nearly(base, raise);
  return base.lo >= 0 || isEven ? Interval::bound(0, kInfinity)
                                : Interval::top();
}

template <Interval (*function)(const Interval &, const Interval &)>
Interval folded(const Node &node) {
  if (node.operands.empty())
    return Interval::top();
  Interval all = node.operands.front();
  for (const Interval &operand : node.operands.drop_front())
    all = function(all, operand);
  return all;
}
Interval addTwo(const Interval &a, const Interval &b) { return a + b; }

Interval ofClip(const Node &node) {
  auto fromAttribute = [&](StringRef name, float missing) {
    double bound = node.attribute(name, missing);
    return Interval{bound, bound, Interval::Kind::Constant};
  };
  constexpr float largest = std::numeric_limits<float>::infinity();
  Interval lowest = node.input(1, fromAttribute("min", -largest));
  Interval highest = node.input(2, fromAttribute("max", largest));
  Interval x = node.input(0);
  Interval clipped = min(max(x, lowest), highest);
  // What bounds something unknown is there to be reached.
  bool isTight = x.isTop() && clipped.isFinite() &&
                 lowest.kind == Interval::Kind::Constant &&
                 highest.kind == Interval::Kind::Constant;
  clipped.kind = isTight ? Interval::Kind::Attained
                         : std::min(clipped.kind, Interval::Kind::Bound);
  return clipped;
}

//===----------------------------------------------------------------------===//
// Reductions and windows
//===----------------------------------------------------------------------===//

/// A mean may be off by what its sum was rounded by.
Interval ofMean(const Node &node) {
  Interval x = widened(node.input(0), 1e-5);
  x.kind = Interval::Kind::Bound;
  return x;
}
/// A normalized element is at most the root of their number.
Interval ofLayerNormalization(const Node &node) {
  std::optional<int64_t> length = getReductionLength(node.op);
  if (!length)
    return Interval::top();
  double largest = std::sqrt(static_cast<double>(*length)) * (1 + 1e-5);
  Interval zero = {0, 0, Interval::Kind::Constant};
  return Interval::bound(-largest, largest) * node.input(1) +
         node.input(2, zero);
}
/// Of elements of some window.
Interval ofSome(const Node &node) { return chosen(node.input(0)); }
Interval ofReduceSum(const Node &node) {
  Interval x = node.input(0);
  std::optional<int64_t> length = getReductionLength(node.op);
  if (!length)
    return {x.lo >= 0 ? 0 : -kInfinity, x.hi <= 0 ? 0 : kInfinity,
            Interval::Kind::Bound};
  double count = static_cast<double>(*length) * (1 + 1e-5);
  return Interval{std::min(0.0, x.lo), std::max(0.0, x.hi),
                  Interval::Kind::Bound} *
         Interval{count, count, Interval::Kind::Constant};
}
/// The padding counts as zeros, if at all.
Interval withZero(const Node &node) {
  return join(ofMean(node), Interval::bound(0, 0));
}
Interval ofTrilu(const Node &node) {
  return join(node.input(0), Interval::attained(0, 0));
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

Interval ofWhere(const Node &node) {
  return chosen(join(node.input(1), node.input(2)));
}
Interval ofPad(const Node &node) {
  if (node.text("mode", "constant") != "constant")
    return node.input(0);
  float value = node.attribute("value", 0);
  return join(node.input(0),
              node.input(2, {value, value, Interval::Kind::Constant}));
}
Interval ofResize(const Node &node) {
  StringRef mode = node.text("mode", "nearest");
  if (mode == "cubic" || node.text("coordinate_transformation_mode",
                                   "half_pixel") == "tf_crop_and_resize")
    return Interval::top();
  return mode == "nearest" ? node.input(0) : ofMean(node);
}
Interval ofScatter(const Node &node) {
  return node.text("reduction", "none") == "none"
             ? chosen(join(node.input(0), node.input(2)))
             : Interval::top();
}
/// Training multiplies what it keeps.
Interval ofDropout(const Node &node) {
  return node.has(2) ? Interval::top() : node.input(0);
}
Interval ofOneHot(const Node &node) { return node.input(2); }
Interval ofRange(const Node &node) {
  return Interval{std::min(node.input(0).lo, node.input(1).lo),
                  std::max(node.input(0).hi, node.input(1).hi),
                  Interval::Kind::Bound};
}

/// Numbers that the target does not hold become others.
Interval ofCast(const Node &node) {
  Type target = getElementTypeOrSelf(node.op->getResult(0));
  Interval x = node.input(0);
  if (auto format = dyn_cast<FloatType>(target)) {
    const llvm::fltSemantics &semantics = format.getFloatSemantics();
    if (x.absmax() > APFloat::getLargest(semantics).convertToDouble())
      return Interval::top();
    if (format.isF32() || format.isF64())
      return x;
    double tiny = APFloat::getSmallest(semantics).convertToDouble();
    auto precision = static_cast<int>(APFloat::semanticsPrecision(semantics));
    Interval rounded = widened(x, std::ldexp(1.0, -precision));
    return {rounded.lo - tiny, rounded.hi + tiny, x.kind};
  }
  auto integer = dyn_cast<IntegerType>(target);
  if (!integer || integer.getWidth() == 1)
    return Interval::top(); // its type says the rest
  double limit = std::ldexp(1.0, static_cast<int>(integer.getWidth()) - 1);
  if (!(x.absmax() < limit) || (integer.isUnsigned() && x.lo < 0))
    return Interval::top();
  return increasing(x, [](double value) { return std::trunc(value); });
}

} // namespace

void inferRanges(Operation *op, ArrayRef<Interval> operands,
                 MutableArrayRef<Interval> results) {
  using Function = Interval (*)(const Node &);
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info || results.empty())
    return;
  auto function =
      llvm::StringSwitch<Function>(info->name)
          .Cases({"Identity", "Reshape", "Transpose", "Slice", "Squeeze",
                  "Unsqueeze", "Flatten", "Expand", "Tile"},
                 moved)
          .Cases({"DepthToSpace", "SpaceToDepth", "ReverseSequence"}, moved)
          .Cases({"Gather", "GatherElements", "GatherND", "Compress", "Split",
                  "TopK"},
                 ofSome)
          .Cases({"ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool"}, ofSome)
          .Cases({"ReduceMean", "GlobalAveragePool"}, ofMean)
          .Case("LayerNormalization", ofLayerNormalization)
          .Case("AveragePool", withZero)
          .Case("ReduceSum", ofReduceSum)
          .Case("Concat", joined)
          .Case("Sigmoid", ofSigmoid)
          .Case("Tanh", ofTanh)
          .Case("Erf", ofErf)
          .Cases({"Softmax", "Hardmax", "HardSigmoid"}, probability)
          .Cases({"Sin", "Cos", "Sign"}, sineOrSign)
          .Case("Softsign", ofSoftsign)
          .Case("LogSoftmax", ofLogSoftmax)
          .Cases({"Atan", "Asin"}, ofAtan)
          .Case("Acos", ofAcos)
          .Cases({"Shape", "Size", "NonZero", "ArgMax", "ArgMin"}, sizes)
          .Case("Relu", ofRelu)
          .Case("Exp", ofExp)
          .Case("Log", ofLog)
          .Case("Sqrt", ofSqrt)
          .Case("Softplus", ofSoftplus)
          .Case("Floor", ofFloor)
          .Case("Ceil", ofCeil)
          .Case("Round", ofRound)
          .Case("Neg", ofNeg)
          .Case("Abs", ofAbs)
          .Case("Reciprocal", ofReciprocal)
          .Case("HardSwish", ofHardSwish)
          .Case("Gelu", ofGelu)
          .Case("Mish", ofMish)
          .Case("Swish", ofSwish)
          .Cases({"Elu", "Celu"}, ofElu)
          .Case("LeakyRelu", ofLeakyRelu)
          .Case("Add", ofAdd)
          .Case("Sub", ofSub)
          .Case("Mul", ofMul)
          .Case("Div", ofDiv)
          .Case("Pow", ofPow)
          .Case("Min", folded<min>)
          .Case("Max", folded<max>)
          .Case("Sum", folded<addTwo>)
          .Case("Clip", ofClip)
          .Case("Where", ofWhere)
          .Case("Pad", ofPad)
          .Cases({"Resize", "Upsample"}, ofResize)
          .Cases({"ScatterElements", "ScatterND"}, ofScatter)
          .Case("Trilu", ofTrilu)
          .Case("Dropout", ofDropout)
          .Case("OneHot", ofOneHot)
          .Case("Range", ofRange)
          .Cases({"Cast", "CastLike"}, ofCast)
          .Default(nullptr);
  if (!function)
    return;
  Interval found = function({op, operands});
  // Further results of these are other things, but for Split.
  size_t count = info->name == "Split" ? results.size() : 1;
  for (Interval &result : results.take_front(count))
    result = result.isTop() ? found : meet(found, result);
}

} // namespace amp::onnx
