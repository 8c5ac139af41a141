//===- Optimizers.cpp - the formulas of optimizers ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

#include "Settings.h"

#include "amp/Support/Quoted.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

Optimizer::~Optimizer() = default;

namespace {

//===----------------------------------------------------------------------===//
// Parts of formulas
//===----------------------------------------------------------------------===//

/// A scalar of double, rounded to float32.
Expr toFloat(NodeBuilder &b, Expr scalar) {
  return b.cast(scalar, b.getBuilder().getF32Type());
}

/// start + weight (end - start), and from the other end for weights beyond a
/// half: torch.lerp, whose weight has the type of the values.
Expr lerp(Expr start, Expr end, float weight) {
  if (std::abs(weight) < 0.5f)
    return start + (end - start) * weight;
  return end - (end - start) * (1 - weight);
}

/// The same with a weight that is a scalar of float32, below a half or not.
Expr lerp(NodeBuilder &b, Expr start, Expr end, Expr weight) {
  Expr difference = end - start;
  return b.where(weight < 0.5, start + weight * difference,
                 end - difference * (1.0 - weight));
}

/// gradient + decay parameter.
Expr withDecay(const ParameterUpdate &step) {
  if (step.weightDecay == 0)
    return step.gradient;
  return step.gradient + step.parameter * step.weightDecay;
}

/// parameter (1 - rate decay): decoupled weight decay.
Expr decayed(const ParameterUpdate &step) {
  if (step.weightDecay == 0)
    return step.parameter;
  return step.parameter * toFloat(step.b, 1.0 - step.rate * step.weightDecay);
}

/// The root of the sum of squares over these axes, or all.
Expr norm(NodeBuilder &b, Expr value, ArrayRef<int64_t> axes, bool keepDims) {
  return b.apply("ReduceL2", {value, axes.empty() ? Expr() : b.ints(axes)},
                 b.attr("keepdims", int64_t(keepDims)));
}

SmallVector<int64_t> toVector(ArrayRef<int64_t> shape) {
  return SmallVector<int64_t>(shape);
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// torch.optim.SGD, with Nesterov momentum as there (Sutskever et al. 2013).
class SGD final : public Optimizer {
public:
  double momentum = 0, dampening = 0, nesterov = 0;

  double getDefaultRate() const override { return 1e-3; }
  SmallVector<OptimizerSlot> getSlots(ArrayRef<int64_t> shape) const override {
    if (momentum == 0)
      return {};
    return {{"momentum_buffer", toVector(shape), 0}};
  }
  void update(ParameterUpdate &step) const override {
    Expr gradient = withDecay(step);
    if (momentum != 0) {
      Expr buffer = step.slots[0] * momentum;
      if (dampening == 0)
        buffer = buffer + gradient;
      else // The first gradient is taken whole.
        buffer = step.b.where(step.count == 1.0, gradient,
                              buffer + gradient * (1 - dampening));
      step.slots[0] = buffer;
      gradient = nesterov != 0 ? gradient + buffer * momentum : buffer;
    }
    step.parameter = step.parameter - gradient * toFloat(step.b, step.rate);
  }
};

/// torch.optim.Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter
/// 2019), which differ in where the weights decay; AMSGrad by Reddi et al.
/// 2018.
class Adam final : public Optimizer {
public:
  explicit Adam(bool isDecoupled) : isDecoupled(isDecoupled) {}
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, amsgrad = 0;

  double getDefaultRate() const override { return 1e-3; }
  double getDefaultWeightDecay() const override {
    return isDecoupled ? 1e-2 : 0;
  }
  SmallVector<OptimizerSlot> getSlots(ArrayRef<int64_t> shape) const override {
    SmallVector<OptimizerSlot> slots = {{"exp_avg", toVector(shape), 0},
                                        {"exp_avg_sq", toVector(shape), 0}};
    if (amsgrad != 0)
      slots.push_back({"max_exp_avg_sq", toVector(shape), 0});
    return slots;
  }
  void update(ParameterUpdate &step) const override {
    NodeBuilder &b = step.b;
    Expr parameter = isDecoupled ? decayed(step) : step.parameter;
    Expr gradient = isDecoupled ? step.gradient : withDecay(step);
    Expr mean = lerp(step.slots[0], gradient, 1 - beta1);
    Expr square = step.slots[1] * beta2 + gradient * (1 - beta2) * gradient;
    // Scalars, in double.
    Expr correction1 = 1.0 - pow(number(step, beta1), step.count);
    Expr correction2 = sqrt(1.0 - pow(number(step, beta2), step.count));
    Expr size = toFloat(b, step.rate / correction1);
    SmallVector<Expr> slots = {mean, square};
    if (amsgrad != 0)
      slots.push_back(max(step.slots[2], square));
    Expr root = sqrt(slots.back()) / toFloat(b, correction2) + eps;
    step.parameter = parameter - size * mean / root;
    step.slots = std::move(slots);
  }

private:
  static Expr number(const ParameterUpdate &step, double value) {
    return step.b.number(value, step.count.getElementType());
  }
  bool isDecoupled;
};

/// torch.optim.Adagrad (Duchi et al. 2011).
class Adagrad final : public Optimizer {
public:
  double rateDecay = 0, initial = 0, eps = 1e-10;

  double getDefaultRate() const override { return 1e-2; }
  SmallVector<OptimizerSlot> getSlots(ArrayRef<int64_t> shape) const override {
    return {{"sum", toVector(shape), initial}};
  }
  void update(ParameterUpdate &step) const override {
    Expr gradient = withDecay(step);
    Expr sum = step.slots[0] + gradient * gradient;
    Expr rate = step.rate;
    if (rateDecay != 0)
      rate = rate / (1.0 + (step.count - 1.0) * rateDecay);
    step.parameter =
        step.parameter - toFloat(step.b, rate) * gradient / (sqrt(sum) + eps);
    step.slots = {sum};
  }
};

/// torch.optim.Adafactor (Shazeer and Stern 2018): of the squares of a matrix's
/// gradients it keeps the means of rows and columns.
class Adafactor final : public Optimizer {
public:
  double beta2Decay = -0.8, eps1 = std::numeric_limits<float>::epsilon(),
         eps2 = 1e-3, clipThreshold = 1.0;

  double getDefaultRate() const override { return 1e-2; }
  SmallVector<OptimizerSlot> getSlots(ArrayRef<int64_t> shape) const override {
    if (shape.size() < 2)
      return {{"variance", toVector(shape), 0}};
    SmallVector<int64_t> rows(shape), columns(shape);
    rows[shape.size() - 1] = 1;
    columns[shape.size() - 2] = 1;
    return {{"row_var", rows, 0}, {"col_var", columns, 0}};
  }
  void update(ParameterUpdate &step) const override {
    NodeBuilder &b = step.b;
    Type f64 = step.count.getElementType();
    auto type = cast<RankedTensorType>(step.parameter.getType());
    double root = std::sqrt(std::max<int64_t>(type.getNumElements(), 1));
    Expr gradient = step.gradient;
    Expr fresh = toFloat(b, pow(step.count, b.number(beta2Decay, f64)));
    Expr limit = min(step.rate, 1.0 / sqrt(step.count));
    Expr spread = b.cast(norm(b, step.parameter, {}, false), f64) / root;
    Expr size = max(b.number(eps2, f64), spread) * limit;
    Expr parameter = decayed(step);

    Expr variance;
    if (step.slots.size() == 2) {
      auto means = [&](int64_t axis) {
        Expr length = norm(b, gradient, axis, true);
        return length * length / double(*step.parameter.getSize(axis));
      };
      Expr rows = lerp(b, step.slots[0], means(-1), fresh);
      Expr columns = lerp(b, step.slots[1], means(-2), fresh);
      Expr mean = b.reduceMean(rows, {-2}, true);
      variance = matmul(rows, columns) /
                 max(mean, b.number(eps1, mean.getElementType()));
      step.slots = {rows, columns};
    } else {
      variance = lerp(b, step.slots[0], gradient * gradient, fresh);
      step.slots = {variance};
    }
    Expr least = b.number(eps1 * eps1, variance.getElementType());
    Expr update = reciprocal(sqrt(max(variance, least))) * gradient;
    Expr length =
        b.cast(norm(b, update, {}, false), f64) / (root * clipThreshold);
    step.parameter =
        parameter - update * toFloat(b, size / max(b.number(1, f64), length));
  }
};

/// Chen et al. 2023, "Symbolic discovery of optimization algorithms",
/// program 1.
class Lion final : public Optimizer {
public:
  double beta1 = 0.9, beta2 = 0.99;

  double getDefaultRate() const override { return 1e-4; }
  SmallVector<OptimizerSlot> getSlots(ArrayRef<int64_t> shape) const override {
    return {{"exp_avg", toVector(shape), 0}};
  }
  void update(ParameterUpdate &step) const override {
    Expr mean = step.slots[0];
    Expr direction = sign(mean * beta1 + step.gradient * (1 - beta1));
    step.parameter = decayed(step) - direction * toFloat(step.b, step.rate);
    step.slots = {mean * beta2 + step.gradient * (1 - beta2)};
  }
};

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

Setting flag(StringLiteral name, double &value) {
  Setting setting{name, &value};
  setting.kind = Setting::Flag;
  return setting;
}

constexpr StringLiteral names[] = {"sgd",     "adam",      "adamw",
                                   "adagrad", "adafactor", "lion"};

} // namespace

Expr updateAverage(Expr average, Expr value, double decay) {
  return lerp(average, value, 1 - decay);
}

ArrayRef<StringLiteral> Optimizer::getNames() { return names; }

llvm::Expected<std::unique_ptr<Optimizer>>
Optimizer::create(StringRef name, ArrayRef<std::string> settings) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  auto texts = llvm::to_vector_of<StringRef>(settings);
  auto finish = [&](auto optimizer, ArrayRef<Setting> known)
      -> llvm::Expected<std::unique_ptr<Optimizer>> {
    if (llvm::Error error = readSettings(name, known, texts))
      return error;
    return std::unique_ptr<Optimizer>(std::move(optimizer));
  };
  if (name == "sgd") {
    auto sgd = std::make_unique<SGD>();
    SGD &o = *sgd;
    auto created = finish(std::move(sgd), {{"momentum", &o.momentum, 0, 1},
                                           {"dampening", &o.dampening, 0, 1},
                                           flag("nesterov", o.nesterov)});
    if (created && o.nesterov != 0 && (o.momentum == 0 || o.dampening != 0))
      return llvm::createStringError(
          "nesterov of sgd expects momentum, and no dampening");
    return created;
  }
  if (name == "adam" || name == "adamw") {
    auto adam = std::make_unique<Adam>(/*isDecoupled=*/name == "adamw");
    Adam &o = *adam;
    return finish(std::move(adam), {{"beta1", &o.beta1, 0, 1},
                                    {"beta2", &o.beta2, 0, 1},
                                    {"eps", &o.eps},
                                    flag("amsgrad", o.amsgrad)});
  }
  if (name == "adagrad") {
    auto adagrad = std::make_unique<Adagrad>();
    Adagrad &o = *adagrad;
    return finish(std::move(adagrad),
                  {{"lr_decay", &o.rateDecay},
                   {"initial_accumulator_value", &o.initial},
                   {"eps", &o.eps}});
  }
  if (name == "adafactor") {
    auto adafactor = std::make_unique<Adafactor>();
    Adafactor &o = *adafactor;
    return finish(std::move(adafactor),
                  {{"beta2_decay", &o.beta2Decay, -kAny, 0},
                   {"eps1", &o.eps1},
                   {"eps2", &o.eps2},
                   {"d", &o.clipThreshold, 1}});
  }
  if (name == "lion") {
    auto lion = std::make_unique<Lion>();
    Lion &o = *lion;
    return finish(std::move(lion),
                  {{"beta1", &o.beta1, 0, 1}, {"beta2", &o.beta2, 0, 1}});
  }
  return llvm::createStringError(
      "no optimizer is called " + quoted(name) +
      didYouMean(name, llvm::to_vector_of<StringRef>(names)) +
      " (sgd, adam, adamw, adagrad, adafactor, "
      "lion)");
}

} // namespace amp
