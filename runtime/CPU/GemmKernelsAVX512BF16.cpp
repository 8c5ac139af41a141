//===- GemmKernelsAVX512BF16.cpp - products of pairs of bfloat16 ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/GemmPairs.h"

namespace amp::runtime {

namespace {

constexpr int maxHeight = 14, maxVectors = 2;

void packAny(const PackSource &source, int width, void *panel) {
  packPairs(source, width, (source.depth + 1) / 2,
            static_cast<uint32_t *>(panel));
}

template <int height, int vectors>
void multiplyPanels(int64_t depth, const uint32_t *a, const uint32_t *b,
                    float *c, int64_t stride, bool accumulate) {
  __m512 sums[height][vectors] = {};
  for (int64_t pair = 0; pair < depth / 2; ++pair) {
    __m512i row[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      row[j] = _mm512_loadu_si512(b + j * 16);
#pragma clang loop unroll(full)
    for (int i = 0; i < height; ++i) {
      __m512i factor = _mm512_set1_epi32(static_cast<int>(a[i]));
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] =
            _mm512_dpbf16_ps(sums[i][j], (__m512bh)factor, (__m512bh)row[j]);
    }
    a += height;
    b += vectors * 16;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < height; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j) {
      float *at = c + i * stride + j * 16;
      _mm512_storeu_ps(at, accumulate
                               ? _mm512_add_ps(_mm512_loadu_ps(at), sums[i][j])
                               : sums[i][j]);
    }
}

template <int height>
void multiplyHeight(int wantedHeight, int width, int64_t depth, const void *a,
                    const void *b, float *c, int64_t stride, bool accumulate) {
  if constexpr (height > 1)
    if (wantedHeight < height)
      return multiplyHeight<height - 1>(wantedHeight, width, depth, a, b, c,
                                        stride, accumulate);
  auto *panelA = static_cast<const uint32_t *>(a);
  auto *panelB = static_cast<const uint32_t *>(b);
  if (width == 16)
    multiplyPanels<height, 1>(depth, panelA, panelB, c, stride, accumulate);
  else
    multiplyPanels<height, 2>(depth, panelA, panelB, c, stride, accumulate);
}

} // namespace

const PanelKernels avx512BF16PanelKernels = {
    maxHeight,
    maxVectors * 16,
    /*widthUnit=*/16,
    /*depthUnit=*/2,
    /*elementSize=*/2,
    /*maxDepth=*/512,
    /*maxRows=*/252,
    /*maxColumns=*/1024,
    &packAny,
    &packAny,
    /*packPatches=*/nullptr,
    &multiplyHeight<maxHeight>,
};

} // namespace amp::runtime
