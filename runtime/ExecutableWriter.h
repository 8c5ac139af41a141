//===- ExecutableWriter.h - writes an .ampx file ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_EXECUTABLEWRITER_H
#define AMP_RUNTIME_EXECUTABLEWRITER_H

#include "amp/Runtime/Status.h"

#include <cstddef>
#include <string>
#include <vector>

namespace amp::executable {
class Header;
} // namespace amp::executable

namespace amp::runtime {

/// Somebody's bytes.
struct BlobContent {
  const void *data = nullptr;
  size_t size = 0;
};

/// Writes the file, atomically. `header` says everything but where blobs are:
/// its `constants` and the `blob` of each of its `codes` are set here.
Status writeExecutable(const std::string &path, executable::Header &header,
                       const std::vector<BlobContent> &constants,
                       const std::vector<BlobContent> &codes);

} // namespace amp::runtime

#endif // AMP_RUNTIME_EXECUTABLEWRITER_H
