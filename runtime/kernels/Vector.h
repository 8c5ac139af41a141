//===- Vector.h - vectors of floats as wide as the CPU has them -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One source for all instruction sets: a file that is compiled for one of them
// includes this and gets vectors of that width. Everything is in an anonymous
// namespace, for the same function of two such files is two functions.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_VECTOR_H
#define AMP_RUNTIME_KERNELS_VECTOR_H

#include "kernels/Float16.h"

#include <cstdint>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace amp::runtime {
namespace {

// What a file doesn't use of it is no mistake of the file.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"

#if defined(__AVX512F__)
constexpr int vectorWidth = 16;
#elif defined(__AVX2__)
constexpr int vectorWidth = 8;
#else
constexpr int vectorWidth = 4;
#endif

#define AMP_INLINE inline __attribute__((always_inline))

typedef float FloatVector __attribute__((ext_vector_type(vectorWidth)));
typedef int32_t IntVector __attribute__((ext_vector_type(vectorWidth)));
typedef uint32_t UIntVector __attribute__((ext_vector_type(vectorWidth)));
typedef uint16_t HalfBits __attribute__((ext_vector_type(vectorWidth)));

AMP_INLINE FloatVector broadcast(float value) { return value; }
AMP_INLINE IntVector bitsOf(FloatVector v) { return (IntVector)v; }
AMP_INLINE FloatVector fromBits(IntVector v) { return (FloatVector)v; }

/// a * b + c, rounded once where the CPU can.
AMP_INLINE FloatVector multiplyAdd(FloatVector a, FloatVector b,
                                   FloatVector c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

AMP_INLINE FloatVector select(IntVector mask, FloatVector a, FloatVector b) {
  return mask ? a : b;
}
/// The larger one; NaN if `a` is.
AMP_INLINE FloatVector maximum(FloatVector a, FloatVector b) {
  return select(a < b, b, a);
}
/// The smaller one; NaN if `a` is.
AMP_INLINE FloatVector minimum(FloatVector a, FloatVector b) {
  return select(a > b, b, a);
}
AMP_INLINE FloatVector absolute(FloatVector v) {
  return fromBits(bitsOf(v) & 0x7fffffff);
}
AMP_INLINE FloatVector copySign(FloatVector magnitude, FloatVector sign) {
  return fromBits((bitsOf(magnitude) & 0x7fffffff) |
                  (bitsOf(sign) & INT32_MIN));
}
/// All of one vector by halves: an order that the width alone says.
template <typename Combine>
AMP_INLINE float reduce(FloatVector v, const Combine &combine) {
  typedef float Quad __attribute__((ext_vector_type(4)));
#if defined(__AVX512F__)
  typedef float Half __attribute__((ext_vector_type(8)));
  Half half =
      combine(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
              __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
#elif defined(__AVX2__)
  FloatVector half = v;
#endif
#ifdef __AVX2__
  Quad quad = combine(__builtin_shufflevector(half, half, 0, 1, 2, 3),
                      __builtin_shufflevector(half, half, 4, 5, 6, 7));
#else
  Quad quad = v;
#endif
  quad = combine(quad, __builtin_shufflevector(quad, quad, 2, 3, 2, 3));
  quad = combine(quad, __builtin_shufflevector(quad, quad, 1, 1, 1, 1));
  return quad[0];
}
AMP_INLINE float sum(FloatVector v) {
  return reduce(v, [](auto a, auto b) { return a + b; });
}
/// The largest element, or any if one is NaN.
AMP_INLINE float largest(FloatVector v) {
  return reduce(v, [](auto a, auto b) { return a < b ? b : a; });
}

//===----------------------------------------------------------------------===//
// 16-bit types
//===----------------------------------------------------------------------===//

AMP_INLINE FloatVector widen(HalfBits bits, BFloat16) {
  return fromBits((IntVector)(__builtin_convertvector(bits, UIntVector) << 16));
}

/// To nearest even; NaN stays one.
AMP_INLINE HalfBits narrow(FloatVector v, BFloat16) {
  UIntVector bits = (UIntVector)v;
  UIntVector rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  UIntVector quiet = (bits >> 16) | 0x40;
  return __builtin_convertvector(v == v ? rounded : quiet, HalfBits);
}

AMP_INLINE FloatVector widen(HalfBits bits, Float16) {
#if defined(__AVX512F__)
  return (FloatVector)_mm512_cvtph_ps((__m256i)bits);
#elif defined(__F16C__)
  return (FloatVector)_mm256_cvtph_ps((__m128i)bits);
#else
  IntVector wide = __builtin_convertvector(bits, IntVector);
  IntVector magnitude = (wide & 0x7fff) << 13;
  // The exponent by a product, which makes subnormals normal as well.
  IntVector value = bitsOf(fromBits(magnitude) * 0x1p112f);
  IntVector special = magnitude | 0x7f800000;
  value = magnitude >= 0x0f800000 ? special : value;
  return fromBits(value | ((wide & 0x8000) << 16));
#endif
}

/// To nearest even; infinity beyond the range.
AMP_INLINE HalfBits narrow(FloatVector v, Float16) {
#if defined(__AVX512F__)
  return (HalfBits)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
  return (HalfBits)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#else
  UIntVector bits = (UIntVector)v;
  UIntVector sign = (bits >> 16) & 0x8000;
  UIntVector magnitude = bits & 0x7fffffff;
  UIntVector normal =
      (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Adding 0.5 leaves the subnormal's bits at the end, rounded.
  UIntVector small = (UIntVector)((FloatVector)magnitude + 0.5f) - 0x3f000000;
  UIntVector result = magnitude < 0x38800000 ? small : normal;
  result = magnitude >= 0x477ff000 ? UIntVector{} + 0x7c00 : result;
  result =
      magnitude > 0x7f800000 ? ((magnitude >> 13) & 0x3ff) | 0x7e00 : result;
  return __builtin_convertvector(result | sign, HalfBits);
#endif
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

AMP_INLINE FloatVector load(const float *data) {
  FloatVector v;
  __builtin_memcpy(&v, data, sizeof(v));
  return v;
}
template <typename Half> AMP_INLINE FloatVector load(const Half *data) {
  HalfBits bits;
  __builtin_memcpy(&bits, data, sizeof(bits));
  return widen(bits, Half());
}

AMP_INLINE void store(float *data, FloatVector v) {
  __builtin_memcpy(data, &v, sizeof(v));
}
template <typename Half> AMP_INLINE void store(Half *data, FloatVector v) {
  HalfBits bits = narrow(v, Half());
  __builtin_memcpy(data, &bits, sizeof(bits));
}

/// The first `count` < vectorWidth elements, then zeros; touches no others.
AMP_INLINE FloatVector loadPartial(const float *data, int64_t count) {
#if defined(__AVX512F__)
  return (FloatVector)_mm512_maskz_loadu_ps((1u << count) - 1, data);
#else
  FloatVector v = {};
  for (int64_t i = 0; i < count; ++i)
    v[i] = data[i];
  return v;
#endif
}
template <typename Half>
AMP_INLINE FloatVector loadPartial(const Half *data, int64_t count) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  return widen((HalfBits)_mm256_maskz_loadu_epi16((1u << count) - 1, data),
               Half());
#else
  HalfBits bits = {};
  for (int64_t i = 0; i < count; ++i)
    bits[i] = data[i].bits;
  return widen(bits, Half());
#endif
}

AMP_INLINE void storePartial(float *data, FloatVector v, int64_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(data, (1u << count) - 1, (__m512)v);
#else
  for (int64_t i = 0; i < count; ++i)
    data[i] = v[i];
#endif
}
template <typename Half>
AMP_INLINE void storePartial(Half *data, FloatVector v, int64_t count) {
  HalfBits bits = narrow(v, Half());
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  _mm256_mask_storeu_epi16(data, (1u << count) - 1, (__m256i)bits);
#else
  for (int64_t i = 0; i < count; ++i)
    data[i].bits = bits[i];
#endif
}

/// One element.
AMP_INLINE float loadScalar(const float *data) { return *data; }
template <typename Half> AMP_INLINE float loadScalar(const Half *data) {
  return widen(HalfBits{} + data->bits, Half())[0];
}
AMP_INLINE void storeScalar(float *data, float value) { *data = value; }
template <typename Half> AMP_INLINE void storeScalar(Half *data, float value) {
  data->bits = narrow(broadcast(value), Half())[0];
}

/// The even elements of two vectors.
AMP_INLINE FloatVector takeEven(FloatVector a, FloatVector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}

/// Rows become columns.
AMP_INLINE void transpose(FloatVector (&rows)[vectorWidth]) {
  // Each step swaps blocks of half the size; its shuffles work within 128 bits
  // last, where they are cheapest.
#if defined(__AVX512F__)
  FloatVector t[16];
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) {
    t[i] = __builtin_shufflevector(rows[i], rows[i + 8], 0, 1, 2, 3, 4, 5, 6, 7,
                                   16, 17, 18, 19, 20, 21, 22, 23);
    t[i + 8] =
        __builtin_shufflevector(rows[i], rows[i + 8], 8, 9, 10, 11, 12, 13, 14,
                                15, 24, 25, 26, 27, 28, 29, 30, 31);
  }
#pragma clang loop unroll(full)
  for (int b = 0; b < 16; b += 8)
#pragma clang loop unroll(full)
    for (int i = b; i < b + 4; ++i) {
      rows[i] = __builtin_shufflevector(t[i], t[i + 4], 0, 1, 2, 3, 16, 17, 18,
                                        19, 8, 9, 10, 11, 24, 25, 26, 27);
      rows[i + 4] =
          __builtin_shufflevector(t[i], t[i + 4], 4, 5, 6, 7, 20, 21, 22, 23,
                                  12, 13, 14, 15, 28, 29, 30, 31);
    }
#pragma clang loop unroll(full)
  for (int b = 0; b < 16; b += 4) {
#pragma clang loop unroll(full)
    for (int i = b; i < b + 2; ++i) {
      t[i] = __builtin_shufflevector(rows[i], rows[i + 2], 0, 1, 16, 17, 4, 5,
                                     20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      t[i + 2] =
          __builtin_shufflevector(rows[i], rows[i + 2], 2, 3, 18, 19, 6, 7, 22,
                                  23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
    for (int i = b; i < b + 4; i += 2) {
      rows[i] = __builtin_shufflevector(t[i], t[i + 1], 0, 16, 2, 18, 4, 20, 6,
                                        22, 8, 24, 10, 26, 12, 28, 14, 30);
      rows[i + 1] =
          __builtin_shufflevector(t[i], t[i + 1], 1, 17, 3, 19, 5, 21, 7, 23, 9,
                                  25, 11, 27, 13, 29, 15, 31);
    }
  }
#elif defined(__AVX2__)
  FloatVector t[8];
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    t[i] =
        __builtin_shufflevector(rows[i], rows[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    t[i + 4] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 5, 6, 7, 12, 13,
                                       14, 15);
  }
#pragma clang loop unroll(full)
  for (int b = 0; b < 8; b += 4) {
    for (int i = b; i < b + 2; ++i) {
      rows[i] =
          __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      rows[i + 2] =
          __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = b; i < b + 4; i += 2) {
      FloatVector u = rows[i], v = rows[i + 1];
      rows[i] = __builtin_shufflevector(u, v, 0, 8, 2, 10, 4, 12, 6, 14);
      rows[i + 1] = __builtin_shufflevector(u, v, 1, 9, 3, 11, 5, 13, 7, 15);
    }
  }
#else
  FloatVector a = __builtin_shufflevector(rows[0], rows[2], 0, 1, 4, 5);
  FloatVector b = __builtin_shufflevector(rows[0], rows[2], 2, 3, 6, 7);
  FloatVector c = __builtin_shufflevector(rows[1], rows[3], 0, 1, 4, 5);
  FloatVector d = __builtin_shufflevector(rows[1], rows[3], 2, 3, 6, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 4, 2, 6);
  rows[1] = __builtin_shufflevector(a, c, 1, 5, 3, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 4, 2, 6);
  rows[3] = __builtin_shufflevector(b, d, 1, 5, 3, 7);
#endif
}

#pragma clang diagnostic pop

} // namespace
} // namespace amp::runtime

#endif // AMP_RUNTIME_KERNELS_VECTOR_H
