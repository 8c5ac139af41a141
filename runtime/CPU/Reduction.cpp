//===- Reduction.cpp - axes folded into one element -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace amp::runtime;

namespace {

//===----------------------------------------------------------------------===//
// What is folded
//===----------------------------------------------------------------------===//

/// Sums of floats are kept in float64, those of integers wrap around.
template <typename T>
using SumOf = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T, typename S> double toDouble(S sum) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return static_cast<double>(static_cast<int64_t>(sum));
  else
    return static_cast<double>(sum);
}

/// A real result as an element, truncated if that is an integer.
template <typename T> T fromDouble(double value) {
  if constexpr (std::is_integral_v<T>)
    return value >= -0x1p63 && value < 0x1p63
               ? static_cast<T>(static_cast<int64_t>(value))
               : T(0);
  else
    return static_cast<T>(value);
}

/// An operation has an accumulator, a function of each element (which knows the
/// largest one if it asks for it), and a function of the sum.
struct Sum {
  static constexpr bool needsMaximum = false;
  template <typename T> using Accumulator = SumOf<T>;
  template <typename T> static SumOf<T> start() { return 0; }
  template <typename T> static void add(SumOf<T> &sum, T x, T) {
    sum += static_cast<SumOf<T>>(x);
  }
  template <typename T> static void merge(SumOf<T> &sum, SumOf<T> other) {
    sum += other;
  }
  template <typename T> static T finish(SumOf<T> sum, int64_t, T) {
    return static_cast<T>(sum);
  }
};

struct Mean : Sum {
  template <typename T> static T finish(SumOf<T> sum, int64_t count, T) {
    if constexpr (std::is_integral_v<T>)
      return count == 0 ? T(0)
                        : static_cast<T>(static_cast<int64_t>(sum) / count);
    else
      return static_cast<T>(sum / static_cast<double>(count));
  }
};

struct SumSquare : Sum {
  template <typename T> static void add(SumOf<T> &sum, T x, T) {
    sum += static_cast<SumOf<T>>(x) * static_cast<SumOf<T>>(x);
  }
};

struct L1 : Sum {
  template <typename T> static void add(SumOf<T> &sum, T x, T) {
    auto value = static_cast<SumOf<T>>(x);
    sum += x < 0 ? 0 - value : value;
  }
};

struct L2 : SumSquare {
  template <typename T> static T finish(SumOf<T> sum, int64_t, T) {
    return fromDouble<T>(std::sqrt(static_cast<double>(sum)));
  }
};

struct LogSum : Sum {
  template <typename T> static T finish(SumOf<T> sum, int64_t, T) {
    return fromDouble<T>(std::log(toDouble<T>(sum)));
  }
};

/// Less the largest element, so that nothing overflows.
struct LogSumExp : Sum {
  static constexpr bool needsMaximum = true;
  template <typename T> using Accumulator = double;
  template <typename T> static double start() { return 0; }
  template <typename T> static void add(double &sum, T x, T largest) {
    // Equal infinities differ by 0.
    sum +=
        x == largest
            ? 1
            : std::exp(static_cast<double>(x) - static_cast<double>(largest));
  }
  template <typename T> static void merge(double &sum, double other) {
    sum += other;
  }
  template <typename T> static T finish(double sum, int64_t count, T largest) {
    if (count == 0)
      return fromDouble<T>(-std::numeric_limits<double>::infinity());
    return fromDouble<T>(static_cast<double>(largest) + std::log(sum));
  }
};

struct Product : Sum {
  template <typename T> static SumOf<T> start() { return 1; }
  template <typename T> static void add(SumOf<T> &product, T x, T) {
    product *= static_cast<SumOf<T>>(x);
  }
  template <typename T> static void merge(SumOf<T> &product, SumOf<T> other) {
    product *= other;
  }
};

/// NaN wins.
struct Maximum {
  static constexpr bool needsMaximum = false;
  template <typename T> using Accumulator = T;
  template <typename T> static T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <typename T> static void add(T &best, T x, T) {
    best = best < x || x != x ? x : best;
  }
  template <typename T> static void merge(T &best, T x) { add<T>(best, x, x); }
  template <typename T> static T finish(T best, int64_t, T) { return best; }
};

