//===- Gemm.h - products of matrices, and what follows them -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   C = activation(alpha * A B + biasScale * bias + residual)
//
// for a batch of matrices. Elements are float, float16 or bfloat16, each
// matrix of its own type. Products and sums are floats; the result is rounded
// once, to nearest even, when all of the expression is there. How sums are
// associated depends on the sizes and the instruction set, not on the number of
// threads: all threads compute what one would, bit for bit.
//
// With instructions for bfloat16 (AVX512BF16 and AMX, where A and B both have
// that type) products are exact and summed in floats as well, but subnormal
// operands and sums are taken for zero.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_GEMM_H
#define AMP_RUNTIME_CPU_GEMM_H

#include "CPU/Isa.h"
#include "amp/Runtime/DataType.h"

#include <cstddef>
#include <cstdint>

namespace amp::runtime {

class ThreadPool;
struct PatchMatrix;

/// A matrix in somebody's memory. Element (i, j) of batch element (b...) is at
///   i * rowStride + (j / blockColumns) * blockStride
///     + (j % blockColumns) * columnStride + sum of b * batchStrides
/// Strides count elements and may be 0 (broadcast) or negative.
struct Matrix {
  static constexpr int maxBatchRank = 6;

  void *data = nullptr;
  /// Undefined: there is no such matrix.
  DataType type = DataType::Undefined;
  int64_t rowStride = 0;
  int64_t columnStride = 0;
  int64_t batchStrides[maxBatchRank] = {};
  /// Columns come in blocks, as pixels do in images; 0: one block.
  int64_t blockColumns = 0;
  int64_t blockStride = 0;

  bool exists() const { return type != DataType::Undefined; }
};

enum class Activation : uint8_t {
  None,
  Relu,
  /// x < 0 ? alpha * x : x
  LeakyRelu,
  Sigmoid,
  Tanh,
  /// By the error function.
  Gelu,
  GeluTanh,
  /// x * sigmoid(alpha * x)
  Swish,
  /// min(max(x, alpha), beta)
  Clip,
  /// min(max(alpha * x + beta, 0), 1)
  HardSigmoid,
  /// x * min(max(alpha * x + beta, 0), 1)
  HardSwish,
};

struct Gemm {
  int64_t rows = 0, columns = 0, depth = 0;
  /// rows x depth.
  Matrix a;
  /// depth x columns; without blocks.
  Matrix b;
  /// If not null, B is this instead.
  const PatchMatrix *patches = nullptr;
  /// rows x columns; float, float16 or bfloat16.
  Matrix c;
  float alpha = 1.0f;
  /// rows x columns, usually with a stride of 0; may be C's own memory, element
  /// by element, as may the residual.
  Matrix bias;
  float biasScale = 1.0f;
  Matrix residual;
  Activation activation = Activation::None;
  float activationAlpha = 0.0f, activationBeta = 0.0f;

  int batchRank = 0;
  /// Outermost first.
  int64_t batch[Matrix::maxBatchRank] = {};

  /// Bytes of scratch memory that multiply() needs on so many threads; memory
  /// of matrices need not be there.
  size_t getScratchSize(unsigned threads, Isa isa) const;

  /// Computes C; allocates nothing. `scratch` is aligned to 64.
  void multiply(void *scratch, ThreadPool &threads, Isa isa) const;
};

/// B of a convolution: row (c, t), or (t, c) with isTapFirst, for a channel c
/// of `channels` and a tap t of `taps`, has for the place (n, y, x) the element
///   image[n * imageStride + c * channelStride + tapOffsets[t] + y' + x]
/// with y' = (y / rowsPerPlane) * planeStride + (y % rowsPerPlane) * rowStride.
/// The image is padded, and split by the stride if that isn't 1
/// (Convolution.cpp), so that no place needs a test. Reads up to 64 bytes past
/// the last element.
struct PatchMatrix {
  const float *image = nullptr;
  int64_t channels = 0, taps = 0;
  bool isTapFirst = false;
  /// Places: images, rows of one (over all planes), elements of a row.
  int64_t images = 0, rows = 0, width = 0;
  int64_t rowsPerPlane = 1;
  int64_t imageStride = 0, channelStride = 0, planeStride = 0, rowStride = 0;
  const int64_t *tapOffsets = nullptr;
  /// Each this many taps, from the first one, are neighbours in memory; 1 with
  /// isTapFirst.
  int64_t tapRun = 1;
  int64_t batchStrides[Matrix::maxBatchRank] = {};
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_GEMM_H
