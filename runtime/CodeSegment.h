//===- CodeSegment.h - machine code that can run ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CODESEGMENT_H
#define AMP_RUNTIME_CODESEGMENT_H

#include "MappedFile.h"

#include <cstddef>

namespace amp::runtime {

/// Bytes of a file, mapped to be run.
class CodeSegment {
public:
  CodeSegment() = default;
  ~CodeSegment();
  CodeSegment(CodeSegment &&other) noexcept;
  CodeSegment &operator=(CodeSegment &&other) noexcept;

  /// The bytes must lie in the file, at a multiple of codeAlignment.
  static Result<CodeSegment> map(const MappedFile &file, uint64_t offset,
                                 uint64_t size);

  const unsigned char *getData() const { return data; }

private:
  const unsigned char *data = nullptr;
  size_t size = 0;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_CODESEGMENT_H
