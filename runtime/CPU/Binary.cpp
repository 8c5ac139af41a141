//===- Binary.cpp - functions of two or more numbers ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elementwise.h"
#include "CPU/Shapes.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

namespace {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

AMP_BINARY_FUNCTION(Add, wrapAdd(x, y));
AMP_BINARY_FUNCTION(Subtract, wrapSubtract(x, y));
AMP_BINARY_FUNCTION(Multiply, wrapMultiply(x, y));
AMP_BINARY_FUNCTION(Maximum, x < y || y != y ? y : x); // NaN wins
AMP_BINARY_FUNCTION(Minimum, y < x || y != y ? y : x);
AMP_BINARY_FUNCTION(PRelu, x < 0 ? wrapMultiply(y, x) : x);

/// Integers: towards zero; 0 for a division by 0 (as NumPy has it; ONNX leaves
/// that undefined), and the smallest number divided by -1 is itself.
struct Divide : NoParameters {
  template <typename T> static T apply(T x, T y, const double *) {
    if constexpr (std::is_integral_v<T>) {
      if (y == 0)
        return 0;
      if (std::is_signed_v<T> && y == T(-1))
        return wrapSubtract(T(0), x);
    }
    return static_cast<T>(x / y);
  }
};

/// The quotient rounded down: the sign is the divisor's.
struct FloorMod : NoParameters {
  template <typename T> static T apply(T x, T y, const double *) {
    if constexpr (std::is_integral_v<T>) {
      if (y == 0 || (std::is_signed_v<T> && y == T(-1)))
        return 0;
      T rest = static_cast<T>(x % y);
      return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y)
                                                : rest;
    } else {
      T rest = std::fmod(x, y);
      if (rest == 0)
        return std::copysign(rest, y);
      return (rest < 0) != (y < 0) && rest == rest ? rest + y : rest;
    }
  }
};

/// The quotient rounded towards zero: the sign is the dividend's.
struct TruncatingMod : NoParameters {
  template <typename T> static T apply(T x, T y, const double *) {
    if constexpr (std::is_integral_v<T>)
      return y == 0 || (std::is_signed_v<T> && y == T(-1))
                 ? T(0)
                 : static_cast<T>(x % y);
    else
      return std::fmod(x, y);
  }
};

struct Power : NoParameters {
  template <typename T> static T apply(T x, T y, const double *) {
    if constexpr (std::is_integral_v<T>) {
      // A fraction becomes 0.
      if (y < 0)
        return x == 1 ? T(1) : x == T(-1) ? (y % 2 ? T(-1) : T(1)) : T(0);
      T power = 1;
      for (; y != 0; y >>= 1, x = wrapMultiply(x, x))
        if (y & 1)
          power = wrapMultiply(power, x);
      return power;
    } else {
      return std::pow(x, y);
    }
  }
};

/// A gate's Swish times what it gates.
struct SwiGLU {
  static constexpr Parameter parameters[2] = {{"alpha", 1}, {}};
  template <typename T> static T apply(T x, T y, const double *p) {
    return x / (1 + std::exp(-T(p[0]) * x)) * y;
  }
};

//===----------------------------------------------------------------------===//
// Bits and truths
//===----------------------------------------------------------------------===//

AMP_BINARY_FUNCTION(BitwiseAnd, x &y);
AMP_BINARY_FUNCTION(BitwiseOr, x | y);
AMP_BINARY_FUNCTION(BitwiseXor, x ^ y);
AMP_BINARY_FUNCTION(And, x &&y);
AMP_BINARY_FUNCTION(Or, x || y);
AMP_BINARY_FUNCTION(Xor, x != y);

/// Shifts by more bits than there are, or by a negative number, leave what an
/// endless sign would.
template <bool left> struct Shift : NoParameters {
  template <typename T> static T apply(T x, T y, const double *) {
    bool isOutside = y < 0 || static_cast<uint64_t>(y) >= 8 * sizeof(T);
    if (left)
      return isOutside ? T(0)
                       : static_cast<T>(static_cast<uint64_t>(x)
                                        << static_cast<uint64_t>(y));
    return isOutside ? (x < 0 ? T(-1) : T(0)) : static_cast<T>(x >> y);
  }
};

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

AMP_BINARY_FUNCTION(Equal, x == y);
AMP_BINARY_FUNCTION(Greater, x > y);
AMP_BINARY_FUNCTION(GreaterOrEqual, x >= y);
AMP_BINARY_FUNCTION(Less, x < y);
AMP_BINARY_FUNCTION(LessOrEqual, x <= y);

using ComparedTypes = TypeList<float, double, int8_t, int16_t, int32_t, int64_t,
                               uint8_t, uint16_t, uint32_t, uint64_t, Truth>;

//===----------------------------------------------------------------------===//
// Kernels that choose
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Kernel>> createShift(const Attributes &attributes) {
  std::string direction = attributes.getString("direction", "");
  if (direction == "LEFT")
    return createElementwise<binary<Shift<true>, ComputedIntegers>>(attributes);
  if (direction == "RIGHT")
    return createElementwise<binary<Shift<false>, ComputedIntegers>>(
        attributes);
  return Status::error("direction must be LEFT or RIGHT, but is '" + direction +
                       "'");
}

