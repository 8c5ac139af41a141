//===- CumSum.cpp - sums and products of all that came before -------------===//
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

struct Sum {
  static constexpr int first = 0;
  template <typename T> static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct Product {
  static constexpr int first = 1;
  template <typename T> static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
    else
      return a * b;
  }
};

template <typename Operation> class Cumulate : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    reverse = attributes.getInt("reverse", 0) != 0;
    exclusive = attributes.getInt("exclusive", 0) != 0;
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    size_t rank = input.shape.getRank(), along;
    int64_t axis;
    if (Status status = readInteger(arguments.inputs[1], "axis", axis);
        !status.ok())
      return status;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t extent = input.shape[along];
    int64_t outer = getProduct(input.shape, 0, along);
    int64_t inner = getProduct(input.shape, along + 1, rank);
    constexpr int64_t width = 64;
    int64_t parts = (inner + width - 1) / width;
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
              int64_t offset = piece / parts * extent * inner + first;
              const T *from = input.as<const T>() + offset;
              T *to = arguments.outputs[0].as<T>() + offset;
              if (inner == 1) {
                runLine(from, to, extent);
                continue;
              }
              Compute<T> sums[width];
              std::fill_n(sums, columns, Compute<T>(Operation::first));
              for (int64_t i = 0; i < extent; ++i) {
                int64_t row = (reverse ? extent - 1 - i : i) * inner;
                for (int64_t j = 0; j < columns; ++j) {
                  Compute<T> before = sums[j];
                  sums[j] = Operation::template combine<Compute<T>>(
                      before, load(from[row + j]));
                  to[row + j] = store<T>(exclusive ? before : sums[j]);
                }
              }
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  template <typename T>
  void runLine(const T *from, T *to, int64_t extent) const {
    Compute<T> sum = Operation::first;
    for (int64_t i = 0; i < extent; ++i) {
      int64_t at = reverse ? extent - 1 - i : i;
      Compute<T> before = sum;
      sum = Operation::template combine<Compute<T>>(before, load(from[at]));
      to[at] = store<T>(exclusive ? before : sum);
    }
  }

  bool reverse = false, exclusive = false;
};

constexpr KernelEntry entries[] = {
    {"cum_sum", create<Cumulate<Sum>>},
    {"cum_prod", create<Cumulate<Product>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getCumSumKernels() {
  return {entries, std::size(entries)};
}
