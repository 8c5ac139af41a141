//===- Unique.cpp - distinct elements, and those that are not zero --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

using namespace amp::runtime;

namespace {

/// What is compared: elements of the flat tensor, or slices along an axis.
struct Slices {
  int64_t count, outer = 1, inner = 1;

  int64_t at(int64_t slice, int64_t o, int64_t i) const {
    return (o * count + slice) * inner + i;
  }
};

/// -1, 0 or 1; NaN is equal to itself and above all numbers.
template <typename T> int compareElements(const T &a, const T &b) {
  if constexpr (std::is_same_v<T, std::string>) {
    int order = a.compare(b);
    return order < 0 ? -1 : order > 0;
  } else {
    auto x = load(a), y = load(b);
    bool xIsNaN = x != x, yIsNaN = y != y;
    if (xIsNaN || yIsNaN)
      return xIsNaN - yIsNaN;
    return (y < x) - (x < y);
  }
}

template <typename T>
int compareSlices(const T *data, const Slices &slices, int64_t a, int64_t b) {
  for (int64_t o = 0; o < slices.outer; ++o)
    for (int64_t i = 0; i < slices.inner; ++i)
      if (int order = compareElements(data[slices.at(a, o, i)],
                                      data[slices.at(b, o, i)]))
        return order;
  return 0;
}

class Unique : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    hasAxis = attributes.has("axis");
    axis = attributes.getInt("axis", 0);
    isSorted = attributes.getInt("sorted", 1) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Slices slices;
    size_t along = 0;
    if (Status status = getSlices(inputs[0], slices, along); !status.ok())
      return status;
    std::unique_ptr<int64_t[]> order(
        new (std::nothrow) int64_t[static_cast<size_t>(slices.count)]);
    if (!order)
      return Status::error("out of memory for " + std::to_string(slices.count) +
                           " elements to sort");
    int64_t groups = 0;
    if (Status status = sort(inputs[0], slices, order.get(), nullptr, groups);
        !status.ok())
      return status;
    Shape shape = {groups};
    if (hasAxis) {
      shape = inputs[0].shape;
      shape[along] = groups;
    }
    if (Status status = setShape(outputs[0], shape); !status.ok())
      return status;
    for (size_t i = 1; i < outputs.size; ++i)
      if (Status status =
              setShape(outputs[i], {i == 2 ? slices.count : groups});
          !status.ok())
        return status;
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned) const override {
    return 4 * sizeof(int64_t) *
           static_cast<size_t>(inputs[0].getElementCount());
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    Span<TensorView> outputs = arguments.outputs;
    Slices slices;
    size_t along = 0;
    if (Status status = getSlices(input, slices, along); !status.ok())
      return status;
    auto *order = static_cast<int64_t *>(arguments.scratch);
    int64_t *group = order + slices.count, *first = group + slices.count,
            *rank = first + slices.count;
    int64_t groups = 0;
    if (Status status = sort(input, slices, order, group, groups); !status.ok())
      return status;
    if (outputs[0].getElementCount() != groups * slices.outer * slices.inner)
      return checkOutputs(*this, arguments);

    // Ties were sorted by position: the first of a group is its first
    // occurrence. From here on `order` lists groups.
    int64_t next = 0;
    for (int64_t i = 0; i < slices.count; ++i)
      if (i == 0 || group[order[i]] != group[order[i - 1]])
        first[next++] = order[i];
    for (int64_t i = 0; i < groups; ++i)
      order[i] = i;
    if (!isSorted)
      std::sort(order, order + groups,
                [&](int64_t a, int64_t b) { return first[a] < first[b]; });
    for (int64_t i = 0; i < groups; ++i)
      rank[order[i]] = i;

    for (int64_t o = 0; o < slices.outer; ++o)
      for (int64_t i = 0; i < groups; ++i)
        copyElements(
            input.type, elementAt(input, slices.at(first[order[i]], o, 0)),
            mutableElementAt(outputs[0], (o * groups + i) * slices.inner),
            slices.inner);
    for (int64_t i = 0; hasOutput(outputs, 1) && i < groups; ++i)
      outputs[1].as<int64_t>()[i] = first[order[i]];
    for (int64_t i = 0; hasOutput(outputs, 2) && i < slices.count; ++i)
      outputs[2].as<int64_t>()[i] = rank[group[i]];
    if (hasOutput(outputs, 3)) {
      auto *counts = outputs[3].as<int64_t>();
      std::fill_n(counts, groups, 0);
      for (int64_t i = 0; i < slices.count; ++i)
        ++counts[rank[group[i]]];
    }
    return {};
  }

