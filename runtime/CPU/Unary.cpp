//===- Unary.cpp - functions of one number --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elementwise.h"
#include "CPU/Shapes.h"

#include <cmath>

using namespace amp::runtime;

namespace {

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

AMP_UNARY_FUNCTION(Abs, x < 0 ? wrapSubtract(T(0), x) : x == 0 ? T(0) : x);
AMP_UNARY_FUNCTION(Neg, std::is_integral_v<T> ? wrapSubtract(T(0), x) : T(-x));
AMP_UNARY_FUNCTION(Sign, x != x ? x : T((x > 0) - (x < 0)));
AMP_UNARY_FUNCTION(Relu, x < 0 ? T(0) : x);
AMP_UNARY_FUNCTION(Reciprocal, 1 / x);
AMP_UNARY_FUNCTION(Ceil, std::ceil(x));
AMP_UNARY_FUNCTION(Floor, std::floor(x));
AMP_UNARY_FUNCTION(Round, std::nearbyint(x)); // ties to even
AMP_UNARY_FUNCTION(BitwiseNot, ~x);
AMP_UNARY_FUNCTION(Not, !x);
AMP_UNARY_FUNCTION(IsNaN, x != x);

//===----------------------------------------------------------------------===//
// Elementary functions
//===----------------------------------------------------------------------===//

AMP_UNARY_FUNCTION(Sqrt, std::sqrt(x));
AMP_UNARY_FUNCTION(Exp, std::exp(x));
AMP_UNARY_FUNCTION(Log, std::log(x));
AMP_UNARY_FUNCTION(Erf, std::erf(x));
AMP_UNARY_FUNCTION(Sin, std::sin(x));
AMP_UNARY_FUNCTION(Cos, std::cos(x));
AMP_UNARY_FUNCTION(Tan, std::tan(x));
AMP_UNARY_FUNCTION(Asin, std::asin(x));
AMP_UNARY_FUNCTION(Acos, std::acos(x));
AMP_UNARY_FUNCTION(Atan, std::atan(x));
AMP_UNARY_FUNCTION(Sinh, std::sinh(x));
AMP_UNARY_FUNCTION(Cosh, std::cosh(x));
AMP_UNARY_FUNCTION(Tanh, std::tanh(x));
AMP_UNARY_FUNCTION(Asinh, std::asinh(x));
AMP_UNARY_FUNCTION(Acosh, std::acosh(x));
AMP_UNARY_FUNCTION(Atanh, std::atanh(x));

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

template <typename T> T sigmoid(T x) { return 1 / (1 + std::exp(-x)); }
template <typename T> T softplus(T x) {
  return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
}
template <typename T> T clampToUnit(T x) {
  return x < 0 ? T(0) : x > 1 ? T(1) : x;
}

AMP_UNARY_FUNCTION(Sigmoid, sigmoid(x));
AMP_UNARY_FUNCTION(Softplus, softplus(x));
AMP_UNARY_FUNCTION(Softsign, x / (1 + std::fabs(x)));
AMP_UNARY_FUNCTION(Mish, x *std::tanh(softplus(x)));
AMP_UNARY_FUNCTION(HardSwish, x *clampToUnit(x / 6 + T(0.5)));
// The error function's complement keeps the digits of large negative numbers.
AMP_UNARY_FUNCTION(Gelu, x / 2 * std::erfc(x * T(-0.70710678118654752440)));
AMP_UNARY_FUNCTION(GeluTanh,
                   x / 2 *
                       (1 + std::tanh(T(0.79788456080286535588) *
                                      (x + T(0.044715) * x * x * x))));

#define AMP_ACTIVATION(Name, name0, default0, name1, default1, expression)     \
  struct Name {                                                                \
    static constexpr Parameter parameters[2] = {{name0, default0},             \
                                                {name1, default1}};            \
    template <typename T> static T apply(T x, const double *p) {               \
      [[maybe_unused]] const T a = T(p[0]), b = T(p[1]);                       \
      return expression;                                                       \
    }                                                                          \
  }

AMP_ACTIVATION(LeakyRelu, "alpha", 0.01f, nullptr, 0, x < 0 ? a * x : x);
AMP_ACTIVATION(ThresholdedRelu, "alpha", 1, nullptr, 0, x > a ? x : T(0));
AMP_ACTIVATION(Elu, "alpha", 1, nullptr, 0, x < 0 ? a * std::expm1(x) : x);
AMP_ACTIVATION(Celu, "alpha", 1, nullptr, 0, x < 0 ? a * std::expm1(x / a) : x);
AMP_ACTIVATION(Selu, "alpha", 1.67326319217681884765625, "gamma",
               1.05070102214813232421875, b *(x > 0 ? x : a * std::expm1(x)));
AMP_ACTIVATION(HardSigmoid, "alpha", 0.2f, "beta", 0.5, clampToUnit(a *x + b));
AMP_ACTIVATION(Swish, "alpha", 1, nullptr, 0, x *sigmoid(a *x));

/// Integers are moved by a real number and truncated.
struct Shrink {
  static constexpr Parameter parameters[2] = {{"lambd", 0.5}, {"bias", 0}};
  template <typename T> static T apply(T x, const double *p) {
    if constexpr (std::is_integral_v<T>) {
      auto value = static_cast<double>(x);
      double moved = value < -p[0] ? value + p[1] : value - p[1];
      bool isZero = value >= -p[0] && value <= p[0];
      bool fits = moved >= -0x1p63 && moved < 0x1p63;
      return isZero || !fits ? T(0)
                             : static_cast<T>(static_cast<int64_t>(moved));
    } else {
      return x < -T(p[0]) ? x + T(p[1]) : x > T(p[0]) ? x - T(p[1]) : T(0);
    }
  }
};

struct IsInf {
  template <typename T> static bool apply(T x, const double *p) {
    return std::isinf(x) && (x > 0 ? p[0] != 0 : p[1] != 0);
  }
};

Result<std::unique_ptr<Kernel>> createGelu(const Attributes &attributes) {
  std::string kind = attributes.getString("approximate", "none");
  if (kind == "none")
    return createElementwise<unary<Gelu, ComputedFloats>>(attributes);
  if (kind == "tanh")
    return createElementwise<unary<GeluTanh, ComputedFloats>>(attributes);
  return Status::error("approximate must be none or tanh, but is " + kind);
}

class IsInfKernel : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    detected[0] = static_cast<double>(attributes.getInt("detect_positive", 1));
    detected[1] = static_cast<double>(attributes.getInt("detect_negative", 1));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return inferElementwise(inputs, outputs);
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = getComputeType(arguments.inputs[0].type);
    ElementwiseRun run = {arguments.inputs.data, 1, type, DataType::Bool,
                          getLoop<IsInf, 1, ComputedFloats>(type)};
    run.parameters = detected;
    if (!run.loop)
      return typeError(arguments.inputs[0].type);
    runElementwise(run, arguments.outputs[0], *arguments.threads);
    return {};
  }

