//===- Fourier.cpp - discrete Fourier transforms --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

namespace {

/// std::complex's product looks after infinities at a price.
struct Complex {
  double real = 0, imaginary = 0;
};
Complex operator+(Complex a, Complex b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}
Complex operator-(Complex a, Complex b) {
  return {a.real - b.real, a.imaginary - b.imaginary};
}
Complex operator*(Complex a, Complex b) {
  return {a.real * b.real - a.imaginary * b.imaginary,
          a.real * b.imaginary + a.imaginary * b.real};
}
Complex conjugate(Complex a) { return {a.real, -a.imaginary}; }

/// e to the power of -2 pi i * numerator / denominator.
Complex getRoot(int64_t numerator, int64_t denominator) {
  constexpr double pi = 3.14159265358979323846;
  double angle = -2 * pi * static_cast<double>(numerator) /
                 static_cast<double>(denominator);
  return {std::cos(angle), std::sin(angle)};
}

/// A transform of some length in float64: radix 2 for powers of two, and
/// Bluestein's way of making a convolution of one of another length.
class Transform {
public:
  explicit Transform(int64_t length) : length(length) {
    isPower = (length & (length - 1)) == 0;
    while (size < (isPower ? length : 2 * length - 1))
      size *= 2;
  }

  /// Elements of what all threads read.
  int64_t getTableSize() const { return size + (isPower ? 0 : length + size); }
  /// Elements that a thread works in; data comes first.
  int64_t getBufferSize() const { return std::max(size, length); }

  void prepare(Complex *table) {
    roots = table;
    for (int64_t i = 0; i < size; ++i)
      roots[i] = getRoot(i, size);
    if (isPower)
      return;
    chirp = roots + size;
    kernel = chirp + length;
    std::fill_n(kernel, size, Complex());
    for (int64_t i = 0; i < length; ++i) {
      // i * i modulo 2 * length, which may be too large.
      auto square = static_cast<int64_t>(static_cast<unsigned __int128>(i) *
                                         static_cast<uint64_t>(i) %
                                         static_cast<uint64_t>(2 * length));
      chirp[i] = getRoot(square, 2 * length);
      kernel[i] = kernel[(size - i) % size] = conjugate(chirp[i]);
    }
    runPower(kernel);
  }

  void run(Complex *data) const {
    if (isPower)
      return runPower(data);
    for (int64_t i = 0; i < length; ++i)
      data[i] = data[i] * chirp[i];
    std::fill(data + length, data + size, Complex());
    runPower(data);
    // The inverse is a transform of conjugates.
    for (int64_t i = 0; i < size; ++i)
      data[i] = conjugate(data[i] * kernel[i]);
    runPower(data);
    double factor = 1 / static_cast<double>(size);
    for (int64_t i = 0; i < length; ++i) {
      Complex value = conjugate(data[i]) * chirp[i];
      data[i] = {value.real * factor, value.imaginary * factor};
    }
  }

private:
  void runPower(Complex *data) const {
    for (int64_t i = 1, j = 0; i < size; ++i) {
      int64_t bit = size / 2;
      for (; j & bit; bit /= 2)
        j ^= bit;
      j ^= bit;
      if (i < j)
        std::swap(data[i], data[j]);
    }
    for (int64_t half = 1; half < size; half *= 2)
      for (int64_t first = 0; first < size; first += 2 * half)
        for (int64_t i = 0; i < half; ++i) {
          Complex &a = data[first + i], &b = data[first + half + i];
          Complex product = b * roots[i * (size / (2 * half))];
          b = a - product;
          a = a + product;
        }
  }

  int64_t length, size = 1;
  bool isPower;
  Complex *roots = nullptr, *chirp = nullptr, *kernel = nullptr;
};

/// Room for a transform of at most that length, whatever the length is.
size_t getBound(int64_t length, unsigned threads) {
  auto size = static_cast<size_t>(std::max<int64_t>(1, length));
  return sizeof(Complex) * size * (4 + 1 + 4 + 4 * threads);
}

Status checkLength(int64_t length) {
  return length >= 1 && length <= INT32_MAX
             ? Status()
             : Status::error("a transform of length " + std::to_string(length) +
                             " is not possible");
}

/// Elements of a signal, real or complex.
template <typename T>
Complex loadSignal(const T *signal, int64_t index, bool isComplex) {
  if (!isComplex)
    return {static_cast<double>(load(signal[index])), 0};
  return {static_cast<double>(load(signal[2 * index])),
          static_cast<double>(load(signal[2 * index + 1]))};
}

template <typename T> T storeReal(double value) {
  return store<T>(static_cast<Compute<T>>(value));
}

class DFT : public LibraryKernel {
  struct Plan {
    size_t axis = 0;
    int64_t length = 1, read = 1, written = 1, inner = 1, outer = 1;
    bool isComplex = false;
  };

public:
  Status configure(const Attributes &attributes) {
    isInverse = attributes.getInt("inverse", 0) != 0;
    isOneSided = attributes.getInt("onesided", 0) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input != 0; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Plan plan;
    if (Status status = makePlan(inputs, plan); !status.ok())
      return status;
    Shape result = inputs[0].shape;
    result[plan.axis] = plan.written;
    result[result.getRank() - 1] = isInverse && isOneSided ? 1 : 2;
    return setShape(outputs[0], result);
  }

