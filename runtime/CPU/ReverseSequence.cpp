//===- ReverseSequence.cpp - beginnings of sequences, reversed ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

using namespace amp::runtime;

namespace {

class ReverseSequence : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    timeAxis = attributes.getInt("time_axis", 0);
    batchAxis = attributes.getInt("batch_axis", 1);
    if ((timeAxis != 0 || batchAxis != 1) && (timeAxis != 1 || batchAxis != 0))
      return Status::error("time_axis and batch_axis must be 0 and 1 or 1 and "
                           "0, but are " +
                           std::to_string(timeAxis) + " and " +
                           std::to_string(batchAxis));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    if (shape.getRank() < 2)
      return Status::error("expects at least rank 2, but got dimensions " +
                           toString(shape));
    int64_t batch = shape[static_cast<size_t>(batchAxis)];
    if (inputs[1].getElementCount() != batch)
      return Status::error("sequence_lens has " +
                           std::to_string(inputs[1].getElementCount()) +
                           " elements for a batch of " + std::to_string(batch));
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &lengths = arguments.inputs[1],
                     &output = arguments.outputs[0];
    const Shape &shape = input.shape;
    int64_t batch = shape[static_cast<size_t>(batchAxis)];
    int64_t time = shape[static_cast<size_t>(timeAxis)];
    for (int64_t i = 0; i < batch; ++i)
      if (getInteger(lengths, i) < 0 || getInteger(lengths, i) > time)
        return Status::error(
            "length " + std::to_string(getInteger(lengths, i)) +
            " at element " + std::to_string(i) + " is out of range [0, " +
            std::to_string(time) + "]");
    int64_t inner = getProduct(shape, 2, shape.getRank());
    arguments.threads->parallelFor(
        shape[0] * shape[1],
        getGrain(inner * static_cast<int64_t>(getElementSize(input.type))),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t b = batchAxis == 0 ? i / time : i % batch;
            int64_t t = batchAxis == 0 ? i % time : i / batch;
            int64_t length = getInteger(lengths, b);
            int64_t source = t < length ? length - 1 - t : t;
            int64_t row =
                batchAxis == 0 ? b * time + source : source * batch + b;
            copyElements(input.type, elementAt(input, row * inner),
                         mutableElementAt(output, i * inner), inner);
          }
        });
    return {};
  }

private:
  int64_t timeAxis = 0, batchAxis = 1;
};

constexpr KernelEntry entries[] = {
    {"reverse_sequence", create<ReverseSequence>}};

} // namespace

Span<const KernelEntry> amp::runtime::getReverseSequenceKernels() {
  return {entries, std::size(entries)};
}
