//===- Convolution.h - convolutions as products of matrices -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_CONVOLUTION_H
#define AMP_RUNTIME_CPU_CONVOLUTION_H

#include "CPU/Gemm.h"

namespace amp::runtime {

/// A convolution, or a transposed one, over up to three dimensions; those that
/// are not there have size 1 and come first. Numerics are those of Gemm, the
/// products of an element in the order (channel, tap), padding among them.
struct Convolution {
  static constexpr int maxSpatialRank = 3;

  /// Images or features; the spatial dimensions are dense. Strides count
  /// elements.
  struct Tensor {
    void *data = nullptr;
    DataType type = DataType::Undefined;
    int64_t imageStride = 0, groupStride = 0, channelStride = 0;
  };

  int64_t images = 0, groups = 1;
  /// Of one group.
  int64_t inChannels = 0, outChannels = 0;
  int64_t in[maxSpatialRank] = {1, 1, 1};
  int64_t out[maxSpatialRank] = {1, 1, 1};
  int64_t kernel[maxSpatialRank] = {1, 1, 1};
  int64_t strides[maxSpatialRank] = {1, 1, 1};
  int64_t dilations[maxSpatialRank] = {1, 1, 1};
  /// Before the first element; `out` says how many follow the last.
  int64_t pads[maxSpatialRank] = {0, 0, 0};
  /// in and out change roles: out = (in - 1) * stride + ...
  bool isTransposed = false;

  Tensor input, output;
  /// Added to the output; the same strides.
  Tensor residual;
  /// The taps are dense.
  struct {
    void *data = nullptr;
    DataType type = DataType::Undefined;
    int64_t groupStride = 0, outStride = 0, inStride = 0;
  } weight;
  /// An element for each output channel of all groups.
  void *bias = nullptr;
  DataType biasType = DataType::Undefined;
  Activation activation = Activation::None;
  float activationAlpha = 0, activationBeta = 0;

  /// Bytes of scratch memory that run() needs on so many threads.
  size_t getScratchSize(unsigned threads, Isa isa) const;

  /// Computes the output; allocates nothing. `scratch` is aligned to 64.
  void run(void *scratch, ThreadPool &threads, Isa isa) const;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_CONVOLUTION_H
