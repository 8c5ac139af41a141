//===- Fill.cpp - tensors made of a few numbers ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace amp::runtime;

namespace {

/// The element is the second input, 0 without one: attributes hold no tensors.
class ConstantOfShape : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return input == 0; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    IntegerList dims;
    if (Status status = readIntegers(inputs[0], "shape", dims); !status.ok())
      return status;
    return setShape(outputs[0], dims.begin(), dims.size);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &output = arguments.outputs[0];
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const void *value = getInput(arguments.inputs, 1).data;
    visitSize(output.type, [&](auto element) {
      using T = decltype(element);
      const T fill = value ? *static_cast<const T *>(value) : T();
      arguments.threads->parallelFor(
          output.getElementCount(), getGrain(sizeof(T)),
          [&](int64_t begin, int64_t end, unsigned) {
            std::fill_n(output.as<T>() + begin, end - begin, fill);
          });
    });
    return {};
  }
};

/// Every element is computed by itself, start + i * delta: floats in float64,
/// with one rounding.
class Range : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    int64_t count;
    if (Status status = getCount(inputs, count); !status.ok())
      return status;
    return setShape(outputs[0], {count});
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &output = arguments.outputs[0];
    bool isInteger = isIntegerType(output.type);
    Numbers numbers = getNumbers(arguments.inputs);
    arguments.threads->parallelFor(
        output.getElementCount(), getGrain(64),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i)
            if (isInteger) {
              auto value = static_cast<int64_t>(
                  static_cast<uint64_t>(numbers.start.integer) +
                  static_cast<uint64_t>(i) *
                      static_cast<uint64_t>(numbers.delta.integer));
              convertElements(DataType::Int64, &value, output.type,
                              mutableElementAt(output, i), 1);
            } else {
              double value = numbers.start.real +
                             static_cast<double>(i) * numbers.delta.real;
              convertElements(DataType::Double, &value, output.type,
                              mutableElementAt(output, i), 1);
            }
        });
    return {};
  }

private:
  union Number {
    int64_t integer;
    double real;
  };
  struct Numbers {
    Number start, limit, delta;
  };

  static bool isIntegerType(DataType type) {
    return type == DataType::Int16 || type == DataType::Int32 ||
           type == DataType::Int64;
  }

  static Numbers getNumbers(Span<const TensorView> inputs) {
    Numbers numbers;
    Number *const all[] = {&numbers.start, &numbers.limit, &numbers.delta};
    for (size_t i = 0; i < 3; ++i)
      convertElements(inputs[i].type, inputs[i].data,
                      isIntegerType(inputs[0].type) ? DataType::Int64
                                                    : DataType::Double,
                      all[i], 1);
    return numbers;
  }

  static Status getCount(Span<const TensorView> inputs, int64_t &count) {
    if (!isIntegerType(inputs[0].type) &&
        !visitType(FloatTypes(), inputs[0].type, [](auto) {}))
      return typeError(inputs[0].type);
    Numbers numbers = getNumbers(inputs);
    bool isInteger = isIntegerType(inputs[0].type);
    if (isInteger ? numbers.delta.integer == 0 : numbers.delta.real == 0)
      return Status::error("delta is 0");
    if (isInteger) {
      // Distances of int64 fit into uint64.
      bool up = numbers.delta.integer > 0;
      auto start = static_cast<uint64_t>(numbers.start.integer),
           limit = static_cast<uint64_t>(numbers.limit.integer),
           delta = static_cast<uint64_t>(numbers.delta.integer);
      bool isEmpty = up ? numbers.start.integer >= numbers.limit.integer
                        : numbers.start.integer <= numbers.limit.integer;
      uint64_t distance = up ? limit - start : start - limit;
      uint64_t step = up ? delta : 0 - delta;
      uint64_t steps = isEmpty ? 0 : (distance - 1) / step + 1;
      count = steps > INT64_MAX ? INT64_MAX : static_cast<int64_t>(steps);
      return {};
    }
    double steps = std::ceil((numbers.limit.real - numbers.start.real) /
                             numbers.delta.real);
    if (!(std::fabs(steps) < 0x1p62))
      return Status::error("a range of " + std::to_string(steps) +
                           " elements is not possible");
    count = std::max<int64_t>(0, static_cast<int64_t>(steps));
    return {};
  }
};

