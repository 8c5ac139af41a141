//===- Activation.cpp - activation functions ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace amp {

namespace {

using Elements = ArrayRef<Scalar>;

Scalar sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }

/// log(1 + e^x), where e^x alone may be infinite.
Scalar softplus(Scalar x) { return max(x, 0.0) + log1p(exp(-abs(x))); }

Scalar hardSigmoid(Scalar x, double alpha, double beta) {
  return min(max(x * alpha + beta, 0.0), 1.0);
}

Scalar gelu(const Node &n, Elements x) {
  Scalar z = x[0];
  if (n.getString("approximate", "none") == "tanh") {
    Scalar inner = (z + z * z * z * 0.044715) *
                   (2.0 * llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2);
    return z * 0.5 * (1.0 + tanh(inner));
  }
  return z * 0.5 * (1.0 + erf(z * (1.0 / llvm::numbers::sqrt2)));
}

Scalar shrink(const Node &n, Elements x) {
  double bias = n.getFloat("bias", 0.0), lambda = n.getFloat("lambd", 0.5);
  return select(x[0] < -lambda, x[0] + bias,
                select(x[0] > lambda, x[0] - bias, 0.0));
}

/// There is no error function of float64 here.
bool acceptsGelu(const Node &n) {
  return !n.getElementType().isF64() ||
         n.getString("approximate", "none") == "tanh";
}

bool isFloat(const Node &n) { return isa<FloatType>(n.getElementType()); }

constexpr auto any = ElementwiseRule::Any;

constexpr ElementwiseRule rules[] = {
    {"Celu",
     [](const Node &n, Elements x) {
       double alpha = n.getFloat("alpha", 1.0);
       return max(x[0], 0.0) + min(expm1(x[0] / alpha) * alpha, 0.0);
     }},
    {"Elu",
     [](const Node &n, Elements x) {
       return select(x[0] < 0.0, expm1(x[0]) * n.getFloat("alpha", 1.0), x[0]);
     }},
    {"Gelu", gelu, any, acceptsGelu},
    {"HardSigmoid",
     [](const Node &n, Elements x) {
       return hardSigmoid(x[0], n.getFloat("alpha", 0.2),
                          n.getFloat("beta", 0.5));
     }},
    {"HardSwish",
     [](const Node &, Elements x) {
       return x[0] * hardSigmoid(x[0], 1.0f / 6.0f, 0.5);
     }},
    {"LeakyRelu",
     [](const Node &n, Elements x) {
       return select(x[0] < 0.0, x[0] * n.getFloat("alpha", 0.01), x[0]);
     }},
    {"Mish",
     [](const Node &, Elements x) { return x[0] * tanh(softplus(x[0])); }},
    {"PRelu", [](const Node &,
                 Elements x) { return select(x[0] < 0.0, x[0] * x[1], x[0]); }},
    {"Relu", [](const Node &, Elements x) { return max(x[0], 0.0); }},
    {"Selu",
     [](const Node &n, Elements x) {
       double alpha = n.getFloat("alpha", 1.67326319217681884765625);
       double gamma = n.getFloat("gamma", 1.05070102214813232421875);
       return select(x[0] > 0.0, x[0], expm1(x[0]) * alpha) * gamma;
     }},
    {"Shrink", shrink, any, isFloat},
    {"Sigmoid", [](const Node &, Elements x) { return sigmoid(x[0]); }},
    {"Softplus", [](const Node &, Elements x) { return softplus(x[0]); }},
    {"Softsign",
     [](const Node &, Elements x) { return x[0] / (1.0 + abs(x[0])); }},
    {"Swish",
     [](const Node &n, Elements x) {
       return x[0] * sigmoid(x[0] * n.getFloat("alpha", 1.0));
     }},
    {"ThresholdedRelu",
     [](const Node &n, Elements x) {
       return select(x[0] > n.getFloat("alpha", 1.0), x[0], 0.0);
     }},
};

} // namespace

ArrayRef<ElementwiseRule> getActivationRules() { return rules; }

} // namespace amp