  size_t getScratchSize(Span<const TensorView>, Span<const TensorView> outputs,
                        unsigned threads) const override {
    // Which axis it is may not be known.
    int64_t longest = 1;
    for (int64_t dim : outputs[0].shape)
      longest = std::max(longest, isOneSided && !isInverse ? 2 * dim : dim);
    return getBound(longest, threads);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    DataType type = arguments.inputs[0].type;
    Plan plan;
    if (Status status = makePlan(arguments.inputs, plan); !status.ok())
      return status;
    bool found = visitType(FloatTypes(), type, [&](auto element) {
      runAs<decltype(element)>(arguments, plan);
    });
    return found ? Status() : typeError(type);
  }

private:
  Status makePlan(Span<const TensorView> inputs, Plan &plan) const {
    const Shape &shape = inputs[0].shape;
    size_t rank = shape.getRank();
    if (rank < 2 || shape[rank - 1] < 1 || shape[rank - 1] > 2)
      return Status::error("expects a last dimension of 1 or 2, but got "
                           "dimensions " +
                           toString(shape));
    int64_t axis = -2;
    if (hasInput(inputs, 2))
      if (Status status = readInteger(inputs[2], "axis", axis); !status.ok())
        return status;
    if (Status status = resolveAxis(axis, rank, plan.axis); !status.ok())
      return status;
    if (plan.axis == rank - 1)
      return Status::error("axis must not be the last one");
    plan.isComplex = shape[rank - 1] == 2;
    int64_t extent = shape[plan.axis];
    plan.length = isInverse && isOneSided ? 2 * (extent - 1) : extent;
    if (hasInput(inputs, 1))
      if (Status status = readInteger(inputs[1], "dft_length", plan.length);
          !status.ok())
        return status;
    if (Status status = checkLength(plan.length); !status.ok())
      return status;
    int64_t half = plan.length / 2 + 1;
    plan.read = std::min(extent, isInverse && isOneSided ? half : plan.length);
    plan.written = isOneSided && !isInverse ? half : plan.length;
    plan.outer = getProduct(shape, 0, plan.axis);
    plan.inner = getProduct(shape, plan.axis + 1, rank - 1);
    return {};
  }

  template <typename T>
  void runAs(const KernelArguments &arguments, const Plan &plan) const {
    Transform transform(plan.length);
    auto *table = static_cast<Complex *>(arguments.scratch);
    transform.prepare(table);
    Complex *buffers = table + transform.getTableSize();
    const Shape &shape = arguments.inputs[0].shape;
    int64_t stride = plan.isComplex ? 2 : 1;
    arguments.threads->parallelFor(
        plan.outer * plan.inner, getGrain(plan.length * 64),
        [&](int64_t begin, int64_t end, unsigned thread) {
          Complex *data = buffers + transform.getBufferSize() *
                                        static_cast<int64_t>(thread);
          for (int64_t i = begin; i < end; ++i) {
            int64_t outer = i / plan.inner, inner = i % plan.inner;
            int64_t line = outer * shape[plan.axis] * plan.inner + inner;
            const T *from = arguments.inputs[0].as<const T>() + line * stride;
            std::fill_n(data, plan.length, Complex());
            for (int64_t j = 0; j < plan.read; ++j)
              data[j] = loadSignal(from, j * plan.inner, plan.isComplex);
            if (isInverse && isOneSided)
              mirror(data, plan.length);
            for (int64_t j = 0; isInverse && j < plan.length; ++j)
              data[j] = conjugate(data[j]);
            transform.run(data);
            write(data, plan, outer * plan.written * plan.inner + inner,
                  arguments.outputs[0].as<T>());
          }
        });
  }

  /// The other half of the spectrum of a real signal.
  static void mirror(Complex *data, int64_t length) {
    data[0].imaginary = 0;
    if (length % 2 == 0)
      data[length / 2].imaginary = 0;
    for (int64_t j = 1; 2 * j < length; ++j)
      data[length - j] = conjugate(data[j]);
  }

