//===- IntegerMatMul.cpp - products of quantised matrices -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Quantization.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <tuple>

using namespace amp::runtime;

namespace {

/// Operands as stacks of matrices, as NumPy's matmul sees them.
struct Stacks {
  Shape batch, leftBatch, rightBatch, result;
  int64_t rows = 1, inner = 1, columns = 1;

  Status resolve(const Shape &left, const Shape &right) {
    size_t leftRank = left.getRank(), rightRank = right.getRank();
    if (leftRank == 0 || rightRank == 0)
      return Status::error("expects operands of rank 1 at least");
    for (size_t i = 0; i + 2 < leftRank; ++i)
      leftBatch.push_back(left[i]);
    for (size_t i = 0; i + 2 < rightRank; ++i)
      rightBatch.push_back(right[i]);
    rows = leftRank == 1 ? 1 : left[leftRank - 2];
    inner = left[leftRank - 1];
    columns = rightRank == 1 ? 1 : right[rightRank - 1];
    if (inner != right[rightRank == 1 ? 0 : rightRank - 2])
      return Status::error("cannot multiply " + toString(left) + " with " +
                           toString(right));
    batch = leftBatch;
    if (Status status = broadcast(rightBatch, batch); !status.ok())
      return status;
    result = batch;
    if (leftRank > 1)
      result.push_back(rows);
    if (rightRank > 1)
      result.push_back(columns);
    return {};
  }
};

/// Sums of int32 wrap around.
inline int32_t add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) +
                              static_cast<uint32_t>(b));
}
inline double add(double a, double b) { return a + b; }

/// The products of a row and a matrix.
template <typename Number>
void multiplyRow(const uint8_t *row, const ByteTable<Number> &left,
                 Number leftZero, const uint8_t *matrix,
                 const ByteTable<Number> &right, const Number *rightZeros,
                 int64_t inner, int64_t columns, Number *sums) {
  std::fill_n(sums, columns, Number(0));
  for (int64_t i = 0; i < inner; ++i) {
    Number x = left.values[row[i]] - leftZero;
    const uint8_t *y = matrix + i * columns;
    for (int64_t j = 0; j < columns; ++j)
      sums[j] = add(sums[j], x * (right.values[y[j]] - rightZeros[j]));
  }
}

/// MatMulInteger, and QLinearMatMul with the scales and zero points around it.
template <bool isScaled> class IntegerMatMul : public LibraryKernel {
  // Inputs.
  static constexpr size_t right = isScaled ? 3 : 1;
  static constexpr size_t leftZero = 2, rightZero = isScaled ? 5 : 3;

public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Stacks stacks;
    if (Status status = stacks.resolve(inputs[0].shape, inputs[right].shape);
        !status.ok())
      return status;
    const std::tuple<size_t, const char *, int64_t> perLine[] = {
        {leftZero, "a's zero point", stacks.rows},
        {rightZero, "b's zero point", stacks.columns},
        {isScaled ? 1 : leftZero, "a's scale", stacks.rows},
        {isScaled ? 4 : rightZero, "b's scale", stacks.columns}};
    for (auto [index, what, count] : perLine)
      if (Status status = checkPerLine(getInput(inputs, index), what, count);
          !status.ok())
        return status;
    for (size_t i = 6; isScaled && i < 8; ++i)
      if (Status status = checkPerLine(inputs[i], "y's scale or zero point", 1);
          !status.ok())
        return status;
    return setShape(outputs[0], stacks.result);
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    Stacks stacks;
    if (!stacks.resolve(inputs[0].shape, inputs[right].shape).ok())
      return 0;
    // Sums, right zero points and the row as float.
    return sizeof(double) * static_cast<size_t>(stacks.columns) *
           (1 + 2 * threads);
  }

  Status run(const KernelArguments &arguments) const override {
    for (size_t i : {size_t(0), right}) {
      DataType type = arguments.inputs[i].type;
      if (getByteSize(type) != 1 || !isNumeric(type))
        return typeError(type);
    }
    float low, high;
    // Integers of 8 bits have exact sums in 32 bits, wrapping around as ONNX
    // has it; small floats get float64's.
    if (getRange(arguments.inputs[0].type, low, high))
      runAs<int32_t>(arguments);
    else
      runAs<double>(arguments);
    return {};
  }

private:
  /// Zero points or scales of lines; the last one of a shorter list is for all.
  template <typename Number>
  static Number get(const TensorView &tensor, int64_t index, float otherwise) {
    return static_cast<Number>(getFloat(
        tensor, std::min(index, tensor.getElementCount() - 1), otherwise));
  }

  template <typename Number>
  void runAs(const KernelArguments &arguments) const {
    Span<const TensorView> inputs = arguments.inputs;
    const TensorView &a = inputs[0], &b = inputs[right],
                     &output = arguments.outputs[0];
    Stacks stacks;
    if (!stacks.resolve(a.shape, b.shape).ok())
      return;
    int64_t rows = stacks.rows, inner = stacks.inner, columns = stacks.columns;
    const ByteTable<Number> leftTable(a.type), rightTable(b.type);
    auto *memory = static_cast<double *>(arguments.scratch);
    auto *rightZeros = reinterpret_cast<Number *>(memory);
    for (int64_t j = 0; j < columns; ++j)
      rightZeros[j] = get<Number>(getInput(inputs, rightZero), j, 0);
    arguments.threads->parallelFor(
        stacks.batch.getElementCount() * rows, getGrain(inner * columns),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *sums = reinterpret_cast<Number *>(
              memory + columns * (1 + 2 * static_cast<int64_t>(thread)));
          auto *values = reinterpret_cast<float *>(sums + columns);
          for (int64_t i = begin; i < end; ++i) {
            int64_t stack = i / rows, row = i % rows;
            int64_t left =
                getOperandIndex(stacks.leftBatch, stacks.batch, stack);
            int64_t matrix =
                getOperandIndex(stacks.rightBatch, stacks.batch, stack);
            multiplyRow(a.as<const uint8_t>() + (left * rows + row) * inner,
                        leftTable,
                        get<Number>(getInput(inputs, leftZero), row, 0),
                        b.as<const uint8_t>() + matrix * inner * columns,
                        rightTable, rightZeros, inner, columns, sums);
            if constexpr (isScaled)
              writeScaled(inputs, row, sums, values, columns, output,
                          i * columns);
            else
              convertElements(dataTypeOf<Number>, sums, output.type,
                              mutableElementAt(output, i * columns), columns);
          }
        });
  }

  template <typename Number>
  static void writeScaled(Span<const TensorView> inputs, int64_t row,
                          const Number *sums, float *values, int64_t columns,
                          const TensorView &output, int64_t first) {
    float rowScale = get<float>(inputs[1], row, 1) / getFloat(inputs[6], 0, 1);
    float zero = getFloat(inputs[7], 0, 0);
    constexpr int64_t width = 64;
    float zeros[width];
    std::fill_n(zeros, width, zero);
    for (int64_t j = 0; j < columns; ++j)
      values[j] = static_cast<float>(sums[j]) *
                  (rowScale * get<float>(inputs[4], j, 1));
    for (int64_t j = 0; j < columns; j += width)
      quantizeElements(values + j, zeros, std::min(width, columns - j),
                       output.type, mutableElementAt(output, first + j));
  }
};

constexpr KernelEntry entries[] = {
    {"matmul_integer", create<IntegerMatMul<false>>},
    {"qlinear_matmul", create<IntegerMatMul<true>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getIntegerMatMulKernels() {
  return {entries, std::size(entries)};
}
