//===- GridSample.cpp - samples of images where a grid says ---------------===//
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

constexpr size_t maxAxes = 3;

/// Into [low, high], back and forth.
double reflect(double x, double low, double high) {
  double extent = high - low;
  if (!(extent > 0))
    return low;
  double distance = std::fmod(std::fabs(x - low), 2 * extent);
  return distance <= extent ? low + distance : high - (distance - extent);
}

class GridSample : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    alignsCorners = attributes.getInt("align_corners", 0) != 0;
    std::string modeName = attributes.getString("mode", "linear");
    std::string paddingName = attributes.getString("padding_mode", "zeros");
    if (modeName != "linear" && modeName != "nearest" && modeName != "cubic")
      return Status::error("mode has no value " + modeName);
    if (paddingName != "zeros" && paddingName != "border" &&
        paddingName != "reflection")
      return Status::error("padding_mode has no value " + paddingName);
    taps = modeName == "nearest" ? 1 : modeName == "linear" ? 2 : 4;
    padding = paddingName == "zeros"    ? Padding::Zeros
              : paddingName == "border" ? Padding::Border
                                        : Padding::Reflection;
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &image = inputs[0].shape, &grid = inputs[1].shape;
    size_t rank = image.getRank();
    if (rank < 3 || rank > 2 + maxAxes || grid.getRank() != rank ||
        grid[0] != image[0] ||
        grid[rank - 1] != static_cast<int64_t>(rank - 2) ||
        getProduct(image, 2, rank) == 0)
      return Status::error("a grid of dimensions " + toString(grid) +
                           " doesn't fit a tensor of dimensions " +
                           toString(image));
    Shape result = {image[0], image[1]};
    for (size_t i = 1; i + 1 < rank; ++i)
      result.push_back(grid[i]);
    return setShape(outputs[0], result);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    const TensorView &grid = arguments.inputs[1];
    if (!visitType(FloatTypes(), grid.type, [](auto) {}))
      return typeError(grid.type);
    bool found = visitType(NumberTypes(), input.type, [&](auto element) {
      runAs<decltype(element)>(arguments);
    });
    return found ? Status() : typeError(input.type);
  }

private:
  enum class Padding { Zeros, Border, Reflection };
  struct Tap {
    int64_t index;
    double weight;
  };

  template <typename T> void runAs(const KernelArguments &arguments) const {
    const TensorView &input = arguments.inputs[0], &grid = arguments.inputs[1];
    const Shape &shape = input.shape;
    size_t rank = shape.getRank() - 2;
    int64_t channels = shape[1], size = getProduct(shape, 2, rank + 2);
    int64_t points = getProduct(grid.shape, 1, rank + 1);
    arguments.threads->parallelFor(
        shape[0] * points, getGrain(64 + channels * 16),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            Tap list[64];
            double position[maxAxes];
            convertElements(
                grid.type, elementAt(grid, i * static_cast<int64_t>(rank)),
                DataType::Double, position, static_cast<int64_t>(rank));
            size_t count = combine(shape, rank, position, list);
            int64_t item = i / points * channels;
            const T *from = input.as<const T>() + item * size;
            T *to = arguments.outputs[0].as<T>() + item * points + i % points;
            for (int64_t c = 0; c < channels; ++c)
              to[c * points] = sum(from + c * size, list, count);
          }
        });
  }

  template <typename T>
  static T sum(const T *from, const Tap *list, size_t count) {
    if (count == 1 && list->weight == 1)
      return from[list->index];
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += list[i].weight * static_cast<double>(load(from[list[i].index]));
    return store<T>(static_cast<Compute<T>>(sum));
  }

  /// The inputs that a point is the weighted sum of. The grid's last axis names
  /// axes from the last to the first.
  size_t combine(const Shape &shape, size_t rank, const double *position,
                 Tap *list) const {
    size_t count = 1;
    list[0] = {0, 1};
    for (size_t axis = 0; axis < rank; ++axis) {
      Tap taps[4];
      size_t found = getTaps(position[rank - 1 - axis], shape[axis + 2], taps);
      for (size_t i = count; i-- > 0;) {
        Tap before = list[i];
        for (size_t j = found; j-- > 0;)
          list[i * found + j] = {before.index * shape[axis + 2] + taps[j].index,
                                 before.weight * taps[j].weight};
      }
      count *= found;
    }
    return count;
  }

  /// Those of one axis that are not zeros.
  size_t getTaps(double coordinate, int64_t extent, Tap *list) const {
    auto last = static_cast<double>(extent - 1);
    double low = alignsCorners ? 0 : -0.5;
    double high = alignsCorners ? last : last + 0.5;
    double x = low + (coordinate + 1) / 2 * (high - low);
    if (taps == 1)
      x = std::nearbyint(x);
    if (!(x >= low && x <= high))
      x = padding == Padding::Border       ? std::clamp(x, 0.0, last)
          : padding == Padding::Reflection ? reflect(x, low, high)
                                           : x;
    // Far outside there are only zeros; NaN is there as well.
    if (!(x >= -4 && x <= last + 4))
      return 0;
    double floor = std::floor(x), ratio = x - floor;
    double weights[4] = {1, 0, 0, 0};
    if (taps == 2) {
      weights[0] = 1 - ratio;
      weights[1] = ratio;
    } else if (taps == 4) {
      for (int64_t i = 0; i < 4; ++i)
        weights[i] =
            getCubicWeight(std::fabs(static_cast<double>(i - 1) - ratio));
      floor -= 1;
    } else {
      floor = std::nearbyint(x);
    }
    size_t count = 0;
    for (size_t i = 0; i < taps; ++i) {
      double at = floor + static_cast<double>(i);
      if (at < 0 || at > last) {
        if (padding == Padding::Zeros)
          continue;
        // A whole number, but for rounding, as low and high are half ones.
        at = padding == Padding::Border ? std::clamp(at, 0.0, last)
                                        : reflect(at, low, high);
      }
      list[count++] = {std::clamp<int64_t>(std::llround(at), 0, extent - 1),
                       weights[i]};
    }
    return count;
  }

  static double getCubicWeight(double x) {
    constexpr double a = -0.75;
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  bool alignsCorners = false;
  size_t taps = 2;
  Padding padding = Padding::Zeros;
};

