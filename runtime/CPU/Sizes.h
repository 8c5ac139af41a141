//===- Sizes.h - arithmetic of sizes of blocks ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_SIZES_H
#define AMP_RUNTIME_CPU_SIZES_H

#include <cstddef>
#include <cstdint>

namespace amp::runtime {

inline int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// To a multiple of b.
inline int64_t roundUp(int64_t a, int64_t b) { return divideUp(a, b) * b; }

/// Parts of scratch memory begin at multiples of it.
constexpr size_t scratchAlignment = 64;
inline size_t alignUp(size_t bytes) {
  return (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
}

/// Bytes past its end that packing and vectors may read or write of a part of
/// scratch memory.
constexpr size_t slack = 64;

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_SIZES_H