private:
  double detected[2];
};

constexpr KernelEntry entries[] = {
    {"abs", createElementwise<unary<Abs, ComputedNumbers>>},
    {"neg", createElementwise<unary<Neg, ComputedNumbers>>},
    {"sign", createElementwise<unary<Sign, ComputedNumbers>>},
    {"relu", createElementwise<unary<Relu, ComputedNumbers>>},
    {"shrink", createElementwise<unary<Shrink, ComputedNumbers>>},
    {"bitwise_not", createElementwise<unary<BitwiseNot, ComputedIntegers>>},
    {"not", createElementwise<unary<Not, ComputedTruths>>},
    {"is_nan", createElementwise<unary<IsNaN, ComputedFloats>>},
    {"is_inf", create<IsInfKernel>},
    {"reciprocal", createElementwise<unary<Reciprocal, ComputedFloats>>},
    {"ceil", createElementwise<unary<Ceil, ComputedFloats>>},
    {"floor", createElementwise<unary<Floor, ComputedFloats>>},
    {"round", createElementwise<unary<Round, ComputedFloats>>},
    {"sqrt", createElementwise<unary<Sqrt, ComputedFloats>>},
    {"exp", createElementwise<unary<Exp, ComputedFloats>>},
    {"log", createElementwise<unary<Log, ComputedFloats>>},
    {"erf", createElementwise<unary<Erf, ComputedFloats>>},
    {"sin", createElementwise<unary<Sin, ComputedFloats>>},
    {"cos", createElementwise<unary<Cos, ComputedFloats>>},
    {"tan", createElementwise<unary<Tan, ComputedFloats>>},
    {"asin", createElementwise<unary<Asin, ComputedFloats>>},
    {"acos", createElementwise<unary<Acos, ComputedFloats>>},
    {"atan", createElementwise<unary<Atan, ComputedFloats>>},
    {"sinh", createElementwise<unary<Sinh, ComputedFloats>>},
    {"cosh", createElementwise<unary<Cosh, ComputedFloats>>},
    {"tanh", createElementwise<unary<Tanh, ComputedFloats>>},
    {"asinh", createElementwise<unary<Asinh, ComputedFloats>>},
    {"acosh", createElementwise<unary<Acosh, ComputedFloats>>},
    {"atanh", createElementwise<unary<Atanh, ComputedFloats>>},
    {"sigmoid", createElementwise<unary<Sigmoid, ComputedFloats>>},
    {"softplus", createElementwise<unary<Softplus, ComputedFloats>>},
    {"softsign", createElementwise<unary<Softsign, ComputedFloats>>},
    {"mish", createElementwise<unary<Mish, ComputedFloats>>},
    {"hard_swish", createElementwise<unary<HardSwish, ComputedFloats>>},
    {"gelu", createGelu},
    {"leaky_relu", createElementwise<unary<LeakyRelu, ComputedFloats>>},
    {"thresholded_relu",
     createElementwise<unary<ThresholdedRelu, ComputedFloats>>},
    {"elu", createElementwise<unary<Elu, ComputedFloats>>},
    {"celu", createElementwise<unary<Celu, ComputedFloats>>},
    {"selu", createElementwise<unary<Selu, ComputedFloats>>},
    {"hard_sigmoid", createElementwise<unary<HardSigmoid, ComputedFloats>>},
    {"swish", createElementwise<unary<Swish, ComputedFloats>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getUnaryKernels() {
  return {entries, std::size(entries)};
}
