//===- Pooling.cpp - one number for each window ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of the output are made of rows of the input, one for each row of the
// window, by loops over the last axis that the compiler vectorises.
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"
#include "CPU/Window.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace amp::runtime;

namespace {

/// What pools have in common: rows of the input and of the output in the type
/// computed in, from scratch memory unless they are of that type already.
class Pool : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    return window.configure(attributes);
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Window resolved;
    if (Status status = window.resolve(inputs[0].shape, resolved); !status.ok())
      return status;
    Shape result = inputs[0].shape;
    for (size_t i = 0; i < resolved.rank; ++i)
      result[i + 2] = resolved.axes[i].output;
    for (TensorView &output : outputs)
      if (Status status = setShape(output, result); !status.ok())
        return status;
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs,
                        Span<const TensorView> outputs,
                        unsigned threads) const override {
    size_t last = inputs[0].shape.getRank() - 1;
    return threads * sizeof(double) *
           static_cast<size_t>(inputs[0].shape[last] + outputs[0].shape[last]);
  }

protected:
  /// Calls body(window, row of output, its elements in C, rows of input) for
  /// each row; `rows(i)` gives row i of the channel in C.
  template <typename T, typename Body>
  Status forEachRow(const KernelArguments &arguments, const Body &body) const {
    using C = Compute<T>;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    Window resolved;
    if (Status status = window.resolve(input.shape, resolved); !status.ok())
      return status;
    const WindowAxis &last = resolved.axes[resolved.rank - 1];
    int64_t inputSize = resolved.getInputSize();
    if (last.output == 0)
      return {};
    int64_t outputRows = resolved.getOutputSize() / last.output;
    int64_t planes = input.shape[0] * input.shape[1];
    arguments.threads->parallelFor(
        planes * outputRows, getGrain(last.output * resolved.getKernelSize()),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *inputRow =
              reinterpret_cast<C *>(static_cast<double *>(arguments.scratch) +
                                    thread * (last.input + last.output));
          C *outputRow = inputRow + last.input;
          for (int64_t i = begin; i < end; ++i) {
            const T *plane = input.as<const T>() + i / outputRows * inputSize;
            auto rows = [&](int64_t row) -> const C * {
              const T *from = plane + row * last.input;
              if constexpr (std::is_same_v<T, C>)
                return from;
              convertElements(input.type, from, dataTypeOf<C>, inputRow,
                              last.input);
              return inputRow;
            };
            T *to = output.as<T>() + i * last.output;
            if constexpr (std::is_same_v<T, C>) {
              body(resolved, i, to, rows);
              continue;
            } else {
              body(resolved, i, outputRow, rows);
              convertElements(dataTypeOf<C>, outputRow, output.type, to,
                              last.output);
            }
          }
        });
    return {};
  }

  WindowAttributes window;
};

/// NaN is the largest, as in NumPy.
template <typename C> bool isLarger(C value, C best) {
  return value > best || value != value;
}

class MaxPool : public Pool {
public:
  Status configure(const Attributes &attributes) {
    isColumnMajor = attributes.getInt("storage_order", 0) != 0;
    return Pool::configure(attributes);
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = arguments.inputs[0].type;
    Status status;
    bool found = visitType(NumberTypes(), type, [&](auto element) {
      using T = decltype(element);
      status = hasOutput(arguments.outputs, 1) ? runWithIndices<T>(arguments)
                                               : runAs<T>(arguments);
    });
    return found ? status : typeError(type);
  }

private:
  template <typename C> static constexpr C getLowest() {
    return std::numeric_limits<C>::has_infinity
               ? -std::numeric_limits<C>::infinity()
               : std::numeric_limits<C>::lowest();
  }

  template <typename T> Status runAs(const KernelArguments &arguments) const {
    using C = Compute<T>;
    return forEachRow<T>(arguments, [](const Window &window, int64_t row,
                                       C *best, const auto &rows) {
      const WindowAxis &last = window.axes[window.rank - 1];
      int64_t outputRows = window.getOutputSize() / last.output;
      std::fill_n(best, last.output, getLowest<C>());
      window.forEachRow(row % outputRows, [&](int64_t inputRow, int64_t) {
        const C *from = rows(inputRow);
        for (int64_t offset = 0; offset < last.kernel; ++offset) {
          int64_t begin, end, stride = last.stride;
          last.getValidOutputs(offset, begin, end);
          const C *x = from + last.getInput(begin, offset);
          C *to = best + begin;
          for (int64_t i = 0; i < end - begin; ++i) {
            C value = x[i * stride];
            to[i] = isLarger(value, to[i]) ? value : to[i];
          }
        }
      });
    });
  }

