//===- ContentsWriter.h - Buffer and segments into a descriptor -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_CONTENTSWRITER_H
#define AMP_LIB_TARGET_ONNX_CONTENTSWRITER_H

#include "amp/Target/ONNX/WireWriter.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstdint>

namespace amp {

/// Where and how writeContents() writes.
struct ContentsTarget {
  int descriptor;
  /// A file that is written from several threads at offsets from 0 on, or a
  /// stream that gets one piece after the other.
  bool isFile;
  /// 0: as many as the machine has.
  unsigned threads = 0;
  /// Counts the bytes written; may be null.
  std::atomic<uint64_t> *progress = nullptr;
};

/// Writes everything. Errors are the reason alone: "no space left on device".
llvm::Error writeContents(const WireWriter &contents,
                          const ContentsTarget &target);

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_CONTENTSWRITER_H
