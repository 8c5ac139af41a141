//===- Elementwise.h - the same function of every element -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_ELEMENTWISE_H
#define AMP_RUNTIME_CPU_ELEMENTWISE_H

#include "CPU/Elements.h"
#include "CPU/LibraryKernel.h"

#include <cstdint>
#include <type_traits>

namespace amp::runtime {

/// Computes `count` elements from dense arrays of the type computed in;
/// `parameters` are the operator's settings.
using ElementwiseLoop = void (*)(const void *const *operands, void *result,
                                 int64_t count, const double *parameters);

/// A float attribute and its default.
struct Parameter {
  const char *name = nullptr;
  double otherwise = 0;
};

/// An operator as the engine sees it.
struct ElementwiseOperator {
  /// Any number of operands are folded from the left if this is 0.
  unsigned operands;
  /// Null for a type without code.
  ElementwiseLoop (*getLoop)(DataType computeType);
  /// The result is bool.
  bool isPredicate;
  Parameter parameters[2];
  /// Run on what has been folded, with their number as parameter.
  ElementwiseLoop (*getFinish)(DataType computeType) = nullptr;
};

/// 16-bit and smaller floats are computed in float32, all others as they are.
DataType getComputeType(DataType type);

/// Operands are broadcast to the output; elements are converted to
/// `computeType` and results from `resultType`.
struct ElementwiseRun {
  const TensorView *operands;
  size_t operandCount;
  DataType computeType, resultType;
  ElementwiseLoop loop, finish = nullptr;
  const double *parameters = nullptr;
};
/// `run.operandCount` is at most maxOperands unless it folds.
constexpr size_t maxOperands = 3;
void runElementwise(const ElementwiseRun &run, const TensorView &output,
                    ThreadPool &threads);

/// The dimensions of the first output are those of the operands, broadcast.
Status inferElementwise(Span<const TensorView> operands,
                        Span<TensorView> outputs);

class Elementwise : public Kernel {
public:
  Elementwise(const ElementwiseOperator &op, const Attributes &attributes);
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override;
  Status run(const KernelArguments &arguments) const override;

private:
  const ElementwiseOperator &op;
  double parameters[2];
};

template <const ElementwiseOperator &op>
Result<std::unique_ptr<Kernel>>
createElementwise(const Attributes &attributes) {
  return std::unique_ptr<Kernel>(std::make_unique<Elementwise>(op, attributes));
}

} // namespace amp::runtime

//===----------------------------------------------------------------------===//
// How operators are written
//===----------------------------------------------------------------------===//

namespace {

/// A function has `apply`, for one element in the type computed in, and the
/// parameters that this gets.
struct NoParameters {
  static constexpr amp::runtime::Parameter parameters[2] = {};
};

#define AMP_UNARY_FUNCTION(Name, expression)                                   \
  struct Name : NoParameters {                                                 \
    template <typename T> static auto apply(T x, const double *) {             \
      return expression;                                                       \
    }                                                                          \
  }
#define AMP_BINARY_FUNCTION(Name, expression)                                  \
  struct Name : NoParameters {                                                 \
    template <typename T> static auto apply(T x, T y, const double *) {        \
      return expression;                                                       \
    }                                                                          \
  }

using ComputedFloats = amp::runtime::TypeList<float, double>;
using ComputedIntegers =
    amp::runtime::TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                           uint32_t, uint64_t>;
using ComputedNumbers =
    amp::runtime::TypeList<float, double, int8_t, int16_t, int32_t, int64_t,
                           uint8_t, uint16_t, uint32_t, uint64_t>;
using ComputedTruths = amp::runtime::TypeList<amp::runtime::Truth>;

template <typename Function, unsigned operands, typename T> struct ResultOf;
template <typename Function, typename T> struct ResultOf<Function, 1, T> {
  using Type = decltype(Function::apply(Compute<T>(), nullptr));
};
template <typename Function, typename T> struct ResultOf<Function, 2, T> {
  using Type = decltype(Function::apply(Compute<T>(), Compute<T>(), nullptr));
};
template <typename Function, typename T> struct ResultOf<Function, 3, T> {
  using Type = decltype(Function::apply(Compute<T>(), Compute<T>(),
                                        Compute<T>(), nullptr));
};
template <typename Function, unsigned operands, typename T>
constexpr bool isPredicate =
    std::is_same_v<typename ResultOf<Function, operands, T>::Type, bool>;

template <typename Function, unsigned count, typename T>
void runLoop(const void *const *operands, void *result, int64_t size,
             const double *parameters) {
  using R = std::conditional_t<isPredicate<Function, count, T>,
                               amp::runtime::Truth, T>;
  auto *x = static_cast<const T *>(operands[0]);
  R *to = static_cast<R *>(result);
  if constexpr (count == 1) {
    for (int64_t i = 0; i < size; ++i)
      to[i] = store<R>(
          static_cast<Compute<R>>(Function::apply(load(x[i]), parameters)));
  } else if constexpr (count == 2) {
    auto *y = static_cast<const T *>(operands[1]);
    for (int64_t i = 0; i < size; ++i)
      to[i] = store<R>(static_cast<Compute<R>>(
          Function::apply(load(x[i]), load(y[i]), parameters)));
  } else {
    auto *y = static_cast<const T *>(operands[1]);
    auto *z = static_cast<const T *>(operands[2]);
    for (int64_t i = 0; i < size; ++i)
      to[i] = store<R>(static_cast<Compute<R>>(
          Function::apply(load(x[i]), load(y[i]), load(z[i]), parameters)));
  }
}

template <typename Function, unsigned operands, typename Types>
amp::runtime::ElementwiseLoop getLoop(amp::runtime::DataType type) {
  amp::runtime::ElementwiseLoop loop = nullptr;
  amp::runtime::visitType(Types(), type, [&loop](auto element) {
    loop = runLoop<Function, operands, decltype(element)>;
  });
  return loop;
}

template <typename Function, unsigned operands, typename First,
          typename... Rest>
constexpr amp::runtime::ElementwiseOperator
makeOperator(amp::runtime::TypeList<First, Rest...>) {
  return {operands,
          getLoop<Function, operands, amp::runtime::TypeList<First, Rest...>>,
          isPredicate<Function, operands, First>,
          {Function::parameters[0], Function::parameters[1]}};
}

template <typename Function, typename Types>
constexpr amp::runtime::ElementwiseOperator unary =
    makeOperator<Function, 1>(Types());
template <typename Function, typename Types>
constexpr amp::runtime::ElementwiseOperator binary =
    makeOperator<Function, 2>(Types());

/// Signed integers wrap around, as ONNX's other runtimes have it.
template <typename T> inline T wrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <typename T> inline T wrapSubtract(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <typename T> inline T wrapMultiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

} // namespace

#endif // AMP_RUNTIME_CPU_ELEMENTWISE_H
