//===- GemmKernelsAMX.cpp - products of tiles of bfloat16 -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two by two tiles of C, each 16 by 16, are in registers while the depth passes
// in steps of 32. A panel of A has for each step the 64 bytes of each line.
//
//===----------------------------------------------------------------------===//

#include "CPU/GemmPairs.h"

namespace amp::runtime {

namespace {

constexpr int64_t step = 32;

void packA(const PackSource &source, int height, void *panel) {
  const auto *data = static_cast<const uint16_t *>(source.data);
  auto *to = static_cast<uint16_t *>(panel);
  for (int64_t p = 0; p < source.depth; p += step) {
    int64_t depth = source.depth - p;
    uint32_t mask = getMask(depth);
    for (int64_t line = 0; line < height; ++line, to += step) {
      const uint16_t *from =
          data + line * source.lineStride + p * source.depthStride;
      if (source.depthStride == 1) {
        _mm512_storeu_si512(to, _mm512_maskz_loadu_epi16(mask, from));
        continue;
      }
      for (int64_t i = 0; i < step; ++i)
        to[i] = i < depth ? from[i * source.depthStride] : 0;
    }
  }
}

void packB(const PackSource &source, int width, void *panel) {
  packPairs(source, width, (source.depth + step - 1) / step * (step / 2),
            static_cast<uint32_t *>(panel));
}

struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles: C in 0 to 3 (row-major), A in 4 and 5, B in 6 and 7.
void multiply(int height, int width, int64_t depth, const void *a,
              const void *b, float *c, int64_t stride, bool accumulate) {
  int upper = height < 16 ? height : 16, lower = height - upper;
  bool isWide = width > 16;
  TileShapes shapes;
  auto set = [&](int tile, int rows) {
    shapes.rows[tile] = static_cast<uint8_t>(rows);
    shapes.rowBytes[tile] = rows ? 64 : 0;
  };
  set(0, upper);
  set(1, isWide ? upper : 0);
  set(2, lower);
  set(3, isWide ? lower : 0);
  set(4, upper);
  set(5, lower);
  set(6, 16);
  set(7, isWide ? 16 : 0);
  _tile_loadconfig(&shapes);

  auto *panelA = static_cast<const char *>(a);
  auto *panelB = static_cast<const char *>(b);
  int64_t bytes = stride * sizeof(float);
  float *c2 = c + 16 * stride;
  if (accumulate) {
    _tile_loadd(0, c, bytes);
    if (isWide)
      _tile_loadd(1, c + 16, bytes);
    if (lower)
      _tile_loadd(2, c2, bytes);
    if (lower && isWide)
      _tile_loadd(3, c2 + 16, bytes);
  } else {
    _tile_zero(0);
    if (isWide)
      _tile_zero(1);
    if (lower)
      _tile_zero(2);
    if (lower && isWide)
      _tile_zero(3);
  }
  int64_t stepA = height * 64, stepB = width * 64, rowB = width * 4;
  if (isWide && lower) {
    for (int64_t p = 0; p < depth; p += step) {
      _tile_loadd(6, panelB, rowB);
      _tile_loadd(4, panelA, 64);
      _tile_loadd(7, panelB + 64, rowB);
      _tile_loadd(5, panelA + 1024, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
      panelA += stepA;
      panelB += stepB;
    }
  } else if (isWide) {
    for (int64_t p = 0; p < depth; p += step) {
      _tile_loadd(4, panelA, 64);
      _tile_loadd(6, panelB, rowB);
      _tile_loadd(7, panelB + 64, rowB);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      panelA += stepA;
      panelB += stepB;
    }
  } else {
    for (int64_t p = 0; p < depth; p += step) {
      _tile_loadd(4, panelA, 64);
      _tile_loadd(6, panelB, rowB);
      _tile_dpbf16ps(0, 4, 6);
      if (lower) {
        _tile_loadd(5, panelA + 1024, 64);
        _tile_dpbf16ps(2, 5, 6);
      }
      panelA += stepA;
      panelB += stepB;
    }
  }
  _tile_stored(0, c, bytes);
  if (isWide)
    _tile_stored(1, c + 16, bytes);
  if (lower)
    _tile_stored(2, c2, bytes);
  if (lower && isWide)
    _tile_stored(3, c2 + 16, bytes);
  _tile_release();
}

} // namespace

const PanelKernels amxPanelKernels = {
    /*maxHeight=*/32,
    /*maxWidth=*/32,
    /*widthUnit=*/16,
    /*depthUnit=*/step,
    /*elementSize=*/2,
    /*maxDepth=*/1024,
    /*maxRows=*/256,
    /*maxColumns=*/1024,     &packA,    &packB,
    /*packPatches=*/nullptr, &multiply,
};

} // namespace amp::runtime
