//===- FloatRounding.h - exact conversion between formats -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Arrays of float32 and float64 rounded to float16 and bfloat16, and back. All
// conversions round once, to nearest, ties to even; they keep the sign,
// infinities and NaNs (the payload's top bits, made quiet) and give subnormals
// as IEEE 754 asks. The values do not depend on the machine, nor on the
// floating point environment (MXCSR).
//
// Arrays are bytes in the machine's order without any alignment: weights lie
// in mapped files where they may. They must not overlap. Every function
// converts elements independently, so that a caller may split an array, give
// the parts to threads and merge what they report; the result is the same.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_POLICY_FLOATROUNDING_H
#define AMP_POLICY_FLOATROUNDING_H

#include <cstddef>
#include <cstdint>

namespace amp {

/// What becomes of finite values that round beyond the largest finite value of
/// the result's format.
enum class Overflow {
  Infinity, ///< infinity of their sign, as IEEE 754 rounds
  Saturate, ///< the largest finite value of their sign; infinities stay
};

/// What rounding did to an array.
struct RoundingStats {
  /// Elements rounded.
  uint64_t count = 0;
  /// Finite values that round beyond the largest finite value.
  uint64_t overflowed = 0;
  /// Values other than zero that became zero.
  uint64_t underflowed = 0;
  /// Results that are subnormal (zero not counted).
  uint64_t subnormal = 0;
  uint64_t nan = 0;
  uint64_t infinite = 0;
  /// The largest |result - value| / |value| of the values from the format's
  /// smallest normal to its largest finite one; 0 if there are none.
  double largestRelativeError = 0;
  /// The largest magnitude of a finite input; 0 if there is none.
  double absmax = 0;

  /// Adds what rounding did to another part of the same array.
  void merge(const RoundingStats &other);
};

/// The range of an array's values.
struct FloatRange {
  uint64_t count = 0;
  uint64_t nan = 0;
  uint64_t positiveInfinity = 0;
  uint64_t negativeInfinity = 0;
  /// The largest magnitude of a finite value; 0 if there is none.
  double absmax = 0;
  /// The smallest magnitude of a finite value other than zero; +infinity if
  /// there is none.
  double smallestNonzero;

  FloatRange();
  /// Adds another part of the same array.
  void merge(const FloatRange &other);
};

/// Rounds `count` float32 values at `source` to 16 bits each at `destination`
/// and, if asked, adds what it did to `*stats`.
void roundToFloat16(const char *source, char *destination, size_t count,
                    Overflow overflow, RoundingStats *stats = nullptr);
void roundToBFloat16(const char *source, char *destination, size_t count,
                     Overflow overflow, RoundingStats *stats = nullptr);

/// The same from float64, without a stop at float32 that would round twice.
void roundFloat64ToFloat16(const char *source, char *destination, size_t count,
                           Overflow overflow, RoundingStats *stats = nullptr);
void roundFloat64ToBFloat16(const char *source, char *destination, size_t count,
                            Overflow overflow, RoundingStats *stats = nullptr);

/// Widens `count` values of 16 bits at `source` to float32 at `destination`:
/// exact.
void widenFloat16(const char *source, char *destination, size_t count);
void widenBFloat16(const char *source, char *destination, size_t count);

/// The range of `count` float32 (float64) values at `source`.
FloatRange scanRange(const char *source, size_t count);
FloatRange scanRangeFloat64(const char *source, size_t count);

} // namespace amp

#endif // AMP_POLICY_FLOATROUNDING_H
