//===- MeanVarianceNormalization.cpp - unit variance along axes -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <cmath>
#include <vector>

using namespace amp::runtime;

namespace {

class MeanVarianceNormalization : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axes = attributes.getInts("axes");
    if (!attributes.has("axes"))
      axes = {0, 2, 3};
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    std::array<bool, Shape::maxRank> marked;
    if (Status status = resolveAxes(axes.data(), axes.size(),
                                    inputs[0].shape.getRank(), marked);
        !status.ok())
      return status;
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    size_t rank = input.shape.getRank();
    std::array<bool, Shape::maxRank> marked;
    if (Status status = resolveAxes(axes.data(), axes.size(), rank, marked);
        !status.ok())
      return status;
    if (input.getElementCount() == 0)
      return {};
    auto strides = getStrides(input.shape);
    LoopNest kept, reduced;
    int64_t groups = 1, size = 1;
    for (size_t i = 0; i < rank; ++i) {
      (marked[i] ? reduced : kept).push(input.shape[i], strides[i], 0);
      (marked[i] ? size : groups) *= input.shape[i];
    }
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      arguments.threads->parallelFor(
          groups, getGrain(size * 32),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              int64_t first = LoopPosition(kept, kept.getDepth(), i).source;
              normalize(input.as<const T>() + first, reduced, size,
                        arguments.outputs[0].as<T>() + first);
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  /// The variance in a second pass, about the mean.
  template <typename T>
  static void normalize(const T *from, const LoopNest &nest, int64_t size,
                        T *to) {
    auto visit = [&](auto body) {
      LoopPosition position(nest, nest.getDepth(), 0);
      for (int64_t i = 0; i < size; ++i) {
        body(position.source, static_cast<double>(load(from[position.source])));
        position.next();
      }
    };
    double mean = 0, variance = 0;
    visit([&](int64_t, double x) { mean += x; });
    mean /= static_cast<double>(size);
    visit([&](int64_t, double x) { variance += (x - mean) * (x - mean); });
    double deviation = std::sqrt(variance / static_cast<double>(size));
    visit([&](int64_t at, double x) {
      to[at] =
          store<T>(static_cast<Compute<T>>((x - mean) / (deviation + 1e-9)));
    });
  }

  std::vector<int64_t> axes;
};

constexpr KernelEntry entries[] = {
    {"mean_variance_normalization", create<MeanVarianceNormalization>}};

} // namespace

Span<const KernelEntry> amp::runtime::getMeanVarianceNormalizationKernels() {
  return {entries, std::size(entries)};
}
