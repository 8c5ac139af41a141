//===- Kernels.cpp - all kernels by name ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernels.h"

using namespace amp::runtime;

// A file of kernels is one more line here and in Kernels.h.
static Span<const KernelEntry> (*const tables[])() = {
    getArgMaxKernels,
    getAttentionKernels,
    getBinaryKernels,
    getCastKernels,
    getCol2ImKernels,
    getConcatKernels,
    getConvKernels,
    getCopyKernels,
    getCumSumKernels,
    getDeformConvKernels,
    getDetKernels,
    getEinsumKernels,
    getExpandKernels,
    getFillKernels,
    getFourierKernels,
    getGatherKernels,
    getGlobalPoolingKernels,
    getGridSampleKernels,
    getIntegerConvKernels,
    getIntegerMatMulKernels,
    getLRNKernels,
    getLinearAttentionKernels,
    getLossKernels,
    getMatMulKernels,
    getMeanVarianceNormalizationKernels,
    getNonMaxSuppressionKernels,
    getNormalizationKernels,
    getPadKernels,
    getPoolingKernels,
    getQuantizationKernels,
    getRandomKernels,
    getRecurrentKernels,
    getReductionKernels,
    getReshapeKernels,
    getResizeKernels,
    getReverseSequenceKernels,
    getRoiPoolingKernels,
    getRotaryEmbeddingKernels,
    getScatterKernels,
    getSignalKernels,
    getSliceKernels,
    getSoftmaxKernels,
    getStringKernels,
    getTfIdfVectorizerKernels,
    getTopKKernels,
    getTransposeKernels,
    getUnaryKernels,
    getUniqueKernels,
    getWhereKernels,
};

const KernelEntry *amp::runtime::findKernel(std::string_view name) {
  for (auto getTable : tables)
    for (const KernelEntry &entry : getTable())
      if (entry.name == name)
        return &entry;
  return nullptr;
}
