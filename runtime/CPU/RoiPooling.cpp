//===- RoiPooling.cpp - regions of an image as small images ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/Indices.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace amp::runtime;

namespace {

Status checkRois(const Shape &image, const Shape &rois, int64_t columns) {
  if (image.getRank() != 4 || image[2] == 0 || image[3] == 0 ||
      rois.getRank() != 2 || rois[1] != columns)
    return Status::error("rois of dimensions " + toString(rois) +
                         " don't fit a tensor of dimensions " +
                         toString(image));
  return {};
}

/// An index that may be far out of an axis.
int64_t clampTo(double x, int64_t extent) {
  return x > 0 ? static_cast<int64_t>(std::min(x, static_cast<double>(extent)))
               : 0;
}

class RoiAlign : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    isHalfPixel = attributes.getString("coordinate_transformation_mode",
                                       "half_pixel") == "half_pixel";
    std::string mode = attributes.getString("mode", "avg");
    if (mode != "avg" && mode != "max")
      return Status::error("mode has no value " + mode);
    isMax = mode == "max";
    height = attributes.getInt("output_height", 1);
    width = attributes.getInt("output_width", 1);
    samples = attributes.getInt("sampling_ratio", 0);
    scale = attributes.getFloat("spatial_scale", 1);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &image = inputs[0].shape, &rois = inputs[1].shape;
    if (Status status = checkRois(image, rois, 4); !status.ok())
      return status;
    if (inputs[2].shape != Shape{rois[0]})
      return Status::error(
          "batch_indices must have " + std::to_string(rois[0]) +
          " elements, but has dimensions " + toString(inputs[2].shape));
    return setShape(outputs[0], {rois[0], image[1], height, width});
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    if (Status status = checkIndices(arguments.inputs[2], input.shape.begin(),
                                     1, *arguments.threads);
        !status.ok())
      return status;
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      runAs<decltype(element)>(arguments);
    });
    return found ? Status() : typeError(input.type);
  }

private:
  /// Two neighbours along an axis and how near the second one is.
  struct Neighbours {
    int64_t low, high;
    double ratio;
    bool isOutside;
  };
  static Neighbours getNeighbours(double x, int64_t extent) {
    auto size = static_cast<double>(extent);
    if (!(x >= -1 && x <= size))
      return {0, 0, 0, true};
    x = std::max(x, 0.0);
    auto low = static_cast<int64_t>(x);
    if (low >= extent - 1)
      return {extent - 1, extent - 1, 0, false};
    return {low, low + 1, x - static_cast<double>(low), false};
  }

  template <typename T> void runAs(const KernelArguments &arguments) const {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    int64_t channels = input.shape[1], bins = height * width;
    int64_t size = input.shape[2] * input.shape[3];
    arguments.threads->parallelFor(
        output.getElementCount() / std::max<int64_t>(1, bins),
        getGrain(bins * 64), [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t roi = i / channels;
            int64_t item =
                wrapIndex(getInteger(arguments.inputs[2], roi), input.shape[0]);
            const T *plane =
                input.as<const T>() + (item * channels + i % channels) * size;
            pool(plane, input.shape,
                 arguments.inputs[1].as<const T>() + roi * 4,
                 output.as<T>() + i * bins);
          }
        });
  }

  template <typename T>
  void pool(const T *plane, const Shape &shape, const T *roi, T *result) const {
    double offset = isHalfPixel ? 0.5 : 0, box[4];
    for (int i = 0; i < 4; ++i)
      box[i] = static_cast<double>(load(roi[i])) * scale - offset;
    double least = isHalfPixel ? -std::numeric_limits<double>::infinity() : 1;
    double rowStep =
        std::max(box[3] - box[1], least) / static_cast<double>(height);
    double columnStep =
        std::max(box[2] - box[0], least) / static_cast<double>(width);
    int64_t rows = getSamples(rowStep, shape[2]);
    int64_t columns = getSamples(columnStep, shape[3]);
    for (int64_t bin = 0; bin < height * width; ++bin) {
      double top = box[1] + static_cast<double>(bin / width) * rowStep;
      double left = box[0] + static_cast<double>(bin % width) * columnStep;
      double value = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double y = top + (static_cast<double>(i) + 0.5) * rowStep /
                               static_cast<double>(rows);
          double x = left + (static_cast<double>(j) + 0.5) * columnStep /
                                static_cast<double>(columns);
          double corners[4];
          sample(plane, shape, y, x, corners);
          if (!isMax) {
            value += (corners[0] + corners[1]) + (corners[2] + corners[3]);
            continue;
          }
          // ONNX's own tests take the maximum before the sum.
          double largest = *std::max_element(corners, corners + 4);
          value = i == 0 && j == 0 ? largest : std::max(value, largest);
        }
      if (!isMax)
        value /= static_cast<double>(std::max<int64_t>(1, rows * columns));
      result[bin] = store<T>(static_cast<Compute<T>>(value));
    }
  }

  /// Boxes far larger than the image don't need more samples than a few for
  /// each pixel.
  int64_t getSamples(double step, int64_t extent) const {
    return samples > 0
               ? samples
               : clampTo(std::ceil(step), 4 * std::max<int64_t>(extent, 256));
  }

  /// The products of bilinear interpolation, one for each corner.
  template <typename T>
  static void sample(const T *plane, const Shape &shape, double y, double x,
                     double *corners) {
    Neighbours row = getNeighbours(y, shape[2]);
    Neighbours column = getNeighbours(x, shape[3]);
    std::fill_n(corners, 4, 0.0);
    if (row.isOutside || column.isOutside)
      return;
    auto get = [&](int64_t i, int64_t j) {
      return static_cast<double>(load(plane[i * shape[3] + j]));
    };
    corners[0] =
        (1 - row.ratio) * (1 - column.ratio) * get(row.low, column.low);
    corners[1] = (1 - row.ratio) * column.ratio * get(row.low, column.high);
    corners[2] = row.ratio * (1 - column.ratio) * get(row.high, column.low);
    corners[3] = row.ratio * column.ratio * get(row.high, column.high);
  }

  bool isHalfPixel = true, isMax = false;
  int64_t height = 1, width = 1, samples = 0;
  double scale = 1;
};

