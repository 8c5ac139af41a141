//===- ArgMax.cpp - where the largest element is --------------------------===//
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

using namespace amp::runtime;

namespace {

/// ArgMax and ArgMin. NaN is the largest and the smallest, as in NumPy.
template <bool isMax> class ArgExtreme : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 0);
    keepDims = attributes.getInt("keepdims", 1) != 0;
    selectLast = attributes.getInt("select_last_index", 0) != 0;
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    size_t along;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    if (shape[along] == 0)
      return Status::error("axis " + std::to_string(along) + " is empty");
    Shape result;
    for (size_t i = 0; i < shape.getRank(); ++i)
      if (i != along || keepDims)
        result.push_back(i == along ? 1 : shape[i]);
    return setShape(outputs[0], result);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    size_t rank = input.shape.getRank(), along;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t extent = input.shape[along];
    int64_t outer = getProduct(input.shape, 0, along);
    int64_t inner = getProduct(input.shape, along + 1, rank);
    constexpr int64_t width = 64;
    int64_t parts = (inner + width - 1) / width;
    auto *result = arguments.outputs[0].as<int64_t>();
    bool found = visitType(NumberTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      arguments.threads->parallelFor(
          outer * parts,
          getGrain(extent * std::min(inner, width) *
                   static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t piece = begin; piece < end; ++piece) {
              int64_t first = piece % parts * width;
              int64_t columns = std::min(width, inner - first);
              const T *from =
                  input.as<const T>() + piece / parts * extent * inner + first;
              int64_t *to = result + piece / parts * inner + first;
              Compute<T> best[width];
              for (int64_t j = 0; j < columns; ++j) {
                best[j] = load(from[j]);
                to[j] = 0;
              }
              for (int64_t i = 1; i < extent; ++i)
                for (int64_t j = 0; j < columns; ++j) {
                  Compute<T> value = load(from[i * inner + j]);
                  if (isBetter(value, best[j])) {
                    best[j] = value;
                    to[j] = i;
                  }
                }
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  template <typename T> bool isBetter(T value, T best) const {
    bool isNaN = value != value, bestIsNaN = best != best;
    if (isNaN || bestIsNaN)
      return isNaN && (!bestIsNaN || selectLast);
    return (isMax ? value > best : value < best) ||
           (selectLast && value == best);
  }

  int64_t axis = 0;
  bool keepDims = true, selectLast = false;
};

constexpr KernelEntry entries[] = {
    {"arg_max", create<ArgExtreme<true>>},
    {"arg_min", create<ArgExtreme<false>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getArgMaxKernels() {
  return {entries, std::size(entries)};
}
