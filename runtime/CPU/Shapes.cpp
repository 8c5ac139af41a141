//===- Shapes.cpp - axes, dimensions and their errors ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Shapes.h"

#include "CPU/Elements.h"

#include <algorithm>

namespace amp::runtime {

Status readIntegers(const TensorView &tensor, const char *what,
                    IntegerList &list) {
  if (tensor.type != DataType::Int32 && tensor.type != DataType::Int64)
    return Status::error(std::string(what) +
                         " must be of type int32 or int64, but is of type " +
                         std::string(getName(tensor.type)));
  int64_t count = tensor.getElementCount();
  if (count > static_cast<int64_t>(IntegerList::capacity))
    return Status::error(std::string(what) + " has " + std::to_string(count) +
                         " elements, more than any shape needs");
  list.size = static_cast<size_t>(count);
  for (size_t i = 0; i < list.size; ++i)
    list.values[i] = getInteger(tensor, static_cast<int64_t>(i));
  return {};
}

Status readInteger(const TensorView &tensor, const char *what, int64_t &value) {
  IntegerList list;
  if (Status status = readIntegers(tensor, what, list); !status.ok())
    return status;
  if (list.size != 1)
    return Status::error(std::string(what) +
                         " must have one element, but has " +
                         std::to_string(list.size));
  value = list[0];
  return {};
}

Status resolveAxis(int64_t axis, size_t rank, size_t &resolved) {
  auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count)
    return Status::error("axis " + std::to_string(axis) +
                         " is out of range for a tensor of rank " +
                         std::to_string(rank));
  resolved = static_cast<size_t>(axis < 0 ? axis + count : axis);
  return {};
}

Status resolveAxes(const int64_t *axes, size_t count, size_t rank,
                   std::array<bool, Shape::maxRank> &marked) {
  marked.fill(count == 0);
  for (size_t i = 0; i < count; ++i) {
    size_t axis;
    if (Status status = resolveAxis(axes[i], rank, axis); !status.ok())
      return status;
    if (marked[axis])
      return Status::error("axis " + std::to_string(axes[i]) +
                           " is given twice");
    marked[axis] = true;
  }
  return {};
}

Status setShape(TensorView &output, const Shape &shape) {
  return setShape(output, shape.begin(), shape.getRank());
}

Status setShape(TensorView &output, const int64_t *dims, size_t rank) {
  if (rank > Shape::maxRank)
    return Status::error("a result of rank " + std::to_string(rank) +
                         " is not supported, the limit is " +
                         std::to_string(Shape::maxRank));
  auto bytes = static_cast<int64_t>(getElementSize(output.type));
  bool tooLarge = false, isEmpty = false;
  output.shape.clear();
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return Status::error("a result has the negative dimension " +
                           std::to_string(dims[i]));
    isEmpty |= dims[i] == 0;
    tooLarge |=
        __builtin_mul_overflow(bytes, dims[i] == 0 ? 1 : dims[i], &bytes);
    output.shape.push_back(dims[i]);
  }
  if (tooLarge && !isEmpty)
    return Status::error("a result of dimensions " + toString(output.shape) +
                         " is too large");
  return {};
}

int64_t getProduct(const Shape &shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i)
    product *= shape[i];
  return product;
}

Status broadcast(const Shape &added, Shape &shape) {
  Shape result;
  size_t rank = std::max(added.getRank(), shape.getRank());
  for (size_t i = 0; i < rank; ++i) {
    auto dimOf = [&](const Shape &from) {
      size_t missing = rank - from.getRank();
      return i < missing ? 1 : from[i - missing];
    };
    int64_t a = dimOf(shape), b = dimOf(added);
    if (a != b && a != 1 && b != 1)
      return Status::error("cannot broadcast " + toString(added) + " with " +
                           toString(shape));
    result.push_back(a == 1 ? b : a);
  }
  shape = result;
  return {};
}

int64_t getOperandIndex(const Shape &operand, const Shape &shape,
                        int64_t index) {
  size_t missing = shape.getRank() - operand.getRank();
  int64_t at = 0, stride = 1;
  for (size_t i = shape.getRank(); i-- > missing;) {
    int64_t extent = operand[i - missing];
    at += extent == 1 ? 0 : index % shape[i] * stride;
    stride *= extent;
    index /= shape[i];
  }
  return at;
}

Status checkOutputs(const Kernel &kernel, const KernelArguments &arguments) {
  // Kernels of more outputs have their own way.
  std::array<TensorView, 4> expected;
  size_t count = std::min(arguments.outputs.size, expected.size());
  for (size_t i = 0; i < count; ++i)
    expected[i].type = arguments.outputs[i].type;
  if (Status status =
          kernel.inferShapes(arguments.inputs, {expected.data(), count});
      !status.ok())
    return status;
  for (size_t i = 0; i < count; ++i)
    if (isPresent(expected[i]) &&
        expected[i].shape != arguments.outputs[i].shape)
      return Status::error(
          "gives a result of dimensions " + toString(expected[i].shape) +
          ", but " + toString(arguments.outputs[i].shape) + " was expected");
  return {};
}

} // namespace amp::runtime
