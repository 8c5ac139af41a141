//===- FloatConversionAVX512.h - loops for AVX-512 F, BW, DQ, VL *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl; reached through a
// table alone, after a look at the machine. (AVX512_BF16 has no use here: its
// conversion takes subnormals for zeros.)
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_FLOATCONVERSIONAVX512_H
#define AMP_RUNTIME_KERNELS_FLOATCONVERSIONAVX512_H

#include "FloatConversion.h"

#include <immintrin.h>

namespace {

/// Finite values that would round to infinity become the largest finite one.
inline __m512i saturateToFloat16(__m512i bits) {
  __m512i sign = _mm512_set1_epi32(static_cast<int>(Float32::sign));
  constexpr int overflow = Rounding<Float32, Float16>::overflow;
  __m512i past = _mm512_sub_epi32(_mm512_andnot_si512(sign, bits),
                                  _mm512_set1_epi32(overflow));
  __mmask16 beyond = _mm512_cmplt_epu32_mask(
      past, _mm512_set1_epi32(Float32::infinity - overflow));
  __m512i largest = _mm512_castps_si512(_mm512_set1_ps(65504));
  return _mm512_mask_or_epi32(bits, beyond, _mm512_and_si512(bits, sign),
                              largest);
}

template <bool saturate> inline __m256i roundVector(__m512i bits) {
  if constexpr (saturate)
    bits = saturateToFloat16(bits);
  return _mm512_cvtps_ph(_mm512_castsi512_ps(bits),
                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

template <bool saturate>
inline void roundToFloat16(const char *source, char *destination,
                           size_t count) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(
        reinterpret_cast<__m256i *>(destination + 2 * i),
        roundVector<saturate>(_mm512_loadu_si512(source + 4 * i)));
  // Masked lanes are neither read nor written.
  __mmask16 rest = static_cast<__mmask16>((1u << (count - i)) - 1);
  _mm256_mask_storeu_epi16(
      destination + 2 * i, rest,
      roundVector<saturate>(_mm512_maskz_loadu_epi32(rest, source + 4 * i)));
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
  for (; i + 16 <= count; i += 16) {
    __m256i values =
        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(source + 2 * i));
    _mm512_storeu_ps(destination + 4 * i, _mm512_cvtph_ps(values));
  }
  __mmask16 rest = static_cast<__mmask16>((1u << (count - i)) - 1);
  __m256i values = _mm256_maskz_loadu_epi16(rest, source + 2 * i);
  _mm512_mask_storeu_ps(destination + 4 * i, rest, _mm512_cvtph_ps(values));
}

constexpr FloatConversionLoops makeConversionLoopsAVX512() {
  FloatConversionLoops loops;
  loops.float32ToFloat16 = float32ToFloat16;
  loops.float16ToFloat32 = float16ToFloat32;
  return loops;
}

} // namespace

#endif // AMP_RUNTIME_KERNELS_FLOATCONVERSIONAVX512_H