private:
  Status getSlices(const TensorView &input, Slices &slices,
                   size_t &along) const {
    slices.count = input.getElementCount();
    if (!hasAxis)
      return {};
    const Shape &shape = input.shape;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    slices.count = shape[along];
    slices.outer = getProduct(shape, 0, along);
    slices.inner = getProduct(shape, along + 1, shape.getRank());
    // Empty slices are not told apart: scratch memory is sized by elements.
    if (slices.outer * slices.inner == 0 && slices.count != 0)
      return Status::error("slices of dimensions " + toString(shape) +
                           " along axis " + std::to_string(along) +
                           " are empty");
    return {};
  }

  /// Sorts the slices by value, then position, and numbers groups of equal ones
  /// (if `group` is not null).
  static Status sort(const TensorView &input, const Slices &slices,
                     int64_t *order, int64_t *group, int64_t &groups) {
    for (int64_t i = 0; i < slices.count; ++i)
      order[i] = i;
    using Types =
        TypeList<float, double, Half, Brain, int8_t, int16_t, int32_t, int64_t,
                 uint8_t, uint16_t, uint32_t, uint64_t, Truth, std::string>;
    bool found = visitType(Types(), input.type, [&](auto element) {
      using T = decltype(element);
      auto *data = input.as<const T>();
      std::sort(order, order + slices.count, [&](int64_t a, int64_t b) {
        int comparison = compareSlices(data, slices, a, b);
        return comparison != 0 ? comparison < 0 : a < b;
      });
      for (int64_t i = 0; i < slices.count; ++i) {
        if (i == 0 || compareSlices(data, slices, order[i - 1], order[i]) != 0)
          ++groups;
        if (group)
          group[order[i]] = groups - 1;
      }
    });
    return found ? Status() : typeError(input.type);
  }

  int64_t axis = 0;
  bool hasAxis = false, isSorted = true;
};

/// Whether an element is not zero; both zeros of floats are.
class ZeroTest {
public:
  explicit ZeroTest(const TensorView &tensor)
      : tensor(tensor), size(getByteSize(tensor.type)) {
    bool isFloat =
        tensor.type == DataType::Float || tensor.type == DataType::Double ||
        tensor.type == DataType::Float16 || tensor.type == DataType::BFloat16;
    bool isComplex = tensor.type == DataType::Complex64 ||
                     tensor.type == DataType::Complex128;
    part = isComplex ? size / 2 : size;
    signMask = isFloat || isComplex ? 0x7f : 0xff;
  }

  bool isNonZero(int64_t index) const {
    if (tensor.type == DataType::String)
      return !tensor.as<const std::string>()[index].empty();
    auto *bytes = tensor.as<const uint8_t>() + index * size;
    uint8_t any = 0;
    for (size_t i = 0; i < size; ++i)
      any |= (i + 1) % part == 0 ? bytes[i] & signMask : bytes[i];
    return any != 0;
  }

private:
  const TensorView &tensor;
  size_t size, part;
  uint8_t signMask;
};

/// Indices of elements that are not zero, a row for each axis.
class NonZero : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0],
                    {static_cast<int64_t>(inputs[0].shape.getRank()),
                     countNonZero(inputs[0])});
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const Shape &shape = input.shape;
    int64_t columns = output.shape[1], next = 0;
    if (countNonZero(input) != columns)
      return checkOutputs(*this, arguments);
    ZeroTest test(input);
    for (int64_t i = 0; i < input.getElementCount(); ++i) {
      if (!test.isNonZero(i))
        continue;
      int64_t rest = i;
      for (size_t axis = shape.getRank(); axis-- > 0;) {
        output.as<int64_t>()[static_cast<int64_t>(axis) * columns + next] =
            rest % shape[axis];
        rest /= shape[axis];
      }
      ++next;
    }
    return {};
  }

private:
  static int64_t countNonZero(const TensorView &tensor) {
    ZeroTest test(tensor);
    int64_t count = 0;
    for (int64_t i = 0; i < tensor.getElementCount(); ++i)
      count += test.isNonZero(i);
    return count;
  }
};

constexpr KernelEntry entries[] = {
    {"unique", create<Unique>},
    {"non_zero", create<NonZero>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getUniqueKernels() {
  return {entries, std::size(entries)};
}
