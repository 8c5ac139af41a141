//===- SlidingWindow.cpp - gradients of convolutions and pools ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlidingWindow.h"

#include <numeric>

using namespace mlir;

namespace amp::onnx {

//===----------------------------------------------------------------------===//
// The windows of nodes
//===----------------------------------------------------------------------===//

SlidingWindow::SlidingWindow(Gradient &g, Expr image, Expr places,
                             ArrayRef<int64_t> kernel)
    : b(&g.b), image(image), places(places) {
  axes.resize(kernel.size());
  SmallVector<int64_t> ones(kernel.size(), 1);
  SmallVector<int64_t> strides = g.getInts("strides").value_or(ones);
  SmallVector<int64_t> dilations = g.getInts("dilations").value_or(ones);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    axis.kernel = kernel[i];
    axis.stride = i < strides.size() ? std::max<int64_t>(strides[i], 1) : 1;
    axis.dilation = i < dilations.size() ? dilations[i] : 1;
  }
  extraInFront = g.getString("auto_pad", "NOTSET") == "SAME_LOWER";
}

/// Half of what is padded in all, where an odd one goes to one side.
static int64_t frontHalf(int64_t total, bool extraInFront) {
  return (total + extraInFront) / 2;
}

SlidingWindow SlidingWindow::overInput(Gradient &g, Expr image, Expr places,
                                       ArrayRef<int64_t> kernel) {
  SlidingWindow window(g, image, places, kernel);
  StringRef mode = g.getString("auto_pad", "NOTSET");
  bool isSame = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  SmallVector<int64_t> pads =
      g.getInts("pads").value_or(SmallVector<int64_t>(2 * kernel.size(), 0));
  if (mode == "VALID" || pads.size() != 2 * kernel.size())
    pads.assign(2 * kernel.size(), 0);
  for (auto [i, axis] : llvm::enumerate(window.axes)) {
    std::optional<int64_t> size = image.getSize(2 + i);
    std::optional<int64_t> count = places.getSize(2 + i);
    axis.begin = pads[i];
    axis.padding = pads[kernel.size() + i];
    if (isSame && (size || axis.stride == 1)) {
      int64_t stops = size ? llvm::divideCeil(*size, axis.stride) : 1;
      int64_t used = (stops - 1) * axis.stride + axis.getExtent();
      int64_t total = std::max<int64_t>(used - size.value_or(1), 0);
      axis.begin = frontHalf(total, window.extraInFront);
      axis.padding = total - *axis.begin;
    } else if (isSame) {
      axis.begin = axis.padding = std::nullopt;
    }
    if (size && count && axis.begin)
      axis.end =
          (*count - 1) * axis.stride + axis.getExtent() - *axis.begin - *size;
    else if (axis.stride == 1)
      axis.end = axis.padding;
  }
  return window;
}

FailureOr<SlidingWindow> SlidingWindow::overOutput(Gradient &g, Expr places,
                                                   Expr image,
                                                   ArrayRef<int64_t> kernel) {
  SlidingWindow window(g, image, places, kernel);
  StringRef mode = g.getString("auto_pad", "NOTSET");
  SmallVector<int64_t> zeros(kernel.size(), 0);
  SmallVector<int64_t> added = g.getInts("output_padding").value_or(zeros);
  std::optional<SmallVector<int64_t>> sizes = g.getInts("output_shape");
  SmallVector<int64_t> pads =
      g.getInts("pads").value_or(SmallVector<int64_t>(2 * kernel.size(), 0));
  if (mode == "VALID" || pads.size() != 2 * kernel.size())
    pads.assign(2 * kernel.size(), 0);
  for (auto [i, axis] : llvm::enumerate(window.axes)) {
    int64_t more = i < added.size() ? added[i] : 0;
    std::optional<int64_t> total;
    if (sizes && i < sizes->size()) {
      std::optional<int64_t> count = places.getSize(2 + i);
      if (!count)
        return g.fail("where 'output_shape' is given and the input's size is "
                      "not known: declare its shape");
      total = (*count - 1) * axis.stride + axis.getExtent() + more -
              sizes->end()[-int64_t(kernel.size()) + int64_t(i)];
    } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      total = axis.getExtent() + more - axis.stride;
    }
    axis.begin = pads[i];
    axis.padding = pads[kernel.size() + i];
    if (total) {
      // Only SAME_UPPER puts an odd one behind.
      total = std::max<int64_t>(*total, 0);
      axis.begin = frontHalf(*total, mode != "SAME_UPPER");
      axis.padding = *total - *axis.begin;
    }
    axis.end = *axis.padding - more;
  }
  return window;
}

double SlidingWindow::getSize() const {
  double size = 1;
  for (const Axis &axis : axes)
    size *= double(axis.kernel);
  return size;
}

SmallVector<int64_t> SlidingWindow::getDimensions() const {
  SmallVector<int64_t> dimensions(axes.size());
  std::iota(dimensions.begin(), dimensions.end(), 2);
  return dimensions;
}

