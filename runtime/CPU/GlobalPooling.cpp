//===- GlobalPooling.cpp - one number for each channel --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LaneSums.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace amp::runtime;

namespace {

struct Average {
  static constexpr double first = 0;
  template <typename C>
  static double add(double sum, const C *values, int64_t count, int64_t) {
    return sum + sumLanes(count, [values](int64_t i) { return values[i]; });
  }
  static double finish(double sum, int64_t count, int64_t) {
    return sum / static_cast<double>(count);
  }
};

/// NaN is the largest.
struct Maximum {
  static constexpr double first = -std::numeric_limits<double>::infinity();
  template <typename C>
  static double add(double best, const C *values, int64_t count, int64_t) {
    C largest = static_cast<C>(best);
    for (int64_t i = 0; i < count; ++i)
      largest =
          values[i] > largest || values[i] != values[i] ? values[i] : largest;
    return static_cast<double>(largest);
  }
  static double finish(double best, int64_t, int64_t) { return best; }
};

struct LpNorm {
  static constexpr double first = 0;
  template <typename C>
  static double add(double sum, const C *values, int64_t count, int64_t p) {
    return sum + sumLanes(count, [values, p](int64_t i) {
             double x = std::fabs(static_cast<double>(values[i]));
             return p == 1   ? x
                    : p == 2 ? x * x
                             : std::pow(x, static_cast<double>(p));
           });
  }
  static double finish(double sum, int64_t, int64_t p) {
    return p == 1   ? sum
           : p == 2 ? std::sqrt(sum)
                    : std::pow(sum, 1 / static_cast<double>(p));
  }
};

template <typename Operation> class GlobalPool : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    p = attributes.getInt("p", 2);
    if (p < 1)
      return Status::error("p must be positive, but is " + std::to_string(p));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape result = inputs[0].shape;
    if (result.getRank() < 2)
      return Status::error("expects at least rank 2, but got dimensions " +
                           toString(result));
    for (size_t i = 2; i < result.getRank(); ++i)
      result[i] = 1;
    return setShape(outputs[0], result);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    int64_t size = getProduct(input.shape, 2, input.shape.getRank());
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      using C = Compute<T>;
      arguments.threads->parallelFor(
          input.shape[0] * input.shape[1],
          getGrain(size * static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i)
              output.as<T>()[i] = store<T>(
                  static_cast<C>(reduce(input.as<const T>() + i * size, size)));
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  template <typename T> double reduce(const T *values, int64_t size) const {
    using C = Compute<T>;
    double result = Operation::first;
    if constexpr (std::is_same_v<T, C>) {
      result = Operation::add(result, values, size, p);
    } else {
      constexpr int64_t width = 512;
      C block[width];
      for (int64_t i = 0; i < size; i += width) {
        int64_t count = std::min(width, size - i);
        convertElements(dataTypeOf<T>, values + i, dataTypeOf<C>, block, count);
        result = Operation::add(result, block, count, p);
      }
    }
    return Operation::finish(result, size, p);
  }

  int64_t p = 2;
};

constexpr KernelEntry entries[] = {
    {"global_average_pool", create<GlobalPool<Average>>},
    {"global_max_pool", create<GlobalPool<Maximum>>},
    {"global_lp_pool", create<GlobalPool<LpNorm>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getGlobalPoolingKernels() {
  return {entries, std::size(entries)};
}
