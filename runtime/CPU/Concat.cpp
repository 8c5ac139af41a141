//===- Concat.cpp - tensors joined and split ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"

using namespace amp::runtime;

namespace {

/// Copies a tensor into, or out of, the part [offset, …) of a larger one's
/// axis.
void copyPart(const TensorView &part, const TensorView &whole, size_t axis,
              int64_t offset, bool intoWhole, ThreadPool &threads) {
  size_t rank = part.shape.getRank();
  int64_t inner = getProduct(part.shape, axis + 1, rank);
  int64_t outer = getProduct(part.shape, 0, axis);
  int64_t row = part.shape[axis] * inner, wholeRow = whole.shape[axis] * inner;
  LoopNest nest;
  nest.push(outer, intoWhole ? row : wholeRow, intoWhole ? wholeRow : row);
  nest.push(row, 1, 1);
  char *inWhole = mutableElementAt(whole, offset * inner);
  if (intoWhole)
    copyStrided(nest, part.type, part.data, inWhole, threads);
  else
    copyStrided(nest, part.type, inWhole, part.data, threads);
}

class Concat : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape shape = inputs[0].shape;
    size_t along;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    for (size_t i = 1; i < inputs.size; ++i) {
      Shape other = inputs[i].shape;
      int64_t added = other.getRank() == shape.getRank() ? other[along] : 0;
      if (other.getRank() == shape.getRank())
        other[along] = shape[along];
      if (other != shape)
        return Status::error("cannot join " + toString(inputs[i].shape) +
                             " with " + toString(inputs[0].shape) +
                             " along axis " + std::to_string(along));
      if (__builtin_add_overflow(shape[along], added, &shape[along]))
        return Status::error("a result is too large");
    }
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &output = arguments.outputs[0];
    size_t along;
    if (Status status = resolveAxis(axis, output.shape.getRank(), along);
        !status.ok())
      return status;
    int64_t offset = 0;
    for (const TensorView &input : arguments.inputs) {
      copyPart(input, output, along, offset, /*intoWhole=*/true,
               *arguments.threads);
      offset += input.shape[along];
    }
    return {};
  }

private:
  int64_t axis = 0;
};

/// Sizes come from the second input, else they are equal but for the last.
class Split : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 0);
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape shape = inputs[0].shape;
    size_t along;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    auto count = static_cast<int64_t>(outputs.size);
    int64_t extent = shape[along], rest = extent;
    TensorView sizes = getInput(inputs, 1);
    if (isPresent(sizes) && sizes.getElementCount() != count)
      return Status::error("split has " +
                           std::to_string(sizes.getElementCount()) +
                           " sizes for " + std::to_string(count) + " outputs");
    int64_t equal = (extent + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) {
      shape[along] =
          isPresent(sizes) ? getInteger(sizes, i) : std::min(equal, rest);
      if (shape[along] > rest)
        break;
      rest -= shape[along];
      if (Status status = setShape(outputs[i], shape); !status.ok())
        return status;
    }
    if (rest != 0)
      return Status::error("the sizes of split don't add up to " +
                           std::to_string(extent));
    return {};
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    size_t along;
    if (Status status = resolveAxis(axis, input.shape.getRank(), along);
        !status.ok())
      return status;
    int64_t sum = 0;
    for (const TensorView &output : arguments.outputs)
      sum += output.shape[along];
    if (sum != input.shape[along])
      return Status::error("the outputs don't add up to the " +
                           std::to_string(input.shape[along]) +
                           " elements of axis " + std::to_string(along));
    int64_t offset = 0;
    for (const TensorView &output : arguments.outputs) {
      copyPart(output, input, along, offset, /*intoWhole=*/false,
               *arguments.threads);
      offset += output.shape[along];
    }
    return {};
  }

private:
  int64_t axis = 0;
};

constexpr KernelEntry entries[] = {
    {"concat", create<Concat>},
    {"split", create<Split>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getConcatKernels() {
  return {entries, std::size(entries)};
}
