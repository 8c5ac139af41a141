//===- FloatRounding.cpp - exact conversion between formats ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "amp/Policy/FloatRounding.h"

#include "FloatRoundingKernels.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace amp;
using namespace amp::detail;

//===----------------------------------------------------------------------===//
// Which loops
//===----------------------------------------------------------------------===//

static std::array<const FloatRoundingKernels *, 4> findSupported() {
  std::array<const FloatRoundingKernels *, 4> found = {};
  size_t next = 0;
#ifdef AMP_X86_KERNELS
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found[next++] = &avx512Kernels;
  if (avx2)
    found[next++] = &avx2Kernels;
#endif
  found[next] = &portableKernels;
  return found;
}

const FloatRoundingKernels *const *detail::supportedKernels() {
  static const std::array<const FloatRoundingKernels *, 4> supported =
      findSupported();
  return supported.data();
}

static const FloatRoundingKernels &kernels() { return **supportedKernels(); }

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

void RoundingStats::merge(const RoundingStats &other) {
  count += other.count;
  overflowed += other.overflowed;
  underflowed += other.underflowed;
  subnormal += other.subnormal;
  nan += other.nan;
  infinite += other.infinite;
  largestRelativeError =
      std::max(largestRelativeError, other.largestRelativeError);
  absmax = std::max(absmax, other.absmax);
}

FloatRange::FloatRange()
    : smallestNonzero(std::numeric_limits<double>::infinity()) {}

void FloatRange::merge(const FloatRange &other) {
  count += other.count;
  nan += other.nan;
  positiveInfinity += other.positiveInfinity;
  negativeInfinity += other.negativeInfinity;
  absmax = std::max(absmax, other.absmax);
  smallestNonzero = std::min(smallestNonzero, other.smallestNonzero);
}

template <typename Float> static double fromBits(uint64_t bits) {
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  return llvm::bit_cast<Float>(static_cast<Bits>(bits));
}

/// Rounds everything at once, or block by block with what it did.
template <typename Float>
static void round(const char *source, char *destination, size_t count,
                  Overflow overflow, RoundingStats *stats,
                  FloatRoundingKernels::Round convert,
                  FloatRoundingKernels::Measure measure) {
  bool saturate = overflow == Overflow::Saturate;
  if (!stats)
    return convert(source, destination, count, saturate);
  while (count != 0) {
    size_t n = std::min(count, blockSize);
    convert(source, destination, n, saturate);
    RoundingCounts counts = measure(source, n);
    RoundingStats part;
    part.count = n;
    part.overflowed = counts.overflowed;
    part.underflowed = counts.underflowed;
    part.subnormal = counts.subnormal;
    part.nan = counts.nan;
    part.infinite = counts.infinite;
    part.largestRelativeError = fromBits<Float>(counts.errorBits);
    part.absmax = fromBits<Float>(counts.absmaxBits);
    stats->merge(part);
    source += n * sizeof(Float);
    destination += n * sizeof(uint16_t);
    count -= n;
  }
}

template <typename Float>
static FloatRange scan(const char *source, size_t count,
                       FloatRoundingKernels::Scan scanBlock) {
  FloatRange range;
  while (count != 0) {
    size_t n = std::min(count, blockSize);
    RangeCounts counts = scanBlock(source, n);
    FloatRange part;
    part.count = n;
    part.nan = counts.nan;
    part.positiveInfinity = counts.positiveInfinity;
    part.negativeInfinity = counts.negativeInfinity;
    part.absmax = fromBits<Float>(counts.absmaxBits);
    if (counts.absmaxBits != 0) // else the smallest may be an infinity or NaN
      part.smallestNonzero = fromBits<Float>(counts.smallestBits);
    range.merge(part);
    source += n * sizeof(Float);
    count -= n;
  }
  return range;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

void amp::roundToFloat16(const char *source, char *destination, size_t count,
                         Overflow overflow, RoundingStats *stats) {
  round<float>(source, destination, count, overflow, stats,
               kernels().float32ToFloat16, kernels().measureFloat32ToFloat16);
}

void amp::roundToBFloat16(const char *source, char *destination, size_t count,
                          Overflow overflow, RoundingStats *stats) {
  round<float>(source, destination, count, overflow, stats,
               kernels().float32ToBFloat16, kernels().measureFloat32ToBFloat16);
}

void amp::roundFloat64ToFloat16(const char *source, char *destination,
                                size_t count, Overflow overflow,
                                RoundingStats *stats) {
  round<double>(source, destination, count, overflow, stats,
                kernels().float64ToFloat16, kernels().measureFloat64ToFloat16);
}

void amp::roundFloat64ToBFloat16(const char *source, char *destination,
                                 size_t count, Overflow overflow,
                                 RoundingStats *stats) {
  round<double>(source, destination, count, overflow, stats,
                kernels().float64ToBFloat16,
                kernels().measureFloat64ToBFloat16);
}

void amp::widenFloat16(const char *source, char *destination, size_t count) {
  kernels().float16ToFloat32(source, destination, count);
}

void amp::widenBFloat16(const char *source, char *destination, size_t count) {
  kernels().bfloat16ToFloat32(source, destination, count);
}

FloatRange amp::scanRange(const char *source, size_t count) {
  return scan<float>(source, count, kernels().scanFloat32);
}

FloatRange amp::scanRangeFloat64(const char *source, size_t count) {
  return scan<double>(source, count, kernels().scanFloat64);
}
