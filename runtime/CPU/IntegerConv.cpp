//===- IntegerConv.cpp - convolutions of quantised images -----------------===//
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
#include "CPU/Window.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

/// ConvInteger, and QLinearConv with the scales and zero points around it. The
/// padding is the zero point, which adds nothing.
template <bool isScaled> class IntegerConv : public LibraryKernel {
  // Inputs; the last four of QLinearConv's are w_zero_point, y_scale,
  // y_zero_point, B.
  static constexpr size_t weight = isScaled ? 3 : 1;
  static constexpr size_t inputZero = 2, weightZero = isScaled ? 5 : 3;

public:
  Status configure(const Attributes &attributes) {
    group = attributes.getInt("group", 1);
    if (group < 1)
      return Status::error("group must be positive, but is " +
                           std::to_string(group));
    return window.configure(attributes);
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape, &weights = inputs[weight].shape;
    if (weights.getRank() != shape.getRank() || shape.getRank() < 3 ||
        weights[1] * group != shape[1] || weights[0] % group != 0)
      return Status::error("weights of dimensions " + toString(weights) +
                           " don't fit a tensor of dimensions " +
                           toString(shape) + " in " + std::to_string(group) +
                           " groups");
    if (Status status = checkPerLine(getInput(inputs, weightZero),
                                     "w's zero point", weights[0]);
        !status.ok())
      return status;
    for (size_t i : {size_t(1), inputZero, size_t(6), size_t(7)})
      if (isScaled || i == inputZero)
        if (Status status =
                checkPerLine(getInput(inputs, i), "a scale or a zero point", 1);
            !status.ok())
          return status;
    if (isScaled) {
      if (Status status = checkPerLine(inputs[4], "w's scale", weights[0]);
          !status.ok())
        return status;
      TensorView bias = getInput(inputs, 8);
      if (isPresent(bias) && bias.shape != Shape{weights[0]})
        return Status::error("B must have dimensions " +
                             std::to_string(weights[0]) + ", but has " +
                             toString(bias.shape));
    }
    Window resolved;
    if (Status status = window.resolve(shape, resolved, weights.begin() + 2);
        !status.ok())
      return status;
    Shape result = {shape[0], weights[0]};
    for (size_t i = 0; i < resolved.rank; ++i)
      result.push_back(resolved.axes[i].output);
    return setShape(outputs[0], result);
  }

  size_t getScratchSize(Span<const TensorView>, Span<const TensorView> outputs,
                        unsigned threads) const override {
    const Shape &shape = outputs[0].shape;
    return threads * 3 * sizeof(float) *
           static_cast<size_t>(shape[shape.getRank() - 1]);
  }

  Status run(const KernelArguments &arguments) const override {
    Span<const TensorView> inputs = arguments.inputs;
    const TensorView &input = inputs[0], &output = arguments.outputs[0];
    for (size_t i : {size_t(0), weight})
      if (inputs[i].type != DataType::Int8 && inputs[i].type != DataType::UInt8)
        return typeError(inputs[i].type);
    Window resolved;
    if (Status status = window.resolve(input.shape, resolved,
                                       inputs[weight].shape.begin() + 2);
        !status.ok())
      return status;
    if (output.getElementCount() == 0)
      return {};
    const ByteTable<int32_t> inputTable(input.type),
        weightTable(inputs[weight].type);
    int64_t width = resolved.axes[resolved.rank - 1].output;
    int64_t rows = resolved.getOutputSize() / width;
    int64_t perGroup = inputs[weight].shape[1];
    arguments.threads->parallelFor(
        output.shape[0] * output.shape[1] * rows,
        getGrain(width * perGroup * resolved.getKernelSize()),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *sums = static_cast<int32_t *>(arguments.scratch) +
                       3 * width * static_cast<int64_t>(thread);
          for (int64_t i = begin; i < end; ++i) {
            int64_t channel = i / rows % output.shape[1];
            addRow(inputs, resolved, inputTable, weightTable,
                   i / rows / output.shape[1], channel, i % rows, sums);
            if (isScaled)
              writeScaled(inputs, channel, sums, width, output, i * width);
            else
              convertElements(DataType::Int32, sums, output.type,
                              mutableElementAt(output, i * width), width);
          }
        });
    return {};
  }

private:
  /// Zero points or scales of channels; a single one is for all.
  static float get(const TensorView &tensor, int64_t index, float otherwise) {
    return getFloat(tensor, std::min(index, tensor.getElementCount() - 1),
                    otherwise);
  }

  void addRow(Span<const TensorView> inputs, const Window &resolved,
              const ByteTable<int32_t> &inputTable,
              const ByteTable<int32_t> &weightTable, int64_t item,
              int64_t channel, int64_t row, int32_t *sums) const {
    const TensorView &weights = inputs[weight];
    const WindowAxis &last = resolved.axes[resolved.rank - 1];
    int64_t perGroup = weights.shape[1];
    int64_t first = item * inputs[0].shape[1] +
                    channel / (weights.shape[0] / group) * perGroup;
    auto zeroOfInput =
        static_cast<int32_t>(getFloat(getInput(inputs, inputZero), 0, 0));
    auto zeroOfWeight =
        static_cast<int32_t>(get(getInput(inputs, weightZero), channel, 0));
    std::fill_n(sums, last.output, 0);
    for (int64_t c = 0; c < perGroup; ++c) {
      auto *plane =
          inputs[0].as<const uint8_t>() + (first + c) * resolved.getInputSize();
      auto *kernel = weights.as<const uint8_t>() +
                     (channel * perGroup + c) * resolved.getKernelSize();
      resolved.forEachRow(row, [&](int64_t inputRow, int64_t kernelRow) {
        const uint8_t *from = plane + inputRow * last.input;
        for (int64_t offset = 0; offset < last.kernel; ++offset) {
          int64_t begin, end;
          last.getValidOutputs(offset, begin, end);
          int32_t w =
              weightTable.values[kernel[kernelRow * last.kernel + offset]] -
              zeroOfWeight;
          for (int64_t i = begin; i < end; ++i) {
            int32_t x =
                inputTable.values[from[last.getInput(i, offset)]] - zeroOfInput;
            // Wraps around.
            sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) +
                                           static_cast<uint32_t>(w * x));
          }
        }
      });
    }
  }

  static void writeScaled(Span<const TensorView> inputs, int64_t channel,
                          int32_t *sums, int64_t width,
                          const TensorView &output, int64_t first) {
    auto *values = reinterpret_cast<float *>(sums + width);
    float *zeros = values + width;
    TensorView bias = getInput(inputs, 8);
    int32_t added = isPresent(bias) ? bias.as<const int32_t>()[channel] : 0;
    float scale = getFloat(inputs[1], 0, 1) * get(inputs[4], channel, 1) /
                  getFloat(inputs[6], 0, 1);
    std::fill_n(zeros, width, getFloat(inputs[7], 0, 0));
    for (int64_t i = 0; i < width; ++i)
      values[i] =
          static_cast<float>(static_cast<int64_t>(sums[i]) + added) * scale;
    quantizeElements(values, zeros, width, output.type,
                     mutableElementAt(output, first));
  }

  WindowAttributes window;
  int64_t group = 1;
};

constexpr KernelEntry entries[] = {
    {"conv_integer", create<IntegerConv<false>>},
    {"qlinear_conv", create<IntegerConv<true>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getIntegerConvKernels() {
  return {entries, std::size(entries)};
}