bool SlidingWindow::isDisjoint() const {
  return llvm::all_of(
      axes, [](const Axis &axis) { return axis.getExtent() <= axis.stride; });
}

//===----------------------------------------------------------------------===//
// Sizes when the model runs
//===----------------------------------------------------------------------===//

template <typename Get>
SlidingWindow::Sizes SlidingWindow::each(Get get) const {
  Sizes values;
  for (const Axis &axis : axes)
    values.push_back(get(axis));
  return values;
}

/// What is padded in front, a list of one.
Expr SlidingWindow::beginOf(unsigned axis) const {
  const Axis &known = axes[axis];
  if (known.begin)
    return b->ints(*known.begin);
  // auto_pad: SAME.
  Expr missing = covered(axis) - b->sizeOf(image, 2 + axis);
  Expr total = max(missing, b->ints(0));
  return (extraInFront ? total + b->ints(1) : total) / b->ints(2);
}

/// From the start of the first window to the end of the last, a list of one.
Expr SlidingWindow::covered(unsigned axis) const {
  const Axis &known = axes[axis];
  return b->sizeOf(places, 2 + axis) * b->ints(known.stride) +
         b->ints(known.getExtent() - known.stride);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SmallVector<NamedAttribute> SlidingWindow::steps() const {
  return {
      b->attr("strides", each([](const Axis &axis) { return axis.stride; })),
      b->attr("dilations",
              each([](const Axis &axis) { return axis.dilation; }))};
}

Expr SlidingWindow::toImage(Expr placesValue, Expr weight,
                            int64_t group) const {
  // Where the end is not known, as much as there may be, cut off afterwards.
  Sizes pads =
      each([](const Axis &axis) { return axis.isKnown() ? *axis.begin : 0; });
  pads.append(each([](const Axis &axis) {
    return axis.isKnown() ? std::max<int64_t>(*axis.end, 0) : 0;
  }));
  Sizes more = each([](const Axis &axis) {
    return axis.isKnown() ? std::max<int64_t>(-*axis.end, 0) : axis.stride - 1;
  });
  SmallVector<NamedAttribute> attributes = steps();
  attributes.push_back(b->attr("group", group));
  attributes.push_back(b->attr("pads", pads));
  if (llvm::any_of(more, [](int64_t size) { return size != 0; }))
    attributes.push_back(b->attr("output_padding", more));
  Expr value = b->apply("ConvTranspose", {placesValue, weight}, attributes);
  SmallVector<Value> starts, ends;
  SmallVector<int64_t> cut;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis.isKnown())
      continue;
    Expr begin = beginOf(i);
    starts.push_back(begin);
    ends.push_back(begin + b->sizeOf(image, 2 + i));
    cut.push_back(2 + i);
  }
  if (cut.empty())
    return value;
  return b->apply(
      "Slice", {value, b->concat(starts, 0), b->concat(ends, 0), b->ints(cut)});
}

/// The image without what no window sees, and the pads that are left for Conv.
std::pair<Expr, SlidingWindow::Sizes>
SlidingWindow::fit(Expr imageValue) const {
  SmallVector<int64_t> cutAxes, cutEnds, paddedAxes;
  SmallVector<Value> begins, ends;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis.isKnown()) {
      if (*axis.end < 0) {
        cutAxes.push_back(2 + i);
        cutEnds.push_back(*axis.end);
      }
      continue;
    }
    Expr begin = beginOf(i);
    paddedAxes.push_back(2 + i);
    begins.push_back(begin);
    ends.push_back(covered(i) - begin - b->sizeOf(image, 2 + i));
  }
  if (!cutAxes.empty())
    imageValue = b->slice(imageValue, SmallVector<int64_t>(cutAxes.size(), 0),
                          cutEnds, cutAxes);
  if (!paddedAxes.empty()) {
    begins.append(ends);
    imageValue = b->pad(imageValue, b->concat(begins, 0), b->ints(paddedAxes));
  }
  Sizes pads =
      each([](const Axis &axis) { return axis.isKnown() ? *axis.begin : 0; });
  pads.append(each([](const Axis &axis) {
    return axis.isKnown() ? std::max<int64_t>(*axis.end, 0) : 0;
  }));
  return {imageValue, pads};
}

Expr SlidingWindow::toPlaces(Expr imageValue, Expr weight,
                             int64_t group) const {
  auto [fitted, pads] = fit(imageValue);
  SmallVector<NamedAttribute> attributes = steps();
  attributes.push_back(b->attr("group", group));
  attributes.push_back(b->attr("pads", pads));
  return b->apply("Conv", {fitted, weight}, attributes);
}

/// Reshapes to these sizes and those of a value's own dimensions from `first`.
static Expr reshapeFront(Expr value, ArrayRef<int64_t> sizes, int64_t first) {
  NodeBuilder &b = value.getBuilder();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.hasStaticShape()) {
    SmallVector<int64_t> all(sizes);
    llvm::append_range(all, type.getShape().drop_front(first));
    return b.reshape(value, all);
  }
  Expr rest = b.apply("Shape", {value}, b.attr("start", first));
  return b.reshape(value, b.concat({b.ints(sizes), rest}, 0));
}

