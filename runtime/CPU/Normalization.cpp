//===- Normalization.cpp - rows of zero mean and unit variance ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LaneSums.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

namespace {

/// An element of a float tensor as float64.
double getReal(const TensorView &tensor, int64_t index) {
  double value;
  convertElements(tensor.type, elementAt(tensor, index), DataType::Double,
                  &value, 1);
  return value;
}

struct Statistics {
  double mean = 0, variance = 0;
};

/// Two passes: the square of the mean is not taken from that of the elements.
template <typename C>
Statistics measure(const C *row, int64_t count, bool isCentered) {
  Statistics statistics;
  auto n = static_cast<double>(count);
  if (!isCentered)
    statistics.mean = sumLanes(count, [row](int64_t i) { return row[i]; }) / n;
  statistics.variance =
      sumLanes(count,
               [row, &statistics](int64_t i) {
                 double distance =
                     static_cast<double>(row[i]) - statistics.mean;
                 return distance * distance;
               }) /
      n;
  return statistics;
}

/// A scale or a bias, row by row, in the type computed in. All rows are the
/// same if it has as many axes as a row at most.
template <typename C> class RowOperand {
public:
  RowOperand(const TensorView &operand, const Shape &whole, size_t axis)
      : operand(operand), whole(whole) {
    size_t rank = whole.getRank();
    width = getProduct(whole, axis, rank);
    isDense = operand.shape.getRank() <= rank - axis &&
              operand.getElementCount() == width;
  }

  /// Writes a row to `values`, which has the row before it unless this is the
  /// first one.
  void read(int64_t row, bool isFirst, C *values) const {
    if (isDense && isFirst)
      convertElements(operand.type, operand.data, dataTypeOf<C>, values, width);
    for (int64_t i = 0; !isDense && i < width; ++i)
      convertElements(operand.type,
                      elementAt(operand, getOperandIndex(operand.shape, whole,
                                                         row * width + i)),
                      dataTypeOf<C>, values + i, 1);
  }

private:
  const TensorView &operand;
  const Shape &whole;
  int64_t width;
  bool isDense;
};

/// LayerNormalization, and RMSNormalization, which takes the mean for 0. All in
/// float32, or float64 for double, with one rounding, whatever stash_type says.
template <bool isRMS> class RowNormalization : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axis = attributes.getInt("axis", -1);
    epsilon = attributes.getFloat("epsilon", 1e-5f);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    size_t first;
    if (Status status = resolveAxis(axis, shape.getRank(), first); !status.ok())
      return status;
    for (size_t i = 1; i < inputs.size; ++i) {
      Shape whole = shape;
      if (isPresent(inputs[i]) &&
          (!broadcast(inputs[i].shape, whole).ok() || whole != shape))
        return Status::error("cannot broadcast " + toString(inputs[i].shape) +
                             " to " + toString(shape));
    }
    Shape reduced = shape;
    for (size_t i = first; i < shape.getRank(); ++i)
      reduced[i] = 1;
    for (size_t i = 0; i < outputs.size; ++i)
      if (Status status = setShape(outputs[i], i == 0 ? shape : reduced);
          !status.ok())
        return status;
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    size_t first, rank = inputs[0].shape.getRank();
    if (!resolveAxis(axis, rank, first).ok())
      return 0;
    return threads * sizeof(double) * 3 *
           static_cast<size_t>(getProduct(inputs[0].shape, first, rank));
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = arguments.inputs[0].type;
    if (type == DataType::Double)
      return runAs<double>(arguments);
    if (visitType(FloatTypes(), type, [](auto) {}))
      return runAs<float>(arguments);
    return typeError(type);
  }

