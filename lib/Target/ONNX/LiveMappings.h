//===- LiveMappings.h - Which file an address belongs to --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address space belongs to the whole process, and so does this list of the
// files mapped into it. Two ask it: the writer, which lets the kernel copy
// bytes from one file to another, and the handler of SIGBUS, which must know
// whether a lost page was ours.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_LIVEMAPPINGS_H
#define AMP_LIB_TARGET_ONNX_LIVEMAPPINGS_H

#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <cstdint>
#include <vector>

namespace amp {

/// One mapped file. Never freed, but used again after remove(), so that a
/// signal handler may walk the list at any time.
struct LiveMapping {
  std::atomic<const char *> begin{nullptr};
  std::atomic<const char *> end{nullptr};
  /// Open for reading, or -1.
  std::atomic<int> descriptor{-1};
  /// What messages call the file, with a zero at the end.
  char name[128] = {};
  std::atomic<bool> used{false};
  LiveMapping *next = nullptr;
};

/// Lists a mapping; byte 0 of `descriptor`, if it is not -1, is bytes[0].
LiveMapping *addLiveMapping(llvm::StringRef bytes, int descriptor,
                            llvm::StringRef name);

/// Takes it off the list, before it is unmapped or its descriptor closed.
void removeLiveMapping(LiveMapping *mapping);

/// The mapping that holds `address`, or null. Async-signal-safe; walks the
/// list.
const LiveMapping *findLiveMapping(const char *address);

/// What is mapped now, sorted, for code that asks often.
class MappedRanges {
public:
  struct Range {
    const char *begin;
    const char *end;
    /// Its byte N is begin[N]; -1 if the file is closed.
    int descriptor;
  };

  MappedRanges();

  /// The range that holds all `size` bytes at `data`, or null.
  const Range *find(const char *data, uint64_t size) const;

private:
  std::vector<Range> ranges;
};

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_LIVEMAPPINGS_H
