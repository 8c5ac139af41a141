//===- TransposeTile.h - small matrices, transposed -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_TRANSPOSETILE_H
#define AMP_RUNTIME_CPU_TRANSPOSETILE_H

#include <cstdint>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace amp::runtime {

/// Tiles of `size` x `size` elements that fit into registers; 1 for types
/// without such code.
template <typename T> struct TransposeTile {
  static constexpr int64_t size = 1;
  static void run(const T *source, int64_t, T *destination, int64_t) {
    *destination = *source;
  }
};

#ifdef __SSE2__
template <> struct TransposeTile<uint32_t> {
  static constexpr int64_t size = 4;
  static void run(const uint32_t *source, int64_t sourceStride,
                  uint32_t *destination, int64_t destinationStride) {
    auto load = [&](int64_t i) {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i *>(source + i * sourceStride));
    };
    __m128i a = load(0), b = load(1), c = load(2), d = load(3);
    __m128i abLow = _mm_unpacklo_epi32(a, b), abHigh = _mm_unpackhi_epi32(a, b);
    __m128i cdLow = _mm_unpacklo_epi32(c, d), cdHigh = _mm_unpackhi_epi32(c, d);
    auto store = [&](int64_t i, __m128i row) {
      _mm_storeu_si128(
          reinterpret_cast<__m128i *>(destination + i * destinationStride),
          row);
    };
    store(0, _mm_unpacklo_epi64(abLow, cdLow));
    store(1, _mm_unpackhi_epi64(abLow, cdLow));
    store(2, _mm_unpacklo_epi64(abHigh, cdHigh));
    store(3, _mm_unpackhi_epi64(abHigh, cdHigh));
  }
};

template <> struct TransposeTile<uint16_t> {
  static constexpr int64_t size = 8;
  static void run(const uint16_t *source, int64_t sourceStride,
                  uint16_t *destination, int64_t destinationStride) {
    __m128i rows[8], halves[8], quarters[8];
    for (int i = 0; i < 8; ++i)
      rows[i] = _mm_loadu_si128(
          reinterpret_cast<const __m128i *>(source + i * sourceStride));
    // Interleaving rows 4, 2 and 1 apart.
    for (int i = 0; i < 4; ++i) {
      halves[2 * i] = _mm_unpacklo_epi16(rows[i], rows[i + 4]);
      halves[2 * i + 1] = _mm_unpackhi_epi16(rows[i], rows[i + 4]);
    }
    for (int i = 0; i < 4; ++i) {
      quarters[2 * i] = _mm_unpacklo_epi16(halves[i], halves[i + 4]);
      quarters[2 * i + 1] = _mm_unpackhi_epi16(halves[i], halves[i + 4]);
    }
    for (int i = 0; i < 4; ++i) {
      auto *to = destination + 2 * i * destinationStride;
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                       _mm_unpacklo_epi16(quarters[i], quarters[i + 4]));
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to + destinationStride),
                       _mm_unpackhi_epi16(quarters[i], quarters[i + 4]));
    }
  }
};

template <> struct TransposeTile<uint8_t> {
  static constexpr int64_t size = 8;
  static void run(const uint8_t *source, int64_t sourceStride,
                  uint8_t *destination, int64_t destinationStride) {
    __m128i rows[8], pairs[4], fours[4], eights[4];
    for (int i = 0; i < 8; ++i)
      rows[i] = _mm_loadl_epi64(
          reinterpret_cast<const __m128i *>(source + i * sourceStride));
    // Interleaving rows 4, 2 and 1 apart.
    for (int i = 0; i < 4; ++i)
      pairs[i] = _mm_unpacklo_epi8(rows[i], rows[i + 4]);
    for (int i = 0; i < 2; ++i) {
      fours[2 * i] = _mm_unpacklo_epi8(pairs[i], pairs[i + 2]);
      fours[2 * i + 1] = _mm_unpackhi_epi8(pairs[i], pairs[i + 2]);
    }
    for (int i = 0; i < 2; ++i) {
      eights[2 * i] = _mm_unpacklo_epi8(fours[i], fours[i + 2]);
      eights[2 * i + 1] = _mm_unpackhi_epi8(fours[i], fours[i + 2]);
    }
    for (int i = 0; i < 4; ++i) {
      auto *to = destination + 2 * i * destinationStride;
      _mm_storel_epi64(reinterpret_cast<__m128i *>(to), eights[i]);
      _mm_storel_epi64(reinterpret_cast<__m128i *>(to + destinationStride),
                       _mm_unpackhi_epi64(eights[i], eights[i]));
    }
  }
};
#endif

/// destination[i][j] = source[j][i] for i < height, j < width; strides count
/// elements.
template <typename T>
void transposeBlock(const T *source, int64_t sourceStride, T *destination,
                    int64_t destinationStride, int64_t height, int64_t width) {
  using Tile = TransposeTile<T>;
  int64_t tiledHeight = height - height % Tile::size;
  int64_t tiledWidth = width - width % Tile::size;
  for (int64_t i = 0; i < tiledHeight; i += Tile::size)
    for (int64_t j = 0; j < tiledWidth; j += Tile::size)
      Tile::run(source + j * sourceStride + i, sourceStride,
                destination + i * destinationStride + j, destinationStride);
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = i < tiledHeight ? tiledWidth : 0; j < width; ++j)
      destination[i * destinationStride + j] = source[j * sourceStride + i];
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_TRANSPOSETILE_H