/// Swaps the first two of the dimensions.
static Expr swapFront(Expr value, int64_t rank) {
  SmallVector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return value.getBuilder().transpose(value, order);
}

/// The gradient of a weight that is a matrix, of a point of the image for each
/// place.
Expr SlidingWindow::pointWeight(Expr imageValue, Expr placesValue,
                                Expr weight) const {
  SmallVector<int64_t> sliced, starts, ends, strides;
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis.stride != 1) {
      sliced.push_back(2 + i);
      starts.push_back(0);
      ends.push_back(std::numeric_limits<int64_t>::max());
      strides.push_back(axis.stride);
    }
  if (!sliced.empty())
    imageValue = b->slice(imageValue, starts, ends, sliced, strides);
  // [N, C, places...] as [C, N * places].
  auto asMatrix = [&](Expr value, int64_t channels) {
    return b->reshape(swapFront(value, 2 + getRank()), {channels, -1});
  };
  Expr product = b->apply("Gemm",
                          {asMatrix(placesValue, *weight.getSize(0)),
                           asMatrix(imageValue, *weight.getSize(1))},
                          b->attr("transB", 1));
  return b->reshapeLike(product, weight);
}

Expr SlidingWindow::toWeight(Expr imageValue, Expr placesValue, Expr weight,
                             int64_t group) const {
  int64_t rank = 2 + getRank();
  bool isPoint = llvm::all_of(axes, [](const Axis &axis) {
    return axis.kernel == 1 && axis.begin == 0 && axis.padding == 0;
  });
  bool isKnown = weight.getSize(0) && weight.getSize(1);
  if (isPoint && group == 1 && isKnown)
    return pointWeight(imageValue, placesValue, weight);

  // The batch is what is summed over: it takes the place of the channels, and
  // the image's channels that of the batch. Strides are the dilations of
  // kernels that are as large as the places.
  auto [fitted, pads] = fit(imageValue);
  Expr channelsFirst = swapFront(fitted, rank);
  int64_t channels = weight.getSize(1).value_or(0); // of a group
  if (group > 1 && channels != 1)
    channelsFirst =
        swapFront(reshapeFront(channelsFirst, {group, channels}, 1), rank + 1);
  if (group > 1)
    channelsFirst =
        reshapeFront(channelsFirst, {channels, -1}, channels == 1 ? 2 : 3);
  Expr product = b->apply(
      "Conv", {channelsFirst, swapFront(placesValue, rank)},
      {b->attr("strides", each([](const Axis &axis) { return axis.dilation; })),
       b->attr("dilations", each([](const Axis &axis) { return axis.stride; })),
       b->attr("group", group), b->attr("pads", pads)});
  return swapFront(product, rank);
}

//===----------------------------------------------------------------------===//
// Sums over windows
//===----------------------------------------------------------------------===//

/// A kernel of ones, of one channel.
Expr SlidingWindow::ones(Type elementType) const {
  Sizes shape = {1, 1};
  shape.append(each([](const Axis &axis) { return axis.kernel; }));
  return b->apply("Expand", {b->number(1.0, elementType), b->ints(shape)});
}

Expr SlidingWindow::spread(Expr placesValue) const {
  // Channels are a batch.
  Expr flat = reshapeFront(placesValue, {-1, 1}, 2);
  Expr kernel = ones(placesValue.getElementType());
  return b->reshapeLike(toImage(flat, kernel, /*group=*/1), image);
}

bool SlidingWindow::isCountConstant(bool padded, bool ceiled) const {
  return llvm::all_of(axes, [&](const Axis &axis) {
    if (!padded && (axis.begin != 0 || axis.padding != 0))
      return false;
    return !ceiled || (axis.isKnown() && *axis.end <= *axis.padding);
  });
}

Expr SlidingWindow::count(bool padded) const {
  Type f32 = Float32Type::get(b->getContext());
  SmallVector<Value> sizes = {b->ints({1, 1})};
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Expr size = b->sizeOf(image, 2 + i);
    if (padded && !axis.begin) // SAME
      size = max(covered(i), size);
    else if (padded)
      size = size + b->ints(*axis.begin + *axis.padding);
    sizes.push_back(size);
  }
  Expr filled = b->apply("Expand", {b->number(1.0, f32), b->concat(sizes, 0)});
  if (!padded)
    return toPlaces(filled, ones(f32), /*group=*/1);
  // The padding is there already; what is behind it counts nothing.
  SlidingWindow inside = *this;
  inside.image = filled;
  for (Axis &axis : inside.axes) {
    if (axis.isKnown())
      *axis.end -= *axis.padding;
    axis.begin = axis.padding = 0;
  }
  return inside.toPlaces(filled, ones(f32), /*group=*/1);
}

} // namespace amp::onnx
