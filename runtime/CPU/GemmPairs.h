//===- GemmPairs.h - panels of pairs of bfloat16 ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions for bfloat16 take two neighbours over the depth at a time: a
// panel has for each pair of depths the pair of each line. Included by files
// that are compiled for AVX-512.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_GEMMPAIRS_H
#define AMP_RUNTIME_CPU_GEMMPAIRS_H

#include "CPU/GemmKernels.h"
#include "kernels/Vector.h"

namespace amp::runtime {
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"

AMP_INLINE uint32_t getMask(int64_t count) {
  return count >= 32 ? ~0u : count <= 0 ? 0u : (1u << count) - 1;
}

/// Pairs [0, pairs) of `width` lines, zeros beyond the source.
void packPairs(const PackSource &source, int64_t width, int64_t pairs,
               uint32_t *panel) {
  const auto *data = static_cast<const uint16_t *>(source.data);
  auto storeRow = [&](int64_t pair, int64_t line, __m512i row) {
    uint32_t *to = panel + pair * width + line;
    // The next row is written later.
    if (line == 0 || line + 16 <= width)
      _mm512_storeu_si512(to, row);
    else
      _mm512_mask_storeu_epi32(to, getMask(width - line), row);
  };
  if (source.lineStride == 1) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const uint16_t *even = data + 2 * pair * source.depthStride;
      const uint16_t *odd = even + source.depthStride;
      int64_t left = source.depth - 2 * pair;
      for (int64_t line = 0; line < width; line += 16) {
        uint32_t mask = getMask(source.count - line) & 0xffff;
        __m512i low = _mm512_setzero_si512(), high = low;
        if (left > 0)
          low = _mm512_cvtepu16_epi32(
              _mm256_maskz_loadu_epi16(mask, even + line));
        if (left > 1)
          high =
              _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, odd + line));
        storeRow(pair, line, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
      }
    }
  } else if (source.depthStride == 1) {
    for (int64_t line = 0; line < width; line += 16)
      for (int64_t pair = 0; pair < pairs; pair += 16) {
        FloatVector rows[16];
        uint32_t mask = getMask(source.depth - 2 * pair);
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          rows[i] =
              line + i < source.count
                  ? (FloatVector)_mm512_maskz_loadu_epi16(
                        mask, data + (line + i) * source.lineStride + 2 * pair)
                  : FloatVector{};
        transpose(rows);
        for (int64_t i = 0; i < 16 && pair + i < pairs; ++i)
          storeRow(pair + i, line, (__m512i)rows[i]);
      }
  } else {
    for (int64_t pair = 0; pair < pairs; ++pair)
      for (int64_t line = 0; line < width; ++line) {
        auto get = [&](int64_t p) -> uint32_t {
          return line < source.count && p < source.depth
                     ? data[line * source.lineStride + p * source.depthStride]
                     : 0;
        };
        panel[pair * width + line] = get(2 * pair) | get(2 * pair + 1) << 16;
      }
  }
}

#pragma clang diagnostic pop

} // namespace
} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_GEMMPAIRS_H