class EyeLike : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    k = attributes.getInt("k", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs[0].shape.getRank() != 2)
      return Status::error("expects a matrix, but got dimensions " +
                           toString(inputs[0].shape));
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &output = arguments.outputs[0];
    if (!isNumeric(output.type))
      return typeError(output.type);
    std::memset(output.data, 0, output.getByteCount());
    int64_t rows = output.shape[0], columns = output.shape[1], one = 1;
    if (k <= -rows || k >= columns)
      return {};
    for (int64_t row = std::max<int64_t>(0, -k);
         row < rows && row + k < columns; ++row)
      convertElements(DataType::Int64, &one, output.type,
                      mutableElementAt(output, row * columns + row + k), 1);
    return {};
  }

private:
  int64_t k = 0;
};

class OneHot : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", -1);
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &indices = inputs[0].shape;
    size_t along, rank = indices.getRank() + 1;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    if (inputs[1].getElementCount() != 1)
      return Status::error("depth must have one element, but has " +
                           std::to_string(inputs[1].getElementCount()));
    if (inputs[2].getElementCount() != 2)
      return Status::error("values must have two elements, but has " +
                           std::to_string(inputs[2].getElementCount()));
    int64_t depth;
    convertElements(inputs[1].type, inputs[1].data, DataType::Int64, &depth, 1);
    std::array<int64_t, Shape::maxRank + 1> dims;
    for (size_t i = 0; i < rank; ++i)
      dims[i] = i < along ? indices[i] : i == along ? depth : indices[i - 1];
    return setShape(outputs[0], dims.data(), rank);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &indices = arguments.inputs[0],
                     &output = arguments.outputs[0];
    size_t along, rank = output.shape.getRank();
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t depth = output.shape[along];
    int64_t inner = getProduct(output.shape, along + 1, rank);
    int64_t outer = getProduct(output.shape, 0, along);
    visitSize(output.type, [&](auto element) {
      using T = decltype(element);
      auto *values = arguments.inputs[2].as<const T>();
      int64_t block = depth * inner;
      arguments.threads->parallelFor(
          outer, getGrain(block * static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              T *to = output.as<T>() + i * block;
              std::fill_n(to, block, values[0]);
              for (int64_t j = 0; j < inner; ++j) {
                int64_t index;
                convertElements(indices.type, elementAt(indices, i * inner + j),
                                DataType::Int64, &index, 1);
                if (index >= -depth && index < depth)
                  to[(index < 0 ? index + depth : index) * inner + j] =
                      values[1];
              }
            }
          });
    });
    return {};
  }

private:
  int64_t axis = -1;
};

/// The part of each matrix on one side of a diagonal; the rest is 0.
class Trilu : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    upper = attributes.getInt("upper", 1) != 0;
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs[0].shape.getRank() < 2)
      return Status::error("expects matrices, but got dimensions " +
                           toString(inputs[0].shape));
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    size_t rank = input.shape.getRank();
    int64_t rows = input.shape[rank - 2], columns = input.shape[rank - 1];
    int64_t k = 0;
    if (hasInput(arguments.inputs, 1))
      if (Status status = readInteger(arguments.inputs[1], "k", k);
          !status.ok())
        return status;
    k = std::clamp(k, -rows, columns);
    visitSize(input.type, [&](auto element) {
      using T = decltype(element);
      arguments.threads->parallelFor(
          getProduct(input.shape, 0, rank - 1),
          getGrain(columns * static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              const T *from = input.as<const T>() + i * columns;
              T *to = output.as<T>() + i * columns;
              // The first column of the upper part, or the first one after the
              // lower part.
              int64_t cut = std::clamp<int64_t>(i % rows + k + (upper ? 0 : 1),
                                                0, columns);
              if (upper)
                std::fill_n(to, cut, T());
              else
                std::fill_n(to + cut, columns - cut, T());
              int64_t first = upper ? cut : 0, last = upper ? columns : cut;
              copyElements(input.type, from + first, to + first, last - first);
            }
          });
    });
    return {};
  }

private:
  bool upper = true;
};

constexpr KernelEntry entries[] = {
    {"constant_of_shape", create<ConstantOfShape>},
    {"range", create<Range>},
    {"eye_like", create<EyeLike>},
    {"one_hot", create<OneHot>},
    {"trilu", create<Trilu>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getFillKernels() {
  return {entries, std::size(entries)};
}