/// The grid of an affine map, for N x C x (D x) H x W.
class AffineGrid : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    alignsCorners = attributes.getInt("align_corners", 0) != 0;
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return input == 1; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    IntegerList size;
    if (Status status = readIntegers(inputs[1], "size", size); !status.ok())
      return status;
    if (size.size != 4 && size.size != 5)
      return Status::error("size must have 4 or 5 elements, but has " +
                           std::to_string(size.size));
    auto axes = static_cast<int64_t>(size.size) - 2;
    if (inputs[0].shape != Shape{size[0], axes, axes + 1})
      return Status::error("theta must have dimensions " +
                           toString(Shape{size[0], axes, axes + 1}) +
                           ", but has " + toString(inputs[0].shape));
    Shape result = {size[0]};
    for (size_t i = 2; i < size.size; ++i)
      result.push_back(size[i]);
    result.push_back(axes);
    return setShape(outputs[0], result);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &theta = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const Shape &shape = output.shape;
    size_t axes = shape.getRank() - 2;
    auto width = static_cast<int64_t>(axes);
    int64_t points = getProduct(shape, 1, axes + 1);
    bool found = visitType(FloatTypes(), theta.type, [&](auto element) {
      using T = decltype(element);
      arguments.threads->parallelFor(
          shape[0] * points, getGrain(32 * width),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              const T *matrix =
                  theta.as<const T>() + i / points * width * (width + 1);
              double point[maxAxes + 1];
              int64_t rest = i % points;
              for (size_t j = 0; j < axes; ++j) {
                int64_t extent = shape[axes - j];
                point[j] = getCoordinate(rest % extent, extent);
                rest /= extent;
              }
              point[axes] = 1;
              for (int64_t j = 0; j < width; ++j) {
                double sum = 0;
                for (int64_t k = 0; k <= width; ++k)
                  sum +=
                      static_cast<double>(load(matrix[j * (width + 1) + k])) *
                      point[k];
                output.as<T>()[i * width + j] =
                    store<T>(static_cast<Compute<T>>(sum));
              }
            }
          });
    });
    return found ? Status() : typeError(theta.type);
  }

private:
  double getCoordinate(int64_t index, int64_t extent) const {
    auto i = static_cast<double>(index), n = static_cast<double>(extent);
    if (!alignsCorners)
      return (2 * i + 1) / n - 1;
    return extent == 1 ? 0 : 2 * i / (n - 1) - 1;
  }

  bool alignsCorners = false;
};

constexpr KernelEntry entries[] = {
    {"grid_sample", create<GridSample>},
    {"affine_grid", create<AffineGrid>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getGridSampleKernels() {
  return {entries, std::size(entries)};
}
