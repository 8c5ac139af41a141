//===- FloatConversionAVX2.h - loops for AVX2 and F16C ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiled with -mavx2 -mf16c; reached through a table alone, after a look at
// the machine. The conversion instructions of F16C ignore MXCSR's rounding
// mode (the operand says it), its flush-to-zero and its denormals-are-zero.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_FLOATCONVERSIONAVX2_H
#define AMP_RUNTIME_KERNELS_FLOATCONVERSIONAVX2_H

#include "FloatConversion.h"

#include <immintrin.h>

namespace {

/// Finite values that would round to infinity become the largest finite one.
inline __m256 saturateToFloat16(__m256 values) {
  __m256i bits = _mm256_castps_si256(values);
  __m256i sign = _mm256_set1_epi32(static_cast<int>(Float32::sign));
  __m256i magnitude = _mm256_andnot_si256(sign, bits);
  constexpr int overflow = Rounding<Float32, Float16>::overflow;
  __m256i beyond = _mm256_and_si256(
      _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(overflow - 1)),
      _mm256_cmpgt_epi32(_mm256_set1_epi32(Float32::infinity), magnitude));
  __m256 largest = _mm256_or_ps(
      _mm256_and_ps(values, _mm256_castsi256_ps(sign)), _mm256_set1_ps(65504));
  return _mm256_blendv_ps(values, largest, _mm256_castsi256_ps(beyond));
}

template <bool saturate>
inline void roundToFloat16(const char *source, char *destination,
                           size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 values =
        _mm256_loadu_ps(reinterpret_cast<const float *>(source + 4 * i));
    if constexpr (saturate)
      values = saturateToFloat16(values);
    __m128i rounded =
        _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(destination + 2 * i), rounded);
  }
  Rounding<Float32, Float16>::roundArray(source + 4 * i, destination + 2 * i,
                                         count - i, saturate);
}

inline void float32ToFloat16(const char *source, char *destination,
                             size_t count, bool saturate) {
  if (saturate)
    roundToFloat16<true>(source, destination, count);
  else
    roundToFloat16<false>(source, destination, count);
}

inline void float16ToFloat32(const char *source, char *destination,
                             size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 values = _mm256_cvtph_ps(
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(source + 2 * i)));
    _mm256_storeu_ps(reinterpret_cast<float *>(destination + 4 * i), values);
  }
  widenArray<Float16>(source + 2 * i, destination + 4 * i, count - i);
}

constexpr FloatConversionLoops makeConversionLoopsAVX2() {
  FloatConversionLoops loops;
  loops.float32ToFloat16 = float32ToFloat16;
  loops.float16ToFloat32 = float16ToFloat32;
  return loops;
}

} // namespace

#endif // AMP_RUNTIME_KERNELS_FLOATCONVERSIONAVX2_H
