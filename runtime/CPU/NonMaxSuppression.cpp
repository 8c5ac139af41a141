//===- NonMaxSuppression.cpp - the best of boxes that overlap -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LibraryKernel.h"
#include "CPU/Quantization.h"
#include "CPU/Shapes.h"

#include <algorithm>
#include <memory>
#include <new>

using namespace amp::runtime;

namespace {

struct Box {
  float bottom, left, top, right;

  float getArea() const { return (top - bottom) * (right - left); }
};

class NonMaxSuppression : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    isCenter = attributes.getInt("center_point_box", 0) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &boxes = inputs[0].shape, &scores = inputs[1].shape;
    if (boxes.getRank() != 3 || boxes[2] != 4 || scores.getRank() != 3 ||
        scores[0] != boxes[0] || scores[2] != boxes[1])
      return Status::error("scores of dimensions " + toString(scores) +
                           " don't fit boxes of dimensions " + toString(boxes));
    for (size_t i = 0; i < 2; ++i)
      if (inputs[i].type != DataType::Float)
        return Status::error("expects boxes and scores of type float32");
    std::unique_ptr<int64_t[]> order(
        new (std::nothrow) int64_t[static_cast<size_t>(2 * boxes[1])]);
    if (!order)
      return Status::error("out of memory for " + std::to_string(boxes[1]) +
                           " boxes to sort");
    int64_t count = 0;
    if (Status status = select(inputs, order.get(),
                               [&](int64_t, int64_t, int64_t) { ++count; });
        !status.ok())
      return status;
    return setShape(outputs[0], {count, 3});
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned) const override {
    return 2 * sizeof(int64_t) * static_cast<size_t>(inputs[0].shape[1]);
  }

  Status run(const KernelArguments &arguments) const override {
    auto *next = arguments.outputs[0].as<int64_t>();
    int64_t room = arguments.outputs[0].shape[0], count = 0;
    if (Status status =
            select(arguments.inputs, static_cast<int64_t *>(arguments.scratch),
                   [&](int64_t item, int64_t label, int64_t box) {
                     if (count++ >= room)
                       return;
                     *next++ = item;
                     *next++ = label;
                     *next++ = box;
                   });
        !status.ok())
      return status;
    return count == room ? Status() : checkOutputs(*this, arguments);
  }

private:
  Box getBox(const float *values) const {
    if (isCenter)
      return {values[1] - values[3] / 2, values[0] - values[2] / 2,
              values[1] + values[3] / 2, values[0] + values[2] / 2};
    return {std::min(values[0], values[2]), std::min(values[1], values[3]),
            std::max(values[0], values[2]), std::max(values[1], values[3])};
  }

  static bool overlaps(const Box &a, const Box &b, float threshold) {
    Box both = {std::max(a.bottom, b.bottom), std::max(a.left, b.left),
                std::min(a.top, b.top), std::min(a.right, b.right)};
    if (!(both.top > both.bottom && both.right > both.left))
      return false;
    float common = both.getArea();
    return common / (a.getArea() + b.getArea() - common) > threshold;
  }

  /// Calls found(batch item, class, box); `order` has room for all boxes twice.
  template <typename Found>
  Status select(Span<const TensorView> inputs, int64_t *order,
                const Found &found) const {
    const Shape &shape = inputs[1].shape;
    int64_t boxes = shape[2], limit = 0;
    TensorView limitInput = getInput(inputs, 2),
               scoreInput = getInput(inputs, 4);
    for (size_t i = 3; i < 5; ++i)
      if (Status status = checkPerLine(getInput(inputs, i), "a threshold", 1);
          !status.ok())
        return status;
    if (isPresent(limitInput))
      if (Status status =
              readInteger(limitInput, "max_output_boxes_per_class", limit);
          !status.ok())
        return status;
    float threshold = getFloat(getInput(inputs, 3), 0, 0);
    float least = getFloat(scoreInput, 0, 0);
    int64_t *kept = order + boxes;
    for (int64_t line = 0; line < shape[0] * shape[1]; ++line) {
      const float *scores = inputs[1].as<const float>() + line * boxes;
      const float *corners =
          inputs[0].as<const float>() + line / shape[1] * boxes * 4;
      int64_t candidates = 0, count = 0;
      for (int64_t i = 0; i < boxes; ++i)
        if (isPresent(scoreInput) ? scores[i] > least : scores[i] == scores[i])
          order[candidates++] = i;
      std::sort(order, order + candidates, [scores](int64_t a, int64_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
      });
      for (int64_t i = 0; i < candidates && count < limit; ++i) {
        Box box = getBox(corners + order[i] * 4);
        bool isNew = std::none_of(kept, kept + count, [&](int64_t other) {
          return overlaps(box, getBox(corners + other * 4), threshold);
        });
        if (!isNew)
          continue;
        kept[count++] = order[i];
        found(line / shape[1], line % shape[1], order[i]);
      }
    }
    return {};
  }

  bool isCenter = false;
};

constexpr KernelEntry entries[] = {
    {"non_max_suppression", create<NonMaxSuppression>}};

} // namespace

Span<const KernelEntry> amp::runtime::getNonMaxSuppressionKernels() {
  return {entries, std::size(entries)};
}