private:
  template <typename C> Status runAs(const KernelArguments &arguments) const {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const Shape &shape = input.shape;
    size_t first, rank = shape.getRank();
    if (Status status = resolveAxis(axis, rank, first); !status.ok())
      return status;
    int64_t width = getProduct(shape, first, rank);
    int64_t rows = getProduct(shape, 0, first);
    TensorView bias = getInput(arguments.inputs, 2);
    RowOperand<C> scale(arguments.inputs[1], shape, first);
    arguments.threads->parallelFor(
        rows, getGrain(32 * width),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *row = reinterpret_cast<C *>(
              static_cast<double *>(arguments.scratch) + 3 * thread * width);
          C *scales = row + width, *biases = scales + width;
          for (int64_t i = begin; i < end; ++i) {
            convertElements(input.type, elementAt(input, i * width),
                            dataTypeOf<C>, row, width);
            scale.read(i, i == begin, scales);
            if (isPresent(bias))
              RowOperand<C>(bias, shape, first).read(i, i == begin, biases);
            else if (i == begin)
              std::fill_n(biases, width, C(0));
            Statistics statistics = measure(row, width, isRMS);
            double inverse = 1 / std::sqrt(statistics.variance + epsilon);
            auto mean = static_cast<C>(statistics.mean);
            auto factor = static_cast<C>(inverse);
            for (int64_t j = 0; j < width; ++j)
              row[j] = (row[j] - mean) * factor * scales[j] + biases[j];
            convertElements(dataTypeOf<C>, row, output.type,
                            mutableElementAt(output, i * width), width);
            const double results[] = {statistics.mean, inverse};
            for (size_t j = 1; j < 3; ++j)
              if (hasOutput(arguments.outputs, j))
                convertElements(DataType::Double, &results[j - 1],
                                arguments.outputs[j].type,
                                mutableElementAt(arguments.outputs[j], i), 1);
          }
        });
    return {};
  }

  int64_t axis = -1;
  double epsilon = 1e-5;
};

/// InstanceNormalization, and GroupNormalization for other numbers of groups
/// than of channels: N x C x D1 x D2 …, with a scale and a bias for a channel.
template <bool hasGroups> class GroupNormalization : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    epsilon = attributes.getFloat("epsilon", 1e-5f);
    groups = attributes.getInt("num_groups", 0);
    if (hasGroups && groups < 1)
      return Status::error("num_groups must be positive, but is " +
                           std::to_string(groups));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    if (shape.getRank() < 2)
      return Status::error("expects at least rank 2, but got dimensions " +
                           toString(shape));
    if (hasGroups && shape[1] % groups != 0)
      return Status::error(std::to_string(shape[1]) + " channels don't make " +
                           std::to_string(groups) + " equal groups");
    for (size_t i = 1; i < 3; ++i)
      if (inputs[i].shape != Shape{shape[1]})
        return Status::error(
            "scale and bias must have " + std::to_string(shape[1]) +
            " elements, but got dimensions " + toString(inputs[i].shape));
    return setShape(outputs[0], shape);
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    return threads * sizeof(double) *
           static_cast<size_t>(getWidth(inputs[0].shape));
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = arguments.inputs[0].type;
    if (type == DataType::Double)
      return runAs<double>(arguments);
    if (visitType(FloatTypes(), type, [](auto) {}))
      return runAs<float>(arguments);
    return typeError(type);
  }

private:
  int64_t getGroups(const Shape &shape) const {
    return hasGroups ? groups : shape[1];
  }
  int64_t getWidth(const Shape &shape) const {
    int64_t count = getGroups(shape);
    return count == 0 ? 0 : getProduct(shape, 1, shape.getRank()) / count;
  }

  template <typename C> Status runAs(const KernelArguments &arguments) const {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const Shape &shape = input.shape;
    int64_t width = getWidth(shape), perRow = getGroups(shape);
    int64_t pixels = getProduct(shape, 2, shape.getRank());
    int64_t channels = perRow == 0 ? 0 : shape[1] / perRow;
    if (input.getElementCount() == 0)
      return {};
    arguments.threads->parallelFor(
        shape[0] * perRow, getGrain(32 * width),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *row = reinterpret_cast<C *>(
              static_cast<double *>(arguments.scratch) + thread * width);
          for (int64_t i = begin; i < end; ++i) {
            convertElements(input.type, elementAt(input, i * width),
                            dataTypeOf<C>, row, width);
            Statistics statistics = measure(row, width, false);
            double inverse = 1 / std::sqrt(statistics.variance + epsilon);
            auto mean = static_cast<C>(statistics.mean);
            for (int64_t c = 0; c < channels; ++c) {
              int64_t channel = i % perRow * channels + c;
              auto factor = static_cast<C>(
                  inverse * getReal(arguments.inputs[1], channel));
              auto bias = static_cast<C>(getReal(arguments.inputs[2], channel));
              C *pixel = row + c * pixels;
              for (int64_t j = 0; j < pixels; ++j)
                pixel[j] = (pixel[j] - mean) * factor + bias;
            }
            convertElements(dataTypeOf<C>, row, output.type,
                            mutableElementAt(output, i * width), width);
          }
        });
    return {};
  }

  double epsilon = 1e-5;
  int64_t groups = 0;
};

