//===- Random.cpp - random tensors ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers depend on the seed (0 without one), the attribute `stream`, which the
// compiler sets to tell nodes apart, and the step: an integer that comes as one
// more input behind ONNX's. Kernels keep nothing between runs, so that without
// a step each run draws the same.
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"
#include "kernels/Philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace amp::runtime;

namespace {

/// What all kernels of this file know of randomness.
class RandomKernel : public LibraryKernel {
protected:
  void readSeed(const Attributes &attributes) {
    auto value = static_cast<float>(attributes.getFloat("seed", 0));
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    seed = bits;
    stream = static_cast<uint32_t>(attributes.getInt("stream", 0));
  }

  /// `index` is the position of the optional step among the inputs.
  Philox makeNumbers(Span<const TensorView> inputs, size_t index) const {
    uint64_t step = 0;
    if (hasInput(inputs, index))
      convertElements(inputs[index].type, inputs[index].data, DataType::UInt64,
                      &step, 1);
    return Philox(seed, stream, step);
  }

  uint64_t seed = 0;
  uint32_t stream = 0;
};

/// In [0, 1), of 32 bits.
double toFraction(uint32_t word) { return word * 0x1p-32; }

/// Calls draw(words, values) for each block of four elements and writes the
/// values, float64 each, as elements of the output.
template <typename Draw>
void fillBlocks(const TensorView &output, ThreadPool &threads,
                const Philox &numbers, const Draw &draw) {
  int64_t count = output.getElementCount(), blocks = (count + 3) / 4;
  threads.parallelFor(blocks, getGrain(256),
                      [&](int64_t begin, int64_t end, unsigned) {
                        for (int64_t i = begin; i < end; ++i) {
                          double values[4];
                          draw(numbers(static_cast<uint32_t>(i)), values);
                          convertElements(DataType::Double, values, output.type,
                                          mutableElementAt(output, 4 * i),
                                          std::min<int64_t>(4, count - 4 * i));
                        }
                      });
}

/// RandomNormal and RandomUniform, of a shape or that of an input.
template <bool isNormal, bool isLike> class RandomTensor : public RandomKernel {
public:
  Status configure(const Attributes &attributes) {
    readSeed(attributes);
    shape = attributes.getInts("shape");
    first = attributes.getFloat(isNormal ? "mean" : "low", 0);
    second = attributes.getFloat(isNormal ? "scale" : "high", 1);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (isLike)
      return setShape(outputs[0], inputs[0].shape);
    return setShape(outputs[0], shape.data(), shape.size());
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &output = arguments.outputs[0];
    if (!visitType(FloatTypes(), output.type, [](auto) {}))
      return typeError(output.type);
    Philox numbers = makeNumbers(arguments.inputs, isLike ? 1 : 0);
    fillBlocks(output, *arguments.threads, numbers,
               [this](const Philox::Words &words, double *values) {
                 for (size_t i = 0; i < 4; i += isNormal ? 2 : 1) {
                   if (!isNormal) {
                     // 24 bits stay below 1 in float32.
                     values[i] =
                         first + (second - first) * ((words[i] >> 8) * 0x1p-24);
                     continue;
                   }
                   // Box and Muller's; the logarithm is not of 0.
                   double radius =
                       std::sqrt(-2 * std::log(toFraction(words[i]) + 0x1p-32));
                   double angle =
                       6.28318530717958647693 * toFraction(words[i + 1]);
                   values[i] = first + second * radius * std::cos(angle);
                   values[i + 1] = first + second * radius * std::sin(angle);
                 }
               });
    return {};
  }

private:
  std::vector<int64_t> shape;
  double first, second;
};

class Bernoulli : public RandomKernel {
public:
  Status configure(const Attributes &attributes) {
    readSeed(attributes);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    Philox numbers = makeNumbers(arguments.inputs, 1);
    int64_t count = input.getElementCount();
    arguments.threads->parallelFor(
        (count + 3) / 4, getGrain(256),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            Philox::Words words = numbers(static_cast<uint32_t>(i));
            double probabilities[4];
            uint8_t drawn[4];
            int64_t size = std::min<int64_t>(4, count - 4 * i);
            convertElements(input.type, elementAt(input, 4 * i),
                            DataType::Double, probabilities, size);
            for (int64_t j = 0; j < size; ++j)
              drawn[j] =
                  toFraction(words[static_cast<size_t>(j)]) < probabilities[j];
            convertElements(DataType::Bool, drawn, output.type,
                            mutableElementAt(output, 4 * i), size);
          }
        });
    return {};
  }
};

