//===- Scatter.cpp - elements put where indices say -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
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

enum class Reduction { None, Add, Multiply, Maximum, Minimum };

Status readReduction(const Attributes &attributes, Reduction &reduction) {
  std::string name = attributes.getString("reduction", "none");
  if (name == "none")
    reduction = Reduction::None;
  else if (name == "add")
    reduction = Reduction::Add;
  else if (name == "mul")
    reduction = Reduction::Multiply;
  else if (name == "max")
    reduction = Reduction::Maximum;
  else if (name == "min")
    reduction = Reduction::Minimum;
  else
    return Status::error(
        "reduction must be none, add, mul, max or min, but is " + name);
  return {};
}

/// Integers wrap around; NaN wins over numbers.
template <typename T> T combine(Reduction reduction, T a, T b) {
  switch (reduction) {
  case Reduction::None:
    return b;
  case Reduction::Add:
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    else
      return a + b;
  case Reduction::Multiply:
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
    else
      return a * b;
  case Reduction::Maximum:
    return a < b || b != b ? b : a;
  case Reduction::Minimum:
    return b < a || b != b ? b : a;
  }
  return b;
}

/// Sums and products in 16 bits are kept in float32 and rounded once.
bool needsAccumulator(Reduction reduction, DataType type) {
  return (type == DataType::Float16 || type == DataType::BFloat16) &&
         (reduction == Reduction::Add || reduction == Reduction::Multiply);
}

/// Copies the data to the output, has `update(target, T(), combine)` change
/// elements of the target and finishes.
template <typename Update>
Status scatter(const KernelArguments &arguments, Reduction reduction,
               const Update &update) {
  const TensorView &data = arguments.inputs[0], &output = arguments.outputs[0];
  int64_t count = data.getElementCount();
  auto size = static_cast<int64_t>(getElementSize(data.type));
  bool accumulates = needsAccumulator(reduction, data.type);
  auto *sums = static_cast<float *>(arguments.scratch);
  arguments.threads->parallelFor(
      count, getGrain(size), [&](int64_t begin, int64_t end, unsigned) {
        if (accumulates)
          convertElements(data.type, elementAt(data, begin), DataType::Float,
                          sums + begin, end - begin);
        else
          copyElements(data.type, elementAt(data, begin),
                       mutableElementAt(output, begin), end - begin);
      });
  if (reduction == Reduction::None) {
    visitSize(data.type, [&](auto element) {
      using T = decltype(element);
      update(output.as<T>(), T(), [](T &a, const T &b) { a = b; });
    });
    return {};
  }
  bool found = visitType(NumberTypes(), data.type, [&](auto element) {
    using T = decltype(element);
    if (accumulates) {
      update(sums, T(), [reduction](float &a, const T &b) {
        a = combine<float>(reduction, a, static_cast<float>(load(b)));
      });
      return;
    }
    update(output.as<T>(), T(), [reduction](T &a, const T &b) {
      a = store<T>(combine<Compute<T>>(reduction, load(a), load(b)));
    });
  });
  if (!found)
    return typeError(data.type);
  if (accumulates)
    arguments.threads->parallelFor(
        count, getGrain(size), [&](int64_t begin, int64_t end, unsigned) {
          convertElements(DataType::Float, sums + begin, data.type,
                          mutableElementAt(output, begin), end - begin);
        });
  return {};
}

class Scatter : public LibraryKernel {
public:
  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned) const override {
    return needsAccumulator(reduction, inputs[0].type)
               ? static_cast<size_t>(inputs[0].getElementCount()) *
                     sizeof(float)
               : 0;
  }

protected:
  Reduction reduction = Reduction::None;
};

