//===- DeformConv.cpp - convolutions of samples at any place --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"
#include "CPU/Window.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace amp::runtime;

namespace {

class DeformConv : public LibraryKernel {
  enum Input { X, W, Offset, B, Mask };
  static constexpr size_t maxAxes = 3, maxCorners = 8;

public:
  Status configure(const Attributes &attributes) {
    group = attributes.getInt("group", 1);
    offsetGroup = attributes.getInt("offset_group", 1);
    if (group < 1 || offsetGroup < 1)
      return Status::error("group and offset_group must be positive, but are " +
                           std::to_string(group) + " and " +
                           std::to_string(offsetGroup));
    return window.configure(attributes);
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[X].shape, &weights = inputs[W].shape;
    if (weights.getRank() != shape.getRank() || shape.getRank() < 3 ||
        shape.getRank() > 2 + maxAxes || weights[1] * group != shape[1] ||
        weights[0] % group != 0 || shape[1] % offsetGroup != 0)
      return Status::error("weights of dimensions " + toString(weights) +
                           " don't fit a tensor of dimensions " +
                           toString(shape) + " in " + std::to_string(group) +
                           " groups");
    Window resolved;
    if (Status status = window.resolve(shape, resolved, weights.begin() + 2);
        !status.ok())
      return status;
    Shape result = {shape[0], weights[0]}, offsets = {shape[0], 0};
    for (size_t i = 0; i < resolved.rank; ++i) {
      result.push_back(resolved.axes[i].output);
      offsets.push_back(resolved.axes[i].output);
    }
    int64_t places = offsetGroup * resolved.getKernelSize();
    auto rank = static_cast<int64_t>(resolved.rank);
    for (auto [index, name, channels] :
         {std::tuple(Offset, "offset", places * rank),
          std::tuple(Mask, "mask", places)}) {
      TensorView tensor = getInput(inputs, index);
      offsets[1] = channels;
      if (isPresent(tensor) && tensor.shape != offsets)
        return Status::error(std::string(name) + " must have dimensions " +
                             toString(offsets) + ", but has " +
                             toString(tensor.shape));
    }
    TensorView bias = getInput(inputs, B);
    if (isPresent(bias) && bias.shape != Shape{weights[0]})
      return Status::error("B must have dimensions " +
                           std::to_string(weights[0]) + ", but has " +
                           toString(bias.shape));
    return setShape(outputs[0], result);
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    const Shape &weights = inputs[W].shape;
    return threads * sizeof(double) *
           static_cast<size_t>(group *
                               getProduct(weights, 1, weights.getRank()));
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[X];
    Window resolved;
    if (Status status = window.resolve(input.shape, resolved,
                                       arguments.inputs[W].shape.begin() + 2);
        !status.ok())
      return status;
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      runAs<decltype(element)>(arguments, resolved);
    });
    return found ? Status() : typeError(input.type);
  }

private:
  template <typename T>
  void runAs(const KernelArguments &arguments, const Window &resolved) const {
    using C = Compute<T>;
    const TensorView &weights = arguments.inputs[W],
                     &output = arguments.outputs[0];
    TensorView bias = getInput(arguments.inputs, B);
    int64_t points = resolved.getOutputSize();
    int64_t channels = arguments.inputs[X].shape[1], results = output.shape[1];
    int64_t size = resolved.getKernelSize();
    int64_t inner = weights.shape[1] * size;
    arguments.threads->parallelFor(
        output.shape[0] * points, getGrain(channels * size * 16),
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *samples = reinterpret_cast<C *>(
              static_cast<double *>(arguments.scratch) +
              channels * size * static_cast<int64_t>(thread));
          for (int64_t i = begin; i < end; ++i) {
            gather<T>(arguments, resolved, i / points, i % points, samples);
            for (int64_t channel = 0; channel < results; ++channel) {
              const T *weight = weights.as<const T>() + channel * inner;
              const C *x = samples + channel / (results / group) * inner;
              C sum =
                  isPresent(bias) ? load(bias.as<const T>()[channel]) : C(0);
              for (int64_t j = 0; j < inner; ++j)
                sum += load(weight[j]) * x[j];
              output.as<T>()[(i / points * results + channel) * points +
                             i % points] = store<T>(sum);
            }
          }
        });
  }

  /// What lies under the window of an output: for each channel, for each
  /// element of the kernel.
  template <typename T>
  void gather(const KernelArguments &arguments, const Window &resolved,
              int64_t item, int64_t point, Compute<T> *samples) const {
    const TensorView &input = arguments.inputs[X],
                     &offset = arguments.inputs[Offset];
    TensorView mask = getInput(arguments.inputs, Mask);
    int64_t channels = input.shape[1], perGroup = channels / offsetGroup;
    int64_t size = resolved.getKernelSize(), points = resolved.getOutputSize();
    auto rank = static_cast<int64_t>(resolved.rank);
    for (int64_t place = 0; place < offsetGroup * size; ++place) {
      int64_t first = item * offsetGroup * size + place;
      double position[maxAxes];
      int64_t restOfPoint = point, restOfKernel = place % size;
      for (size_t i = resolved.rank; i-- > 0;) {
        const WindowAxis &axis = resolved.axes[i];
        int64_t at = (first * rank + static_cast<int64_t>(i)) * points + point;
        position[i] =
            static_cast<double>(axis.getInput(restOfPoint % axis.output,
                                              restOfKernel % axis.kernel)) +
            static_cast<double>(load(offset.as<const T>()[at]));
        restOfPoint /= axis.output;
        restOfKernel /= axis.kernel;
      }
      int64_t indices[maxCorners];
      double factors[maxCorners];
      size_t corners = getCorners(resolved, position, indices, factors);
      double factor = isPresent(mask)
                          ? static_cast<double>(load(
                                mask.as<const T>()[first * points + point]))
                          : 1;
      for (int64_t c = 0; c < perGroup; ++c) {
        int64_t channel = place / size * perGroup + c;
        const T *plane = input.as<const T>() +
                         (item * channels + channel) * resolved.getInputSize();
        double sum = 0;
        for (size_t i = 0; i < corners; ++i)
          sum += factors[i] * static_cast<double>(load(plane[indices[i]]));
        samples[channel * size + place % size] =
            static_cast<Compute<T>>(sum * factor);
      }
    }
  }

  /// The pixels around a position that are not in the padding.
  static size_t getCorners(const Window &window, const double *position,
                           int64_t *indices, double *factors) {
    size_t count = 1;
    indices[0] = 0;
    factors[0] = 1;
    for (size_t axis = 0; axis < window.rank; ++axis) {
      int64_t extent = window.axes[axis].input;
      double floor = std::floor(position[axis]);
      double ratio = position[axis] - floor;
      size_t next = 0;
      int64_t found[maxCorners];
      double products[maxCorners];
      for (size_t i = 0; i < count; ++i)
        for (int high = 0; high < 2; ++high) {
          double at = floor + high, factor = high ? ratio : 1 - ratio;
          // Not NaN either.
          if (!(at >= 0 && at < static_cast<double>(extent)) || factor == 0)
            continue;
          found[next] = indices[i] * extent + static_cast<int64_t>(at);
          products[next++] = factors[i] * factor;
        }
      count = next;
      std::copy_n(found, count, indices);
      std::copy_n(products, count, factors);
    }
    return count;
  }

  WindowAttributes window;
  int64_t group = 1, offsetGroup = 1;
};

constexpr KernelEntry entries[] = {{"deform_conv", create<DeformConv>}};

} // namespace

Span<const KernelEntry> amp::runtime::getDeformConvKernels() {
  return {entries, std::size(entries)};
}
