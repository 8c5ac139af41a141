//===- Shapes.h - axes, dimensions and their errors -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_SHAPES_H
#define AMP_RUNTIME_CPU_SHAPES_H

#include "Kernel.h"

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <array>
#include <cstdint>
#include <string>

namespace amp::runtime {

/// Room for the numbers of a small integer input, such as axes.
struct IntegerList {
  static constexpr size_t capacity = 4 * Shape::maxRank;
  std::array<int64_t, capacity> values{};
  size_t size = 0;

  int64_t operator[](size_t index) const { return values[index]; }
  const int64_t *begin() const { return values.data(); }
  const int64_t *end() const { return values.data() + size; }
};

/// The input with this index, undefined if it is left out.
inline TensorView getInput(Span<const TensorView> inputs, size_t index) {
  return index < inputs.size ? inputs[index] : TensorView();
}
inline bool isPresent(const TensorView &tensor) {
  return tensor.type != DataType::Undefined;
}
inline bool hasInput(Span<const TensorView> inputs, size_t index) {
  return isPresent(getInput(inputs, index));
}
/// Outputs that nobody wants may be there without a type.
inline bool hasOutput(Span<TensorView> outputs, size_t index) {
  return index < outputs.size && isPresent(outputs[index]);
}

/// An element of a tensor of int32 or int64.
inline int64_t getInteger(const TensorView &tensor, int64_t index) {
  return tensor.type == DataType::Int32 ? tensor.as<const int32_t>()[index]
                                        : tensor.as<const int64_t>()[index];
}

/// Reads a tensor of int32 or int64 as a list; `what` names it in the error.
Status readIntegers(const TensorView &tensor, const char *what,
                    IntegerList &list);
/// The only element of one.
Status readInteger(const TensorView &tensor, const char *what, int64_t &value);

/// Counts a negative axis from the end; an error if there is no such axis in
/// `rank` dimensions.
Status resolveAxis(int64_t axis, size_t rank, size_t &resolved);
/// Marks the axes of a list, all of them if it is empty.
Status resolveAxes(const int64_t *axes, size_t count, size_t rank,
                   std::array<bool, Shape::maxRank> &marked);

/// Sets the dimensions of an output after a look at their signs and product.
Status setShape(TensorView &output, const Shape &shape);
Status setShape(TensorView &output, const int64_t *dims, size_t rank);

/// The product of dimensions [begin, end).
int64_t getProduct(const Shape &shape, size_t begin, size_t end);

/// Adds a shape to one that it is broadcast with, as NumPy does.
Status broadcast(const Shape &added, Shape &shape);

/// Where the element of an operand is that was broadcast to a shape, for one of
/// the shape's.
int64_t getOperandIndex(const Shape &operand, const Shape &shape,
                        int64_t index);

/// For kernels whose outputs' dimensions depend on data: asks inferShapes again
/// and compares. Without this a change of data would write past the outputs.
Status checkOutputs(const Kernel &kernel, const KernelArguments &arguments);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_SHAPES_H
