//===- Resize.cpp - samples of a tensor on another grid -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One axis after another, as all modes are separable: each output of an axis
// is a weighted sum of inputs, by a table. mode nearest only moves elements.
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
#include <limits>
#include <string>
#include <vector>

using namespace amp::runtime;

namespace {

/// What becomes of an axis.
struct AxisPlan {
  int64_t input = 1, output = 1;
  double scale = 1, roiBegin = 0, roiEnd = 1;
  bool stays() const {
    return input == output && scale == 1 && roiBegin == 0 && roiEnd == 1;
  }
};
using Plan = std::array<AxisPlan, Shape::maxRank>;

enum class Coordinates {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  CropAndResize,
};
enum class Mode { Nearest, Linear, Cubic };
enum class Nearest { PreferFloor, PreferCeil, Floor, Ceil };
enum class AspectRatio { Stretch, NotLarger, NotSmaller };

/// The value of an enumeration whose names are in its order.
template <typename Enum, size_t count>
Status readEnum(const Attributes &attributes, const char *attribute,
                const char *const (&names)[count], Enum &value) {
  std::string text = attributes.getString(attribute, names[0]);
  for (size_t i = 0; i < count; ++i)
    if (text == names[i]) {
      value = static_cast<Enum>(i);
      return {};
    }
  return Status::error(std::string(attribute) + " has no value " + text);
}

constexpr const char *coordinateNames[] = {
    "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
    "align_corners", "asymmetric",           "tf_crop_and_resize"};
constexpr const char *modeNames[] = {"nearest", "linear", "cubic"};
constexpr const char *nearestNames[] = {"round_prefer_floor",
                                        "round_prefer_ceil", "floor", "ceil"};
constexpr const char *aspectNames[] = {"stretch", "not_larger", "not_smaller"};

/// Where an output lies among the inputs of its axis.
double getPosition(const AxisPlan &axis, int64_t at, Coordinates mode) {
  auto x = static_cast<double>(at), width = static_cast<double>(axis.input);
  double resized = axis.scale * width;
  switch (mode) {
  case Coordinates::AlignCorners:
    return resized == 1 ? 0 : x * (width - 1) / (resized - 1);
  case Coordinates::Asymmetric:
    return x / axis.scale;
  case Coordinates::CropAndResize: {
    double extent = (axis.roiEnd - axis.roiBegin) * (width - 1);
    return axis.roiBegin * (width - 1) +
           (resized == 1 ? extent / 2 : x * extent / (resized - 1));
  }
  case Coordinates::PytorchHalfPixel:
    return resized == 1 ? -0.5 : (x + 0.5) / axis.scale - 0.5;
  case Coordinates::HalfPixelSymmetric: {
    double adjustment = static_cast<double>(axis.output) / resized;
    return width / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  case Coordinates::HalfPixel:
    break;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

/// Whether mode tf_crop_and_resize takes extrapolation_value there.
bool isOutside(const AxisPlan &axis, double x, Coordinates mode) {
  return mode == Coordinates::CropAndResize &&
         (x < 0 || x > static_cast<double>(axis.input - 1));
}

int64_t clampIndex(double x, int64_t extent) {
  // A comparison first: infinity is no int64_t.
  return x <= 0                                 ? 0
         : x >= static_cast<double>(extent - 1) ? extent - 1
                                                : static_cast<int64_t>(x);
}

class Resize : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    axes = attributes.getInts("axes");
    antialias = attributes.getInt("antialias", 0) != 0;
    excludesOutside = attributes.getInt("exclude_outside", 0) != 0;
    cubicA = attributes.getFloat("cubic_coeff_a", -0.75);
    extrapolation = attributes.getFloat("extrapolation_value", 0);
    for (Status status :
         {readEnum(attributes, "coordinate_transformation_mode",
                   coordinateNames, coordinates),
          readEnum(attributes, "mode", modeNames, mode),
          readEnum(attributes, "nearest_mode", nearestNames, nearest),
          readEnum(attributes, "keep_aspect_ratio_policy", aspectNames,
                   aspectRatio)})
      if (!status.ok())
        return status;
    return {};
  }

  bool needsDataForShapes(size_t input) const override {
    return input == 2 || input == 3;
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Plan plan;
    if (Status status = makePlan(inputs, false, plan); !status.ok())
      return status;
    int64_t dims[Shape::maxRank];
    size_t rank = inputs[0].shape.getRank();
    for (size_t i = 0; i < rank; ++i) {
      dims[i] = plan[i].output;
      if (plan[i].input == 0 && dims[i] != 0)
        return Status::error("dimension " + std::to_string(i) + " of " +
                             toString(inputs[0].shape) + " is empty");
    }
    return setShape(outputs[0], dims, rank);
  }

  size_t getScratchSize(Span<const TensorView> inputs,
                        Span<const TensorView> outputs,
                        unsigned) const override {
    const Shape &from = inputs[0].shape, &to = outputs[0].shape;
    int64_t tables = 0, elements = 1;
    for (size_t i = 0; i < from.getRank(); ++i) {
      tables = std::max(tables, getTableBound(from[i], to[i]));
      elements *= std::max(from[i], to[i]);
    }
    int64_t bytes =
        mode == Mode::Nearest
            ? static_cast<int64_t>(sizeof(int64_t)) * getNearestTableSize(to)
            : static_cast<int64_t>(sizeof(double)) *
                  (2 * tables + 3 * elements);
    return static_cast<size_t>(bytes);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0];
    Plan plan;
    if (Status status = makePlan(arguments.inputs, true, plan); !status.ok())
      return status;
    if (arguments.outputs[0].getElementCount() == 0)
      return {};
    if (mode == Mode::Nearest) {
      runNearest(arguments, plan);
      return {};
    }
    switch (input.type) {
    case DataType::Double:
    case DataType::Int32:
    case DataType::Int64:
    case DataType::UInt32:
    case DataType::UInt64:
      runWeighted<double>(arguments, plan);
      return {};
    default:
      if (!visitType(NumberTypes(), input.type, [](auto) {}))
        return typeError(input.type);
      runWeighted<float>(arguments, plan);
      return {};
    }
  }

private:
  /// Reads scales or sizes, and roi if wanted.
  Status makePlan(Span<const TensorView> inputs, bool needsRoi,
                  Plan &plan) const {
    const Shape &shape = inputs[0].shape;
    size_t rank = shape.getRank(), count = axes.empty() ? rank : axes.size();
    std::array<bool, Shape::maxRank> marked;
    if (Status status = resolveAxes(axes.data(), axes.size(), rank, marked);
        !status.ok())
      return status;
    for (size_t i = 0; i < rank; ++i)
      plan[i].input = plan[i].output = shape[i];
    TensorView scales = getInput(inputs, 2), sizes = getInput(inputs, 3);
    bool hasScales = isPresent(scales) && scales.getElementCount() != 0;
    if (hasScales == (isPresent(sizes) && sizes.getElementCount() != 0))
      return Status::error("needs either scales or sizes");
    const TensorView &given = hasScales ? scales : sizes;
    if (given.getElementCount() != static_cast<int64_t>(count))
      return Status::error((hasScales ? "scales" : "sizes") +
                           std::string(" must have ") + std::to_string(count) +
                           " elements, but has " +
                           std::to_string(given.getElementCount()));
    if (!hasScales && given.type != DataType::Int64)
      return Status::error("sizes must be of type int64, but is of type " +
                           std::string(getName(given.type)));
    double common = aspectRatio == AspectRatio::NotLarger
                        ? std::numeric_limits<double>::infinity()
                        : 0;
    for (size_t i = 0; i < count; ++i) {
      AxisPlan &axis = getAxis(plan, rank, i);
      auto width = static_cast<double>(axis.input);
      if (hasScales) {
        convertElements(given.type, elementAt(given, static_cast<int64_t>(i)),
                        DataType::Double, &axis.scale, 1);
        if (!(axis.scale > 0) || axis.scale * width > 0x1p52)
          return Status::error("scale " + std::to_string(axis.scale) +
                               " is not positive or too large");
        axis.output = static_cast<int64_t>(axis.scale * width);
        continue;
      }
      axis.output = getInteger(given, static_cast<int64_t>(i));
      axis.scale =
          axis.input == 0 ? 1 : static_cast<double>(axis.output) / width;
      common = aspectRatio == AspectRatio::NotLarger
                   ? std::min(common, axis.scale)
                   : std::max(common, axis.scale);
    }
    if (!hasScales && aspectRatio != AspectRatio::Stretch)
      for (size_t i = 0; i < count; ++i) {
        AxisPlan &axis = getAxis(plan, rank, i);
        double resized = common * static_cast<double>(axis.input);
        if (!(resized < 0x1p52))
          return Status::error("a result is too large");
        axis.scale = common;
        axis.output = static_cast<int64_t>(resized + 0.5);
      }
    return needsRoi && coordinates == Coordinates::CropAndResize
               ? readRoi(inputs, rank, count, plan)
               : Status();
  }

  Status readRoi(Span<const TensorView> inputs, size_t rank, size_t count,
                 Plan &plan) const {
    TensorView roi = getInput(inputs, 1);
    if (!isPresent(roi) ||
        roi.getElementCount() != static_cast<int64_t>(2 * count))
      return Status::error("roi must have " + std::to_string(2 * count) +
                           " elements");
    for (size_t i = 0; i < count; ++i) {
      AxisPlan &axis = getAxis(plan, rank, i);
      auto at = static_cast<int64_t>(i);
      convertElements(roi.type, elementAt(roi, at), DataType::Double,
                      &axis.roiBegin, 1);
      convertElements(roi.type,
                      elementAt(roi, at + static_cast<int64_t>(count)),
                      DataType::Double, &axis.roiEnd, 1);
    }
    return {};
  }

  /// The axis that element i of scales is about; they have been checked.
  AxisPlan &getAxis(Plan &plan, size_t rank, size_t i) const {
    if (axes.empty())
      return plan[i];
    return plan[static_cast<size_t>(
        axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i])];
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  /// Inputs that an output of an axis is the sum of.
  int64_t getTaps(double scale) const {
    int64_t reach = mode == Mode::Cubic ? 2 : 1;
    if (!antialias || scale >= 1)
      return 2 * reach;
    auto begin = static_cast<int64_t>(
        std::floor(-static_cast<double>(reach) / scale) + 1);
    return 2 - 2 * begin;
  }

  /// Enough for the table of an axis whatever its scale is: outputs have been
  /// rounded to a whole number.
  int64_t getTableBound(int64_t input, int64_t output) const {
    if (output == 0)
      return 0;
    double least = (static_cast<double>(output) - 0.5) /
                   static_cast<double>(std::max<int64_t>(1, input));
    return output * (getTaps(std::min(1.0, least)) + 2);
  }

  double getWeight(double distance) const {
    double x = std::fabs(distance);
    if (mode == Mode::Linear)
      return std::max(0.0, 1 - x);
    if (x <= 1)
      return ((cubicA + 2) * x - (cubicA + 3)) * x * x + 1;
    return x < 2 ? ((cubicA * x - 5 * cubicA) * x + 8 * cubicA) * x - 4 * cubicA
                 : 0;
  }

  /// The first index of an output that lies outside is -1.
  template <typename C>
  void makeTable(const AxisPlan &axis, int64_t taps, int64_t *indices,
                 C *weights) const {
    double scale = antialias ? std::min(1.0, axis.scale) : 1;
    for (int64_t at = 0; at < axis.output; ++at) {
      double x = getPosition(axis, at, coordinates);
      // Of two inputs at the same distance the left one is in.
      double first = std::ceil(x) - static_cast<double>(taps / 2), sum = 0;
      int64_t *index = indices + at * taps;
      C *weight = weights + at * taps;
      auto get = [&](int64_t tap) {
        double input = first + static_cast<double>(tap);
        bool isIn = input >= 0 && input <= static_cast<double>(axis.input - 1);
        return excludesOutside && !isIn ? 0 : getWeight((input - x) * scale);
      };
      for (int64_t tap = 0; tap < taps; ++tap)
        sum += get(tap);
      for (int64_t tap = 0; tap < taps; ++tap) {
        index[tap] = clampIndex(first + static_cast<double>(tap), axis.input);
        weight[tap] = static_cast<C>(get(tap) / (sum == 0 ? 1 : sum));
      }
      if (isOutside(axis, x, coordinates))
        index[0] = -1;
    }
  }

  template <typename C>
  void runWeighted(const KernelArguments &arguments, const Plan &plan) const {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    size_t rank = input.shape.getRank();
    int64_t tables = 0, elements = 1;
    for (size_t i = 0; i < rank; ++i) {
      tables = std::max(tables, getTableBound(plan[i].input, plan[i].output));
      elements *= std::max(plan[i].input, plan[i].output);
    }
    auto *indices = static_cast<int64_t *>(arguments.scratch);
    C *weights = reinterpret_cast<C *>(indices + tables);
    C *converted = reinterpret_cast<C *>(indices + 2 * tables);
    C *buffers[] = {converted + elements, converted + 2 * elements};
    const C *from = input.as<const C>();
    if (input.type != dataTypeOf<C>) {
      convertElements(input.type, input.data, dataTypeOf<C>, converted,
                      input.getElementCount());
      from = converted;
    }
    // Axes that shrink most come first: less to do for the others.
    std::array<bool, Shape::maxRank> done{};
    Shape shape = input.shape;
    size_t next = 0;
    for (size_t pass = 0; pass < rank; ++pass) {
      size_t best = rank;
      for (size_t i = 0; i < rank; ++i)
        if (!done[i] && (best == rank || plan[i].scale < plan[best].scale))
          best = i;
      done[best] = true;
      const AxisPlan &axis = plan[best];
      if (axis.stays())
        continue;
      int64_t taps = getTaps(axis.scale);
      makeTable(axis, taps, indices, weights);
      runPass(shape, best, axis, taps, indices, weights, from, buffers[next],
              *arguments.threads);
      from = buffers[next];
      next = 1 - next;
      shape[best] = axis.output;
    }
    writeResult(from, output);
  }

  template <typename C>
  void runPass(const Shape &shape, size_t along, const AxisPlan &axis,
               int64_t taps, const int64_t *indices, const C *weights,
               const C *from, C *to, ThreadPool &threads) const {
    int64_t inner = getProduct(shape, along + 1, shape.getRank());
    int64_t outer = getProduct(shape, 0, along);
    if (inner == 1) {
      threads.parallelFor(outer, getGrain(axis.output * taps * 8),
                          [&](int64_t begin, int64_t end, unsigned) {
                            for (int64_t i = begin; i < end; ++i)
                              runLine(axis, taps, indices, weights,
                                      from + i * axis.input,
                                      to + i * axis.output);
                          });
      return;
    }
    auto outside = static_cast<C>(extrapolation);
    threads.parallelFor(
        outer * axis.output, getGrain(inner * taps * 4),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            const C *plane = from + i / axis.output * axis.input * inner;
            const int64_t *index = indices + i % axis.output * taps;
            const C *weight = weights + i % axis.output * taps;
            C *row = to + i * inner;
            std::fill_n(row, inner, index[0] < 0 ? outside : C(0));
            for (int64_t tap = 0; index[0] >= 0 && tap < taps; ++tap) {
              const C *x = plane + index[tap] * inner;
              for (int64_t j = 0; j < inner; ++j)
                row[j] += weight[tap] * x[j];
            }
          }
        });
  }

  /// The last axis, whose outputs are next to each other.
  template <typename C>
  void runLine(const AxisPlan &axis, int64_t taps, const int64_t *indices,
               const C *weights, const C *from, C *to) const {
    auto outside = static_cast<C>(extrapolation);
    for (int64_t i = 0; i < axis.output; ++i) {
      const int64_t *index = indices + i * taps;
      const C *weight = weights + i * taps;
      C sum = index[0] < 0 ? outside : C(0);
      for (int64_t tap = 0; index[0] >= 0 && tap < taps; ++tap)
        sum += weight[tap] * from[index[tap]];
      to[i] = sum;
    }
  }

  /// Integers are cut off, and don't wrap around.
  template <typename C>
  static void writeResult(const C *values, const TensorView &output) {
    visitType(NumberTypes(), output.type, [&](auto element) {
      using T = decltype(element);
      int64_t count = output.getElementCount();
      if constexpr (!std::is_integral_v<T>) {
        convertElements(dataTypeOf<C>, values, output.type, output.data, count);
      } else {
        // The first float past the largest integer, a power of two.
        C low = static_cast<C>(std::numeric_limits<T>::lowest());
        C high = static_cast<C>(std::numeric_limits<T>::max() / 2 + 1) * 2;
        for (int64_t i = 0; i < count; ++i)
          output.as<T>()[i] = values[i] >= high ? std::numeric_limits<T>::max()
                              : values[i] >= low
                                  ? static_cast<T>(values[i])
                                  : std::numeric_limits<T>::lowest();
      }
    });
  }

  //===--------------------------------------------------------------------===//
  // Moves
  //===--------------------------------------------------------------------===//

  static int64_t getNearestTableSize(const Shape &shape) {
    int64_t size = 0;
    for (int64_t dim : shape)
      size += dim;
    return size;
  }

  int64_t getNearest(const AxisPlan &axis, int64_t at) const {
    double x = getPosition(axis, at, coordinates);
    if (isOutside(axis, x, coordinates))
      return -1;
    double floor = std::floor(x), ratio = x - floor;
    bool isUp = nearest == Nearest::PreferFloor ? ratio > 0.5
                : nearest == Nearest::PreferCeil
                    ? ratio >= 0.5
                    : nearest == Nearest::Ceil && ratio > 0;
    return clampIndex(floor + (isUp ? 1 : 0), axis.input);
  }

  void runNearest(const KernelArguments &arguments, const Plan &plan) const {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    size_t rank = input.shape.getRank();
    auto *next = static_cast<int64_t *>(arguments.scratch);
    int64_t *tables[Shape::maxRank];
    for (size_t i = 0; i < rank; ++i) {
      tables[i] = next;
      for (int64_t at = 0; at < plan[i].output; ++at)
        *next++ = plan[i].stays() ? at : getNearest(plan[i], at);
    }
    int64_t width = rank == 0 ? 1 : plan[rank - 1].output;
    visitSize(input.type, [&](auto element) {
      using T = decltype(element);
      T outside{};
      if (input.type != DataType::String && isNumeric(input.type))
        convertElements(DataType::Double, &extrapolation, input.type, &outside,
                        1);
      arguments.threads->parallelFor(
          output.getElementCount() / width,
          getGrain(width * 2 * static_cast<int64_t>(sizeof(T))),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t row = begin; row < end; ++row) {
              bool isIn = true;
              int64_t rest = row, from = 0, stride = 1;
              if (rank != 0)
                stride = plan[rank - 1].input;
              for (size_t i = rank; i-- > 1;) {
                int64_t index = tables[i - 1][rest % plan[i - 1].output];
                rest /= plan[i - 1].output;
                isIn &= index >= 0;
                from += index * stride;
                stride *= plan[i - 1].input;
              }
              T *to = output.as<T>() + row * width;
              if (!isIn) {
                std::fill_n(to, width, outside);
                continue;
              }
              const T *x = input.as<const T>() + from;
              for (int64_t j = 0; j < width; ++j) {
                int64_t index = rank == 0 ? 0 : tables[rank - 1][j];
                to[j] = index < 0 ? outside : x[index];
              }
            }
          });
    });
  }

  std::vector<int64_t> axes;
  bool antialias = false, excludesOutside = false;
  double cubicA = -0.75, extrapolation = 0;
  Coordinates coordinates = Coordinates::HalfPixel;
  Mode mode = Mode::Nearest;
  Nearest nearest = Nearest::PreferFloor;
  AspectRatio aspectRatio = AspectRatio::Stretch;
};

constexpr KernelEntry entries[] = {{"resize", create<Resize>}};

} // namespace

Span<const KernelEntry> amp::runtime::getResizeKernels() {
  return {entries, std::size(entries)};
}