/// Classes drawn by their unnormalised log-probabilities, with replacement.
class Multinomial : public RandomKernel {
public:
  Status configure(const Attributes &attributes) {
    readSeed(attributes);
    samples = attributes.getInt("sample_size", 1);
    if (samples < 1)
      return Status::error("sample_size must be positive, but is " +
                           std::to_string(samples));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    if (shape.getRank() != 2 || shape[1] == 0)
      return Status::error("expects a matrix with at least one class, but got "
                           "dimensions " +
                           toString(shape));
    return setShape(outputs[0], {shape[0], samples});
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    return threads * static_cast<size_t>(inputs[0].shape[1]) * sizeof(double);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    Philox numbers = makeNumbers(arguments.inputs, 1);
    int64_t classes = input.shape[1];
    arguments.threads->parallelFor(
        input.shape[0], getGrain(64 * (classes + samples)),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *sums =
              static_cast<double *>(arguments.scratch) + thread * classes;
          for (int64_t i = begin; i < end; ++i) {
            convertElements(input.type, elementAt(input, i * classes),
                            DataType::Double, sums, classes);
            double largest = *std::max_element(sums, sums + classes), sum = 0;
            for (int64_t j = 0; j < classes; ++j)
              sums[j] = sum += std::exp(sums[j] - largest);
            for (int64_t j = 0; j < samples; ++j) {
              int64_t draw = i * samples + j;
              uint32_t word = numbers(static_cast<uint32_t>(
                  draw / 4))[static_cast<size_t>(draw % 4)];
              int64_t drawn = std::upper_bound(sums, sums + classes,
                                               toFraction(word) * sum) -
                              sums;
              drawn = std::min(drawn, classes - 1);
              convertElements(DataType::Int64, &drawn, output.type,
                              mutableElementAt(output, draw), 1);
            }
          }
        });
    return {};
  }

private:
  int64_t samples = 1;
};

/// The mask is what passes/Training draws: eight draws of 16 bits from a
/// block, the upper halves of its words, then the lower ones, each for an n-th
/// of the elements if there are n blocks.
class Dropout : public RandomKernel {
public:
  Status configure(const Attributes &attributes) {
    seed = static_cast<uint64_t>(attributes.getInt("seed", 0));
    stream = static_cast<uint32_t>(attributes.getInt("stream", 0));
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    for (TensorView &output : outputs)
      if (Status status = setShape(output, inputs[0].shape); !status.ok())
        return status;
    return {};
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    bool isTraining = hasInput(arguments.inputs, 2) &&
                      *arguments.inputs[2].as<const uint8_t>() != 0;
    double ratio = 0.5;
    if (hasInput(arguments.inputs, 1))
      convertElements(arguments.inputs[1].type, arguments.inputs[1].data,
                      DataType::Double, &ratio, 1);
    if (!(ratio >= 0 && ratio <= 1))
      return Status::error("ratio must be in [0, 1], but is " +
                           std::to_string(ratio));
    int64_t count = input.getElementCount();
    uint8_t *mask = hasOutput(arguments.outputs, 1)
                        ? arguments.outputs[1].as<uint8_t>()
                        : nullptr;
    if (!isTraining || ratio == 0) {
      arguments.threads->parallelFor(
          count, getGrain(8), [&](int64_t begin, int64_t end, unsigned) {
            copyElements(input.type, elementAt(input, begin),
                         mutableElementAt(output, begin), end - begin);
            if (mask)
              std::fill(mask + begin, mask + end, 1);
          });
      return {};
    }
    Philox numbers = makeNumbers(arguments.inputs, 3);
    auto bound = static_cast<uint32_t>(std::llround((1 - ratio) * 0x1p16));
    double scale = ratio == 1 ? 0 : 1 / (1 - ratio);
    int64_t blocks = (count + 7) / 8;
    constexpr int64_t width = 64;
    arguments.threads->parallelFor(
        blocks, getGrain(512), [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t first = begin; first < end; first += width) {
            int64_t size = std::min(width, end - first);
            uint8_t kept[8][width];
            for (int64_t i = 0; i < size; ++i) {
              Philox::Words words = numbers(static_cast<uint32_t>(first + i));
              for (size_t j = 0; j < 4; ++j) {
                kept[j][i] = words[j] >> 16 < bound;
                kept[j + 4][i] = (words[j] & 0xffff) < bound;
              }
            }
            for (int64_t j = 0; j < 8; ++j) {
              int64_t at = j * blocks + first;
              int64_t n = std::min(size, count - at);
              if (n > 0)
                drop(input, output, mask, at, n, kept[j], scale);
            }
          }
        });
    return {};
  }

private:
  static void drop(const TensorView &input, const TensorView &output,
                   uint8_t *mask, int64_t at, int64_t count,
                   const uint8_t *kept, double scale) {
    double values[64];
    convertElements(input.type, elementAt(input, at), DataType::Double, values,
                    count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = kept[i] ? values[i] * scale : 0;
    convertElements(DataType::Double, values, output.type,
                    mutableElementAt(output, at), count);
    if (mask)
      std::copy_n(kept, count, mask + at);
  }
};

constexpr KernelEntry entries[] = {
    {"random_normal", create<RandomTensor<true, false>>},
    {"random_normal_like", create<RandomTensor<true, true>>},
    {"random_uniform", create<RandomTensor<false, false>>},
    {"random_uniform_like", create<RandomTensor<false, true>>},
    {"bernoulli", create<Bernoulli>},
    {"multinomial", create<Multinomial>},
    {"dropout", create<Dropout>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getRandomKernels() {
  return {entries, std::size(entries)};
}