struct Minimum : Maximum {
  template <typename T> static T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <typename T> static void add(T &best, T x, T) {
    best = x < best || x != x ? x : best;
  }
  template <typename T> static void merge(T &best, T x) { add<T>(best, x, x); }
};

//===----------------------------------------------------------------------===//
// How
//===----------------------------------------------------------------------===//

/// Loops over what stays (destination strides are the output's) and over what
/// is folded. The last loop of one of them runs over neighbours in memory.
struct Layout {
  LoopNest kept, folded;
  int64_t foldedCount = 1;
};

constexpr int64_t blockSize = 512;

/// The input in one of the types computed in: float32, float64, int64, uint64.
template <typename C> class Source {
public:
  explicit Source(const TensorView &input) : input(input) {}

  /// Neighbours, at most blockSize; `block` has room for them.
  const C *read(int64_t index, int64_t count, C *block) const {
    if (input.type == dataTypeOf<C>)
      return input.as<const C>() + index;
    convertElements(input.type, elementAt(input, index), dataTypeOf<C>, block,
                    count);
    return block;
  }

private:
  const TensorView &input;
};

/// Calls body(index, count) for the rows of the folded loops.
template <typename Body>
void forEachRow(const LoopNest &folded, const Body &body) {
  size_t last = folded.getDepth() - 1;
  int64_t rows = 1;
  for (size_t i = 0; i < last; ++i)
    rows *= folded[i].extent;
  LoopPosition at(folded, last, 0);
  for (; rows != 0; --rows, at.next())
    body(at.source, folded[last]);
}

template <typename Operation, typename C>
using AccumulatorOf = typename Operation::template Accumulator<C>;

/// Folds neighbours into one accumulator: several of them side by side, so that
/// additions don't wait for each other. (Not inlined: three callers, forty
/// operations and types.)
template <typename Operation, typename C>
[[gnu::noinline]] void foldRow(const Source<C> &source, int64_t index,
                               int64_t count,
                               AccumulatorOf<Operation, C> &total, C largest) {
  constexpr int64_t lanes = 8;
  AccumulatorOf<Operation, C> sums[lanes];
  std::fill_n(sums, lanes, Operation::template start<C>());
  C block[blockSize];
  for (int64_t first = 0; first < count; first += blockSize) {
    int64_t size = std::min(blockSize, count - first), i = 0;
    const C *values = source.read(index + first, size, block);
    for (; i + lanes <= size; i += lanes)
      for (int64_t j = 0; j < lanes; ++j)
        Operation::template add<C>(sums[j], values[i + j], largest);
    for (; i < size; ++i)
      Operation::template add<C>(sums[0], values[i], largest);
  }
  for (int64_t j = 0; j < lanes; ++j)
    Operation::template merge<C>(total, sums[j]);
}

/// One element of the output.
template <typename Operation, typename C>
C foldElement(const Source<C> &source, int64_t index, const Layout &layout) {
  C largest = Maximum::start<C>();
  if constexpr (Operation::needsMaximum)
    forEachRow(layout.folded, [&](int64_t at, const LoopNest::Loop &row) {
      foldRow<Maximum>(source, index + at, row.extent, largest, C());
    });
  auto total = Operation::template start<C>();
  forEachRow(layout.folded, [&](int64_t at, const LoopNest::Loop &row) {
    foldRow<Operation>(source, index + at, row.extent, total, largest);
  });
  return Operation::template finish<C>(total, layout.foldedCount, largest);
}

constexpr int64_t columnWidth = 64;

