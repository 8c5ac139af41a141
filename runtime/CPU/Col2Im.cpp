//===- Col2Im.cpp - images of overlapping blocks --------------------------===//
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
#include "CPU/Window.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

class Col2Im : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    return window.configure(attributes);
  }

  bool needsDataForShapes(size_t input) const override { return input != 0; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Window resolved;
    Shape shape;
    if (Status status = resolve(inputs, resolved, shape); !status.ok())
      return status;
    return setShape(outputs[0], shape);
  }

  size_t getScratchSize(Span<const TensorView>, Span<const TensorView> outputs,
                        unsigned threads) const override {
    return threads * sizeof(double) *
           static_cast<size_t>(
               getProduct(outputs[0].shape, 2, outputs[0].shape.getRank()));
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0];
    Window resolved;
    Shape shape;
    if (Status status = resolve(arguments.inputs, resolved, shape);
        !status.ok())
      return status;
    int64_t size = resolved.getInputSize(), blocks = resolved.getOutputSize();
    int64_t kernel = resolved.getKernelSize();
    bool found = visitType(NumberTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      using C = Compute<T>;
      arguments.threads->parallelFor(
          shape[0] * shape[1], getGrain(blocks * kernel * 4),
          [&](int64_t begin, int64_t end, unsigned thread) {
            auto *sums =
                reinterpret_cast<C *>(static_cast<double *>(arguments.scratch) +
                                      size * static_cast<int64_t>(thread));
            for (int64_t i = begin; i < end; ++i) {
              std::fill_n(sums, size, C(0));
              add(resolved, input.as<const T>() + i * kernel * blocks, sums);
              convertElements(dataTypeOf<C>, sums, input.type,
                              arguments.outputs[0].as<T>() + i * size, size);
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  /// The image is what the window slides over.
  Status resolve(Span<const TensorView> inputs, Window &resolved,
                 Shape &shape) const {
    IntegerList image, block;
    if (Status status = readIntegers(inputs[1], "image_shape", image);
        !status.ok())
      return status;
    if (Status status = readIntegers(inputs[2], "block_shape", block);
        !status.ok())
      return status;
    const Shape &columns = inputs[0].shape;
    if (columns.getRank() != 3 || image.size != block.size ||
        image.size > Window::maxAxes)
      return Status::error("an image of rank " + std::to_string(image.size) +
                           " is not made of blocks of rank " +
                           std::to_string(block.size) + " in dimensions " +
                           toString(columns));
    int64_t size = 1;
    for (size_t i = 0; i < image.size; ++i)
      if (image[i] < 1 || image[i] > INT32_MAX || block[i] < 1 ||
          block[i] > image[i] + INT32_MAX ||
          __builtin_mul_overflow(size, block[i], &size))
        return Status::error("image_shape or block_shape is out of range");
    shape = {columns[0], columns[1] / size};
    for (int64_t dim : image)
      shape.push_back(dim);
    if (Status status = window.resolve(shape, resolved, block.begin());
        !status.ok())
      return status;
    if (columns[1] % size != 0 || columns[2] != resolved.getOutputSize())
      return Status::error("expects columns of dimensions Nx" +
                           std::to_string(size) + "*Cx" +
                           std::to_string(resolved.getOutputSize()) +
                           ", but got " + toString(columns));
    return {};
  }

  template <typename T>
  static void add(const Window &window, const T *columns, Compute<T> *sums) {
    const WindowAxis &last = window.axes[window.rank - 1];
    int64_t blocks = window.getOutputSize();
    for (int64_t row = 0; row < blocks / last.output; ++row)
      window.forEachRow(row, [&](int64_t imageRow, int64_t kernelRow) {
        for (int64_t offset = 0; offset < last.kernel; ++offset) {
          int64_t begin, end;
          last.getValidOutputs(offset, begin, end);
          const T *from = columns +
                          (kernelRow * last.kernel + offset) * blocks +
                          row * last.output;
          Compute<T> *to = sums + imageRow * last.input;
          for (int64_t i = begin; i < end; ++i) {
            Compute<T> &sum = to[last.getInput(i, offset)];
            if constexpr (std::is_integral_v<T>)
              sum = static_cast<T>(static_cast<uint64_t>(sum) +
                                   static_cast<uint64_t>(from[i]));
            else
              sum += load(from[i]);
          }
        }
      });
  }

  WindowAttributes window;
};

constexpr KernelEntry entries[] = {{"col2im", create<Col2Im>}};

} // namespace

Span<const KernelEntry> amp::runtime::getCol2ImKernels() {
  return {entries, std::size(entries)};
}
