//===- Window.cpp - windows that slide over a tensor ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Window.h"

#include <algorithm>
#include <tuple>

using namespace amp::runtime;

namespace {

/// ceil(a / b) for b > 0.
int64_t divideUp(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

Status checkList(const std::vector<int64_t> &list, const char *name,
                 size_t wanted, int64_t least) {
  if (!list.empty() && list.size() != wanted)
    return Status::error(std::string(name) + " must have " +
                         std::to_string(wanted) + " elements, but has " +
                         std::to_string(list.size()));
  for (int64_t value : list)
    if (value < least || value > INT32_MAX)
      return Status::error(std::string(name) + " has the element " +
                           std::to_string(value) + ", out of range [" +
                           std::to_string(least) + ", 2147483647]");
  return {};
}

} // namespace

void WindowAxis::getValidOutputs(int64_t offset, int64_t &begin,
                                 int64_t &end) const {
  int64_t shift = padBegin - offset * dilation;
  begin = std::clamp<int64_t>(divideUp(shift, stride), 0, output);
  end = std::clamp<int64_t>(divideUp(input + shift, stride), begin, output);
}

int64_t Window::getInputSize() const {
  int64_t size = 1;
  for (size_t i = 0; i < rank; ++i)
    size *= axes[i].input;
  return size;
}

int64_t Window::getOutputSize() const {
  int64_t size = 1;
  for (size_t i = 0; i < rank; ++i)
    size *= axes[i].output;
  return size;
}

int64_t Window::getKernelSize() const {
  int64_t size = 1;
  for (size_t i = 0; i < rank; ++i)
    size *= axes[i].kernel;
  return size;
}

Status WindowAttributes::configure(const Attributes &attributes) {
  kernel = attributes.getInts("kernel_shape");
  strides = attributes.getInts("strides");
  pads = attributes.getInts("pads");
  dilations = attributes.getInts("dilations");
  autoPad = attributes.getString("auto_pad", "NOTSET");
  isCeil = attributes.getInt("ceil_mode", 0) != 0;
  if (autoPad != "NOTSET" && autoPad != "VALID" && autoPad != "SAME_UPPER" &&
      autoPad != "SAME_LOWER")
    return Status::error("auto_pad has no value " + autoPad);
  return {};
}

Status WindowAttributes::resolve(const Shape &shape, Window &window,
                                 const int64_t *weight) const {
  if (shape.getRank() < 3)
    return Status::error("expects at least rank 3, but got dimensions " +
                         toString(shape));
  size_t rank = window.rank = shape.getRank() - 2;
  if (!weight && kernel.empty())
    return Status::error("needs a kernel_shape");
  for (auto [list, name, count, least] :
       {std::tuple(&kernel, "kernel_shape", rank, 1),
        std::tuple(&strides, "strides", rank, 1),
        std::tuple(&dilations, "dilations", rank, 1),
        std::tuple(&pads, "pads", 2 * rank, 0)})
    if (Status status = checkList(*list, name, count, least); !status.ok())
      return status;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis &axis = window.axes[i];
    axis.input = shape[i + 2];
    axis.kernel = weight ? weight[i] : kernel[i];
    axis.stride = strides.empty() ? 1 : strides[i];
    axis.dilation = dilations.empty() ? 1 : dilations[i];
    if (axis.kernel < 1)
      return Status::error("a window has no elements along dimension " +
                           std::to_string(i + 2));
    int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      axis.output = divideUp(axis.input, axis.stride);
      int64_t total = std::max<int64_t>(0, (axis.output - 1) * axis.stride +
                                               extent - axis.input);
      axis.padBegin = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.padEnd = total - axis.padBegin;
      continue;
    }
    bool hasPads = autoPad == "NOTSET" && !pads.empty();
    axis.padBegin = hasPads ? pads[i] : 0;
    axis.padEnd = hasPads ? pads[i + rank] : 0;
    int64_t room = axis.input + axis.padBegin + axis.padEnd - extent;
    if (room < 0)
      return Status::error("a window of " + std::to_string(extent) +
                           " elements doesn't fit into dimension " +
                           std::to_string(i + 2) + " of " + toString(shape));
    axis.output =
        (isCeil ? divideUp(room, axis.stride) : room / axis.stride) + 1;
    // No window starts in the padding at the end.
    if (isCeil && (axis.output - 1) * axis.stride >= axis.input + axis.padBegin)
      --axis.output;
  }
  return {};
}
