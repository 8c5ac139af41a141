//===- Quantization.cpp - real numbers as small integers ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Quantization.h"

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

bool amp::runtime::getRange(DataType type, float &low, float &high) {
  auto set = [&](int bits, bool isSigned) {
    low = isSigned ? -static_cast<float>(1 << (bits - 1)) : 0;
    high = low + static_cast<float>((1 << bits) - 1);
    return true;
  };
  switch (type) {
  case DataType::Int2:
  case DataType::UInt2:
    return set(2, type == DataType::Int2);
  case DataType::Int4:
  case DataType::UInt4:
    return set(4, type == DataType::Int4);
  case DataType::Int8:
  case DataType::UInt8:
    return set(8, type == DataType::Int8);
  case DataType::Int16:
  case DataType::UInt16:
    return set(16, type == DataType::Int16);
  default:
    return false;
  }
}

void amp::runtime::quantizeElements(float *values, const float *zeroPoints,
                                    int64_t count, DataType type, void *result,
                                    const CastSettings &settings) {
  float low, high;
  if (getRange(type, low, high))
    for (int64_t i = 0; i < count; ++i) {
      float value = std::nearbyint(values[i]) + zeroPoints[i];
      value = value > low ? value : low;
      values[i] = value < high ? value : high;
    }
  else
    for (int64_t i = 0; i < count; ++i)
      values[i] += zeroPoints[i];
  convertElements(DataType::Float, values, type, result, count, settings);
}

float amp::runtime::getFloat(const TensorView &tensor, int64_t index,
                             float otherwise) {
  if (isPresent(tensor))
    convertElements(tensor.type, elementAt(tensor, index), DataType::Float,
                    &otherwise, 1);
  return otherwise;
}

Status amp::runtime::checkPerLine(const TensorView &tensor, const char *what,
                                  int64_t count) {
  int64_t elements = tensor.getElementCount();
  if (!isPresent(tensor) || elements == 1 || elements == count)
    return {};
  return Status::error(
      std::string(what) + " must have 1 " +
      (count == 1 ? "element" : "or " + std::to_string(count) + " elements") +
      ", but has " + std::to_string(elements));
}

namespace {

constexpr int64_t width = 256;

/// Which scale belongs to an element: one for all, one for each index of an
/// axis, or one for a block of those.
class Granularity {
public:
  Status resolve(const TensorView &input, const TensorView &scale, int64_t axis,
                 int64_t blockSize) {
    const Shape &shape = input.shape, &scales = scale.shape;
    if (scale.getElementCount() == 1 && blockSize == 0)
      return {};
    size_t along;
    if (Status status = resolveAxis(axis, shape.getRank(), along); !status.ok())
      return status;
    isPerTensor = false;
    extent = shape[along];
    inner = getProduct(shape, along + 1, shape.getRank());
    if (blockSize == 0) {
      if (scales != Shape{extent})
        return Status::error("scale must have one element or " +
                             std::to_string(extent) + ", but has dimensions " +
                             toString(scales));
      return {};
    }
    Shape expected = shape;
    expected[along] = blockSize < 0 ? 0 : (extent + blockSize - 1) / blockSize;
    if (blockSize < 0 || scales != expected)
      return Status::error("scale must have dimensions " + toString(expected) +
                           ", but has " + toString(scales));
    block = blockSize;
    blocks = expected[along];
    return {};
  }

  /// Reads the scales or zero points of elements [first, first + count).
  void read(const TensorView &tensor, float otherwise, int64_t first,
            int64_t count, float *values) const {
    if (isPerTensor || !isPresent(tensor)) {
      std::fill_n(values, count, getFloat(tensor, 0, otherwise));
      return;
    }
    for (int64_t i = 0; i < count;) {
      int64_t at = first + i, column = at % inner, line = at / inner;
      int64_t run = std::min(inner - column, count - i);
      if (block != 0) {
        int64_t begin =
            ((line / extent * blocks + line % extent / block) * inner) + column;
        convertElements(tensor.type, elementAt(tensor, begin), DataType::Float,
                        values + i, run);
      } else {
        std::fill_n(values + i, run, getFloat(tensor, line % extent, 0));
      }
      i += run;
    }
  }

private:
  bool isPerTensor = true;
  int64_t extent = 1, inner = 1, block = 0, blocks = 1;
};

/// What QuantizeLinear and DequantizeLinear have in common: a tensor, its
/// scales and its zero points.
class LinearKernel : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", 1);
    blockSize = attributes.getInt("block_size", 0);
    settings.saturate = attributes.getInt("saturate", 1) != 0;
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Granularity granularity;
    if (Status status =
            granularity.resolve(inputs[0], inputs[1], axis, blockSize);
        !status.ok())
      return status;
    TensorView zero = getInput(inputs, 2);
    if (isPresent(zero) &&
        zero.getElementCount() != inputs[1].getElementCount())
      return Status::error("zero point must have dimensions " +
                           toString(inputs[1].shape) + ", but has " +
                           toString(zero.shape));
    return setShape(outputs[0], inputs[0].shape);
  }

