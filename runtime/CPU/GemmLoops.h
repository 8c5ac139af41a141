//===- GemmLoops.h - the inner loops, for any width of vectors --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included once by each file that is compiled for an instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_GEMMLOOPS_H
#define AMP_RUNTIME_CPU_GEMMLOOPS_H

#include "CPU/GemmKernels.h"
#include "kernels/Math.h"

#include <type_traits>

namespace amp::runtime {
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"

AMP_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Calls function(pointer) with `data` as what `type` says.
template <typename Function>
AMP_INLINE void withType(const void *data, DataType type,
                         const Function &function) {
  if (type == DataType::Float)
    function(static_cast<const float *>(data));
  else if (type == DataType::Float16)
    function(static_cast<const Float16 *>(data));
  else
    function(static_cast<const BFloat16 *>(data));
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Stores into a row of a panel, whose next row is written later.
AMP_INLINE void storeInOrder(float *row, int64_t at, int64_t width,
                             FloatVector v) {
  if (at + vectorWidth <= width || at == 0)
    store(row + at, v);
  else
    storePartial(row + at, v, width - at);
}

/// A square of lines that are contiguous over the depth.
template <typename T>
AMP_INLINE void loadSquare(const T *from, int64_t lineStride, int64_t lines,
                           FloatVector (&rows)[vectorWidth]) {
  // What lines there are not is not used: the last one again.
#pragma clang loop unroll(full)
  for (int i = 0; i < vectorWidth; ++i)
    rows[i] = load(from + least(i, lines - 1) * lineStride);
  transpose(rows);
}

#ifdef __AVX2__
/// Floats: a part of the transposition is done by loads of 128 bits, for the
/// port of shuffles is what limits.
AMP_INLINE void loadSquare(const float *from, int64_t lineStride, int64_t lines,
                           FloatVector (&rows)[vectorWidth]) {
  auto at = [&](int line) {
    return from + least(line, lines - 1) * lineStride;
  };
#pragma clang loop unroll(full)
  for (int column = 0; column < vectorWidth; column += 4) {
    FloatVector v[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
#ifdef __AVX512F__
      __m512 quads = _mm512_castps128_ps512(_mm_loadu_ps(at(i) + column));
      quads = _mm512_insertf32x4(quads, _mm_loadu_ps(at(i + 4) + column), 1);
      quads = _mm512_insertf32x4(quads, _mm_loadu_ps(at(i + 8) + column), 2);
      quads = _mm512_insertf32x4(quads, _mm_loadu_ps(at(i + 12) + column), 3);
#else
      __m256 quads = _mm256_castps128_ps256(_mm_loadu_ps(at(i) + column));
      quads = _mm256_insertf128_ps(quads, _mm_loadu_ps(at(i + 4) + column), 1);
#endif
      v[i] = (FloatVector)quads;
    }
    // Squares of four within each 128 bits.
#ifdef __AVX512F__
    auto a = (__m512)v[0], b = (__m512)v[1], c = (__m512)v[2], d = (__m512)v[3];
    auto ab = (__m512d)_mm512_unpacklo_ps(a, b);
    auto cd = (__m512d)_mm512_unpacklo_ps(c, d);
    auto ab2 = (__m512d)_mm512_unpackhi_ps(a, b);
    auto cd2 = (__m512d)_mm512_unpackhi_ps(c, d);
    rows[column] = (FloatVector)_mm512_unpacklo_pd(ab, cd);
    rows[column + 1] = (FloatVector)_mm512_unpackhi_pd(ab, cd);
    rows[column + 2] = (FloatVector)_mm512_unpacklo_pd(ab2, cd2);
    rows[column + 3] = (FloatVector)_mm512_unpackhi_pd(ab2, cd2);
#else
    auto a = (__m256)v[0], b = (__m256)v[1], c = (__m256)v[2], d = (__m256)v[3];
    auto ab = (__m256d)_mm256_unpacklo_ps(a, b);
    auto cd = (__m256d)_mm256_unpacklo_ps(c, d);
    auto ab2 = (__m256d)_mm256_unpackhi_ps(a, b);
    auto cd2 = (__m256d)_mm256_unpackhi_ps(c, d);
    rows[column] = (FloatVector)_mm256_unpacklo_pd(ab, cd);
    rows[column + 1] = (FloatVector)_mm256_unpackhi_pd(ab, cd);
    rows[column + 2] = (FloatVector)_mm256_unpacklo_pd(ab2, cd2);
    rows[column + 3] = (FloatVector)_mm256_unpackhi_pd(ab2, cd2);
#endif
  }
}
#endif

/// From lines that are contiguous over the depth.
template <typename T>
void packContiguousDepth(const PackSource &source, const T *data, int64_t width,
                         float *panel) {
  FloatVector rows[vectorWidth];
  for (int64_t line = 0; line < width; line += vectorWidth) {
    int64_t lines = least(vectorWidth, source.count - line);
    const T *from = data + line * source.lineStride;
    float *to = panel + line;
    if (lines <= 0) {
      for (int64_t p = 0; p < source.depth; ++p)
        store(to + p * width, FloatVector{});
      continue;
    }
    // A store over the end of a row of the panel is right while the next row
    // is written later.
    bool isWhole = line + vectorWidth <= width || line == 0;
    int64_t p = 0;
    if (isWhole) {
      for (; p + vectorWidth <= source.depth; p += vectorWidth) {
        loadSquare(from + p, source.lineStride, lines, rows);
#pragma clang loop unroll(full)
        for (int i = 0; i < vectorWidth; ++i)
          store(to + (p + i) * width, rows[i]);
      }
    }
    for (; p < source.depth; p += vectorWidth) {
      int64_t depth = least(vectorWidth, source.depth - p);
      for (int i = 0; i < vectorWidth; ++i) {
        const T *at = from + least(i, lines - 1) * source.lineStride + p;
        rows[i] = depth == vectorWidth ? load(at) : loadPartial(at, depth);
      }
      transpose(rows);
      for (int64_t i = 0; i < depth; ++i)
        storeInOrder(to - line + (p + i) * width, line, width, rows[i]);
    }
  }
}

/// Whole rows of a panel.
template <int vectors, typename T>
void copyRows(const T *from, int64_t stride, int64_t depth, float *panel,
              int64_t width) {
  for (int64_t p = 0; p < depth; ++p, from += stride, panel += width)
#pragma clang loop unroll(full)
    for (int i = 0; i < vectors; ++i)
      store(panel + i * vectorWidth, load(from + i * vectorWidth));
}

/// From lines that are neighbours at each depth.
template <typename T>
void packContiguousLines(const PackSource &source, const T *data, int64_t width,
                         float *panel) {
  int64_t p = 0;
  if (source.count == width && width == 2 * vectorWidth) {
    copyRows<2>(data, source.depthStride, source.depth, panel, width);
    return;
  }
  if (source.count == width && width == vectorWidth) {
    copyRows<1>(data, source.depthStride, source.depth, panel, width);
    return;
  }
  // What follows the last line belongs to the next depth, if there is one.
  if (source.depthStride >= vectorWidth && width <= vectorWidth) {
    p = source.depth > 0 ? source.depth - 1 : 0;
    copyRows<1>(data, source.depthStride, p, panel, width);
  }
  for (; p < source.depth; ++p) {
    const T *from = data + p * source.depthStride;
    for (int64_t line = 0; line < width; line += vectorWidth) {
      int64_t lines = source.count - line;
      FloatVector v = {};
      if (lines >= vectorWidth)
        v = load(from + line);
      else if (lines > 0)
        v = loadPartial(from + line, lines);
      storeInOrder(panel + p * width, line, width, v);
    }
  }
}

template <typename T>
void packStrided(const PackSource &source, const T *data, int64_t width,
                 float *panel) {
  for (int64_t p = 0; p < source.depth; ++p)
    for (int64_t line = 0; line < width; ++line)
      panel[p * width + line] =
          line < source.count ? loadScalar(data + line * source.lineStride +
                                           p * source.depthStride)
                              : 0.0f;
}

void pack(const PackSource &source, int width, void *panel) {
  withType(source.data, source.type, [&](auto *data) {
    auto *to = static_cast<float *>(panel);
    if (source.lineStride == 1)
      packContiguousLines(source, data, width, to);
    else if (source.depthStride == 1)
      packContiguousDepth(source, data, width, to);
    else
      packStrided(source, data, width, to);
  });
}

/// Columns of a panel that are neighbours in the image.
struct Run {
  int64_t offset;
  int column, length;
};

/// The most columns of a panel.
constexpr int maxPanelWidth = 64;

/// Where places [column, column + count) are in the image; returns how many
/// runs.
int findRuns(const PackPatches &source, Run *runs) {
  const PatchMatrix &m = *source.matrix;
  int64_t x = source.column % m.width, rest = source.column / m.width;
  int64_t y = rest % m.rows, image = rest / m.rows;
  int count = 0;
  for (int64_t done = 0; done < source.count; ++count) {
    int64_t length = least(m.width - x, source.count - done);
    runs[count] = {image * m.imageStride +
                       (y / m.rowsPerPlane) * m.planeStride +
                       (y % m.rowsPerPlane) * m.rowStride + x,
                   static_cast<int>(done), static_cast<int>(length)};
    done += length;
    x = 0;
    if (++y == m.rows) {
      y = 0;
      ++image;
    }
  }
  return count;
}

void packPatchRows(const PackPatches &source, int width, float *panel) {
  const PatchMatrix &m = *source.matrix;
  Run runs[maxPanelWidth];
  int count = findRuns(source, runs);
  // The faster of the two indices of a row, then the slower one.
  int64_t fastCount = m.isTapFirst ? m.channels : m.taps;
  int64_t fast = source.row % fastCount, slow = source.row / fastCount;
  for (int64_t p = 0; p < source.depth; ++p, panel += width) {
    int64_t channel = m.isTapFirst ? fast : slow;
    int64_t tap = m.isTapFirst ? slow : fast;
    const float *from =
        source.image + channel * m.channelStride + m.tapOffsets[tap];
    // A store may reach into the next run or row, which is written later.
    for (int r = 0; r < count; ++r)
      for (int i = 0; i < runs[r].length; i += vectorWidth)
        store(panel + runs[r].column + i, load(from + runs[r].offset + i));
    if (++fast == fastCount) {
      fast = 0;
      ++slow;
    }
  }
}

void packPatchColumns(const PackPatches &source, int width, float *panel) {
  const PatchMatrix &m = *source.matrix;
  Run runs[maxPanelWidth];
  int count = findRuns(source, runs);
  int64_t offsets[maxPanelWidth] = {};
  for (int r = 0; r < count; ++r)
    for (int i = 0; i < runs[r].length; ++i)
      offsets[runs[r].column + i] = runs[r].offset + i;
  int64_t channel = source.row / m.taps, tap = source.row % m.taps;
  for (int64_t p = 0; p < source.depth;) {
    int64_t depth =
        least(least(vectorWidth, m.tapRun - tap % m.tapRun), source.depth - p);
    const float *from =
        source.image + channel * m.channelStride + m.tapOffsets[tap];
    for (int64_t column = 0; column < width; column += vectorWidth) {
      FloatVector rows[vectorWidth];
#pragma clang loop unroll(full)
      for (int i = 0; i < vectorWidth; ++i)
        rows[i] = load(from + offsets[column + i]);
      transpose(rows);
      for (int64_t i = 0; i < depth; ++i)
        store(panel + (p + i) * width + column, rows[i]);
    }
    p += depth;
    tap += depth;
    if (tap == m.taps) {
      tap = 0;
      ++channel;
    }
  }
}

void packPatches(const PackPatches &source, int width, void *panel) {
  const PatchMatrix &m = *source.matrix;
  if (m.tapRun > m.width)
    packPatchColumns(source, width, static_cast<float *>(panel));
  else
    packPatchRows(source, width, static_cast<float *>(panel));
}

void convertRows(const PackSource &source, float *out, int64_t stride) {
  withType(source.data, source.type, [&](auto *data) {
    for (int64_t line = 0; line < source.count; ++line) {
      auto *from = data + line * source.lineStride;
      float *to = out + line * stride;
      int64_t p = 0;
      if (source.depthStride == 1)
        for (; p + vectorWidth <= source.depth; p += vectorWidth)
          store(to + p, load(from + p));
      else if (source.depthStride == 2)
        // The last odd element need not be there.
        for (; p + vectorWidth < source.depth; p += vectorWidth)
          store(to + p,
                takeEven(load(from + 2 * p), load(from + 2 * p + vectorWidth)));
      for (; p < source.depth; ++p)
        to[p] = loadScalar(from + p * source.depthStride);
    }
  });
}

template <int vectors>
AMP_INLINE void multiplyTapsOf(const float *from, const int64_t *offsets,
                               const float *weights, int64_t taps, float *to) {
  FloatVector sums[vectors] = {};
  for (int64_t t = 0; t < taps; ++t) {
    FloatVector weight = broadcast(weights[t]);
    const float *at = from + offsets[t];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      sums[j] = multiplyAdd(weight, load(at + j * vectorWidth), sums[j]);
  }
#pragma clang loop unroll(full)
  for (int j = 0; j < vectors; ++j)
    store(to + j * vectorWidth, sums[j]);
}

void multiplyTaps(const PatchMatrix &m, const float *image, const void *weights,
                  DataType type, int64_t weightAt, float *sums) {
  float floats[maxTaps];
  withType(weights, type, [&](auto *data) {
    for (int64_t t = 0; t < m.taps; ++t)
      floats[t] = loadScalar(data + weightAt + t);
  });
  for (int64_t y = 0; y < m.rows; ++y) {
    const float *from = image + y / m.rowsPerPlane * m.planeStride +
                        y % m.rowsPerPlane * m.rowStride;
    // What a store writes past the row is the next one's, or room.
    float *to = sums + y * m.width;
    int64_t x = 0;
    for (; x + 4 * vectorWidth <= m.width; x += 4 * vectorWidth)
      multiplyTapsOf<4>(from + x, m.tapOffsets, floats, m.taps, to + x);
    for (; x + vectorWidth < m.width; x += 2 * vectorWidth)
      multiplyTapsOf<2>(from + x, m.tapOffsets, floats, m.taps, to + x);
    for (; x < m.width; x += vectorWidth)
      multiplyTapsOf<1>(from + x, m.tapOffsets, floats, m.taps, to + x);
  }
}

//===----------------------------------------------------------------------===//
// Products of panels
//===----------------------------------------------------------------------===//

template <int height, int vectors>
void multiplyPanels(int64_t depth, const float *a, const float *b, float *c,
                    int64_t stride, bool accumulate) {
  FloatVector sums[height][vectors] = {};
  // Of C, which is far away if there is a sum to continue.
  if (accumulate)
#pragma clang loop unroll(full)
    for (int i = 0; i < height; ++i) {
      __builtin_prefetch(c + i * stride, /*rw=*/1);
      __builtin_prefetch(c + i * stride + vectors * vectorWidth - 1, /*rw=*/1);
    }
  for (int64_t p = 0; p < depth; ++p) {
    FloatVector row[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      row[j] = load(b + j * vectorWidth);
#pragma clang loop unroll(full)
    for (int i = 0; i < height; ++i) {
      FloatVector factor = broadcast(a[i]);
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = multiplyAdd(factor, row[j], sums[i][j]);
    }
    a += height;
    b += vectors * vectorWidth;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < height; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j) {
      float *at = c + i * stride + j * vectorWidth;
      store(at, accumulate ? load(at) + sums[i][j] : sums[i][j]);
    }
}

using MultiplyPanels = void (*)(int64_t, const float *, const float *, float *,
                                int64_t, bool);

/// multiplyPanels of heights 1 to `height` and `vectors` vectors.
template <int height, int vectors, int maxHeight>
constexpr void listHeights(MultiplyPanels *table) {
  if constexpr (height > 0) {
    table[height - 1] = &multiplyPanels<height, vectors>;
    listHeights<height - 1, vectors, maxHeight>(table);
  }
}
template <int maxHeight, int vectors> struct PanelTable {
  MultiplyPanels entries[vectors][maxHeight] = {};
  constexpr PanelTable() { list<vectors>(); }
  template <int v> constexpr void list() {
    if constexpr (v > 0) {
      listHeights<maxHeight, v, maxHeight>(entries[v - 1]);
      list<v - 1>();
    }
  }
};

template <int maxHeight, int maxVectors>
void multiplyAnyPanels(int height, int width, int64_t depth, const void *a,
                       const void *b, float *c, int64_t stride,
                       bool accumulate) {
  static constexpr PanelTable<maxHeight, maxVectors> table;
  table.entries[width / vectorWidth - 1][height - 1](
      depth, static_cast<const float *>(a), static_cast<const float *>(b), c,
      stride, accumulate);
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

#if defined(__AVX512F__)
constexpr int registers = 32;
#else
constexpr int registers = 16;
#endif

/// Of more, the sums of a wide strip are no longer in registers.
constexpr int maxFewRows = registers / 4;

/// Vectors of a strip: enough sums to hide the latency of an addition, and wide
/// reads.
constexpr int getStripVectors(int rows) {
  constexpr int sums = registers - 4;
  int vectors = sums / rows;
  return vectors > 8 ? 8 : vectors < 1 ? 1 : vectors;
}

template <int rows, int vectors, typename T>
void multiplyStripOf(int64_t depth, const float *a, const T *b,
                     int64_t rowStride, float *c, int64_t stride) {
  FloatVector sums[rows][vectors] = {};
  // Rows of B are far apart: no hardware foresees them.
  constexpr int64_t ahead = 8;
  for (int64_t p = 0; p < depth; ++p) {
    FloatVector row[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      row[j] = load(b + j * vectorWidth);
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors * vectorWidth * static_cast<int>(sizeof(T));
         j += 64)
      __builtin_prefetch(reinterpret_cast<const char *>(b + ahead * rowStride) +
                         j);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      FloatVector factor = broadcast(a[i]);
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = multiplyAdd(factor, row[j], sums[i][j]);
    }
    a += rows;
    b += rowStride;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      store(c + i * stride + j * vectorWidth, sums[i][j]);
}

template <int rows>
void multiplyStripRows(int wantedRows, int width, int64_t depth, const float *a,
                       const void *b, DataType type, int64_t rowStride,
                       float *c, int64_t stride) {
  if constexpr (rows > 1)
    if (wantedRows < rows)
      return multiplyStripRows<rows - 1>(wantedRows, width, depth, a, b, type,
                                         rowStride, c, stride);
  constexpr int vectors = getStripVectors(rows);
  withType(b, type, [&](auto *data) {
    if (width == vectorWidth)
      multiplyStripOf<rows, 1>(depth, a, data, rowStride, c, stride);
    else
      multiplyStripOf<rows, vectors>(depth, a, data, rowStride, c, stride);
  });
}

void multiplyStrip(int rows, int width, int64_t depth, const float *a,
                   const void *b, DataType type, int64_t rowStride, float *c,
                   int64_t stride) {
  multiplyStripRows<maxFewRows>(rows, width, depth, a, b, type, rowStride, c,
                                stride);
}

int getStripWidth(int rows) { return getStripVectors(rows) * vectorWidth; }

template <int rows, int columns, typename T>
AMP_INLINE void multiplyDotsOf(int64_t depth, const float *a, int64_t aStride,
                               const T *b, int64_t columnStride, float *c,
                               int64_t stride) {
  FloatVector sums[rows][columns] = {};
  int64_t p = 0;
  for (; p + vectorWidth <= depth; p += vectorWidth) {
    FloatVector left[rows];
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
      left[i] = load(a + i * aStride + p);
#pragma clang loop unroll(full)
    for (int j = 0; j < columns; ++j) {
      FloatVector right = load(b + j * columnStride + p);
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i)
        sums[i][j] = multiplyAdd(left[i], right, sums[i][j]);
    }
  }
  if (p < depth)
    for (int j = 0; j < columns; ++j) {
      FloatVector right = loadPartial(b + j * columnStride + p, depth - p);
      for (int i = 0; i < rows; ++i)
        sums[i][j] = multiplyAdd(loadPartial(a + i * aStride + p, depth - p),
                                 right, sums[i][j]);
    }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < columns; ++j)
      c[i * stride + j] = sum(sums[i][j]);
}

template <int rows, typename T>
void multiplyDotsRows(int64_t columns, int64_t depth, const float *a,
                      int64_t aStride, const T *b, int64_t columnStride,
                      float *c, int64_t stride) {
  constexpr int together = rows == 1 ? 8 : 4;
  int64_t j = 0;
  for (; j + together <= columns; j += together)
    multiplyDotsOf<rows, together>(depth, a, aStride, b + j * columnStride,
                                   columnStride, c + j, stride);
  for (; j < columns; ++j)
    multiplyDotsOf<rows, 1>(depth, a, aStride, b + j * columnStride,
                            columnStride, c + j, stride);
}

void multiplyDots(int rows, int64_t columns, int64_t depth, const float *a,
                  int64_t aStride, const void *b, DataType type,
                  int64_t columnStride, float *c, int64_t stride) {
  constexpr int most = registers == 32 ? 4 : 2;
  withType(b, type, [&](auto *data) {
    // Columns that stay in the first cache while rows pass.
    int64_t block = 8192 / (depth + 1) / 8 * 8;
    block = block < 8 ? 8 : block;
    for (int64_t j = 0; j < columns; j += block) {
      int64_t count = least(block, columns - j);
      auto *from = data + j * columnStride;
      int i = 0;
      for (; i + most <= rows; i += most)
        multiplyDotsRows<most>(count, depth, a + i * aStride, aStride, from,
                               columnStride, c + i * stride + j, stride);
      for (; i + 2 <= rows; i += 2)
        multiplyDotsRows<2>(count, depth, a + i * aStride, aStride, from,
                            columnStride, c + i * stride + j, stride);
      if (i < rows)
        multiplyDotsRows<1>(count, depth, a + i * aStride, aStride, from,
                            columnStride, c + i * stride + j, stride);
    }
  });
}

//===----------------------------------------------------------------------===//
// Finishing
//===----------------------------------------------------------------------===//

__attribute__((noinline)) FloatVector activateByFunction(Activation activation,
                                                         FloatVector x,
                                                         float alpha,
                                                         float beta) {
  switch (activation) {
  case Activation::LeakyRelu:
    return select(x < 0.0f, x * alpha, x);
  case Activation::Sigmoid:
    return logistic(x);
  case Activation::Tanh:
    return hyperbolicTangent(x);
  case Activation::Gelu:
    return 0.5f * x * (1.0f + errorFunction(x * 0x1.6a09e6p-1f));
  case Activation::GeluTanh: {
    FloatVector inner = multiplyAdd(x * x * x, broadcast(0.044715f), x);
    return 0.5f * x * (1.0f + hyperbolicTangent(inner * 0x1.988454p-1f));
  }
  case Activation::Swish:
    return x * logistic(alpha * x);
  case Activation::Clip:
    return minimum(maximum(x, broadcast(alpha)), broadcast(beta));
  case Activation::HardSigmoid:
  case Activation::HardSwish: {
    FloatVector gate =
        minimum(maximum(multiplyAdd(x, broadcast(alpha), broadcast(beta)),
                        broadcast(0.0f)),
                broadcast(1.0f));
    return activation == Activation::HardSwish ? x * gate : gate;
  }
  case Activation::None:
  case Activation::Relu:
    break;
  }
  return x;
}

AMP_INLINE FloatVector activate(const Finish &finish, FloatVector x) {
  if (finish.activation == Activation::None)
    return x;
  if (finish.activation == Activation::Relu)
    return maximum(x, FloatVector{});
  return activateByFunction(finish.activation, x, finish.activationAlpha,
                            finish.activationBeta);
}

/// `count` elements of any type at a distance of `stride`, then zeros.
AMP_INLINE FloatVector gather(const void *data, DataType type, int64_t offset,
                              int64_t stride, int64_t count) {
  FloatVector v = {};
  withType(data, type, [&](auto *from) {
    from += offset;
    if (stride == 0) {
      v = broadcast(loadScalar(from));
    } else if (stride == 1) {
      v = count == vectorWidth ? load(from) : loadPartial(from, count);
    } else {
      float elements[vectorWidth] = {};
      for (int64_t i = 0; i < count; ++i)
        elements[i] = loadScalar(from + i * stride);
      v = load(elements);
    }
  });
  return v;
}

AMP_INLINE int64_t getOffset(const Matrix &m, int64_t row, int64_t column) {
  int64_t offset = row * m.rowStride;
  if (m.blockColumns) {
    offset += column / m.blockColumns * m.blockStride;
    column %= m.blockColumns;
  }
  return offset + column * m.columnStride;
}

/// Of columns in one block.
template <typename T>
void finishBlock(const Finish &finish, T *c, const float *sums, int64_t stride,
                 int64_t row, int64_t column, int64_t rows, int64_t columns) {
  // No member functions: those of the header are everybody's.
  const Matrix *bias =
      finish.bias.type != DataType::Undefined ? &finish.bias : nullptr;
  const Matrix *residual =
      finish.residual.type != DataType::Undefined ? &finish.residual : nullptr;
  for (int64_t i = 0; i < rows; ++i) {
    T *to = c + getOffset(finish.c, row + i, column);
    int64_t biasAt = bias ? getOffset(*bias, row + i, column) : 0;
    int64_t residualAt = residual ? getOffset(*residual, row + i, column) : 0;
    FloatVector biases = {};
    if (bias && bias->columnStride == 0)
      biases = finish.biasScale *
               gather(bias->data, bias->type, biasAt, 0, vectorWidth);
    for (int64_t j = 0; j < columns; j += vectorWidth) {
      int64_t count = least(vectorWidth, columns - j);
      const float *from = sums + i * stride + j;
      FloatVector v =
          count == vectorWidth ? load(from) : loadPartial(from, count);
      v *= finish.alpha;
      if (bias) {
        if (bias->columnStride == 0)
          v += biases;
        else
          v = multiplyAdd(gather(bias->data, bias->type,
                                 biasAt + j * bias->columnStride,
                                 bias->columnStride, count),
                          broadcast(finish.biasScale), v);
      }
      if (residual)
        v += gather(residual->data, residual->type,
                    residualAt + j * residual->columnStride,
                    residual->columnStride, count);
      v = activate(finish, v);
      if (finish.c.columnStride != 1) {
        for (int64_t e = 0; e < count; ++e)
          storeScalar(to + (j + e) * finish.c.columnStride, v[e]);
      } else if (count == vectorWidth) {
        store(to + j, v);
      } else {
        storePartial(to + j, v, count);
      }
    }
  }
}

void finishTile(const Finish &finish, const float *sums, int64_t stride,
                int64_t row, int64_t column, int64_t rows, int64_t columns) {
  withType(finish.c.data, finish.c.type, [&](auto *data) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    for (int64_t done = 0; done < columns;) {
      int64_t count = columns - done;
      if (int64_t block = finish.c.blockColumns)
        count = least(count, block - (column + done) % block);
      finishBlock(finish, const_cast<T *>(data), sums + done, stride, row,
                  column + done, rows, count);
      done += count;
    }
  });
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Scores of row i, from `j` on, with all that says which of them count.
AMP_INLINE FloatVector maskScores(const ScoreBlock &b, FloatVector v, int64_t i,
                                  int64_t j, int64_t low, int64_t high) {
  const float infinity = __builtin_inff();
  int64_t count = least(vectorWidth, high - j);
  if (b.maskType == DataType::Bool) {
    auto *mask = static_cast<const bool *>(b.mask) + i * b.maskRowStride;
    for (int e = 0; e < count; ++e)
      if (!mask[(j + e) * b.maskColumnStride])
        v[e] = -infinity;
  } else if (b.maskType != DataType::Undefined && count > 0) {
    v +=
        gather(b.mask, b.maskType, i * b.maskRowStride + j * b.maskColumnStride,
               b.maskColumnStride, count);
  }
  if (j >= low && j + vectorWidth <= high)
    return v;
  IntVector key;
  for (int e = 0; e < vectorWidth; ++e)
    key[e] = e + static_cast<int32_t>(j);
  return select((key >= static_cast<int32_t>(low)) &
                    (key < static_cast<int32_t>(high)),
                v, broadcast(-infinity));
}

void softmaxBlock(const ScoreBlock &b) {
  const float infinity = __builtin_inff();
  const float scale = b.scale, softcap = b.softcap;
  const bool hasMask = b.maskType != DataType::Undefined;
  int64_t width = (b.columns + vectorWidth - 1) / vectorWidth * vectorWidth;
  for (int64_t i = 0; i < b.rows; ++i) {
    float *row = b.scores + i * b.stride;
    int64_t low = b.low + i > 0 ? b.low + i : 0;
    int64_t high = least(least(b.high + i, b.end), b.columns);
    if (hasMask)
      high = least(high, b.maskColumns);
    FloatVector most = broadcast(-infinity);
    bool isPlain = !hasMask && softcap == 0.0f && low == 0 && high == width;
    if (isPlain) {
      for (int64_t j = 0; j < width; j += vectorWidth)
        most = maximum(load(row + j) * scale, most);
    } else {
      for (int64_t j = 0; j < width; j += vectorWidth) {
        FloatVector v = load(row + j) * scale;
        if (softcap > 0.0f)
          v = softcap * hyperbolicTangent(v / softcap);
        v = maskScores(b, v, i, j, low, high);
        store(row + j, v);
        most = maximum(v, most);
      }
    }
    float before = b.maxima[i], now = largest(most);
    now = now > before ? now : before;
    // A row without any key has sums of 0.
    float base = now == -infinity ? 0.0f : now;
    float factor = isPlain ? scale : 1.0f;
    FloatVector total = {};
    for (int64_t j = 0; j < width; j += vectorWidth) {
      FloatVector v = exponential(load(row + j) * factor - base);
      store(row + j, v);
      total += v;
    }
    b.maxima[i] = now;
    b.factors[i] = before - base;
    b.newTotals[i] = sum(total);
  }
  for (int64_t i = 0; i < b.rows; i += vectorWidth) {
    FloatVector factors = exponential(load(b.factors + i));
    store(b.factors + i, factors);
    store(b.totals + i,
          multiplyAdd(load(b.totals + i), factors, load(b.newTotals + i)));
  }
}

void scaleRows(float *rows, int64_t stride, int64_t count, int64_t columns,
               const float *factors) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < columns; j += vectorWidth) {
      float *at = rows + i * stride + j;
      store(at, load(at) * factors[i]);
    }
}

void addTile(const float *from, int64_t fromStride, float *to, int64_t toStride,
             int64_t rows, int64_t columns, bool accumulate) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; j += vectorWidth) {
      const float *source = from + i * fromStride + j;
      float *target = to + i * toStride + j;
      int64_t count = columns - j;
      if (count >= vectorWidth)
        store(target, accumulate ? load(target) + load(source) : load(source));
      else if (accumulate)
        storePartial(target,
                     loadPartial(target, count) + loadPartial(source, count),
                     count);
      else
        storePartial(target, loadPartial(source, count), count);
    }
}

#pragma clang diagnostic pop

} // namespace
} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_GEMMLOOPS_H
