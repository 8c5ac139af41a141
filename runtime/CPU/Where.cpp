//===- Where.cpp - choices between operands -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elementwise.h"
#include "CPU/Grain.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <limits>

using namespace amp::runtime;

namespace {

/// Elements of any type, by their size: all three operands are walked along.
class Where : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return inferElementwise(inputs, outputs);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &output = arguments.outputs[0];
    const Shape &shape = output.shape;
    size_t rank = shape.getRank();
    int64_t row = rank == 0 ? 1 : shape[rank - 1];
    int64_t rows = row == 0 ? 0 : output.getElementCount() / row;
    visitSize(output.type, [&](auto element) {
      using T = decltype(element);
      arguments.threads->parallelFor(
          rows, getGrain(row * static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              // Where each operand is, and its step along the row.
              int64_t at[3], step[3];
              for (size_t j = 0; j < 3; ++j)
                locate(arguments.inputs[j].shape, shape, i, at[j], step[j]);
              auto *c = arguments.inputs[0].as<const uint8_t>() + at[0];
              auto *x = arguments.inputs[1].as<const T>() + at[1];
              auto *y = arguments.inputs[2].as<const T>() + at[2];
              T *to = output.as<T>() + i * row;
              for (int64_t j = 0; j < row; ++j)
                to[j] = c[j * step[0]] ? x[j * step[1]] : y[j * step[2]];
            }
          });
    });
    return {};
  }

private:
  static void locate(const Shape &operand, const Shape &shape, int64_t row,
                     int64_t &at, int64_t &step) {
    auto strides = getStrides(operand);
    size_t rank = shape.getRank(), missing = rank - operand.getRank();
    auto stride = [&](size_t axis) {
      return axis < missing || operand[axis - missing] == 1
                 ? 0
                 : strides[axis - missing];
    };
    at = 0;
    step = rank == 0 ? 0 : stride(rank - 1);
    for (size_t axis = rank; axis-- > 1;) {
      at += row % shape[axis - 1] * stride(axis - 1);
      row /= shape[axis - 1];
    }
  }
};

struct Clamp : NoParameters {
  template <typename T> static T apply(T x, T low, T high, const double *) {
    T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};

/// Without a bound there is none: infinities and NaN stay.
class Clip : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = getComputeType(arguments.inputs[0].type);
    ElementwiseRun run = {nullptr, 3, type, type,
                          getLoop<Clamp, 3, ComputedNumbers>(type)};
    if (!run.loop)
      return typeError(arguments.inputs[0].type);
    TensorView operands[] = {arguments.inputs[0], getInput(arguments.inputs, 1),
                             getInput(arguments.inputs, 2)};
    alignas(8) char bounds[2][8];
    visitType(ComputedNumbers(), type, [&](auto element) {
      using T = decltype(element);
      using Limits = std::numeric_limits<T>;
      bool isFloat = Limits::has_infinity;
      *reinterpret_cast<T *>(bounds[0]) =
          isFloat ? -Limits::infinity() : Limits::lowest();
      *reinterpret_cast<T *>(bounds[1]) =
          isFloat ? Limits::infinity() : Limits::max();
    });
    for (size_t i = 1; i < 3; ++i)
      if (!isPresent(operands[i]))
        operands[i] = {bounds[i - 1], type, Shape()};
    run.operands = operands;
    runElementwise(run, arguments.outputs[0], *arguments.threads);
    return {};
  }
};

constexpr KernelEntry entries[] = {
    {"where", create<Where>},
    {"clip", create<Clip>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getWhereKernels() {
  return {entries, std::size(entries)};
}
