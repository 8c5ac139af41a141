//===- Window.h - windows that slide over a tensor --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_WINDOW_H
#define AMP_RUNTIME_CPU_WINDOW_H

#include "Kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace amp::runtime {

/// A window over one axis.
struct WindowAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1;
  int64_t padBegin = 0, padEnd = 0;

  /// The outputs [begin, end) whose element `offset` of the window is in the
  /// input.
  void getValidOutputs(int64_t offset, int64_t &begin, int64_t &end) const;
  /// Where that element of an output's window is; maybe in the padding.
  int64_t getInput(int64_t at, int64_t offset) const {
    return at * stride + offset * dilation - padBegin;
  }
};

/// A window over the axes of a tensor N x C x D1 x D2 …
struct Window {
  static constexpr size_t maxAxes = Shape::maxRank - 2;
  WindowAxis axes[maxAxes];
  size_t rank = 0;

  /// Elements of a channel, of one that comes out, and of the kernel.
  int64_t getInputSize() const;
  int64_t getOutputSize() const;
  int64_t getKernelSize() const;

  /// A row is what the last axis runs over. Calls visit(row of the input, row
  /// of the kernel) for those rows under the window of a row of the output that
  /// are not in the padding.
  template <typename Visitor>
  void forEachRow(int64_t outputRow, const Visitor &visit) const;
};

/// The attributes kernel_shape, strides, pads, dilations, auto_pad, ceil_mode.
class WindowAttributes {
public:
  Status configure(const Attributes &attributes);
  /// The window over a tensor of that shape; `kernel` are the dimensions of a
  /// weight, for operators that have one.
  Status resolve(const Shape &shape, Window &window,
                 const int64_t *weight = nullptr) const;
  const std::vector<int64_t> &getKernel() const { return kernel; }
  const std::vector<int64_t> &getStrides() const { return strides; }
  const std::vector<int64_t> &getPads() const { return pads; }

private:
  std::vector<int64_t> kernel, strides, pads, dilations;
  std::string autoPad;
  bool isCeil = false;
};

template <typename Visitor>
void Window::forEachRow(int64_t outputRow, const Visitor &visit) const {
  int64_t at[maxAxes], offset[maxAxes] = {};
  for (size_t i = rank - 1; i-- > 0;) {
    at[i] = outputRow % axes[i].output;
    outputRow /= axes[i].output;
  }
  int64_t kernelRows = getKernelSize() / axes[rank - 1].kernel;
  for (int64_t row = 0; row < kernelRows; ++row) {
    int64_t rest = row, inputRow = 0;
    bool isInside = true;
    for (size_t i = rank - 1; i-- > 0;) {
      offset[i] = rest % axes[i].kernel;
      rest /= axes[i].kernel;
    }
    for (size_t i = 0; i + 1 < rank; ++i) {
      int64_t position = axes[i].getInput(at[i], offset[i]);
      isInside &= position >= 0 && position < axes[i].input;
      inputRow = inputRow * axes[i].input + position;
    }
    if (isInside)
      visit(inputRow, row);
  }
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_WINDOW_H
