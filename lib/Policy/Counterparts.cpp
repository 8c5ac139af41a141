//===- Counterparts.cpp - operators of MLIR's dialects --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyTable.h"

#include "llvm/ADT/SmallVector.h"

using namespace amp;

namespace {
struct Text {
  llvm::StringRef name, text;
};
} // namespace

// Generated from counterparts.txt, see CMakeLists.txt.
static const Text texts[] = {
#include "Counterparts.inc"
};

llvm::StringRef detail::counterpartOf(llvm::StringRef key) {
  static const llvm::StringMap<llvm::StringRef> table = [] {
    llvm::StringMap<llvm::StringRef> table;
    llvm::SmallVector<llvm::StringRef> lines, names;
    texts[0].text.split(lines, '\n');
    for (llvm::StringRef line : lines) {
      if (line.starts_with("#"))
        continue;
      auto [counterpart, others] = line.split(": ");
      names.clear();
      others.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
      for (llvm::StringRef name : names)
        table[name] = counterpart;
    }
    return table;
  }();
  return table.lookup(key);
}
