//===- Pad.cpp - elements added around a tensor, or cut off ---------------===//
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

#include <algorithm>

using namespace amp::runtime;

namespace {

enum class Mode { Constant, Reflect, Edge, Wrap };

/// How many elements come before each axis; negative numbers cut.
using Begins = std::array<int64_t, Shape::maxRank>;

/// Which element of an axis stands at a position that may be outside of it, or
/// -1 for the constant.
int64_t getSource(Mode mode, int64_t position, int64_t extent) {
  if (position >= 0 && position < extent)
    return position;
  switch (mode) {
  case Mode::Constant:
    return -1;
  case Mode::Edge:
    return position < 0 ? 0 : extent - 1;
  case Mode::Wrap:
    position %= extent;
    return position < 0 ? position + extent : position;
  case Mode::Reflect:
    if (extent == 1)
      return 0;
    // The ends are not repeated.
    int64_t period = 2 * (extent - 1);
    position %= period;
    position = position < 0 ? position + period : position;
    return position < extent ? position : period - position;
  }
  return -1;
}

template <typename T>
void padRow(Mode mode, const T *source, int64_t extent, int64_t begin,
            const T &constant, T *destination, int64_t count) {
  int64_t first = std::clamp<int64_t>(begin, 0, count);
  int64_t last = std::clamp<int64_t>(begin + extent, first, count);
  auto outside = [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      int64_t position = getSource(mode, i - begin, extent);
      destination[i] = position < 0 ? constant : source[position];
    }
  };
  outside(0, first);
  if (last > first)
    std::copy_n(source + (first - begin), last - first, destination + first);
  outside(last, count);
}

/// `constant` is one element, or null for what zero is in the type.
void pad(Mode mode, const TensorView &input, const Begins &begins,
         const void *constant, const TensorView &output, ThreadPool &threads) {
  size_t rank = output.shape.getRank();
  if (output.getElementCount() == 0)
    return;
  if (rank == 0)
    return copyElements(input.type, input.data, output.data, 1);
  auto strides = getStrides(input.shape);
  int64_t row = output.shape[rank - 1];
  int64_t rows = getProduct(output.shape, 0, rank - 1);
  visitSize(input.type, [&](auto element) {
    using T = decltype(element);
    const T fill = constant ? *static_cast<const T *>(constant) : T();
    threads.parallelFor(
        rows, getGrain(row * static_cast<int64_t>(sizeof(T))),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t rest = i, from = 0;
            bool isOutside = false;
            for (size_t axis = rank - 1; axis-- > 0;) {
              int64_t position =
                  getSource(mode, rest % output.shape[axis] - begins[axis],
                            input.shape[axis]);
              rest /= output.shape[axis];
              isOutside |= position < 0;
              from += position * strides[axis];
            }
            T *to = output.as<T>() + i * row;
            if (isOutside)
              std::fill_n(to, row, fill);
            else
              padRow(mode, input.as<const T>() + from, input.shape[rank - 1],
                     begins[rank - 1], fill, to, row);
          }
        });
  });
}

class Pad : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    std::string name = attributes.getString("mode", "constant");
    if (name == "constant")
      mode = Mode::Constant;
    else if (name == "reflect")
      mode = Mode::Reflect;
    else if (name == "edge")
      mode = Mode::Edge;
    else if (name == "wrap")
      mode = Mode::Wrap;
    else
      return Status::error(
          "mode must be constant, reflect, edge or wrap, but is " + name);
    return {};
  }

  bool needsDataForShapes(size_t input) const override {
    return input == 1 || input == 3;
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Begins begins;
    Shape shape;
    if (Status status = getPads(inputs, begins, shape); !status.ok())
      return status;
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    Begins begins;
    Shape shape;
    if (Status status = getPads(arguments.inputs, begins, shape); !status.ok())
      return status;
    pad(mode, arguments.inputs[0], begins, getInput(arguments.inputs, 2).data,
        arguments.outputs[0], *arguments.threads);
    return {};
  }

private:
  Status getPads(Span<const TensorView> inputs, Begins &begins,
                 Shape &shape) const {
    shape = inputs[0].shape;
    IntegerList pads, axes;
    if (Status status = readIntegers(inputs[1], "pads", pads); !status.ok())
      return status;
    size_t count = shape.getRank();
    if (hasInput(inputs, 3)) {
      if (Status status = readIntegers(inputs[3], "axes", axes); !status.ok())
        return status;
      count = axes.size;
    }
    if (pads.size != 2 * count)
      return Status::error("pads has " + std::to_string(pads.size) +
                           " elements for " + std::to_string(count) + " axes");
    begins.fill(0);
    for (size_t i = 0; i < count; ++i) {
      size_t axis = i;
      if (hasInput(inputs, 3))
        if (Status status = resolveAxis(axes[i], shape.getRank(), axis);
            !status.ok())
          return status;
      int64_t &dim = shape[axis];
      bool isEmpty = dim == 0;
      begins[axis] = pads[i];
      if (__builtin_add_overflow(dim, pads[i], &dim) ||
          __builtin_add_overflow(dim, pads[count + i], &dim))
        return Status::error("a result is too large");
      if (isEmpty && dim > 0 && mode != Mode::Constant)
        return Status::error("axis " + std::to_string(axis) +
                             " is empty: there is nothing to pad it with");
    }
    return {};
  }

  Mode mode = Mode::Constant;
};

class CenterCropPad : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axes = attributes.getInts("axes");
    hasAxes = attributes.has("axes");
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape shape = inputs[0].shape;
    IntegerList dims;
    if (Status status = readIntegers(inputs[1], "shape", dims); !status.ok())
      return status;
    size_t count = hasAxes ? axes.size() : shape.getRank();
    if (dims.size != count)
      return Status::error("shape has " + std::to_string(dims.size) +
                           " elements for " + std::to_string(count) + " axes");
    for (size_t i = 0; i < count; ++i) {
      size_t axis = i;
      if (hasAxes)
        if (Status status = resolveAxis(axes[i], shape.getRank(), axis);
            !status.ok())
          return status;
      shape[axis] = dims[i];
    }
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    Begins begins{};
    for (size_t i = 0; i < input.shape.getRank(); ++i)
      begins[i] = (output.shape[i] - input.shape[i]) / 2; // towards zero
    pad(Mode::Constant, input, begins, nullptr, output, *arguments.threads);
    return {};
  }

private:
  std::vector<int64_t> axes;
  bool hasAxes = false;
};

constexpr KernelEntry entries[] = {
    {"pad", create<Pad>},
    {"center_crop_pad", create<CenterCropPad>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getPadKernels() {
  return {entries, std::size(entries)};
}
