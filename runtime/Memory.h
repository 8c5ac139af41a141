//===- Memory.h - the elements of one value ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MEMORY_H
#define AMP_RUNTIME_MEMORY_H

#include "Buffer.h"
#include "amp/Runtime/Tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amp::runtime {

/// Bytes of a tensor, 0 for strings; nothing if they are too many for any
/// memory or a dimension is negative.
std::optional<size_t> computeByteCount(DataType type, const Shape &shape);

/// Writes all elements of `from`, which has the type and as many elements; they
/// may overlap.
void copyElements(const TensorView &from, const TensorView &to);

/// Memory of a value that has it for itself: it grows as steps need, and then
/// stays.
class Memory {
public:
  /// Whether there is room already, so that no message need be prepared.
  bool hasRoom(DataType type, const Shape &shape) const;
  Status reserve(DataType type, const Shape &shape, std::string_view purpose);
  /// The same, but `kept` elements stay.
  Status grow(DataType type, const Shape &shape, int64_t kept,
              std::string_view purpose);
  void *getData(DataType type);
  size_t getCapacity() const { return buffer.getCapacity(); }

private:
  Buffer buffer;
  std::vector<std::string> strings;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_MEMORY_H