protected:
  /// Calls body(first, count, scales, zero points) for blocks of elements.
  template <typename Body>
  Status forEachBlock(const KernelArguments &arguments,
                      const Body &body) const {
    const TensorView &input = arguments.inputs[0];
    Granularity granularity;
    if (Status status =
            granularity.resolve(input, arguments.inputs[1], axis, blockSize);
        !status.ok())
      return status;
    int64_t total = input.getElementCount();
    arguments.threads->parallelFor(
        (total + width - 1) / width, getGrain(width * 8),
        [&](int64_t begin, int64_t end, unsigned) {
          float scales[width], zeroPoints[width];
          for (int64_t i = begin; i < end; ++i) {
            int64_t first = i * width, count = std::min(width, total - first);
            granularity.read(arguments.inputs[1], 1, first, count, scales);
            granularity.read(getInput(arguments.inputs, 2), 0, first, count,
                             zeroPoints);
            body(first, count, scales, zeroPoints);
          }
        });
    return {};
  }

  int64_t axis = 1, blockSize = 0;
  CastSettings settings;
};

/// The division is in float32, whatever `precision` says.
class QuantizeLinear : public LinearKernel {
public:
  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    if (!isNumeric(input.type))
      return typeError(input.type);
    return forEachBlock(arguments, [&](int64_t first, int64_t count,
                                       const float *scales,
                                       const float *zeroPoints) {
      float values[width];
      convertElements(input.type, elementAt(input, first), DataType::Float,
                      values, count);
      for (int64_t i = 0; i < count; ++i)
        values[i] /= scales[i];
      quantizeElements(values, zeroPoints, count, output.type,
                       mutableElementAt(output, first), settings);
    });
  }
};

class DequantizeLinear : public LinearKernel {
public:
  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    if (!isNumeric(input.type))
      return typeError(input.type);
    return forEachBlock(arguments, [&](int64_t first, int64_t count,
                                       const float *scales,
                                       const float *zeroPoints) {
      // float64 has all of int32.
      double exact[width];
      float values[width];
      convertElements(input.type, elementAt(input, first), DataType::Double,
                      exact, count);
      for (int64_t i = 0; i < count; ++i)
        values[i] =
            static_cast<float>(exact[i] - static_cast<double>(zeroPoints[i])) *
            scales[i];
      convertElements(DataType::Float, values, output.type,
                      mutableElementAt(output, first), count);
    });
  }
};

/// To uint8, with 0 among the numbers that are kept exactly.
class DynamicQuantizeLinear : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    for (size_t i = 0; i < outputs.size; ++i)
      if (Status status =
              setShape(outputs[i], i == 0 ? inputs[0].shape : Shape());
          !status.ok())
        return status;
    return {};
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    if (input.type != DataType::Float)
      return typeError(input.type);
    const auto *x = input.as<const float>();
    int64_t total = input.getElementCount();
    float low = 0, high = 0;
    for (int64_t i = 0; i < total; ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    float scale = low == high ? 1 : (high - low) / 255;
    float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
    if (hasOutput(arguments.outputs, 1))
      *arguments.outputs[1].as<float>() = scale;
    if (hasOutput(arguments.outputs, 2))
      *arguments.outputs[2].as<uint8_t>() = static_cast<uint8_t>(zero);
    arguments.threads->parallelFor(
        (total + width - 1) / width, getGrain(width * 8),
        [&](int64_t begin, int64_t end, unsigned) {
          float values[width], zeros[width];
          std::fill_n(zeros, width, zero);
          for (int64_t i = begin; i < end; ++i) {
            int64_t first = i * width, count = std::min(width, total - first);
            for (int64_t j = 0; j < count; ++j)
              values[j] = x[first + j] / scale;
            quantizeElements(values, zeros, count, output.type,
                             mutableElementAt(output, first));
          }
        });
    return {};
  }
};

constexpr KernelEntry entries[] = {
    {"quantize_linear", create<QuantizeLinear>},
    {"dequantize_linear", create<DequantizeLinear>},
    {"dynamic_quantize_linear", create<DynamicQuantizeLinear>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getQuantizationKernels() {
  return {entries, std::size(entries)};
}