class MaxRoiPool : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    std::vector<int64_t> shape = attributes.getInts("pooled_shape");
    scale = attributes.getFloat("spatial_scale", 1);
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
      return Status::error("pooled_shape must be two positive numbers");
    height = shape[0];
    width = shape[1];
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &image = inputs[0].shape, &rois = inputs[1].shape;
    if (Status status = checkRois(image, rois, 5); !status.ok())
      return status;
    return setShape(outputs[0], {rois[0], image[1], height, width});
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0], &rois = arguments.inputs[1];
    const Shape &shape = input.shape;
    int64_t channels = shape[1], bins = height * width;
    Status status;
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      for (int64_t i = 0; i < rois.shape[0]; ++i) {
        auto item = static_cast<double>(load(rois.as<const T>()[i * 5]));
        if (!(item >= 0 && item < static_cast<double>(shape[0]))) {
          status = Status::error("roi " + std::to_string(i) +
                                 " is in no image of the batch of " +
                                 std::to_string(shape[0]));
          return;
        }
      }
      arguments.threads->parallelFor(
          rois.shape[0] * channels,
          getGrain(shape[2] * shape[3] * static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              const T *roi = rois.as<const T>() + i / channels * 5;
              auto item = static_cast<int64_t>(load(roi[0]));
              pool(input.as<const T>() +
                       (item * channels + i % channels) * shape[2] * shape[3],
                   shape, roi + 1, arguments.outputs[0].as<T>() + i * bins);
            }
          });
    });
    return found ? status : typeError(input.type);
  }

private:
  /// The corners of a box are pixels, both in it.
  template <typename T>
  void pool(const T *plane, const Shape &shape, const T *roi, T *result) const {
    double box[4];
    for (int i = 0; i < 4; ++i)
      box[i] = std::round(static_cast<double>(load(roi[i])) * scale);
    double rowStep =
        std::max(box[3] - box[1] + 1, 1.0) / static_cast<double>(height);
    double columnStep =
        std::max(box[2] - box[0] + 1, 1.0) / static_cast<double>(width);
    auto range = [](double first, double step, int64_t bin, int64_t extent,
                    int64_t &begin, int64_t &end) {
      auto i = static_cast<double>(bin);
      begin = clampTo(std::floor(i * step) + first, extent);
      end = clampTo(std::ceil((i + 1) * step) + first, extent);
    };
    for (int64_t bin = 0; bin < height * width; ++bin) {
      int64_t top, bottom, left, right;
      range(box[1], rowStep, bin / width, shape[2], top, bottom);
      range(box[0], columnStep, bin % width, shape[3], left, right);
      bool isEmpty = top >= bottom || left >= right;
      auto best = isEmpty ? Compute<T>(0)
                          : -std::numeric_limits<Compute<T>>::infinity();
      for (int64_t i = top; i < bottom; ++i)
        for (int64_t j = left; j < right; ++j) {
          Compute<T> value = load(plane[i * shape[3] + j]);
          best = value > best || value != value ? value : best;
        }
      result[bin] = store<T>(best);
    }
  }

  int64_t height = 1, width = 1;
  double scale = 1;
};

constexpr KernelEntry entries[] = {
    {"roi_align", create<RoiAlign>},
    {"max_roi_pool", create<MaxRoiPool>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getRoiPoolingKernels() {
  return {entries, std::size(entries)};
}
