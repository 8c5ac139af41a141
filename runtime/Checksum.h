//===- Checksum.h - whether bytes are what was written ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CHECKSUM_H
#define AMP_RUNTIME_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace amp::runtime {

/// XXH3, 64 bits.
uint64_t computeChecksum(const void *data, size_t size);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CHECKSUM_H