/// Updates of one element come in the order of the indices, whatever the number
/// of threads: only what cannot meet runs at once.
class ScatterElements : public Scatter {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 0);
    return readReduction(attributes, reduction);
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
    size_t along;
    if (Status status = resolveAxis(axis, data.getRank(), along); !status.ok())
      return status;
    bool fits =
        data.getRank() == indices.getRank() && inputs[2].shape == indices;
    for (size_t i = 0; fits && i < data.getRank(); ++i)
      fits = i == along || indices[i] <= data[i];
    if (!fits)
      return Status::error("indices of dimensions " + toString(indices) +
                           " and updates of " + toString(inputs[2].shape) +
                           " don't fit data of dimensions " + toString(data));
    return setShape(outputs[0], data);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &data = arguments.inputs[0],
                     &indices = arguments.inputs[1];
    const Shape &shape = indices.shape;
    size_t rank = data.shape.getRank(), along;
    if (Status status = resolveAxis(axis, rank, along); !status.ok())
      return status;
    int64_t extent = data.shape[along];
    if (Status status = checkIndices(indices, &extent, 1, *arguments.threads);
        !status.ok())
      return status;
    auto strides = getStrides(data.shape);
    // Groups of rows never meet, nor do columns unless they are the axis.
    bool axisIsLast = along == rank - 1;
    int64_t row = shape[rank - 1];
    int64_t groups = getProduct(shape, 0, along);
    int64_t rows = axisIsLast ? 1 : getProduct(shape, along, rank - 1);
    int64_t width = axisIsLast ? row : std::min<int64_t>(row, 256);
    int64_t parts = row == 0 ? 0 : (row + width - 1) / width;
    return scatter(
        arguments, reduction,
        [&](auto *target, auto element, auto combineInto) {
          using T = decltype(element);
          auto *updates = arguments.inputs[2].as<const T>();
          arguments.threads->parallelFor(
              groups * parts, getGrain(16 * rows * width),
              [&](int64_t begin, int64_t end, unsigned) {
                for (int64_t piece = begin; piece < end; ++piece)
                  for (int64_t i = 0; i < rows; ++i) {
                    int64_t number = piece / parts * rows + i;
                    int64_t rest = number, base = 0;
                    for (size_t j = rank - 1; j-- > 0;) {
                      base += j == along ? 0 : rest % shape[j] * strides[j];
                      rest /= shape[j];
                    }
                    int64_t first = piece % parts * width;
                    int64_t last = std::min(row, first + width);
                    for (int64_t j = first; j < last; ++j) {
                      int64_t from = number * row + j;
                      int64_t index =
                          wrapIndex(getInteger(indices, from), extent);
                      combineInto(target[base + (axisIsLast ? 0 : j) +
                                         index * strides[along]],
                                  updates[from]);
                    }
                  }
              });
        });
  }

private:
  int64_t axis = 0;
};

class ScatterND : public Scatter {
public:
  Status configure(const Attributes &attributes) {
    return readReduction(attributes, reduction);
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
    size_t rank = indices.getRank();
    auto depth = rank == 0 ? -1 : indices[rank - 1];
    bool fits = depth >= 0 && depth <= static_cast<int64_t>(data.getRank());
    if (fits) {
      const Shape &updates = inputs[2].shape;
      size_t outer = rank - 1;
      fits =
          updates.getRank() + depth == outer + data.getRank() &&
          std::equal(indices.begin(), indices.end() - 1, updates.begin()) &&
          std::equal(data.begin() + depth, data.end(), updates.begin() + outer);
    }
    if (!fits)
      return Status::error("indices of dimensions " + toString(indices) +
                           " and updates of " + toString(inputs[2].shape) +
                           " don't fit data of dimensions " + toString(data));
    return setShape(outputs[0], data);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &data = arguments.inputs[0],
                     &indices = arguments.inputs[1];
    size_t rank = indices.shape.getRank();
    auto depth = static_cast<size_t>(indices.shape[rank - 1]);
    const int64_t *extents = data.shape.begin();
    if (Status status = checkIndices(indices, extents, indices.shape[rank - 1],
                                     *arguments.threads);
        !status.ok())
      return status;
    auto strides = getStrides(data.shape);
    int64_t count = getProduct(indices.shape, 0, rank - 1);
    int64_t inner = getProduct(data.shape, depth, data.shape.getRank());
    // All updates of an element are made by the thread that has its column.
    return scatter(
        arguments, reduction,
        [&](auto *target, auto element, auto combineInto) {
          using T = decltype(element);
          auto *updates = arguments.inputs[2].as<const T>();
          arguments.threads->parallelFor(
              inner, std::max<int64_t>(128, getGrain(16 * count)),
              [&](int64_t begin, int64_t end, unsigned) {
                for (int64_t i = 0; i < count; ++i) {
                  int64_t to = 0;
                  for (size_t j = 0; j < depth; ++j)
                    to += wrapIndex(getInteger(indices,
                                               i * static_cast<int64_t>(depth) +
                                                   static_cast<int64_t>(j)),
                                    extents[j]) *
                          strides[j];
                  for (int64_t j = begin; j < end; ++j)
                    combineInto(target[to + j], updates[i * inner + j]);
                }
              });
        });
  }
};

