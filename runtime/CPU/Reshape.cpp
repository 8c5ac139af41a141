//===- Reshape.cpp - the same elements in other shapes --------------------===//
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

/// What all kernels of this file run: a copy, unless the output is a view.
class Copy : public LibraryKernel {
public:
  bool isView() const override { return true; }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    int64_t count = input.getElementCount();
    if (output.getElementCount() != count)
      return checkOutputs(*this, arguments);
    if (output.data == input.data)
      return {};
    auto size = static_cast<int64_t>(getElementSize(input.type));
    arguments.threads->parallelFor(
        count, getGrain(size), [&](int64_t begin, int64_t end, unsigned) {
          copyElements(input.type, elementAt(input, begin),
                       mutableElementAt(output, begin), end - begin);
        });
    return {};
  }
};

class Identity : public Copy {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    outputs[0].shape = inputs[0].shape;
    return {};
  }
};

class BitCast : public Identity {
public:
  Status run(const KernelArguments &arguments) const override {
    DataType from = arguments.inputs[0].type, to = arguments.outputs[0].type;
    if (getByteSize(from) != getByteSize(to) || getByteSize(to) == 0)
      return Status::error("cannot take the bits of " +
                           std::string(getName(from)) + " for " +
                           std::string(getName(to)));
    return Identity::run(arguments);
  }
};

class Reshape : public Copy {
public:
  Status configure(const Attributes &attributes) {
    allowZero = attributes.getInt("allowzero", 0) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    IntegerList dims;
    if (Status status = readIntegers(inputs[1], "shape", dims); !status.ok())
      return status;
    int64_t known = 1;
    int unknown = -1;
    for (size_t i = 0; i < dims.size; ++i) {
      int64_t &dim = dims.values[i];
      if (dim == 0 && !allowZero) {
        if (i >= shape.getRank())
          return Status::error("shape keeps dimension " + std::to_string(i) +
                               " of a tensor of rank " +
                               std::to_string(shape.getRank()));
        dim = shape[i];
      }
      if (dim == -1 && unknown < 0)
        unknown = static_cast<int>(i);
      else if (dim < 0)
        return Status::error("shape has a second -1 or another negative "
                             "dimension at " +
                             std::to_string(i));
      else if (__builtin_mul_overflow(known, dim, &known))
        return Status::error("a result is too large");
    }
    int64_t count = shape.getElementCount();
    if (unknown >= 0) {
      if (known == 0 || count % known != 0)
        return Status::error("cannot find the dimension for -1 of " +
                             describe(dims) + " in " + std::to_string(count) +
                             " elements");
      dims.values[unknown] = count / known;
    } else if (known != count) {
      return Status::error("cannot reshape " + toString(shape) + " as " +
                           describe(dims));
    }
    return setShape(outputs[0], dims.begin(), dims.size);
  }

private:
  static std::string describe(const IntegerList &dims) {
    std::string text;
    for (int64_t dim : dims)
      text += (text.empty() ? "" : "x") + std::to_string(dim);
    return text.empty() ? "scalar" : text;
  }

  bool allowZero = false;
};

class Squeeze : public Copy {
public:
  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    IntegerList axes;
    if (hasInput(inputs, 1))
      if (Status status = readIntegers(inputs[1], "axes", axes); !status.ok())
        return status;
    std::array<bool, Shape::maxRank> marked;
    if (Status status =
            resolveAxes(axes.begin(), axes.size, shape.getRank(), marked);
        !status.ok())
      return status;
    bool all = !hasInput(inputs, 1), none = !all && axes.size == 0;
    Shape result;
    for (size_t i = 0; i < shape.getRank(); ++i) {
      if (none || !marked[i] || (all && shape[i] != 1))
        result.push_back(shape[i]);
      else if (shape[i] != 1)
        return Status::error("cannot drop axis " + std::to_string(i) + " of " +
                             toString(shape));
    }
    return setShape(outputs[0], result);
  }
};

class Unsqueeze : public Copy {
public:
  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    IntegerList axes;
    if (Status status = readIntegers(inputs[1], "axes", axes); !status.ok())
      return status;
    size_t rank = shape.getRank() + axes.size;
    if (axes.size == 0)
      return setShape(outputs[0], shape);
    if (rank > Shape::maxRank)
      return setShape(outputs[0], nullptr, rank);
    std::array<bool, Shape::maxRank> marked;
    if (Status status = resolveAxes(axes.begin(), axes.size, rank, marked);
        !status.ok())
      return status;
    Shape result;
    size_t next = 0;
    for (size_t i = 0; i < rank; ++i)
      result.push_back(marked[i] ? 1 : shape[next++]);
    return setShape(outputs[0], result);
  }
};

class Flatten : public Copy {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 1);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    size_t rank = shape.getRank(), first;
    // The end is a place to cut at, too.
    if (axis == static_cast<int64_t>(rank))
      first = rank;
    else if (Status status = resolveAxis(axis, rank, first); !status.ok())
      return status;
    return setShape(outputs[0], {getProduct(shape, 0, first),
                                 getProduct(shape, first, rank)});
  }

private:
  int64_t axis = 1;
};

/// Shape and Size say dimensions themselves.
class ShapeOf : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    start = attributes.getInt("start", 0);
    end = attributes.getInt("end", INT64_MAX);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    auto [first, last] = getRange(inputs[0].shape);
    return setShape(outputs[0], {std::max<int64_t>(last - first, 0)});
  }

  Status run(const KernelArguments &arguments) const override {
    const Shape &shape = arguments.inputs[0].shape;
    auto [first, last] = getRange(shape);
    for (int64_t i = first; i < last; ++i)
      arguments.outputs[0].as<int64_t>()[i - first] =
          shape[static_cast<size_t>(i)];
    return {};
  }

private:
  std::pair<int64_t, int64_t> getRange(const Shape &shape) const {
    auto rank = static_cast<int64_t>(shape.getRank());
    auto clampToRank = [rank](int64_t position) {
      return std::clamp<int64_t>(position < 0 ? position + rank : position, 0,
                                 rank);
    };
    return {clampToRank(start), clampToRank(end)};
  }

  int64_t start = 0, end = INT64_MAX;
};

class Size : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0], Shape());
  }

  Status run(const KernelArguments &arguments) const override {
    *arguments.outputs[0].as<int64_t>() = arguments.inputs[0].getElementCount();
    return {};
  }
};

constexpr KernelEntry entries[] = {
    {"identity", create<Identity>},   {"bit_cast", create<BitCast>},
    {"reshape", create<Reshape>},     {"squeeze", create<Squeeze>},
    {"unsqueeze", create<Unsqueeze>}, {"flatten", create<Flatten>},
    {"shape", create<ShapeOf>},       {"size", create<Size>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getReshapeKernels() {
  return {entries, std::size(entries)};
}
