//===- LRN.cpp - normalisation by neighbouring channels -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

namespace {

class LRN : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    alpha = attributes.getFloat("alpha", 1e-4f);
    beta = attributes.getFloat("beta", 0.75);
    bias = attributes.getFloat("bias", 1);
    size = attributes.getInt("size", 0);
    if (size < 1)
      return Status::error("size must be positive, but is " +
                           std::to_string(size));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs[0].shape.getRank() < 2)
      return Status::error("expects at least rank 2, but got dimensions " +
                           toString(inputs[0].shape));
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    int64_t batch = input.shape[0], channels = input.shape[1];
    int64_t pixels = getProduct(input.shape, 2, input.shape.getRank());
    constexpr int64_t width = 64;
    int64_t parts = (pixels + width - 1) / width;
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      using C = Compute<T>;
      arguments.threads->parallelFor(
          batch * channels * parts, getGrain(width * (size + 16)),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t piece = begin; piece < end; ++piece) {
              int64_t plane = piece / parts, channel = plane % channels;
              int64_t first = piece % parts * width;
              int64_t count = std::min(width, pixels - first);
              int64_t low = std::max<int64_t>(0, channel - (size - 1) / 2);
              int64_t high = std::min(channels, channel + size / 2 + 1);
              C sums[width] = {};
              const T *from = input.as<const T>() + plane * pixels + first;
              for (int64_t c = low; c < high; ++c)
                for (int64_t i = 0; i < count; ++i) {
                  C value = load(from[(c - channel) * pixels + i]);
                  sums[i] += value * value;
                }
              auto factor = static_cast<C>(alpha / static_cast<double>(size));
              T *to = arguments.outputs[0].as<T>() + plane * pixels + first;
              for (int64_t i = 0; i < count; ++i)
                to[i] =
                    store<T>(load(from[i]) /
                             std::pow(static_cast<C>(bias) + factor * sums[i],
                                      static_cast<C>(beta)));
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  double alpha = 1e-4, beta = 0.75, bias = 1;
  int64_t size = 1;
};

constexpr KernelEntry entries[] = {{"lrn", create<LRN>}};

} // namespace

Span<const KernelEntry> amp::runtime::getLRNKernels() {
  return {entries, std::size(entries)};
}