  template <typename T>
  void write(const Complex *data, const Plan &plan, int64_t line,
             T *output) const {
    double factor = isInverse ? 1 / static_cast<double>(plan.length) : 1;
    for (int64_t j = 0; j < plan.written; ++j) {
      int64_t at = line + j * plan.inner;
      if (isInverse && isOneSided) {
        output[at] = storeReal<T>(data[j].real * factor);
        continue;
      }
      output[2 * at] = storeReal<T>(data[j].real * factor);
      output[2 * at + 1] = storeReal<T>(isInverse ? -data[j].imaginary * factor
                                                  : data[j].imaginary);
    }
  }

  bool isInverse = false, isOneSided = false;
};

class STFT : public LibraryKernel {
  struct Plan {
    int64_t step = 1, length = 1, frames = 0, bins = 0;
  };

public:
  Status configure(const Attributes &attributes) {
    isOneSided = attributes.getInt("onesided", 1) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override {
    return input == 1 || input == 3;
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Plan plan;
    if (Status status = makePlan(inputs, plan); !status.ok())
      return status;
    return setShape(outputs[0],
                    {inputs[0].shape[0], plan.frames, plan.bins, 2});
  }

  size_t getScratchSize(Span<const TensorView>, Span<const TensorView> outputs,
                        unsigned threads) const override {
    int64_t bins = outputs[0].shape[2];
    return getBound(isOneSided ? 2 * bins : bins, threads);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    DataType type = arguments.inputs[0].type;
    Plan plan;
    if (Status status = makePlan(arguments.inputs, plan); !status.ok())
      return status;
    bool found = visitType(FloatTypes(), type, [&](auto element) {
      runAs<decltype(element)>(arguments, plan);
    });
    return found ? Status() : typeError(type);
  }

private:
  Status makePlan(Span<const TensorView> inputs, Plan &plan) const {
    const Shape &shape = inputs[0].shape;
    if (shape.getRank() != 3 || shape[2] < 1 || shape[2] > 2)
      return Status::error("expects a signal of dimensions BxNx1 or BxNx2, "
                           "but got " +
                           toString(shape));
    if (Status status = readInteger(inputs[1], "frame_step", plan.step);
        !status.ok())
      return status;
    TensorView window = getInput(inputs, 2);
    plan.length = isPresent(window) ? window.getElementCount() : shape[1];
    if (hasInput(inputs, 3))
      if (Status status = readInteger(inputs[3], "frame_length", plan.length);
          !status.ok())
        return status;
    if (Status status = checkLength(plan.length); !status.ok())
      return status;
    if (isPresent(window) && window.getElementCount() != plan.length)
      return Status::error("window must have " + std::to_string(plan.length) +
                           " elements, but has " +
                           std::to_string(window.getElementCount()));
    if (plan.step < 1 || plan.length > shape[1])
      return Status::error("frames of length " + std::to_string(plan.length) +
                           " at steps of " + std::to_string(plan.step) +
                           " don't fit a signal of length " +
                           std::to_string(shape[1]));
    plan.frames = (shape[1] - plan.length) / plan.step + 1;
    plan.bins = isOneSided ? plan.length / 2 + 1 : plan.length;
    return {};
  }

  template <typename T>
  static void runAs(const KernelArguments &arguments, const Plan &plan) {
    Transform transform(plan.length);
    auto *table = static_cast<Complex *>(arguments.scratch);
    transform.prepare(table);
    Complex *buffers = table + transform.getTableSize();
    const Shape &shape = arguments.inputs[0].shape;
    TensorView window = getInput(arguments.inputs, 2);
    arguments.threads->parallelFor(
        shape[0] * plan.frames, getGrain(plan.length * 64),
        [&](int64_t begin, int64_t end, unsigned thread) {
          Complex *data = buffers + transform.getBufferSize() *
                                        static_cast<int64_t>(thread);
          for (int64_t i = begin; i < end; ++i) {
            const T *from =
                arguments.inputs[0].as<const T>() +
                (i / plan.frames * shape[1] + i % plan.frames * plan.step) *
                    shape[2];
            for (int64_t j = 0; j < plan.length; ++j) {
              data[j] = loadSignal(from, j, shape[2] == 2);
              if (isPresent(window))
                data[j] =
                    data[j] *
                    Complex{static_cast<double>(load(window.as<const T>()[j])),
                            0};
            }
            transform.run(data);
            T *to = arguments.outputs[0].as<T>() + i * plan.bins * 2;
            for (int64_t j = 0; j < plan.bins; ++j) {
              to[2 * j] = storeReal<T>(data[j].real);
              to[2 * j + 1] = storeReal<T>(data[j].imaginary);
            }
          }
        });
  }

  bool isOneSided = true;
};

constexpr KernelEntry entries[] = {
    {"dft", create<DFT>},
    {"stft", create<STFT>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getFourierKernels() {
  return {entries, std::size(entries)};
}
