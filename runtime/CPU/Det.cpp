//===- Det.cpp - determinants ---------------------------------------------===//
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

using namespace amp::runtime;

namespace {

/// By elimination with pivots; overwrites the matrix.
double eliminate(double *matrix, int64_t size) {
  double result = 1;
  for (int64_t i = 0; i < size; ++i) {
    int64_t pivot = i;
    for (int64_t j = i + 1; j < size; ++j)
      if (std::fabs(matrix[j * size + i]) > std::fabs(matrix[pivot * size + i]))
        pivot = j;
    if (pivot != i) {
      std::swap_ranges(matrix + i * size, matrix + (i + 1) * size,
                       matrix + pivot * size);
      result = -result;
    }
    double head = matrix[i * size + i];
    result *= head;
    if (head == 0)
      return 0;
    for (int64_t j = i + 1; j < size; ++j) {
      double factor = matrix[j * size + i] / head;
      for (int64_t k = i + 1; k < size; ++k)
        matrix[j * size + k] -= factor * matrix[i * size + k];
    }
  }
  return result;
}

class Det : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    size_t rank = shape.getRank();
    if (rank < 2 || shape[rank - 1] != shape[rank - 2])
      return Status::error("expects square matrices, but got dimensions " +
                           toString(shape));
    return setShape(outputs[0], shape.begin(), rank - 2);
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    auto size = static_cast<size_t>(inputs[0].shape.end()[-1]);
    return threads * size * size * sizeof(double);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    int64_t size = input.shape.end()[-1];
    if (!visitType(FloatTypes(), input.type, [](auto) {}))
      return typeError(input.type);
    arguments.threads->parallelFor(
        output.getElementCount(), getGrain(size * size * size),
        [&](int64_t begin, int64_t end, unsigned thread) {
          double *matrix = static_cast<double *>(arguments.scratch) +
                           size * size * static_cast<int64_t>(thread);
          for (int64_t i = begin; i < end; ++i) {
            convertElements(input.type, elementAt(input, i * size * size),
                            DataType::Double, matrix, size * size);
            double result = eliminate(matrix, size);
            convertElements(DataType::Double, &result, output.type,
                            mutableElementAt(output, i), 1);
          }
        });
    return {};
  }
};

constexpr KernelEntry entries[] = {{"det", create<Det>}};

} // namespace

Span<const KernelEntry> amp::runtime::getDetKernels() {
  return {entries, std::size(entries)};
}
