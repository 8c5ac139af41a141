//===- Checksum.cpp - whether bytes are what was written ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checksum.h"

// The header alone: no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t amp::runtime::computeChecksum(const void *data, size_t size) {
  return XXH3_64bits(data, size);
}
