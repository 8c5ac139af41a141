//===- GemmKernels.h - the inner loops of matrix products -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Gemm.cpp needs of an instruction set. Panels are `height` rows of A or
// `width` columns of B, packed in the order in which the inner loop reads them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_GEMMKERNELS_H
#define AMP_RUNTIME_CPU_GEMMKERNELS_H

#include "CPU/Gemm.h"

namespace amp::runtime {

/// A part of an operand: `count` lines (rows of A, columns of B), each with
/// `depth` elements to be multiplied.
struct PackSource {
  const void *data;
  DataType type;
  int64_t lineStride, depthStride;
  int64_t count, depth;
};

/// The same of patches: columns [column, column + count), rows [row, row +
/// depth).
struct PackPatches {
  const PatchMatrix *matrix;
  const float *image;
  int64_t column, row;
  int64_t count, depth;
};

/// What is done to a finished tile of sums, and where it goes.
struct Finish {
  float alpha, biasScale;
  Matrix bias, residual, c;
  Activation activation;
  float activationAlpha, activationBeta;
};

/// The most taps of a convolution that is no product of matrices.
constexpr int64_t maxTaps = 128;

/// Products of panels.
struct PanelKernels {
  /// The most rows of a panel of A and columns of one of B; widths are
  /// multiples of `widthUnit`.
  int maxHeight, maxWidth, widthUnit;
  /// Packed depth is a multiple of it; the rest is zeros.
  int depthUnit;
  /// Bytes of an element in panels.
  int elementSize;
  /// The most depth of a block, and how large blocks of A and B are at most.
  int maxDepth, maxRows, maxColumns;

  /// Writes a panel of lines of `height` elements; up to 64 bytes past its end
  /// are overwritten.
  void (*packA)(const PackSource &source, int height, void *panel);
  void (*packB)(const PackSource &source, int width, void *panel);
  void (*packPatches)(const PackPatches &source, int width, void *panel);
  /// c[height][width] = or += A B, with rows at a distance of `stride`.
  void (*multiply)(int height, int width, int64_t depth, const void *a,
                   const void *b, float *c, int64_t stride, bool accumulate);
};

/// A block of attention's scores, one row for each query.
struct ScoreBlock {
  float *scores;
  int64_t stride, rows, columns;
  /// softcap * tanh(score * scale / softcap), or without if softcap is 0.
  float scale, softcap;
  /// Added, or where it is false the score is no more; Undefined: none. From
  /// its element for the block's first one on; columns past its own are masked.
  const void *mask;
  DataType maskType;
  int64_t maskRowStride, maskColumnStride, maskColumns;
  /// Keys of row i: from `low + i` on, less than `high + i`, and less than
  /// `end`.
  int64_t low, high, end;
  /// For each row, over the blocks so far: the largest score, the sum of
  /// e^(score - largest), and by what sums before this block have to be
  /// multiplied; and this block's own sums. With room for 64 bytes more.
  float *maxima, *totals, *factors, *newTotals;
};

struct GemmKernels {
  const PanelKernels *floats;

  /// Few rows, B read as it is, once: the most rows of `a`.
  int maxFewRows;
  /// Columns of a strip of B for so many rows.
  int (*getStripWidth)(int rows);
  /// c[rows][width] = A B for contiguous rows of B; `a` is packed as a panel of
  /// that height; width is getStripWidth(rows) or narrowStrip.
  void (*multiplyStrip)(int rows, int width, int64_t depth, const float *a,
                        const void *b, DataType type, int64_t rowStride,
                        float *c, int64_t stride);
  int narrowStrip;
  /// c[rows][columns] = A B for contiguous columns of B, at any distance; rows
  /// of `a` are at a distance of `aStride`.
  void (*multiplyDots)(int rows, int64_t columns, int64_t depth, const float *a,
                       int64_t aStride, const void *b, DataType type,
                       int64_t columnStride, float *c, int64_t stride);

  /// Rows of floats of a matrix of any type and strides: out[i][p] for lines i.
  void (*convert)(const PackSource &source, float *out, int64_t stride);

  /// sums[place] = products of the patch's taps, at most maxTaps, of one
  /// channel of `image`, and weights from `weightAt` on; up to 64 bytes past
  /// the end are overwritten.
  void (*multiplyTaps)(const PatchMatrix &patches, const float *image,
                       const void *weights, DataType type, int64_t weightAt,
                       float *sums);

  /// Scores become e^(score - largest).
  void (*softmaxBlock)(const ScoreBlock &block);
  /// rows[i] *= factors[i].
  void (*scaleRows)(float *rows, int64_t stride, int64_t count, int64_t columns,
                    const float *factors);

  /// Finishes sums[rows][columns], which are those of C from (row, column) on.
  /// `sums` may be C itself.
  void (*finish)(const Finish &finish, const float *sums, int64_t stride,
                 int64_t row, int64_t column, int64_t rows, int64_t columns);
  /// to[rows][columns] = or += from.
  void (*add)(const float *from, int64_t fromStride, float *to,
              int64_t toStride, int64_t rows, int64_t columns, bool accumulate);
};

extern const GemmKernels portableGemmKernels;
/// The best ones for it.
const GemmKernels &getGemmKernels(Isa isa);
#ifdef __x86_64__
extern const GemmKernels avx2GemmKernels;
extern const GemmKernels avx512GemmKernels;
extern const PanelKernels avx512BF16PanelKernels;
extern const PanelKernels amxPanelKernels;
#endif

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_GEMMKERNELS_H
