//===- Gather.cpp - elements picked by indices ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/Indices.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

/// Copies `rows` rows of `size` elements; getSource(i) says where row i begins.
template <typename Function>
void copyRows(const TensorView &source, const TensorView &destination,
              int64_t rows, int64_t size, ThreadPool &threads,
              const Function &getSource) {
  visitSize(source.type, [&](auto element) {
    using T = decltype(element);
    auto *from = source.as<const T>();
    auto *to = destination.as<T>();
    threads.parallelFor(rows, getGrain(size * static_cast<int64_t>(sizeof(T))),
                        [&](int64_t begin, int64_t end, unsigned) {
                          if (size == 1)
                            for (int64_t i = begin; i < end; ++i)
                              to[i] = from[getSource(i)];
                          else
                            for (int64_t i = begin; i < end; ++i)
                              std::copy_n(from + getSource(i), size,
                                          to + i * size);
                        });
  });
}

class Gather : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
    size_t along;
    if (Status status = resolveAxis(axis, data.getRank(), along); !status.ok())
      return status;
    std::array<int64_t, 2 * Shape::maxRank> dims;
    int64_t *end = std::copy(data.begin(), data.begin() + along, dims.data());
    end = std::copy(indices.begin(), indices.end(), end);
    end = std::copy(data.begin() + along + 1, data.end(), end);
    return setShape(outputs[0], dims.data(),
                    static_cast<size_t>(end - dims.data()));
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &data = arguments.inputs[0],
                     &indices = arguments.inputs[1];
    size_t rank = data.shape.getRank(), along;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t extent = data.shape[along];
    if (Status status = checkIndices(indices, &extent, 1, *arguments.threads);
        !status.ok())
      return status;
    int64_t inner = getProduct(data.shape, along + 1, rank);
    int64_t outer = getProduct(data.shape, 0, along);
    int64_t count = indices.getElementCount();
    copyRows(data, arguments.outputs[0], outer * count, inner,
             *arguments.threads, [&](int64_t i) {
               int64_t index = getInteger(indices, i % count);
               return (i / count * extent + wrapIndex(index, extent)) * inner;
             });
    return {};
  }

private:
  int64_t axis = 0;
};

class GatherElements : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
    size_t along;
    if (Status status = resolveAxis(axis, data.getRank(), along); !status.ok())
      return status;
    bool fits = data.getRank() == indices.getRank();
    for (size_t i = 0; fits && i < data.getRank(); ++i)
      fits = i == along || indices[i] <= data[i];
    if (!fits)
      return Status::error("indices of dimensions " + toString(indices) +
                           " don't fit data of dimensions " + toString(data));
    return setShape(outputs[0], indices);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &data = arguments.inputs[0],
                     &indices = arguments.inputs[1];
    size_t rank = data.shape.getRank(), along;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t extent = data.shape[along];
    if (Status status = checkIndices(indices, &extent, 1, *arguments.threads);
        !status.ok())
      return status;
    auto strides = getStrides(data.shape);
    int64_t row = indices.shape[rank - 1];
    int64_t step = along == rank - 1 ? 0 : 1;
    int64_t rows = getProduct(indices.shape, 0, rank - 1);
    visitSize(data.type, [&](auto element) {
      using T = decltype(element);
      auto *from = data.as<const T>();
      arguments.threads->parallelFor(
          rows, getGrain(16 * row), [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              // Where the row is in the data, but for the axis.
              int64_t rest = i, base = 0;
              for (size_t j = rank - 1; j-- > 0;) {
                base += j == along ? 0 : rest % indices.shape[j] * strides[j];
                rest /= indices.shape[j];
              }
              T *to = arguments.outputs[0].as<T>() + i * row;
              for (int64_t j = 0; j < row; ++j) {
                int64_t index =
                    wrapIndex(getInteger(indices, i * row + j), extent);
                to[j] = from[base + j * step + index * strides[along]];
              }
            }
          });
    });
    return {};
  }

private:
  int64_t axis = 0;
};

