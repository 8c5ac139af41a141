//===- Activations.cpp - activations as models have them ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One node, or a formula of several that ends in a product: Gelu by Erf or
// Tanh, x * Sigmoid(a x), and x * HardSigmoid(x). The factors of a product come
// in any order and association.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace amp {

namespace {

double getFloat(Operation *op, StringRef name, double missing) {
  auto value = op->getAttrOfType<FloatAttr>(name);
  return value ? value.getValueAsDouble() : missing;
}

//===----------------------------------------------------------------------===//
// One node
//===----------------------------------------------------------------------===//

/// One of Clip's bounds; none if it is not known.
std::optional<double> getBound(Nodes &nodes, Operation *clip, unsigned position,
                               double missing) {
  Value bound = Nodes::getInput(clip, position);
  return bound ? nodes.getNumber(bound) : std::optional<double>(missing);
}

FusedActivation fromNode(Nodes &nodes, Operation *op) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  FusedActivation made =
      llvm::TypeSwitch<Operation *, FusedActivation>(op)
          .Case<onnx::ReluOp>([](auto) { return FusedActivation{"relu"}; })
          .Case<onnx::LeakyReluOp>([&](auto) {
            return FusedActivation{"leaky_relu", getFloat(op, "alpha", 0.01f)};
          })
          .Case<onnx::SigmoidOp>(
              [](auto) { return FusedActivation{"sigmoid"}; })
          .Case<onnx::TanhOp>([](auto) { return FusedActivation{"tanh"}; })
          .Case<onnx::GeluOp>([&](auto) {
            auto how = op->getAttrOfType<StringAttr>("approximate");
            return FusedActivation{how && how == "tanh" ? "gelu_tanh" : "gelu"};
          })
          .Case<onnx::SwishOp>([&](auto) {
            return FusedActivation{"swish", getFloat(op, "alpha", 1.0)};
          })
          .Case<onnx::HardSigmoidOp>([&](auto) {
            return FusedActivation{"hard_sigmoid", getFloat(op, "alpha", 0.2f),
                                   getFloat(op, "beta", 0.5)};
          })
          .Case<onnx::HardSwishOp>([](auto) {
            return FusedActivation{"hard_swish", 1.0f / 6.0f, 0.5};
          })
          .Case<onnx::ClipOp>([&](auto) {
            auto least = getBound(nodes, op, 1, -infinity);
            auto most = getBound(nodes, op, 2, infinity);
            return least && most ? FusedActivation{"clip", *least, *most}
                                 : FusedActivation();
          })
          .Default([](auto) { return FusedActivation(); });
  made.result = op->getResult(0);
  return made;
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// A product of x, numbers, and one more thing at most.
struct Factors {
  double number = 1.0;
  unsigned ofX = 0;
  Value other;
  bool isValid = true;
};

/// The factors of `value`, where `x` is not looked into. Quotients by numbers
/// are products as well.
void collect(Nodes &nodes, Value value, Value x, Factors &factors,
             unsigned depth = 0) {
  constexpr unsigned most = 6;
  if (value == x) {
    ++factors.ofX;
    return;
  }
  if (std::optional<double> number = nodes.getNumberFor(value, x)) {
    factors.number *= *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_present<onnx::MulOp>(op) && depth < most) {
    collect(nodes, op->getOperand(0), x, factors, depth + 1);
    collect(nodes, op->getOperand(1), x, factors, depth + 1);
    return;
  }
  if (isa_and_present<onnx::DivOp>(op) && depth < most)
    if (auto number = nodes.getNumberFor(op->getOperand(1), x)) {
      factors.number /= *number;
      collect(nodes, op->getOperand(0), x, factors, depth + 1);
      return;
    }
  if (isa_and_present<onnx::PowOp>(op) && op->getOperand(0) == x)
    if (auto power = nodes.getNumberFor(op->getOperand(1), x);
        power && (*power == 2.0 || *power == 3.0)) {
      factors.ofX += static_cast<unsigned>(*power);
      return;
    }
  factors.isValid &= !factors.other;
  factors.other = value;
}

Factors getFactors(Nodes &nodes, Value value, Value x) {
  Factors factors;
  collect(nodes, value, x, factors);
  return factors;
}

/// c * x^power: c.
std::optional<double> getCoefficient(Nodes &nodes, Value value, Value x,
                                     unsigned power = 1) {
  Factors factors = getFactors(nodes, value, x);
  return factors.isValid && !factors.other && factors.ofX == power
             ? std::optional<double>(factors.number)
             : std::nullopt;
}

/// What is added to a number, in either order; null if it is another number.
Value getAddend(Nodes &nodes, Value sum, double number) {
  Operation *op = sum ? sum.getDefiningOp() : nullptr;
  if (!isa_and_present<onnx::AddOp>(op))
    return {};
  for (unsigned i : {0, 1})
    if (nodes.getNumberFor(op->getOperand(i), op->getOperand(1 - i)) == number)
      return op->getOperand(1 - i);
  return {};
}

template <typename Op> Value getOperandOf(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return isa_and_present<Op>(op) ? op->getOperand(0) : Value();
}

/// sqrt(2 / pi) * (x + 0.044715 * x^3)
bool isTanhOfGelu(Nodes &nodes, Value value, Value x) {
  Factors outer = getFactors(nodes, value, x);
  if (!outer.isValid || !outer.other || outer.ofX != 0 ||
      !isNearly(outer.number,
                2.0 * llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2, x))
    return false;
  Operation *sum = outer.other.getDefiningOp();
  if (!isa_and_present<onnx::AddOp>(sum))
    return false;
  for (unsigned i : {0, 1})
    if (sum->getOperand(i) == x &&
        isNearly(getCoefficient(nodes, sum->getOperand(1 - i), x, 3), 0.044715,
                 x))
      return true;
  return false;
}

FusedActivation fromFormula(Nodes &nodes, Value value, Value x) {
  Factors factors = getFactors(nodes, value, x);
  if (!factors.isValid || factors.ofX != 1 || !factors.other)
    return {};
  FusedActivation made;
  if (factors.number == 0.5) {
    Value function = getAddend(nodes, factors.other, 1.0);
    if (Value inner = getOperandOf<onnx::ErfOp>(function)) {
      if (isNearly(getCoefficient(nodes, inner, x), 1.0 / llvm::numbers::sqrt2,
                   x))
        made = {"gelu"};
    } else if (Value inner = getOperandOf<onnx::TanhOp>(function)) {
      if (isTanhOfGelu(nodes, inner, x))
        made = {"gelu_tanh"};
    }
  } else if (Value inner = getOperandOf<onnx::SigmoidOp>(factors.other)) {
    if (auto alpha = getCoefficient(nodes, inner, x);
        alpha && factors.number == 1.0)
      made = {"swish", *alpha};
  } else if (getOperandOf<onnx::HardSigmoidOp>(factors.other) == x) {
    FusedActivation gate = fromNode(nodes, factors.other.getDefiningOp());
    if (factors.number == 1.0)
      made = {"hard_swish", gate.alpha, gate.beta};
  } else if (getAddend(nodes, getOperandOf<onnx::ClipOp>(factors.other), 3.0) ==
             x) {
    FusedActivation gate = fromNode(nodes, factors.other.getDefiningOp());
    if (isNearly(factors.number, 1.0 / 6.0, x) && gate.alpha == 0.0 &&
        gate.beta == 6.0)
      made = {"hard_swish", 1.0f / 6.0f, 0.5};
  }
  made.result = value;
  return made;
}

//===----------------------------------------------------------------------===//
// Where formulas end
//===----------------------------------------------------------------------===//

bool isOfFormulas(Operation *op) {
  return isa<onnx::AddOp, onnx::ClipOp, onnx::DivOp, onnx::ErfOp,
             onnx::HardSigmoidOp, onnx::MulOp, onnx::PowOp, onnx::SigmoidOp,
             onnx::TanhOp>(op) &&
         op->getNumResults() == 1;
}

/// Values that all reads of x lead to, and nothing else does: the nearest
/// first. What comes out of all nodes that were visited is one value there.
SmallVector<Value, 4> findEnds(Value x) {
  constexpr unsigned most = 12;
  SmallVector<Value, 4> ends;
  llvm::SmallSetVector<Operation *, 16> inside;
  llvm::SmallSetVector<Value, 4> open;
  open.insert(x);
  while (!open.empty() && inside.size() < most) {
    // The value whose readers come first: nothing behind them is open before.
    Value next = open.front();
    for (Value value : open) {
      Operation *op = value.getDefiningOp();
      if (op && next.getDefiningOp() &&
          op->isBeforeInBlock(next.getDefiningOp()))
        next = value;
    }
    open.remove(next);
    for (Operation *user : next.getUsers()) {
      if (user->getBlock() != x.getParentBlock() || !isOfFormulas(user))
        return ends;
      if (inside.insert(user))
        open.insert(user->getResult(0));
    }
    if (open.size() == 1 && open.front() != x)
      ends.push_back(open.front());
  }
  return ends;
}

} // namespace

FusedActivation findActivation(Nodes &nodes, Value value) {
  if (Operation *user = Nodes::getOnlyUser(value))
    if (FusedActivation found = fromNode(nodes, user);
        found && user->getOperand(0) == value)
      return found;
  for (Value end : findEnds(value))
    if (FusedActivation found = fromFormula(nodes, end, value))
      return found;
  return {};
}

} // namespace amp
