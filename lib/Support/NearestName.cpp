//===- NearestName.cpp - the name that was meant --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Support/NearestName.h"

#include <algorithm>
#include <string>

llvm::StringRef amp::findNearestName(llvm::StringRef got,
                                     llvm::ArrayRef<llvm::StringRef> names) {
  llvm::StringRef nearest;
  unsigned limit = std::max(2u, static_cast<unsigned>(got.size() / 3));
  std::string lower = got.lower();
  for (llvm::StringRef name : names) {
    // A name without its domain is the likeliest slip of all.
    llvm::StringRef compared = name;
    if (!got.contains(':'))
      compared = name.substr(name.find(':') + 1);
    unsigned distance = llvm::StringRef(lower).edit_distance(
        compared.lower(), /*AllowReplacements=*/true, limit + 1);
    if (distance > limit)
      continue;
    // Among equals the shorter one, then the first in the alphabet, so that
    // the message does not depend on the order of a hash table.
    bool better = nearest.empty() || distance < limit ||
                  name.size() < nearest.size() ||
                  (name.size() == nearest.size() && name < nearest);
    if (!better)
      continue;
    nearest = name;
    limit = distance;
  }
  return nearest;
}
