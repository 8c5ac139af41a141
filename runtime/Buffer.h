//===- Buffer.h - aligned memory --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_BUFFER_H
#define AMP_RUNTIME_BUFFER_H

#include "amp/Runtime/Status.h"

#include <cstddef>
#include <string_view>

namespace amp::runtime {

/// Memory of unknown content, aligned to 64 bytes, large memory to huge pages.
/// Running out of it is a status: sizes come from users and files.
class Buffer {
public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;

  /// At least so many bytes; the content is lost when it grows. `purpose` is
  /// for the message: "the arena".
  Status reserve(size_t size, std::string_view purpose);
  /// The same, but the first `kept` bytes stay.
  Status grow(size_t size, size_t kept, std::string_view purpose);

  void *getData() const { return data; }
  size_t getCapacity() const { return capacity; }

private:
  void *data = nullptr;
  size_t capacity = 0;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_BUFFER_H