class GatherND : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    batchDims = attributes.getInt("batch_dims", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
    size_t rank = data.getRank();
    bool fits = batchDims >= 0 &&
                batchDims < static_cast<int64_t>(indices.getRank()) &&
                batchDims < static_cast<int64_t>(rank);
    auto batch = static_cast<size_t>(batchDims);
    for (size_t i = 0; fits && i < batch; ++i)
      fits = data[i] == indices[i];
    int64_t depth = fits ? indices[indices.getRank() - 1] : 0;
    if (!fits || batchDims + depth > static_cast<int64_t>(rank))
      return Status::error("indices of dimensions " + toString(indices) +
                           " with batch_dims " + std::to_string(batchDims) +
                           " don't fit data of dimensions " + toString(data));
    std::array<int64_t, 2 * Shape::maxRank> dims;
    int64_t *end = std::copy(indices.begin(), indices.end() - 1, dims.data());
    end = std::copy(data.begin() + batch + depth, data.end(), end);
    return setShape(outputs[0], dims.data(),
                    static_cast<size_t>(end - dims.data()));
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &data = arguments.inputs[0],
                     &indices = arguments.inputs[1];
    auto batch = static_cast<size_t>(batchDims);
    size_t indexRank = indices.shape.getRank();
    int64_t depth = indices.shape[indexRank - 1];
    const int64_t *extents = data.shape.begin() + batch;
    if (Status status =
            checkIndices(indices, extents, depth, *arguments.threads);
        !status.ok())
      return status;
    auto strides = getStrides(data.shape);
    int64_t rows = getProduct(indices.shape, 0, indexRank - 1);
    int64_t batches = getProduct(data.shape, 0, batch);
    int64_t rowsOfBatch = batches == 0 ? 0 : rows / batches;
    int64_t batchSize = getProduct(data.shape, batch, data.shape.getRank());
    int64_t inner = getProduct(data.shape, batch + depth, data.shape.getRank());
    copyRows(data, arguments.outputs[0], rows, inner, *arguments.threads,
             [&](int64_t i) {
               int64_t from = i / rowsOfBatch * batchSize;
               for (int64_t j = 0; j < depth; ++j)
                 from +=
                     wrapIndex(getInteger(indices, i * depth + j), extents[j]) *
                     strides[batch + j];
               return from;
             });
    return {};
  }

private:
  int64_t batchDims = 0;
};

/// Slices, or elements of the flat tensor, where the condition holds.
class Compress : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    hasAxis = attributes.has("axis");
    axis = attributes.getInt("axis", 0);
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Layout layout;
    if (Status status = getLayout(inputs, layout); !status.ok())
      return status;
    Shape shape = {layout.kept};
    if (hasAxis) {
      shape = inputs[0].shape;
      shape[layout.axis] = layout.kept;
    }
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    Layout layout;
    if (Status status = getLayout(arguments.inputs, layout); !status.ok())
      return status;
    auto *condition = arguments.inputs[1].as<const uint8_t>();
    int64_t next = 0;
    for (int64_t i = 0; i < layout.outer; ++i)
      for (int64_t j = 0; j < layout.conditions; ++j)
        if (condition[j])
          copyElements(input.type,
                       elementAt(input, (i * layout.extent + j) * layout.inner),
                       mutableElementAt(output, next++ * layout.inner),
                       layout.inner);
    return {};
  }

private:
  struct Layout {
    size_t axis = 0;
    int64_t outer = 1, extent, inner = 1, conditions, kept = 0;
  };

  Status getLayout(Span<const TensorView> inputs, Layout &layout) const {
    const Shape &shape = inputs[0].shape;
    layout.extent = shape.getElementCount();
    if (hasAxis) {
      if (Status status = resolveAxis(axis, shape.getRank(), layout.axis);
          !status.ok())
        return status;
      layout.outer = getProduct(shape, 0, layout.axis);
      layout.extent = shape[layout.axis];
      layout.inner = getProduct(shape, layout.axis + 1, shape.getRank());
    }
    layout.conditions = inputs[1].getElementCount();
    if (layout.conditions > layout.extent)
      return Status::error(
          "condition has " + std::to_string(layout.conditions) +
          " elements for an axis of " + std::to_string(layout.extent));
    for (int64_t i = 0; i < layout.conditions; ++i)
      layout.kept += inputs[1].as<const uint8_t>()[i] != 0;
    return {};
  }

  int64_t axis = 0;
  bool hasAxis = false;
};

constexpr KernelEntry entries[] = {
    {"gather", create<Gather>},
    {"gather_elements", create<GatherElements>},
    {"gather_nd", create<GatherND>},
    {"compress", create<Compress>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getGatherKernels() {
  return {entries, std::size(entries)};
}
