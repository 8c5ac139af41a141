//===- Softmax.cpp - functions of whole lines -----------------------------===//
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

using namespace amp::runtime;

namespace {

/// A function of a line works in place, in float32 or float64, with sums in
/// float64.
struct Softmax {
  template <typename T> static void apply(T *line, int64_t count, int64_t) {
    T largest = *std::max_element(line, line + count);
    for (int64_t i = 0; i < count; ++i)
      line[i] = std::exp(line[i] - largest);
    double sum = sumLanes(count, [line](int64_t i) { return line[i]; });
    T factor = static_cast<T>(1 / sum);
    for (int64_t i = 0; i < count; ++i)
      line[i] *= factor;
  }
};

struct LogSoftmax {
  template <typename T> static void apply(T *line, int64_t count, int64_t) {
    T largest = *std::max_element(line, line + count);
    double sum = sumLanes(count, [line, largest](int64_t i) {
      return std::exp(line[i] - largest);
    });
    T rest = static_cast<T>(std::log(sum));
    for (int64_t i = 0; i < count; ++i)
      line[i] = line[i] - largest - rest;
  }
};

/// 1 for the first of the largest elements.
struct Hardmax {
  template <typename T> static void apply(T *line, int64_t count, int64_t) {
    int64_t best = std::max_element(line, line + count) - line;
    std::fill_n(line, count, T(0));
    line[best] = 1;
  }
};

/// A line of zeros stays.
struct LpNormalization {
  template <typename T> static void apply(T *line, int64_t count, int64_t p) {
    double sum = sumLanes(count, [line, p](int64_t i) {
      auto x = static_cast<double>(line[i]);
      return p == 1 ? std::fabs(x) : x * x;
    });
    double norm = p == 1 ? sum : std::sqrt(sum);
    for (int64_t i = 0; norm != 0 && i < count; ++i)
      line[i] = static_cast<T>(static_cast<double>(line[i]) / norm);
  }
};

template <typename Function> class LineKernel : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", -1);
    p = attributes.getInt("p", 2);
    if (p != 1 && p != 2)
      return Status::error("p must be 1 or 2, but is " + std::to_string(p));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    size_t along;
    if (Status status = resolveAxis(axis, inputs[0].shape.getRank(), along);
        !status.ok())
      return status;
    return setShape(outputs[0], inputs[0].shape);
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    size_t along;
    if (!resolveAxis(axis, inputs[0].shape.getRank(), along).ok())
      return 0;
    return threads * static_cast<size_t>(inputs[0].shape[along]) *
           sizeof(double);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    size_t rank = input.shape.getRank(), along;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    if (input.getElementCount() == 0)
      return {};
    int64_t extent = input.shape[along];
    int64_t outer = getProduct(input.shape, 0, along);
    int64_t inner = getProduct(input.shape, along + 1, rank);
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      using C = Compute<T>;
      arguments.threads->parallelFor(
          outer * inner, getGrain(16 * extent),
          [&](int64_t begin, int64_t end, unsigned thread) {
            auto *line = reinterpret_cast<C *>(
                static_cast<double *>(arguments.scratch) + thread * extent);
            for (int64_t i = begin; i < end; ++i) {
              int64_t first = i / inner * extent * inner + i % inner;
              auto *from = input.as<const T>() + first;
              auto *to = output.as<T>() + first;
              if (inner == 1)
                convertElements(input.type, from, dataTypeOf<C>, line, extent);
              else
                for (int64_t j = 0; j < extent; ++j)
                  line[j] = load(from[j * inner]);
              Function::apply(line, extent, p);
              if (inner == 1)
                convertElements(dataTypeOf<C>, line, output.type, to, extent);
              else
                for (int64_t j = 0; j < extent; ++j)
                  to[j * inner] = store<T>(line[j]);
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  int64_t axis = -1, p = 2;
};

constexpr KernelEntry entries[] = {
    {"softmax", create<LineKernel<Softmax>>},
    {"log_softmax", create<LineKernel<LogSoftmax>>},
    {"hardmax", create<LineKernel<Hardmax>>},
    {"lp_normalization", create<LineKernel<LpNormalization>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getSoftmaxKernels() {
  return {entries, std::size(entries)};
}
