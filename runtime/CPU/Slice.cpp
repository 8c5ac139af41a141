//===- Slice.cpp - every n-th element of a range --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

class Slice : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return input != 0; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Ranges ranges;
    if (Status status = getRanges(inputs, ranges); !status.ok())
      return status;
    return setShape(outputs[0], ranges.counts);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    Ranges ranges;
    if (Status status = getRanges(arguments.inputs, ranges); !status.ok())
      return status;
    if (ranges.counts != output.shape)
      return checkOutputs(*this, arguments);
    if (output.getElementCount() == 0)
      return {};
    auto from = getStrides(input.shape), to = getStrides(output.shape);
    LoopNest nest;
    int64_t first = 0;
    for (size_t i = 0; i < input.shape.getRank(); ++i) {
      nest.push(output.shape[i], ranges.steps[i] * from[i], to[i]);
      first += ranges.starts[i] * from[i];
    }
    copyStrided(nest, input.type, elementAt(input, first), output.data,
                *arguments.threads);
    return {};
  }

private:
  struct Ranges {
    Shape counts;
    std::array<int64_t, Shape::maxRank> starts{}, steps{};
  };

  static Status getRanges(Span<const TensorView> inputs, Ranges &ranges) {
    const Shape &shape = inputs[0].shape;
    IntegerList starts, ends, axes, steps;
    const char *const names[] = {"starts", "ends", "axes", "steps"};
    IntegerList *const lists[] = {&starts, &ends, &axes, &steps};
    for (size_t i = 0; i < 4; ++i) {
      if (!hasInput(inputs, i + 1))
        continue;
      if (Status status = readIntegers(inputs[i + 1], names[i], *lists[i]);
          !status.ok())
        return status;
      if (lists[i]->size != starts.size)
        return Status::error(
            std::string(names[i]) + " has " + std::to_string(lists[i]->size) +
            " elements, but starts has " + std::to_string(starts.size));
    }
    ranges.counts = shape;
    ranges.steps.fill(1);
    for (size_t i = 0; i < starts.size; ++i) {
      size_t axis;
      if (Status status = resolveAxis(
              hasInput(inputs, 3) ? axes[i] : static_cast<int64_t>(i),
              shape.getRank(), axis);
          !status.ok())
        return status;
      int64_t step = hasInput(inputs, 4) ? steps[i] : 1;
      if (step == 0)
        return Status::error("the step of axis " + std::to_string(axis) +
                             " is 0");
      int64_t extent = shape[axis];
      // A longer step takes one element as well.
      step = std::clamp(step, -extent - 1, extent + 1);
      int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
      auto clampToAxis = [&](int64_t position) {
        return std::clamp(position < 0 ? position + extent : position, low,
                          high);
      };
      int64_t start = clampToAxis(starts[i]), end = clampToAxis(ends[i]);
      int64_t distance = step > 0 ? end - start : start - end;
      int64_t stride = step > 0 ? step : -step;
      ranges.counts[axis] =
          distance <= 0 ? 0 : (distance + stride - 1) / stride;
      ranges.starts[axis] = start;
      ranges.steps[axis] = step;
    }
    return {};
  }
};

constexpr KernelEntry entries[] = {{"slice", create<Slice>}};

} // namespace

Span<const KernelEntry> amp::runtime::getSliceKernels() {
  return {entries, std::size(entries)};
}
