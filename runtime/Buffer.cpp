//===- Buffer.cpp - aligned memory ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffer.h"

#include "amp/Runtime/ExecutableFormat.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace amp::runtime;

Buffer::~Buffer() { std::free(data); }

Buffer::Buffer(Buffer &&other) noexcept
    : data(std::exchange(other.data, nullptr)),
      capacity(std::exchange(other.capacity, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(data, other.data);
  std::swap(capacity, other.capacity);
  return *this;
}

Status Buffer::reserve(size_t size, std::string_view purpose) {
  if (size <= capacity)
    return {};
  // The old content goes first: both need not fit.
  std::free(std::exchange(data, nullptr));
  capacity = 0;
  return grow(size, 0, purpose);
}

Status Buffer::grow(size_t size, size_t kept, std::string_view purpose) {
  if (size <= capacity)
    return {};
  constexpr size_t hugePage = size_t{2} << 20;
  size_t alignment = size >= 2 * hugePage ? hugePage : size_t{blobAlignment};
  void *grown = nullptr;
  size_t rounded = size;
  if (size <= SIZE_MAX / 2) {
    rounded = (size + alignment - 1) / alignment * alignment;
    grown = std::aligned_alloc(alignment, rounded);
  }
  if (!grown)
    return Status::error("out of memory: " + std::string(purpose) + " needs " +
                         std::to_string(size) + " bytes");
  if (alignment == hugePage)
    madvise(grown, rounded, MADV_HUGEPAGE); // Only a hint.
  if (kept > 0)
    std::memcpy(grown, data, kept);
  std::free(data);
  data = grown;
  capacity = rounded;
  return {};
}
