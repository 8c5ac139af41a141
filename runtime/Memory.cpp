//===- Memory.cpp - the elements of one value -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <cstring>

using namespace amp::runtime;

std::optional<size_t> amp::runtime::computeByteCount(DataType type,
                                                     const Shape &shape) {
  // Strings are counted by what an element takes at least.
  size_t elementSize =
      type == DataType::String ? sizeof(std::string) : getByteSize(type);
  constexpr int64_t most = int64_t{1} << 62;
  int64_t count = static_cast<int64_t>(elementSize);
  bool isEmpty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    isEmpty |= dim == 0;
    // A product without its zeros, too: kernels multiply a part of them.
    if (dim > 0 && (__builtin_mul_overflow(count, dim, &count) || count > most))
      return std::nullopt;
  }
  if (isEmpty || type == DataType::String)
    return 0;
  return static_cast<size_t>(count);
}

void amp::runtime::copyElements(const TensorView &from, const TensorView &to) {
  if (from.data == to.data)
    return;
  if (from.type != DataType::String) {
    if (size_t size = from.getByteCount())
      std::memmove(to.data, from.data, size);
    return;
  }
  auto *source = from.as<std::string>(), *target = to.as<std::string>();
  int64_t count = from.getElementCount();
  if (source < target)
    std::copy_backward(source, source + count, target + count);
  else
    std::copy_n(source, count, target);
}

bool Memory::hasRoom(DataType type, const Shape &shape) const {
  std::optional<size_t> size = computeByteCount(type, shape);
  if (type == DataType::String)
    return size &&
           static_cast<size_t>(shape.getElementCount()) <= strings.size();
  return size && *size <= buffer.getCapacity();
}

Status Memory::reserve(DataType type, const Shape &shape,
                       std::string_view purpose) {
  return grow(type, shape, 0, purpose);
}

Status Memory::grow(DataType type, const Shape &shape, int64_t kept,
                    std::string_view purpose) {
  std::optional<size_t> size = computeByteCount(type, shape);
  if (!size)
    return Status::error(std::string(purpose) + " has dimensions " +
                         toString(shape) + ", which no memory can hold");
  if (type == DataType::String) {
    auto count = static_cast<size_t>(shape.getElementCount());
    if (count > strings.size())
      strings.resize(count);
    return {};
  }
  size_t capacity = buffer.getCapacity();
  if (*size <= capacity)
    return {};
  // What grows a little in each step is moved now and then only.
  size_t wanted = std::max(*size, capacity + capacity / 2);
  auto keptBytes = static_cast<size_t>(kept) * getByteSize(type);
  if (keptBytes == 0)
    return buffer.reserve(wanted, purpose);
  return buffer.grow(wanted, keptBytes, purpose);
}

void *Memory::getData(DataType type) {
  return type == DataType::String ? static_cast<void *>(strings.data())
                                  : buffer.getData();
}
