//===- SmallFloats.h - floats of 8 and 4 bits -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding to nearest, ties to even, in one step from float64, and back to
// float32, as the tables of ONNX's Cast have it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_SMALLFLOATS_H
#define AMP_RUNTIME_KERNELS_SMALLFLOATS_H

#include <cstdint>
#include <cstring>
#include <limits>

namespace amp::runtime {

/// A format by its field widths and its codes (without the sign) for what is
/// not a finite number. `signedZero` false: -0 and NaN share a code, the sign
/// bit alone.
template <unsigned exponentBits, unsigned mantissaBits, int biasOf,
          unsigned largestCode, int infinityCode, int nanCode,
          bool signedZeroOf>
struct SmallFloat {
  static constexpr unsigned mantissa = mantissaBits;
  static constexpr int bias = biasOf;
  static constexpr unsigned sign = 1u << (exponentBits + mantissaBits);
  static constexpr unsigned largest = largestCode;
  static constexpr int infinity = infinityCode; // or -1
  static constexpr int nan = nanCode;           // or -1
  static constexpr bool signedZero = signedZeroOf;
};
using E4M3FN = SmallFloat<4, 3, 7, 0x7e, -1, 0x7f, true>;
using E4M3FNUZ = SmallFloat<4, 3, 8, 0x7f, -1, -1, false>;
using E5M2 = SmallFloat<5, 2, 15, 0x7b, 0x7c, 0x7e, true>;
using E5M2FNUZ = SmallFloat<5, 2, 16, 0x7f, -1, -1, false>;
using E2M1 = SmallFloat<2, 1, 1, 0x7, -1, -1, true>;

/// Values beyond the largest finite one become that with `saturate`, else
/// infinity where there is one, else NaN where there is one.
template <typename Format>
inline uint8_t roundToSmallFloat(double value, bool saturate) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  unsigned sign = bits >> 63 ? Format::sign : 0;
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  constexpr uint64_t infinity = uint64_t(0x7ff) << 52;
  // Formats without signed zeros have one NaN; E2M1 has none, its -0 it is in
  // ml_dtypes.
  unsigned nan = Format::nan < 0 ? Format::sign : Format::nan | sign;
  if (magnitude > infinity)
    return static_cast<uint8_t>(nan);

  constexpr int smallestExponent = 1 - Format::bias;
  int exponent = static_cast<int>(magnitude >> 52) - 1023;
  int below = exponent < smallestExponent ? smallestExponent - exponent : 0;
  if (below)
    exponent = smallestExponent;
  int drop = 52 - static_cast<int>(Format::mantissa) + below;
  if (drop > 60) // float64's subnormals as well: they all round to zero
    drop = 60;
  constexpr uint64_t implicit = uint64_t(1) << 52;
  uint64_t significand = (magnitude & (implicit - 1)) | implicit;
  uint64_t half = (uint64_t(1) << (drop - 1)) - 1;
  uint64_t rounded = (significand + half + ((significand >> drop) & 1)) >> drop;
  // A carry makes the exponent right by itself.
  uint64_t code =
      (static_cast<uint64_t>(exponent - smallestExponent) << Format::mantissa) +
      rounded;
  if (magnitude == infinity || code > Format::largest) {
    if (saturate ||
        (Format::infinity < 0 && Format::signedZero && Format::nan < 0))
      code = Format::largest;
    else if (Format::infinity >= 0)
      code = Format::infinity;
    else
      return static_cast<uint8_t>(nan);
  }
  if (code == 0 && !Format::signedZero)
    return 0;
  return static_cast<uint8_t>(code | sign);
}

template <typename Format> inline float widenSmallFloat(uint8_t code) {
  unsigned magnitude = code & (Format::sign - 1);
  bool negative = code & Format::sign;
  if (magnitude == 0 && negative && !Format::signedZero)
    return std::numeric_limits<float>::quiet_NaN();
  float value;
  if (magnitude > Format::largest) {
    value = static_cast<int>(magnitude) == Format::infinity
                ? std::numeric_limits<float>::infinity()
                : std::numeric_limits<float>::quiet_NaN();
  } else if (magnitude >> Format::mantissa == 0) {
    // Units of the smallest subnormal, a power of two.
    value = static_cast<float>(magnitude) /
            static_cast<float>(
                1u << (Format::bias - 1 + static_cast<int>(Format::mantissa)));
  } else {
    uint32_t bits = (magnitude << (23 - Format::mantissa)) +
                    (static_cast<uint32_t>(127 - Format::bias) << 23);
    std::memcpy(&value, &bits, sizeof(value));
  }
  return negative ? -value : value;
}

/// E8M0 has powers of two, from 2^-127 (code 0) on, and NaN (255).
enum class ScaleRounding { Up, Down, Nearest };

/// Infinities become NaN; the sign is dropped (ONNX leaves that undefined).
inline uint8_t roundToE8M0(float value, bool saturate, ScaleRounding mode) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  unsigned exponent = (bits >> 23) & 0xff;
  uint32_t fraction = bits & 0x7fffff;
  if (exponent == 0xff)
    return 0xff;
  bool up = false;
  if (mode == ScaleRounding::Up)
    up = fraction != 0;
  else if (mode == ScaleRounding::Nearest)
    // A tie goes up; below the smallest power only what is past the middle.
    up = fraction > 0x400000 || (fraction == 0x400000 && exponent != 0);
  if (saturate && exponent == 0xfe)
    up = false;
  return static_cast<uint8_t>(exponent + up);
}

inline float widenE8M0(uint8_t code) {
  uint32_t bits = code == 0xff ? 0x7fc00000u
                  : code == 0  ? 0x00400000u
                               : static_cast<uint32_t>(code) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_KERNELS_SMALLFLOATS_H
