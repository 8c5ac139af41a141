//===- FloatRoundingKernels.h - one table of loops per ISA ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_POLICY_FLOATROUNDINGKERNELS_H
#define AMP_LIB_POLICY_FLOATROUNDINGKERNELS_H

#include <cstddef>
#include <cstdint>

namespace amp::detail {

/// What a measuring loop says of one block; the names are RoundingStats'.
struct RoundingCounts {
  uint32_t overflowed, underflowed, subnormal, nan, infinite;
  /// Bits, in the input's format, of the largest finite magnitude and of the
  /// largest relative error.
  uint64_t absmaxBits, errorBits;
};
/// The same of FloatRange.
struct RangeCounts {
  uint32_t nan, positiveInfinity, negativeInfinity;
  /// Bits, in the input's format, of the largest finite magnitude (0 if there
  /// is none) and, if that is not 0, of the smallest one that is not zero.
  uint64_t absmaxBits, smallestBits;
};
/// Elements of a block: it and its result stay in the first-level cache while
/// several loops pass over it, and narrow counters can hold its counts.
constexpr size_t blockSize = 2048;

/// The loops behind FloatRounding.h, for one instruction set.
struct FloatRoundingKernels {
  const char *name;
  using Round = void (*)(const char *source, char *destination, size_t count,
                         bool saturate);
  using Widen = void (*)(const char *source, char *destination, size_t count);
  using Measure = RoundingCounts (*)(const char *source, size_t count);
  using Scan = RangeCounts (*)(const char *source, size_t count);

  Round float32ToFloat16, float32ToBFloat16;
  Round float64ToFloat16, float64ToBFloat16;
  Widen float16ToFloat32, bfloat16ToFloat32;
  Measure measureFloat32ToFloat16, measureFloat32ToBFloat16;
  Measure measureFloat64ToFloat16, measureFloat64ToBFloat16;
  Scan scanFloat32, scanFloat64;
};

extern const FloatRoundingKernels portableKernels;
#ifdef AMP_X86_KERNELS
extern const FloatRoundingKernels avx2Kernels;
extern const FloatRoundingKernels avx512Kernels;
#endif

/// The tables that this machine can run, the best one first; ended by a null
/// pointer.
const FloatRoundingKernels *const *supportedKernels();

} // namespace amp::detail

#endif // AMP_LIB_POLICY_FLOATROUNDINGKERNELS_H
