//===- AtomicFile.h - a file that is written whole or not at all -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ATOMICFILE_H
#define AMP_RUNTIME_ATOMICFILE_H

#include "amp/Runtime/Status.h"

#include <cstdint>
#include <string>

namespace amp::runtime {

/// Writes beside the file, under another name, and renames at the end: a
/// process or a machine that stops at any moment leaves the old file or the
/// new one. Without commit() it leaves the old one.
class AtomicFile {
public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  Status open();
  Status write(const void *data, size_t size);
  /// Zeros up to a position.
  Status padTo(uint64_t end);
  uint64_t getPosition() const { return position; }
  /// Everything is on the disk when it succeeds.
  Status commit();

private:
  Status fail(const char *what);

  std::string path, temporary;
  int descriptor = -1;
  uint64_t position = 0;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_ATOMICFILE_H