/// Writes a piece of a sequence into each cache of a batch.
class TensorScatter : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", -2);
    std::string mode = attributes.getString("mode", "linear");
    circular = mode == "circular";
    if (mode != "linear" && mode != "circular")
      return Status::error("mode must be linear or circular, but is " + mode);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &cache = inputs[0].shape;
    Shape update = inputs[1].shape;
    size_t along;
    if (Status status = resolveAxis(axis, cache.getRank(), along); !status.ok())
      return status;
    bool fits = along != 0 && update.getRank() == cache.getRank() &&
                update[along] <= cache[along];
    if (fits)
      update[along] = cache[along];
    if (!fits || update != cache)
      return Status::error("an update of dimensions " +
                           toString(inputs[1].shape) +
                           " doesn't fit a cache of " + toString(cache) +
                           " along axis " + std::to_string(along));
    if (hasInput(inputs, 2) && inputs[2].getElementCount() != cache[0])
      return Status::error(
          "write_indices has " + std::to_string(inputs[2].getElementCount()) +
          " elements for a batch of " + std::to_string(cache[0]));
    return setShape(outputs[0], cache);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &cache = arguments.inputs[0],
                     &update = arguments.inputs[1],
                     &output = arguments.outputs[0];
    const Shape &shape = cache.shape;
    size_t along;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    int64_t extent = shape[along], length = update.shape[along];
    TensorView indices = getInput(arguments.inputs, 2);
    if (isPresent(indices)) {
      // Circular caches take any index that is not negative.
      int64_t limit = circular ? INT64_MAX - length : extent - length + 1;
      for (int64_t i = 0; i < shape[0]; ++i) {
        int64_t index = getInteger(indices, i);
        if (index < 0 || index >= limit)
          return Status::error("write index " + std::to_string(index) +
                               " at element " + std::to_string(i) +
                               " doesn't leave room for " +
                               std::to_string(length) + " of " +
                               std::to_string(extent) + " positions");
      }
    }
    int64_t inner = getProduct(shape, along + 1, shape.getRank());
    int64_t perBatch = getProduct(shape, 1, along);
    int64_t block = extent * inner;
    arguments.threads->parallelFor(
        shape[0] * perBatch,
        getGrain(block * static_cast<int64_t>(getElementSize(cache.type))),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            copyElements(cache.type, elementAt(cache, i * block),
                         mutableElementAt(output, i * block), block);
            int64_t first =
                isPresent(indices) ? getInteger(indices, i / perBatch) : 0;
            for (int64_t j = 0; j < length; ++j)
              copyElements(
                  cache.type, elementAt(update, (i * length + j) * inner),
                  mutableElementAt(output,
                                   (i * extent + (first + j) % extent) * inner),
                  inner);
          }
        });
    return {};
  }

private:
  int64_t axis = -2;
  bool circular = false;
};

constexpr KernelEntry entries[] = {
    {"scatter_elements", create<ScatterElements>},
    {"scatter_nd", create<ScatterND>},
    {"tensor_scatter", create<TensorScatter>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getScatterKernels() {
  return {entries, std::size(entries)};
}
