//===- FloatConversion.h - rounding, in integers ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// float32 and float64 to float16 and bfloat16 and back, for the runtime and for
// the compiler's own conversion of constants. Everything rounds once, to
// nearest, ties to even; signs, infinities and NaNs stay (the payload's top
// bits, made quiet), and subnormals are as IEEE 754 has them.
//
// Every source file of kernels includes this and is compiled for its own
// instruction set: the loops are written so that the compiler vectorises them.
// Everything here has internal linkage, so that code for a newer instruction
// set cannot end up in a caller without it. Integers only: no rounding mode and
// no flush-to-zero can change a result.
//
// Arrays are bytes in the machine's order without any alignment, and must not
// overlap.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_FLOATCONVERSION_H
#define AMP_RUNTIME_KERNELS_FLOATCONVERSION_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

template <typename T> inline T loadAt(const char *bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> inline void storeAt(char *bytes, size_t index, T value) {
  std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
}

template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// The bits of an IEEE 754 binary format. Magnitudes (the bits without the
/// sign) are ordered like the values, so ranges of values are ranges of
/// integers.
template <typename BitsT, typename FloatT, unsigned exponent, unsigned mantissa>
struct Binary {
  using Bits = BitsT;
  using Float = FloatT; // the type itself, or one that holds its values
  static constexpr unsigned exponentBits = exponent;
  static constexpr unsigned mantissaBits = mantissa;
  static constexpr unsigned bias = (1u << (exponent - 1)) - 1;
  static constexpr Bits sign = Bits(1) << (exponent + mantissa);
  static constexpr Bits implicit = Bits(1) << mantissa;
  static constexpr Bits mantissaMask = implicit - 1;
  static constexpr Bits infinity = ((Bits(1) << exponent) - 1) << mantissa;
  static constexpr Bits quiet = implicit >> 1;
  /// The exponent with which a mantissa counts units.
  static constexpr Bits unitExponent = Bits(bias + mantissa) << mantissa;

  /// The significand of a normal value as a number, and an integer below
  /// 2^mantissa as one: exact, and quicker than conversions.
  static inline Float significandOf(Bits magnitude) {
    return bitCast<Float>((magnitude & mantissaMask) | unitExponent);
  }
  static inline Float numberOf(Bits integer) {
    return bitCast<Float>(integer | unitExponent) -
           bitCast<Float>(unitExponent);
  }
};
using Float32 = Binary<uint32_t, float, 8, 23>;
using Float64 = Binary<uint64_t, double, 11, 52>;
using Float16 = Binary<uint16_t, float, 5, 10>;
using BFloat16 = Binary<uint16_t, float, 8, 7>;

/// Rounding from format S to format T. The constants are magnitudes of S.
template <typename S, typename T> struct Rounding {
  using Bits = typename S::Bits;
  static constexpr unsigned shift = S::mantissaBits - T::mantissaBits;
  static constexpr unsigned rebias = S::bias - T::bias;
  static constexpr Bits dropped = (Bits(1) << shift) - 1;
  /// T's smallest normal value.
  static constexpr Bits smallestNormal = Bits(rebias + 1) << S::mantissaBits;
  /// The smallest value that rounds beyond T's largest finite one: half a unit
  /// above it (a tie, and the largest is odd).
  static constexpr Bits overflow =
      (Bits(rebias + (1u << T::exponentBits) - 2) << S::mantissaBits) |
      (S::mantissaMask & ~(dropped >> 1));
  /// The largest value that rounds to zero: half T's smallest (a tie, and zero
  /// is even).
  static constexpr Bits flushed = rebias > T::mantissaBits
                                      ? Bits(rebias - T::mantissaBits)
                                            << S::mantissaBits
                                      : Bits(1) << (S::mantissaBits + rebias -
                                                    T::mantissaBits - 1);
  /// The smallest value that rounds to T's smallest normal: half a unit below
  /// (a tie, and the largest subnormal is odd). Below a power of two S counts
  /// in halves, unless the value is subnormal in S as well.
  static constexpr Bits becomesNormal =
      smallestNormal - (Bits(1) << (rebias == 0 ? shift - 1 : shift));

  template <bool saturate> static inline uint16_t round(Bits value) {
    Bits magnitude = value & ~S::sign;
    uint16_t sign = static_cast<uint16_t>(
        (value & S::sign) >> (S::exponentBits + S::mantissaBits - 15));

    // To nearest, ties to even, by an addition that carries into what stays;
    // a carry out of the mantissa makes the exponent right by itself.
    Bits rebiased = magnitude - (Bits(rebias) << S::mantissaBits);
    Bits rounded =
        (rebiased + (dropped >> 1) + ((magnitude >> shift) & 1)) >> shift;
    if constexpr (rebias != 0) {
      // In T's subnormals the unit is fixed: the smaller the value, the more
      // bits to drop. Past all bits everything rounds to zero; S's own
      // subnormals are there, so that the leading bit may be taken for granted.
      Bits exponent = magnitude >> S::mantissaBits;
      exponent = exponent < rebias ? exponent : Bits(rebias);
      Bits toDrop = Bits(shift + rebias + 1) - exponent;
      toDrop = toDrop < S::mantissaBits + 2 ? toDrop : S::mantissaBits + 2;
      Bits significand = (magnitude & S::mantissaMask) | S::implicit;
      Bits half = (Bits(1) << (toDrop - 1)) - 1;
      Bits subnormal =
          (significand + half + ((significand >> toDrop) & 1)) >> toDrop;
      rounded = magnitude < smallestNormal ? subnormal : rounded;
      rounded = magnitude >= overflow ? Bits(T::infinity) : rounded;
    }
    // With equal exponents the carry has led to infinity where it should.
    if constexpr (saturate) {
      bool beyond = magnitude >= overflow && magnitude < S::infinity;
      rounded = beyond ? Bits(T::infinity - 1) : rounded;
    }
    Bits nan =
        Bits(T::infinity | T::quiet) | ((magnitude >> shift) & T::mantissaMask);
    rounded = magnitude > S::infinity ? nan : rounded;
    return static_cast<uint16_t>(sign | rounded);
  }

  template <bool saturate>
  static void roundAll(const char *source, char *destination, size_t count) {
    for (size_t i = 0; i < count; ++i)
      storeAt<uint16_t>(destination, i,
                        round<saturate>(loadAt<Bits>(source, i)));
  }

  static void roundArray(const char *source, char *destination, size_t count,
                         bool saturate) {
    if (saturate)
      roundAll<true>(source, destination, count);
    else
      roundAll<false>(source, destination, count);
  }
};

/// Widening from format T (16 bits) to float32.
template <typename T> inline uint32_t widen(uint16_t value) {
  uint32_t magnitude = value & ~T::sign & 0xffffu;
  uint32_t sign = static_cast<uint32_t>(value & T::sign) << 16;
  constexpr unsigned shift = Float32::mantissaBits - T::mantissaBits;
  constexpr uint32_t rebias = (Float32::bias - T::bias)
                              << Float32::mantissaBits;
  uint32_t wide = (magnitude << shift) + rebias;
  if constexpr (rebias != 0) {
    // A subnormal is this many units; the product is exact and normal.
    float product = static_cast<float>(static_cast<int32_t>(magnitude)) *
                    (1.0f / (1u << (T::bias + T::mantissaBits - 1)));
    wide = magnitude < T::implicit ? bitCast<uint32_t>(product) : wide;
    wide = magnitude >= T::infinity ? wide + rebias : wide;
  }
  wide |= magnitude > T::infinity ? Float32::quiet : 0;
  return sign | wide;
}

template <typename T>
void widenArray(const char *source, char *destination, size_t count) {
  for (size_t i = 0; i < count; ++i)
    storeAt(destination, i, widen<T>(loadAt<uint16_t>(source, i)));
}

/// The loops of one instruction set.
struct FloatConversionLoops {
  using Round = void (*)(const char *source, char *destination, size_t count,
                         bool saturate);
  using Widen = void (*)(const char *source, char *destination, size_t count);

  Round float32ToFloat16 = Rounding<Float32, Float16>::roundArray;
  Round float32ToBFloat16 = Rounding<Float32, BFloat16>::roundArray;
  Round float64ToFloat16 = Rounding<Float64, Float16>::roundArray;
  Round float64ToBFloat16 = Rounding<Float64, BFloat16>::roundArray;
  Widen float16ToFloat32 = widenArray<Float16>;
  Widen bfloat16ToFloat32 = widenArray<BFloat16>;
};

} // namespace

#endif // AMP_RUNTIME_KERNELS_FLOATCONVERSION_H
