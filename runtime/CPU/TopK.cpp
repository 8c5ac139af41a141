//===- TopK.cpp - the largest elements, sorted ----------------------------===//
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

/// Results are sorted even if that is not asked for. NaN is above all numbers.
class TopK : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", -1);
    largest = attributes.getInt("largest", 1) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape shape = inputs[0].shape;
    size_t along;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    int64_t k;
    if (Status status = readInteger(inputs[1], "K", k); !status.ok())
      return status;
    if (k < 0 || k > shape[along])
      return Status::error("K is " + std::to_string(k) + " for an axis of " +
                           std::to_string(shape[along]) + " elements");
    shape[along] = k;
    for (TensorView &output : outputs)
      if (Status status = setShape(output, shape); !status.ok())
        return status;
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs,
                        Span<const TensorView> outputs,
                        unsigned threads) const override {
    size_t along;
    if (!resolveAxis(axis, inputs[0].shape.getRank(), along).ok())
      return 0;
    return threads * static_cast<size_t>(inputs[0].shape[along]) *
           sizeof(Candidate<double>);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0];
    size_t rank = input.shape.getRank(), along;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t extent = input.shape[along], k = arguments.outputs[0].shape[along];
    int64_t outer = getProduct(input.shape, 0, along);
    int64_t inner = getProduct(input.shape, along + 1, rank);
    if (k == 0)
      return {};
    bool wantsIndices = hasOutput(arguments.outputs, 1);
    bool found = visitType(NumberTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      using Entry = Candidate<Compute<T>>;
      arguments.threads->parallelFor(
          outer * inner, getGrain(64 * extent),
          [&](int64_t begin, int64_t end, unsigned thread) {
            auto *entries = reinterpret_cast<Entry *>(
                static_cast<Candidate<double> *>(arguments.scratch) +
                thread * extent);
            for (int64_t line = begin; line < end; ++line) {
              int64_t o = line / inner, i = line % inner;
              const T *from = input.as<const T>() + o * extent * inner + i;
              for (int64_t j = 0; j < extent; ++j)
                entries[j] = {load(from[j * inner]), j};
              auto isBefore = [this](const Entry &a, const Entry &b) {
                return comesBefore(a, b);
              };
              if (k < extent / 8) {
                std::partial_sort(entries, entries + k, entries + extent,
                                  isBefore);
              } else {
                if (k < extent)
                  std::nth_element(entries, entries + k, entries + extent,
                                   isBefore);
                std::sort(entries, entries + k, isBefore);
              }
              for (int64_t j = 0; j < k; ++j) {
                int64_t to = (o * k + j) * inner + i;
                arguments.outputs[0].as<T>()[to] =
                    from[entries[j].index * inner];
                if (wantsIndices)
                  arguments.outputs[1].as<int64_t>()[to] = entries[j].index;
              }
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  template <typename T> struct Candidate {
    T value;
    int64_t index;
  };

  template <typename T>
  bool comesBefore(const Candidate<T> &a, const Candidate<T> &b) const {
    bool aIsNaN = a.value != a.value, bIsNaN = b.value != b.value;
    if (aIsNaN != bIsNaN)
      return aIsNaN == largest;
    if (!aIsNaN && a.value != b.value)
      return (a.value > b.value) == largest;
    return a.index < b.index;
  }

  int64_t axis = -1;
  bool largest = true;
};

constexpr KernelEntry entries[] = {{"top_k", create<TopK>}};

} // namespace

Span<const KernelEntry> amp::runtime::getTopKKernels() {
  return {entries, std::size(entries)};
}
