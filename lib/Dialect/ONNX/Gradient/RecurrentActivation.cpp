//===- RecurrentActivation.cpp - functions of recurrent gates -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentActivation.h"

#include "amp/Support/Quoted.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace amp::onnx {

/// 1 where a condition holds, and another number elsewhere.
static Expr step(Expr condition, double yes, double no, Expr like) {
  NodeBuilder &b = like.getBuilder();
  return b.where(condition, b.number(yes, like.getElementType()),
                 b.number(no, like.getElementType()));
}

static constexpr RecurrentActivation::Function functions[] = {
    {"Sigmoid", 0, 0, 0, false,
     [](Expr x, double, double) { return sigmoid(x); },
     [](Expr, Expr y, double, double) { return y * (1.0 - y); }},
    {"Tanh", 0, 0, 0, false, [](Expr x, double, double) { return tanh(x); },
     [](Expr, Expr y, double, double) { return 1.0 - y * y; }},
    {"Relu", 0, 0, 0, false, [](Expr x, double, double) { return relu(x); },
     [](Expr, Expr y, double, double) { return step(y > 0.0, 1, 0, y); }},
    {"Affine", 2, 1, 0, false,
     [](Expr x, double alpha, double beta) { return x * alpha + beta; },
     [](Expr, Expr y, double alpha, double) {
       return y.getBuilder().filledLike(y, alpha);
     }},
    {"LeakyRelu", 1, 0.01, 0, true,
     [](Expr x, double alpha, double) {
       return x.getBuilder().where(x < 0.0, x * alpha, x);
     },
     [](Expr x, Expr, double alpha, double) {
       return step(x < 0.0, alpha, 1, x);
     }},
    {"ThresholdedRelu", 1, 1, 0, true,
     [](Expr x, double alpha, double) {
       return x.getBuilder().where(x > alpha, x, 0.0);
     },
     [](Expr x, Expr, double alpha, double) {
       return step(x > alpha, 1, 0, x);
     }},
    {"ScaledTanh", 2, 1, 1, true,
     [](Expr x, double alpha, double beta) { return alpha * tanh(x * beta); },
     [](Expr x, Expr, double alpha, double beta) {
       Expr t = tanh(x * beta);
       return alpha * beta * (1.0 - t * t);
     }},
    {"HardSigmoid", 2, 0.2, 0.5, false,
     [](Expr x, double alpha, double beta) {
       NodeBuilder &b = x.getBuilder();
       Expr line = x * alpha + beta;
       return min(max(line, b.number(0, x.getElementType())),
                  b.number(1, x.getElementType()));
     },
     [](Expr, Expr y, double alpha, double) {
       return step(logicalAnd(y > 0.0, y < 1.0), alpha, 0, y);
     }},
    {"Elu", 1, 1, 0, true,
     [](Expr x, double alpha, double) {
       return x.getBuilder().where(x < 0.0, alpha * (exp(x) - 1.0), x);
     },
     [](Expr x, Expr, double alpha, double) {
       NodeBuilder &b = x.getBuilder();
       // The other branch's exponential may be infinite, and is not taken.
       return b.where(x < 0.0, alpha * exp(x), 1.0);
     }},
    {"Softsign", 0, 0, 0, true,
     [](Expr x, double, double) { return x / (1.0 + abs(x)); },
     [](Expr x, Expr, double, double) {
       Expr scale = 1.0 + abs(x);
       return 1.0 / (scale * scale);
     }},
    {"Softplus", 0, 0, 0, true,
     [](Expr x, double, double) { return softplus(x); },
     [](Expr x, Expr, double, double) { return sigmoid(x); }},
};

FailureOr<SmallVector<RecurrentActivation>>
readActivations(Gradient &g, ArrayRef<StringLiteral> defaults, unsigned count) {
  SmallVector<StringRef> names;
  if (auto list = g.getOperation()->getAttrOfType<ArrayAttr>("activations"))
    for (Attribute name : list)
      if (auto text = dyn_cast<StringAttr>(name))
        names.push_back(text.getValue());
  if (names.empty())
    for (unsigned i = 0; i < count; ++i)
      names.push_back(defaults[i % defaults.size()]);
  if (names.size() != count)
    return g.fail("with " + Twine(names.size()) + " activations where " +
                  Twine(count) + " are expected");
  // Each takes its numbers from the front of these lists.
  auto numbers = [&](StringRef attribute) {
    auto list = g.getOperation()->getAttrOfType<DenseF32ArrayAttr>(attribute);
    return list ? list.asArrayRef() : ArrayRef<float>();
  };
  ArrayRef<float> alphas = numbers("activation_alpha"),
                  betas = numbers("activation_beta");
  auto next = [](ArrayRef<float> &list, double missing) {
    if (list.empty())
      return missing;
    double number = list.front();
    list = list.drop_front();
    return number;
  };
  SmallVector<RecurrentActivation> activations;
  for (StringRef name : names) {
    // ONNX Runtime takes them in any case.
    const auto *function =
        llvm::find_if(functions, [&](const RecurrentActivation::Function &f) {
          return name.equals_insensitive(f.name);
        });
    if (function == std::end(functions))
      return g.fail("with activation " + Twine(quoted(name)));
    RecurrentActivation &activation = activations.emplace_back();
    activation.function = function;
    if (function->numParameters >= 1)
      activation.alpha = next(alphas, function->alpha);
    if (function->numParameters >= 2)
      activation.beta = next(betas, function->beta);
  }
  return activations;
}

} // namespace amp::onnx
