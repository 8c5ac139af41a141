//===- Signal.cpp - windows of signals and bands of spectra ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

namespace {

constexpr double pi = 3.14159265358979323846;

/// A window is a sum of cosines of one, two times the angle of a sample.
struct Hann {
  static constexpr double terms[] = {0.5, -0.5, 0};
};
struct Hamming {
  static constexpr double terms[] = {25.0 / 46, -21.0 / 46, 0};
};
struct Blackman {
  static constexpr double terms[] = {0.42, -0.5, 0.08};
};

template <typename Function> class SignalWindow : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    isPeriodic = attributes.getInt("periodic", 1) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    int64_t size;
    if (Status status = readInteger(inputs[0], "size", size); !status.ok())
      return status;
    return setShape(outputs[0], &size, 1);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &output = arguments.outputs[0];
    if (!isNumeric(output.type))
      return typeError(output.type);
    int64_t size = output.getElementCount();
    auto period = static_cast<double>(isPeriodic ? size : size - 1);
    for (int64_t i = 0; i < size; ++i) {
      double angle = 2 * pi * static_cast<double>(i) / period;
      double value = size == 1 ? 1
                               : Function::terms[0] +
                                     Function::terms[1] * std::cos(angle) +
                                     Function::terms[2] * std::cos(2 * angle);
      convertElements(DataType::Double, &value, output.type,
                      mutableElementAt(output, i), 1);
    }
    return {};
  }

private:
  bool isPeriodic = true;
};

/// Triangles that are as wide as each other on the mel scale.
class MelWeightMatrix : public LibraryKernel {
public:
  bool needsDataForShapes(size_t input) const override { return input < 2; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    int64_t bands, length;
    if (Status status = readInteger(inputs[0], "num_mel_bins", bands);
        !status.ok())
      return status;
    if (Status status = readInteger(inputs[1], "dft_length", length);
        !status.ok())
      return status;
    const int64_t dims[] = {length / 2 + 1, bands};
    return setShape(outputs[0], dims, 2);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    Span<const TensorView> inputs = arguments.inputs;
    const TensorView &output = arguments.outputs[0];
    if (!isNumeric(output.type))
      return typeError(output.type);
    int64_t length = getInteger(inputs[1], 0), rate;
    if (Status status = readInteger(inputs[2], "sample_rate", rate);
        !status.ok())
      return status;
    double edges[2];
    for (size_t i = 0; i < 2; ++i) {
      if (inputs[3 + i].getElementCount() != 1)
        return Status::error("an edge must have one element, but has " +
                             std::to_string(inputs[3 + i].getElementCount()));
      convertElements(inputs[3 + i].type, inputs[3 + i].data, DataType::Double,
                      &edges[i], 1);
      edges[i] = std::log1p(edges[i] / 700);
    }
    int64_t bins = output.shape[0], bands = output.shape[1];
    auto getBin = [&](int64_t edge) {
      double step = (edges[1] - edges[0]) / static_cast<double>(bands + 2);
      double hertz =
          700 * std::expm1(edges[0] + step * static_cast<double>(edge));
      return std::floor(static_cast<double>(length + 1) * hertz /
                        static_cast<double>(rate));
    };
    if (double first = getBin(0), last = getBin(bands + 1);
        !(first >= 0 && last < static_cast<double>(bins)))
      return Status::error("the edges are not among " + std::to_string(bins) +
                           " bins");
    for (int64_t i = 0; i < bins; ++i)
      for (int64_t band = 0; band < bands; ++band) {
        double value = getWeight(static_cast<double>(i), getBin(band),
                                 getBin(band + 1), getBin(band + 2));
        convertElements(DataType::Double, &value, output.type,
                        mutableElementAt(output, i * bands + band), 1);
      }
    return {};
  }

private:
  static double getWeight(double bin, double left, double center,
                          double right) {
    if (bin == center)
      return 1;
    if (bin < center)
      return std::max(0.0, (bin - left) / (center - left));
    return bin < right ? (right - bin) / (right - center) : 0;
  }
};

constexpr KernelEntry entries[] = {
    {"hann_window", create<SignalWindow<Hann>>},
    {"hamming_window", create<SignalWindow<Hamming>>},
    {"blackman_window", create<SignalWindow<Blackman>>},
    {"mel_weight_matrix", create<MelWeightMatrix>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getSignalKernels() {
  return {entries, std::size(entries)};
}
