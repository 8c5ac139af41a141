//===- ExecutableFormat.h - how an .ampx file begins ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that the compiler and the runtime must agree on, with the message in
// runtime/Executable.proto. A file is, little-endian:
//
//   ExecutablePrelude
//   the message, of headerSize bytes
//   blobs, each at a multiple of blobAlignment (code: of codeAlignment)
//
// Version log (what a reader of each version must know):
//   1.0  the first
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_EXECUTABLEFORMAT_H
#define AMP_RUNTIME_EXECUTABLEFORMAT_H

#include <cstddef>
#include <cstdint>

namespace amp::runtime {

/// Readers refuse another major version and a higher minor one.
inline constexpr uint16_t executableMajorVersion = 1;
inline constexpr uint16_t executableMinorVersion = 0;

/// Not text, and broken by whatever converts ends of lines.
inline constexpr char executableMagic[8] = {'\x89', 'A',  'M',  'P',
                                            'X',    '\r', '\n', '\x1a'};

/// Of constants in the file and of values in memory: a line of the cache, and
/// a register of AVX-512.
inline constexpr uint64_t blobAlignment = 64;
/// Of code: a page, so that it can be mapped.
inline constexpr uint64_t codeAlignment = 4096;

struct ExecutablePrelude {
  char magic[8];
  /// XXH3, 64 bits, of all bytes from `majorVersion` to the end of the message.
  uint64_t checksum;
  uint16_t majorVersion;
  uint16_t minorVersion;
  /// 0.
  uint32_t reserved;
  /// Of the whole file.
  uint64_t fileSize;
  /// Of the message.
  uint64_t headerSize;
};
static_assert(sizeof(ExecutablePrelude) == 40 &&
              offsetof(ExecutablePrelude, majorVersion) == 16);

/// How deeply programs may nest: the reader and the interpreter recurse.
inline constexpr unsigned maxProgramDepth = 64;

} // namespace amp::runtime

#endif // AMP_RUNTIME_EXECUTABLEFORMAT_H
