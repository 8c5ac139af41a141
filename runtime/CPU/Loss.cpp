//===- Loss.cpp - losses of classes ---------------------------------------===//
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
#include <limits>

using namespace amp::runtime;

namespace {

/// Scores N x C x D1 x … and a class for each of N x D1 x …
/// NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss, whose scores become
/// logarithms of probabilities first. Sums are in float64.
template <bool hasSoftmax> class ClassLoss : public LibraryKernel {
  enum class Reduction { None, Sum, Mean };

public:
  Status configure(const Attributes &attributes) {
    std::string name = attributes.getString("reduction", "mean");
    if (name != "none" && name != "sum" && name != "mean")
      return Status::error("reduction has no value " + name);
    reduction = name == "none"  ? Reduction::None
                : name == "sum" ? Reduction::Sum
                                : Reduction::Mean;
    hasIgnored = attributes.has("ignore_index");
    ignored = attributes.getInt("ignore_index", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &scores = inputs[0].shape, &labels = inputs[1].shape;
    Shape expected;
    for (size_t i = 0; i < scores.getRank(); ++i)
      if (i != 1)
        expected.push_back(scores[i]);
    if (scores.getRank() < 2 || labels != expected)
      return Status::error("labels of dimensions " + toString(labels) +
                           " don't fit scores of dimensions " +
                           toString(scores));
    TensorView weights = getInput(inputs, 2);
    if (isPresent(weights) && weights.shape != Shape{scores[1]})
      return Status::error("weights must have " + std::to_string(scores[1]) +
                           " elements, but has dimensions " +
                           toString(weights.shape));
    if (isPresent(outputs[0]))
      if (Status status = setShape(
              outputs[0], reduction == Reduction::None ? labels : Shape());
          !status.ok())
        return status;
    return hasOutput(outputs, 1) ? setShape(outputs[1], scores) : Status();
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned) const override {
    return sizeof(double) * 2 *
           static_cast<size_t>(inputs[1].getElementCount());
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &scores = arguments.inputs[0],
                     &labels = arguments.inputs[1];
    int64_t classes = scores.shape[1], count = labels.getElementCount();
    if (labels.type != DataType::Int32 && labels.type != DataType::Int64)
      return Status::error("labels must be of type int32 or int64, but are of "
                           "type " +
                           std::string(getName(labels.type)));
    for (int64_t i = 0; i < count; ++i)
      if (int64_t label = getInteger(labels, i);
          !isIgnored(label) && (label < 0 || label >= classes))
        return Status::error("label " + std::to_string(label) + " at element " +
                             std::to_string(i) + " is out of range [0, " +
                             std::to_string(classes - 1) + "]");
    bool found = visitType(FloatTypes(), scores.type, [&](auto element) {
      runAs<decltype(element)>(arguments);
    });
    return found ? Status() : typeError(scores.type);
  }

private:
  bool isIgnored(int64_t label) const { return hasIgnored && label == ignored; }

  template <typename T> void runAs(const KernelArguments &arguments) const {
    const TensorView &labels = arguments.inputs[1];
    TensorView weights = getInput(arguments.inputs, 2);
    const Shape &shape = arguments.inputs[0].shape;
    int64_t classes = shape[1], count = labels.getElementCount();
    int64_t pixels = getProduct(shape, 2, shape.getRank());
    auto *losses = static_cast<double *>(arguments.scratch);
    double *factors = losses + count;
    arguments.threads->parallelFor(
        count, getGrain(classes * 32),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t first = i / pixels * classes * pixels + i % pixels;
            const T *line = arguments.inputs[0].as<const T>() + first;
            double shift = hasSoftmax ? getShift(line, classes, pixels) : 0;
            if (hasOutput(arguments.outputs, 1)) {
              T *logs = arguments.outputs[1].as<T>() + first;
              for (int64_t c = 0; c < classes; ++c)
                logs[c * pixels] = store<T>(static_cast<Compute<T>>(
                    static_cast<double>(load(line[c * pixels])) - shift));
            }
            int64_t label = getInteger(labels, i);
            bool counts = !isIgnored(label);
            factors[i] =
                !counts ? 0
                : isPresent(weights)
                    ? static_cast<double>(load(weights.as<const T>()[label]))
                    : 1;
            losses[i] =
                counts ? factors[i] * (shift - static_cast<double>(
                                                   load(line[label * pixels])))
                       : 0;
          }
        });
    if (isPresent(arguments.outputs[0]))
      writeLosses<T>(losses, factors, count, arguments.outputs[0]);
  }

  /// What is taken from scores to make them logarithms of probabilities.
  template <typename T>
  static double getShift(const T *line, int64_t classes, int64_t stride) {
    auto get = [&](int64_t c) {
      return static_cast<double>(load(line[c * stride]));
    };
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      largest = std::max(largest, get(c));
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(get(c) - largest);
    return largest + std::log(sum);
  }

  template <typename T>
  void writeLosses(const double *losses, const double *factors, int64_t count,
                   const TensorView &output) const {
    auto *result = output.as<T>();
    auto write = [](double value) {
      return store<T>(static_cast<Compute<T>>(value));
    };
    if (reduction == Reduction::None) {
      std::transform(losses, losses + count, result, write);
      return;
    }
    double sum = 0, factor = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += losses[i];
      factor += factors[i];
    }
    *result = write(reduction == Reduction::Sum ? sum : sum / factor);
  }

  Reduction reduction = Reduction::Mean;
  bool hasIgnored = false;
  int64_t ignored = 0;
};

constexpr KernelEntry entries[] = {
    {"negative_log_likelihood_loss", create<ClassLoss<false>>},
    {"softmax_cross_entropy_loss", create<ClassLoss<true>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getLossKernels() {
  return {entries, std::size(entries)};
}