/// With running statistics, or those of the batch, which then move the running
/// ones.
class BatchNormalization : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    epsilon = attributes.getFloat("epsilon", 1e-5f);
    momentum = attributes.getFloat("momentum", 0.9f);
    isTraining = attributes.getInt("training_mode", 0) != 0;
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    int64_t channels = shape.getRank() < 2 ? 1 : shape[1];
    for (size_t i = 1; i < 5; ++i)
      if (inputs[i].shape != Shape{channels})
        return Status::error("scale, bias, mean and variance must have " +
                             std::to_string(channels) +
                             " elements, but got dimensions " +
                             toString(inputs[i].shape));
    for (size_t i = 0; i < outputs.size; ++i)
      if (Status status =
              setShape(outputs[i], i == 0 ? shape : Shape{channels});
          !status.ok())
        return status;
    return {};
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const Shape &shape = input.shape;
    if (!visitType(FloatTypes(), input.type, [](auto) {}))
      return typeError(input.type);
    int64_t channels = shape.getRank() < 2 ? 1 : shape[1];
    int64_t batch = shape.getRank() == 0 ? 1 : shape[0];
    int64_t pixels =
        shape.getRank() < 2 ? 1 : getProduct(shape, 2, shape.getRank());
    arguments.threads->parallelFor(
        channels, getGrain(16 * batch * pixels),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t c = begin; c < end; ++c) {
            Statistics statistics = {getReal(arguments.inputs[3], c),
                                     getReal(arguments.inputs[4], c)};
            if (isTraining)
              moveStatistics(arguments, c, channels, batch, pixels, statistics);
            double factor = getReal(arguments.inputs[1], c) /
                            std::sqrt(statistics.variance + epsilon);
            double bias = getReal(arguments.inputs[2], c);
            for (int64_t n = 0; n < batch; ++n)
              forEachBlock(
                  input, (n * channels + c) * pixels, pixels,
                  [&](double *block, int64_t at, int64_t count) {
                    for (int64_t i = 0; i < count; ++i)
                      block[i] = (block[i] - statistics.mean) * factor + bias;
                    convertElements(DataType::Double, block, output.type,
                                    mutableElementAt(output, at), count);
                  });
          }
        });
    return {};
  }

private:
  /// Calls body(values, index, count) for elements [first, first + count).
  template <typename Body>
  static void forEachBlock(const TensorView &tensor, int64_t first,
                           int64_t count, const Body &body) {
    constexpr int64_t size = 512;
    double block[size];
    for (int64_t i = 0; i < count; i += size) {
      int64_t n = std::min(size, count - i);
      convertElements(tensor.type, elementAt(tensor, first + i),
                      DataType::Double, block, n);
      body(block, first + i, n);
    }
  }

  /// Those of the batch instead of the running ones, which go on.
  void moveStatistics(const KernelArguments &arguments, int64_t channel,
                      int64_t channels, int64_t batch, int64_t pixels,
                      Statistics &statistics) const {
    Statistics ofBatch;
    auto count = static_cast<double>(batch * pixels);
    for (bool second : {false, true}) {
      double &sum = second ? ofBatch.variance : ofBatch.mean;
      for (int64_t n = 0; n < batch; ++n)
        forEachBlock(arguments.inputs[0], (n * channels + channel) * pixels,
                     pixels, [&](double *block, int64_t, int64_t size) {
                       for (int64_t i = 0; i < size; ++i) {
                         double distance = block[i] - ofBatch.mean;
                         sum += second ? distance * distance : block[i];
                       }
                     });
      sum /= count;
    }
    const double moved[] = {
        statistics.mean * momentum + ofBatch.mean * (1 - momentum),
        statistics.variance * momentum + ofBatch.variance * (1 - momentum)};
    for (size_t i = 1; i < 3; ++i)
      if (hasOutput(arguments.outputs, i))
        convertElements(DataType::Double, &moved[i - 1],
                        arguments.outputs[i].type,
                        mutableElementAt(arguments.outputs[i], channel), 1);
    statistics = ofBatch;
  }

  double epsilon = 1e-5, momentum = 0.9;
  bool isTraining = false;
};

constexpr KernelEntry entries[] = {
    {"layer_normalization", create<RowNormalization<false>>},
    {"rms_normalization", create<RowNormalization<true>>},
    {"instance_normalization", create<GroupNormalization<false>>},
    {"group_normalization", create<GroupNormalization<true>>},
    {"batch_normalization", create<BatchNormalization>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getNormalizationKernels() {
  return {entries, std::size(entries)};
}
