//===- FloatRoundingFormulas.h - what rounding does -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The conversion itself is the runtime's, where the rules for such files are
// as well; here is what measures it. (The ratio of two integers is the only
// floating point operation.)
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_POLICY_FLOATROUNDINGFORMULAS_H
#define AMP_LIB_POLICY_FLOATROUNDINGFORMULAS_H

#include "FloatRoundingKernels.h"

#include "FloatConversion.h"

namespace {

using amp::detail::RangeCounts;
using amp::detail::RoundingCounts;

/// What rounding from format S to format T would do.
template <typename S, typename T>
RoundingCounts measure(const char *source, size_t count) {
  using Bits = typename S::Bits;
  using R = Rounding<S, T>;
  constexpr Bits dropped = R::dropped, smallestNormal = R::smallestNormal,
                 overflow = R::overflow, flushed = R::flushed,
                 becomesNormal = R::becomesNormal;
  // Most blocks have nothing to count at the upper end, and some nothing at
  // the lower end: find out first.
  Bits largest = 0, smallestLess1 = ~Bits(0), error = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits magnitude = loadAt<Bits>(source, i) & ~S::sign;
    largest = magnitude > largest ? magnitude : largest;
    Bits less1 = magnitude - 1; // zero becomes the largest
    smallestLess1 = less1 < smallestLess1 ? less1 : smallestLess1;

    // Where the value is normal in both formats, rounding moves the
    // significand to the nearest multiple of 2^shift. Both numbers of the
    // ratio are exact; ratios are not negative, so their bits are ordered.
    bool normal = magnitude - smallestNormal < overflow - smallestNormal;
    Bits below = magnitude & dropped;
    Bits above = (dropped + 1) - below;
    Bits moved = below < above ? below : above;
    moved = normal ? moved : 0;
    Bits ratioBits =
        bitCast<Bits>(S::numberOf(moved) / S::significandOf(magnitude));
    error = ratioBits > error ? ratioBits : error;
  }

  RoundingCounts counts = {};
  counts.errorBits = error;
  counts.absmaxBits = largest;
  if (largest >= overflow) {
    Bits overflowed = 0, infinite = 0, nan = 0, absmax = 0;
    for (size_t i = 0; i < count; ++i) {
      Bits magnitude = loadAt<Bits>(source, i) & ~S::sign;
      overflowed += magnitude >= overflow;  // with infinities and NaNs
      infinite += magnitude >= S::infinity; // with NaNs
      nan += magnitude > S::infinity;
      Bits finite = magnitude < S::infinity ? magnitude : 0;
      absmax = finite > absmax ? finite : absmax;
    }
    counts.overflowed = static_cast<uint32_t>(overflowed - infinite);
    counts.infinite = static_cast<uint32_t>(infinite - nan);
    counts.nan = static_cast<uint32_t>(nan);
    counts.absmaxBits = absmax;
  }
  if (smallestLess1 < becomesNormal - 1) {
    Bits subnormal = 0, underflowed = 0, zero = 0;
    for (size_t i = 0; i < count; ++i) {
      Bits magnitude = loadAt<Bits>(source, i) & ~S::sign;
      subnormal += magnitude < becomesNormal; // with all that become zero
      underflowed += magnitude <= flushed;    // with zeros
      zero += magnitude == 0;
    }
    counts.subnormal = static_cast<uint32_t>(subnormal - underflowed);
    counts.underflowed = static_cast<uint32_t>(underflowed - zero);
  }
  return counts;
}

template <typename S> RangeCounts scan(const char *source, size_t count) {
  using Bits = typename S::Bits;
  Bits largest = 0, smallestLess1 = ~Bits(0);
  for (size_t i = 0; i < count; ++i) {
    Bits magnitude = loadAt<Bits>(source, i) & ~S::sign;
    largest = magnitude > largest ? magnitude : largest;
    Bits less1 = magnitude - 1; // zero becomes the largest
    smallestLess1 = less1 < smallestLess1 ? less1 : smallestLess1;
  }
  RangeCounts counts = {};
  counts.absmaxBits = largest;
  counts.smallestBits = smallestLess1 + 1;
  if (largest >= S::infinity) {
    Bits infinite = 0, nan = 0, negative = 0, absmax = 0;
    for (size_t i = 0; i < count; ++i) {
      Bits value = loadAt<Bits>(source, i);
      Bits magnitude = value & ~S::sign;
      infinite += magnitude >= S::infinity; // with NaNs
      nan += magnitude > S::infinity;
      negative += value == (S::sign | S::infinity);
      Bits finite = magnitude < S::infinity ? magnitude : 0;
      absmax = finite > absmax ? finite : absmax;
    }
    counts.nan = static_cast<uint32_t>(nan);
    counts.positiveInfinity = static_cast<uint32_t>(infinite - nan - negative);
    counts.negativeInfinity = static_cast<uint32_t>(negative);
    counts.absmaxBits = absmax;
  }
  return counts;
}

/// The table of these loops, with what the instruction set does better.
constexpr amp::detail::FloatRoundingKernels
makeKernels(const char *name, FloatConversionLoops loops) {
  return {name,
          loops.float32ToFloat16,
          loops.float32ToBFloat16,
          loops.float64ToFloat16,
          loops.float64ToBFloat16,
          loops.float16ToFloat32,
          loops.bfloat16ToFloat32,
          measure<Float32, Float16>,
          measure<Float32, BFloat16>,
          measure<Float64, Float16>,
          measure<Float64, BFloat16>,
          scan<Float32>,
          scan<Float64>};
}

} // namespace

#endif // AMP_LIB_POLICY_FLOATROUNDINGFORMULAS_H