/// Neighbours of the output that are neighbours of the input, at most
/// columnWidth: row by row.
template <typename Operation, typename C>
[[gnu::noinline]] void foldColumns(const Source<C> &source, int64_t index,
                                   const Layout &layout, int64_t columns,
                                   C *results) {
  C largest[columnWidth], block[columnWidth];
  std::fill_n(largest, columns, Maximum::start<C>());
  auto forEach = [&](const auto &body) {
    forEachRow(layout.folded, [&](int64_t at, const LoopNest::Loop &row) {
      for (int64_t i = 0; i < row.extent; ++i) {
        const C *values =
            source.read(index + at + i * row.sourceStride, columns, block);
        for (int64_t j = 0; j < columns; ++j)
          body(j, values[j]);
      }
    });
  };
  if constexpr (Operation::needsMaximum)
    forEach([&](int64_t j, C x) { Maximum::add<C>(largest[j], x, x); });
  AccumulatorOf<Operation, C> totals[columnWidth];
  std::fill_n(totals, columns, Operation::template start<C>());
  forEach([&](int64_t j, C x) {
    Operation::template add<C>(totals[j], x, largest[j]);
  });
  for (int64_t j = 0; j < columns; ++j)
    results[j] = Operation::template finish<C>(totals[j], layout.foldedCount,
                                               largest[j]);
}

/// A whole tensor as one element: a number of pieces that its size fixes.
template <typename Operation, typename C>
C foldAll(const Source<C> &source, int64_t count, ThreadPool &threads) {
  constexpr int64_t maxPieces = 64;
  AccumulatorOf<Operation, C> totals[maxPieces];
  int64_t size = std::max<int64_t>((count + maxPieces - 1) / maxPieces, 8192);
  int64_t pieces = (count + size - 1) / size;
  threads.parallelFor(pieces, 1, [&](int64_t begin, int64_t end, unsigned) {
    for (int64_t i = begin; i < end; ++i) {
      totals[i] = Operation::template start<C>();
      foldRow<Operation>(source, i * size, std::min(size, count - i * size),
                         totals[i], C());
    }
  });
  auto total = Operation::template start<C>();
  for (int64_t i = 0; i < pieces; ++i)
    Operation::template merge<C>(total, totals[i]);
  return Operation::template finish<C>(total, count, C());
}

template <typename Operation, typename C>
void fold(const TensorView &input, const TensorView &output,
          const Layout &layout, ThreadPool &threads) {
  Source<C> source(input);
  auto write = [&output](int64_t index, const C *values, int64_t count) {
    convertElements(dataTypeOf<C>, values, output.type,
                    mutableElementAt(output, index), count);
  };
  int64_t count = output.getElementCount();
  size_t last = layout.kept.getDepth() - 1;
  const LoopNest::Loop &row = layout.kept[last];
  if constexpr (!Operation::needsMaximum)
    if (count == 1 && layout.folded.getDepth() == 1) {
      C value = foldAll<Operation>(source, layout.foldedCount, threads);
      return write(0, &value, 1);
    }
  int64_t cost =
      layout.foldedCount * static_cast<int64_t>(getByteSize(input.type));
  if (row.sourceStride == 1 && row.extent > 1) {
    int64_t parts = (row.extent + columnWidth - 1) / columnWidth;
    threads.parallelFor(count / row.extent * parts,
                        getGrain(cost * std::min(row.extent, columnWidth)),
                        [&](int64_t begin, int64_t end, unsigned) {
                          for (int64_t i = begin; i < end; ++i) {
                            LoopPosition at(layout.kept, last, i / parts);
                            int64_t first = i % parts * columnWidth;
                            int64_t columns =
                                std::min(columnWidth, row.extent - first);
                            C results[columnWidth];
                            foldColumns<Operation>(source, at.source + first,
                                                   layout, columns, results);
                            write(at.destination + first, results, columns);
                          }
                        });
    return;
  }
  threads.parallelFor(
      count, getGrain(cost), [&](int64_t begin, int64_t end, unsigned) {
        LoopPosition at(layout.kept, last + 1, begin);
        for (int64_t i = begin; i < end; ++i, at.next()) {
          C value = foldElement<Operation>(source, at.source, layout);
          write(at.destination, &value, 1);
        }
      });
}