  /// Indices are those of the whole tensor, -1 for windows of padding only.
  template <typename T>
  Status runWithIndices(const KernelArguments &arguments) const {
    using C = Compute<T>;
    auto *indices = arguments.outputs[1].as<int64_t>();
    return forEachRow<T>(arguments, [&](const Window &window, int64_t row,
                                        C *best, const auto &rows) {
      const WindowAxis &last = window.axes[window.rank - 1];
      int64_t outputRows = window.getOutputSize() / last.output;
      int64_t plane = row / outputRows * window.getInputSize();
      int64_t step = isColumnMajor ? window.getInputSize() /
                                         std::max<int64_t>(1, last.input)
                                   : 1;
      int64_t *index = indices + row * last.output;
      std::fill_n(best, last.output, getLowest<C>());
      std::fill_n(index, last.output, int64_t(-1));
      window.forEachRow(row % outputRows, [&](int64_t inputRow, int64_t) {
        const C *from = rows(inputRow);
        int64_t first = plane + (isColumnMajor ? toColumnMajor(window, inputRow)
                                               : inputRow * last.input);
        for (int64_t offset = 0; offset < last.kernel; ++offset) {
          int64_t begin, end;
          last.getValidOutputs(offset, begin, end);
          for (int64_t i = begin; i < end; ++i) {
            int64_t at = last.getInput(i, offset);
            if (index[i] >= 0 &&
                (!isLarger(from[at], best[i]) || best[i] != best[i]))
              continue;
            best[i] = from[at];
            index[i] = first + at * step;
          }
        }
      });
    });
  }

  /// Where a row of a channel begins if the first axis is the densest.
  static int64_t toColumnMajor(const Window &window, int64_t row) {
    int64_t index = 0, stride = window.getInputSize();
    stride /= window.axes[window.rank - 1].input;
    for (size_t i = window.rank - 1; i-- > 0;) {
      stride /= window.axes[i].input;
      index += row % window.axes[i].input * stride;
      row /= window.axes[i].input;
    }
    return index;
  }

  bool isColumnMajor = false;
};

/// AveragePool and LpPool: a sum over the window, and what becomes of it.
template <bool isLp> class SumPool : public Pool {
public:
  Status configure(const Attributes &attributes) {
    countsPadding = attributes.getInt("count_include_pad", 0) != 0;
    p = attributes.getInt("p", 2);
    if (p < 1)
      return Status::error("p must be positive, but is " + std::to_string(p));
    return Pool::configure(attributes);
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = arguments.inputs[0].type;
    Status status;
    bool found = visitType(FloatTypes(), type, [&](auto element) {
      using T = decltype(element);
      using C = Compute<T>;
      status = forEachRow<T>(arguments, [&](const Window &window, int64_t row,
                                            C *sums, const auto &rows) {
        addRows(window, row, sums, rows);
        finish(window, row, sums);
      });
    });
    return found ? status : typeError(type);
  }

private:
  template <typename C, typename Rows>
  void addRows(const Window &window, int64_t row, C *sums,
               const Rows &rows) const {
    const WindowAxis &last = window.axes[window.rank - 1];
    int64_t outputRows = window.getOutputSize() / last.output;
    std::fill_n(sums, last.output, C(0));
    window.forEachRow(row % outputRows, [&](int64_t inputRow, int64_t) {
      const C *from = rows(inputRow);
      for (int64_t offset = 0; offset < last.kernel; ++offset) {
        int64_t begin, end, stride = last.stride;
        last.getValidOutputs(offset, begin, end);
        const C *x = from + last.getInput(begin, offset);
        C *to = sums + begin;
        if (!isLp)
          for (int64_t i = 0; i < end - begin; ++i)
            to[i] += x[i * stride];
        else if (p == 1)
          for (int64_t i = 0; i < end - begin; ++i)
            to[i] += std::fabs(x[i * stride]);
        else if (p == 2)
          for (int64_t i = 0; i < end - begin; ++i)
            to[i] += x[i * stride] * x[i * stride];
        else
          for (int64_t i = 0; i < end - begin; ++i)
            to[i] += std::pow(std::fabs(x[i * stride]), static_cast<C>(p));
      }
    });
  }

  template <typename C>
  void finish(const Window &window, int64_t row, C *sums) const {
    const WindowAxis &last = window.axes[window.rank - 1];
    if (isLp) {
      for (int64_t i = 0; i < last.output; ++i)
        sums[i] = p == 1   ? sums[i]
                  : p == 2 ? std::sqrt(sums[i])
                           : std::pow(sums[i], 1 / static_cast<C>(p));
      return;
    }
    int64_t count = 1;
    for (size_t i = window.rank - 1; i-- > 0;) {
      count *= getCount(window.axes[i], row % window.axes[i].output);
      row /= window.axes[i].output;
    }
    for (int64_t i = 0; i < last.output; ++i)
      sums[i] /=
          static_cast<C>(std::max<int64_t>(1, count * getCount(last, i)));
  }

  /// How many elements along an axis the average of an output is over.
  int64_t getCount(const WindowAxis &axis, int64_t at) const {
    int64_t low = countsPadding ? -axis.padBegin : 0;
    int64_t high = axis.input + (countsPadding ? axis.padEnd : 0);
    int64_t first = axis.getInput(at, 0), dilation = axis.dilation;
    int64_t before = first < low ? (low - first + dilation - 1) / dilation : 0;
    int64_t after = first < high ? (high - first + dilation - 1) / dilation : 0;
    return std::max<int64_t>(0, std::min(axis.kernel, after) - before);
  }

  bool countsPadding = false;
  int64_t p = 2;
};