Result<std::unique_ptr<Kernel>> createMod(const Attributes &attributes) {
  if (attributes.getInt("fmod", 0) != 0)
    return createElementwise<binary<TruncatingMod, ComputedNumbers>>(
        attributes);
  return createElementwise<binary<FloorMod, ComputedNumbers>>(attributes);
}

/// The exponent may be of another type: floats meet in float64, integers in
/// int64.
class Pow : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return inferElementwise(inputs, outputs);
  }

  Status run(const KernelArguments &arguments) const override {
    DataType base = getComputeType(arguments.inputs[0].type),
             exponent = getComputeType(arguments.inputs[1].type);
    for (size_t i = 0; i < 2; ++i)
      if (!visitType(NumberTypes(), arguments.inputs[i].type, [](auto) {}))
        return typeError(arguments.inputs[i].type);
    DataType type = DataType::Double;
    if (base == DataType::Float && exponent == DataType::Float)
      type = DataType::Float;
    else if (visitType(ComputedIntegers(), base, [](auto) {}) &&
             visitType(ComputedIntegers(), exponent, [](auto) {}))
      type = DataType::Int64;
    ElementwiseRun run = {
        arguments.inputs.data, 2, type, type,
        getLoop<Power, 2, TypeList<float, double, int64_t>>(type)};
    runElementwise(run, arguments.outputs[0], *arguments.threads);
    return {};
  }
};

class EqualKernel : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return inferElementwise(inputs, outputs);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &x = arguments.inputs[0], &y = arguments.inputs[1],
                     &output = arguments.outputs[0];
    if (x.type == DataType::String) {
      for (int64_t i = 0; i < output.getElementCount(); ++i) {
        auto at = [&](const TensorView &operand) -> const std::string & {
          return operand.as<const std::string>()[getOperandIndex(
              operand.shape, output.shape, i)];
        };
        output.as<uint8_t>()[i] = at(x) == at(y);
      }
      return {};
    }
    DataType type = getComputeType(x.type);
    ElementwiseRun run = {arguments.inputs.data, 2, type, DataType::Bool,
                          getLoop<Equal, 2, ComparedTypes>(type)};
    if (!run.loop)
      return typeError(x.type);
    runElementwise(run, output, *arguments.threads);
    return {};
  }
};

/// Sum, Mean, Max and Min fold any number of operands.
struct DivideByCount : NoParameters {
  template <typename T> static T apply(T x, const double *p) {
    return x / T(p[0]);
  }
};
struct Itself : NoParameters {
  template <typename T> static T apply(T x, const double *) { return x; }
};
constexpr ElementwiseOperator sum = {0,
                                     getLoop<Add, 2, ComputedNumbers>,
                                     false,
                                     {},
                                     getLoop<Itself, 1, ComputedNumbers>};
constexpr ElementwiseOperator maximum = {0,
                                         getLoop<Maximum, 2, ComputedNumbers>,
                                         false,
                                         {},
                                         getLoop<Itself, 1, ComputedNumbers>};
constexpr ElementwiseOperator minimum = {0,
                                         getLoop<Minimum, 2, ComputedNumbers>,
                                         false,
                                         {},
                                         getLoop<Itself, 1, ComputedNumbers>};
constexpr ElementwiseOperator mean = {
    0,
    getLoop<Add, 2, ComputedFloats>,
    false,
    {},
    getLoop<DivideByCount, 1, ComputedFloats>};

constexpr KernelEntry entries[] = {
    {"add", createElementwise<binary<Add, ComputedNumbers>>},
    {"sub", createElementwise<binary<Subtract, ComputedNumbers>>},
    {"mul", createElementwise<binary<Multiply, ComputedNumbers>>},
    {"div", createElementwise<binary<Divide, ComputedNumbers>>},
    {"mod", createMod},
    {"pow", create<Pow>},
    {"prelu", createElementwise<binary<PRelu, ComputedNumbers>>},
    {"swiglu", createElementwise<binary<SwiGLU, ComputedFloats>>},
    {"sum", createElementwise<sum>},
    {"mean", createElementwise<mean>},
    {"max", createElementwise<maximum>},
    {"min", createElementwise<minimum>},
    {"bit_shift", createShift},
    {"bitwise_and", createElementwise<binary<BitwiseAnd, ComputedIntegers>>},
    {"bitwise_or", createElementwise<binary<BitwiseOr, ComputedIntegers>>},
    {"bitwise_xor", createElementwise<binary<BitwiseXor, ComputedIntegers>>},
    {"and", createElementwise<binary<And, ComputedTruths>>},
    {"or", createElementwise<binary<Or, ComputedTruths>>},
    {"xor", createElementwise<binary<Xor, ComputedTruths>>},
    {"equal", create<EqualKernel>},
    {"greater", createElementwise<binary<Greater, ComputedNumbers>>},
    {"greater_or_equal",
     createElementwise<binary<GreaterOrEqual, ComputedNumbers>>},
    {"less", createElementwise<binary<Less, ComputedNumbers>>},
    {"less_or_equal", createElementwise<binary<LessOrEqual, ComputedNumbers>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getBinaryKernels() {
  return {entries, std::size(entries)};
}