/// The largest of no elements is the smallest there is, and the other way
/// round.
template <typename Operation> void fillWithStart(const TensorView &output) {
  using Types = TypeList<float, double, Half, Brain, int8_t, int16_t, int32_t,
                         int64_t, uint8_t, uint16_t, uint32_t, uint64_t, Truth>;
  visitType(Types(), output.type, [&output](auto element) {
    using T = decltype(element);
    std::fill_n(output.as<T>(), output.getElementCount(),
                store<T>(Operation::template start<Compute<T>>()));
  });
}

template <typename Operation> class Reduce : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    keepDims = attributes.getInt("keepdims", 1) != 0;
    emptyIsNone = attributes.getInt("noop_with_empty_axes", 0) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    std::array<bool, Shape::maxRank> folded;
    if (Status status = getAxes(inputs, folded); !status.ok())
      return status;
    Shape result;
    for (size_t i = 0; i < shape.getRank(); ++i)
      if (!folded[i] || keepDims)
        result.push_back(folded[i] ? 1 : shape[i]);
    return setShape(outputs[0], result);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    if (hasInput(arguments.inputs, 1))
      if (Status status = checkOutputs(*this, arguments); !status.ok())
        return status;
    if (!visitType(NumberTypes(), input.type, [](auto) {}) &&
        !(input.type == DataType::Bool &&
          std::is_base_of_v<Maximum, Operation>))
      return typeError(input.type);
    std::array<bool, Shape::maxRank> folded;
    if (Status status = getAxes(arguments.inputs, folded); !status.ok())
      return status;
    Layout layout;
    auto strides = getStrides(input.shape);
    int64_t keptStride = output.getElementCount();
    for (size_t i = 0; i < input.shape.getRank(); ++i) {
      int64_t extent = input.shape[i];
      if (folded[i]) {
        layout.folded.push(extent, strides[i], 0);
        layout.foldedCount *= extent;
      } else {
        keptStride = extent == 0 ? 0 : keptStride / extent;
        layout.kept.push(extent, strides[i], keptStride);
      }
    }
    for (LoopNest *nest : {&layout.kept, &layout.folded}) {
      nest->simplify();
      if (nest->getDepth() == 0)
        nest->push(1, 1, 1);
    }
    if (layout.foldedCount == 0 && std::is_base_of_v<Maximum, Operation>) {
      fillWithStart<Operation>(output);
      return {};
    }
    foldAs(input, output, layout, *arguments.threads);
    return {};
  }

private:
  static void foldAs(const TensorView &input, const TensorView &output,
                     const Layout &layout, ThreadPool &threads) {
    if (input.type == DataType::Double)
      fold<Operation, double>(input, output, layout, threads);
    else if (visitType(FloatTypes(), input.type, [](auto) {}))
      fold<Operation, float>(input, output, layout, threads);
    else if (input.type == DataType::UInt64)
      fold<Operation, uint64_t>(input, output, layout, threads);
    else
      fold<Operation, int64_t>(input, output, layout, threads);
  }

  Status getAxes(Span<const TensorView> inputs,
                 std::array<bool, Shape::maxRank> &folded) const {
    IntegerList axes;
    if (hasInput(inputs, 1))
      if (Status status = readIntegers(inputs[1], "axes", axes); !status.ok())
        return status;
    if (Status status = resolveAxes(axes.begin(), axes.size,
                                    inputs[0].shape.getRank(), folded);
        !status.ok())
      return status;
    if (axes.size == 0 && emptyIsNone)
      folded.fill(false);
    return {};
  }

  bool keepDims = true, emptyIsNone = false;
};

constexpr KernelEntry entries[] = {
    {"reduce_sum", create<Reduce<Sum>>},
    {"reduce_mean", create<Reduce<Mean>>},
    {"reduce_prod", create<Reduce<Product>>},
    {"reduce_sum_square", create<Reduce<SumSquare>>},
    {"reduce_l1", create<Reduce<L1>>},
    {"reduce_l2", create<Reduce<L2>>},
    {"reduce_log_sum", create<Reduce<LogSum>>},
    {"reduce_log_sum_exp", create<Reduce<LogSumExp>>},
    {"reduce_max", create<Reduce<Maximum>>},
    {"reduce_min", create<Reduce<Minimum>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getReductionKernels() {
  return {entries, std::size(entries)};
}
