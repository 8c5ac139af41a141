//===- Expand.cpp - tensors repeated --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"

using namespace amp::runtime;

namespace {

/// Broadcasts to a shape, which may have dimensions of 1 itself.
class Expand : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    IntegerList dims;
    if (Status status = readIntegers(inputs[1], "shape", dims); !status.ok())
      return status;
    if (Status status = setShape(outputs[0], dims.begin(), dims.size);
        !status.ok())
      return status;
    Shape shape = outputs[0].shape;
    if (Status status = broadcast(inputs[0].shape, shape); !status.ok())
      return status;
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    auto from = getStrides(input.shape), to = getStrides(output.shape);
    size_t missing = output.shape.getRank() - input.shape.getRank();
    LoopNest nest;
    for (size_t i = 0; i < output.shape.getRank(); ++i) {
      bool repeats = i < missing || input.shape[i - missing] == 1;
      nest.push(output.shape[i], repeats ? 0 : from[i - missing], to[i]);
    }
    copyStrided(nest, input.type, input.data, output.data, *arguments.threads);
    return {};
  }
};

class Tile : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    IntegerList repeats;
    if (Status status = readIntegers(inputs[1], "repeats", repeats);
        !status.ok())
      return status;
    Shape shape = inputs[0].shape;
    if (repeats.size != shape.getRank())
      return Status::error("repeats has " + std::to_string(repeats.size) +
                           " elements for a tensor of rank " +
                           std::to_string(shape.getRank()));
    for (size_t i = 0; i < shape.getRank(); ++i)
      if (__builtin_mul_overflow(shape[i], repeats[i], &shape[i]))
        return Status::error("a result is too large");
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    if (output.getElementCount() == 0)
      return {};
    auto from = getStrides(input.shape), to = getStrides(output.shape);
    LoopNest nest;
    for (size_t i = 0; i < input.shape.getRank(); ++i) {
      int64_t extent = input.shape[i];
      nest.push(output.shape[i] / extent, 0, extent * to[i]);
      nest.push(extent, from[i], to[i]);
    }
    copyStrided(nest, input.type, input.data, output.data, *arguments.threads);
    return {};
  }
};

constexpr KernelEntry entries[] = {
    {"expand", create<Expand>},
    {"tile", create<Tile>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getExpandKernels() {
  return {entries, std::size(entries)};
}
