//===- Convolution.cpp - gradients of convolutions ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlidingWindow.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// The sizes of the weight's spatial dimensions.
FailureOr<SmallVector<int64_t>> getKernel(Gradient &g) {
  auto type = dyn_cast<RankedTensorType>(g.x(1).getType());
  if (std::optional<SmallVector<int64_t>> kernel = g.getInts("kernel_shape"))
    return *kernel;
  SmallVector<int64_t> kernel;
  if (type && type.getRank() > 2)
    llvm::append_range(kernel, type.getShape().drop_front(2));
  if (kernel.empty() || llvm::is_contained(kernel, ShapedType::kDynamic))
    return g.fail("where the size of the kernel is not known: declare the "
                  "shape of input 1");
  return kernel;
}

/// Groups are taken apart by the weight's channels.
LogicalResult checkGroups(Gradient &g, int64_t group) {
  if (group == 1 || !g.isNeeded(1) || g.x(1).getSize(1))
    return success();
  return g.fail("where the channels of groups are not known: declare the shape "
                "of input 1");
}

void setBias(Gradient &g, const SlidingWindow &window) {
  if (!g.isNeeded(2))
    return;
  SmallVector<int64_t> axes = {0};
  axes.append(window.getDimensions());
  g.setAlike(2, g.b.reduceSum(g.dy(), axes, /*keepDims=*/false));
}

LogicalResult conv(Gradient &g) {
  FailureOr<SmallVector<int64_t>> kernel = getKernel(g);
  int64_t group = g.getInt("group", 1);
  if (failed(kernel) || failed(checkGroups(g, group)))
    return failure();
  SlidingWindow window = SlidingWindow::overInput(g, g.x(0), g.y(), *kernel);
  if (g.isNeeded(0))
    g.setAlike(0, window.toImage(g.dy(), g.x(1), group));
  if (g.isNeeded(1))
    g.setAlike(1, window.toWeight(g.x(0), g.dy(), g.x(1), group));
  setBias(g, window);
  return success();
}

LogicalResult convTranspose(Gradient &g) {
  FailureOr<SmallVector<int64_t>> kernel = getKernel(g);
  int64_t group = g.getInt("group", 1);
  if (failed(kernel) || failed(checkGroups(g, group)))
    return failure();
  FailureOr<SlidingWindow> window =
      SlidingWindow::overOutput(g, g.x(0), g.y(), *kernel);
  if (failed(window))
    return failure();
  if (g.isNeeded(0))
    g.setAlike(0, window->toPlaces(g.dy(), g.x(1), group));
  if (g.isNeeded(1))
    g.setAlike(1, window->toWeight(g.dy(), g.x(0), g.x(1), group));
  setBias(g, *window);
  return success();
}

/// Each block's elements where the image has them: rows of the image are taken
/// by [block, stop], then its columns.
LogicalResult col2Im(Gradient &g) {
  NodeBuilder &b = g.b;
  std::optional<SmallVector<int64_t>> sizes = g.getConstantInts(1);
  std::optional<SmallVector<int64_t>> block = g.getConstantInts(2);
  if (!sizes || !block || sizes->size() != block->size())
    return g.fail("where the sizes of the image or of the block are no "
                  "constants");
  int64_t count = sizes->size();
  SmallVector<int64_t> ones(count, 1), zeros(2 * count, 0);
  SmallVector<int64_t> strides = g.getInts("strides").value_or(ones);
  SmallVector<int64_t> dilations = g.getInts("dilations").value_or(ones);
  SmallVector<int64_t> pads = g.getInts("pads").value_or(zeros);
  strides.resize(count, 1);
  dilations.resize(count, 1);
  pads.resize(2 * count, 0);
  Expr value = g.dy();
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; })) {
    SmallVector<int64_t> all(2 * count + 4, 0);
    llvm::copy(ArrayRef(pads).take_front(count), all.begin() + 2);
    llvm::copy(ArrayRef(pads).take_back(count), all.begin() + 4 + count);
    value = b.apply("Pad", {value, b.ints(all)});
  }
  SmallVector<int64_t> order = {0, 1};
  for (int64_t i = 0; i < count; ++i) {
    int64_t extent = ((*block)[i] - 1) * dilations[i] + 1;
    int64_t padded = (*sizes)[i] + pads[i] + pads[count + i];
    int64_t stops = std::max<int64_t>(
        (padded - extent) / std::max<int64_t>(strides[i], 1) + 1, 0);
    auto range = [&](int64_t length, int64_t step) {
      return b.apply("Range",
                     {b.integer(0), b.integer(length * step), b.integer(step)});
    };
    Expr index = b.unsqueeze(range((*block)[i], dilations[i]), {1}) +
                 range(stops, strides[i]);
    value = b.apply("Gather", {value, index}, b.attr("axis", 2 + 2 * i));
    order.push_back(2 + 2 * i);
  }
  for (int64_t i = 0; i < count; ++i)
    order.push_back(3 + 2 * i);
  g.setAlike(0, b.reshapeLike(b.transpose(value, order), g.x()));
  return success();
}

constexpr GradientRule rules[] = {
    {"Col2Im", col2Im},
    {"Conv", conv},
    {"ConvTranspose", convTranspose},
};

} // namespace

ArrayRef<GradientRule> getConvolutionRules() { return rules; }

} // namespace amp::onnx
