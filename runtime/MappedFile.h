//===- MappedFile.h - a file as memory --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MAPPEDFILE_H
#define AMP_RUNTIME_MAPPEDFILE_H

#include "amp/Runtime/Status.h"

#include <cstdint>
#include <string>

namespace amp::runtime {

/// A regular file, mapped to be read: processes share its pages. Whoever has a
/// new file renames it over the old one (as everything here does); changing a
/// mapped file in place is an error that nobody can see.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;

  const unsigned char *getData() const { return data; }
  uint64_t getSize() const { return size; }
  /// Open as long as this.
  int getDescriptor() const { return descriptor; }

private:
  MappedFile() = default;

  const unsigned char *data = nullptr;
  uint64_t size = 0;
  int descriptor = -1;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_MAPPEDFILE_H