/// The maxima go back to where MaxPool found them, among zeros.
class MaxUnpool : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    return window.configure(attributes);
  }

  bool needsDataForShapes(size_t input) const override { return input == 2; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs[0].shape != inputs[1].shape)
      return Status::error("expects indices of dimensions " +
                           toString(inputs[0].shape) + ", but got " +
                           toString(inputs[1].shape));
    Shape inferred;
    if (Status status = getPlainShape(inputs[0].shape, inferred); !status.ok())
      return status;
    if (!hasInput(inputs, 2))
      return setShape(outputs[0], inferred);
    IntegerList dims;
    if (Status status = readIntegers(inputs[2], "output_shape", dims);
        !status.ok())
      return status;
    if (dims.size != inferred.getRank())
      return Status::error("output_shape must have " +
                           std::to_string(inferred.getRank()) +
                           " elements, but has " + std::to_string(dims.size));
    return setShape(outputs[0], dims.begin(), dims.size);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const auto *indices = arguments.inputs[1].as<const int64_t>();
    Shape plain;
    if (Status status = getPlainShape(input.shape, plain); !status.ok())
      return status;
    int64_t extent = plain.getElementCount(), count = input.getElementCount();
    for (int64_t i = 0; i < count; ++i)
      if (indices[i] < 0 || indices[i] >= extent)
        return Status::error("index " + std::to_string(indices[i]) +
                             " at element " + std::to_string(i) +
                             " is out of range [0, " +
                             std::to_string(extent - 1) + "]");
    std::memset(output.data, 0, output.getByteCount());
    visitSize(input.type, [&](auto element) {
      using T = decltype(element);
      for (int64_t i = 0; i < count; ++i) {
        int64_t at = place(plain, output.shape, indices[i]);
        if (at >= 0)
          output.as<T>()[at] = input.as<const T>()[i];
      }
    });
    return {};
  }

private:
  /// The dimensions that MaxPool's input must have had, at least.
  Status getPlainShape(const Shape &shape, Shape &result) const {
    size_t rank = shape.getRank() < 2 ? 0 : shape.getRank() - 2;
    const auto &kernel = window.getKernel(), &strides = window.getStrides(),
               &pads = window.getPads();
    if (rank == 0 || kernel.size() != rank ||
        (!strides.empty() && strides.size() != rank) ||
        (!pads.empty() && pads.size() != 2 * rank))
      return Status::error(
          "kernel_shape, strides or pads don't fit dimensions " +
          toString(shape));
    result = shape;
    for (size_t i = 0; i < rank; ++i)
      result[i + 2] = (shape[i + 2] - 1) * (strides.empty() ? 1 : strides[i]) +
                      kernel[i] - (pads.empty() ? 0 : pads[i] + pads[i + rank]);
    TensorView checked;
    checked.type = DataType::Double;
    return setShape(checked, result);
  }

  /// An index of a tensor of shape `plain` in one of another shape, -1 if it is
  /// not there.
  static int64_t place(const Shape &plain, const Shape &shape, int64_t index) {
    if (plain == shape)
      return index;
    int64_t at = 0, stride = 1;
    for (size_t i = plain.getRank(); i-- > 0;) {
      int64_t position = index % plain[i];
      index /= plain[i];
      if (position >= shape[i])
        return -1;
      at += position * stride;
      stride *= shape[i];
    }
    return at;
  }

  WindowAttributes window;
};

constexpr KernelEntry entries[] = {
    {"max_pool", create<MaxPool>},
    {"average_pool", create<SumPool<false>>},
    {"lp_pool", create<SumPool<true>>},
    {"max_unpool", create<MaxUnpool>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getPoolingKernels() {
  return {entries, std::size(entries)};
}
