//===- Kernels.h - the tables of kernels ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_KERNELS_H
#define AMP_RUNTIME_CPU_KERNELS_H

#include "Kernel.h"

namespace amp::runtime {

// Each at the end of the file of its name.
Span<const KernelEntry> getArgMaxKernels();
Span<const KernelEntry> getAttentionKernels();
Span<const KernelEntry> getBinaryKernels();
Span<const KernelEntry> getCastKernels();
Span<const KernelEntry> getCol2ImKernels();
Span<const KernelEntry> getConcatKernels();
Span<const KernelEntry> getConvKernels();
Span<const KernelEntry> getCopyKernels();
Span<const KernelEntry> getCumSumKernels();
Span<const KernelEntry> getDeformConvKernels();
Span<const KernelEntry> getDetKernels();
Span<const KernelEntry> getEinsumKernels();
Span<const KernelEntry> getExpandKernels();
Span<const KernelEntry> getFillKernels();
Span<const KernelEntry> getFourierKernels();
Span<const KernelEntry> getGatherKernels();
Span<const KernelEntry> getGlobalPoolingKernels();
Span<const KernelEntry> getGridSampleKernels();
Span<const KernelEntry> getIntegerConvKernels();
Span<const KernelEntry> getIntegerMatMulKernels();
Span<const KernelEntry> getLRNKernels();
Span<const KernelEntry> getLinearAttentionKernels();
Span<const KernelEntry> getLossKernels();
Span<const KernelEntry> getMatMulKernels();
Span<const KernelEntry> getMeanVarianceNormalizationKernels();
Span<const KernelEntry> getNonMaxSuppressionKernels();
Span<const KernelEntry> getNormalizationKernels();
Span<const KernelEntry> getPadKernels();
Span<const KernelEntry> getPoolingKernels();
Span<const KernelEntry> getQuantizationKernels();
Span<const KernelEntry> getRandomKernels();
Span<const KernelEntry> getRecurrentKernels();
Span<const KernelEntry> getReductionKernels();
Span<const KernelEntry> getReshapeKernels();
Span<const KernelEntry> getResizeKernels();
Span<const KernelEntry> getReverseSequenceKernels();
Span<const KernelEntry> getRoiPoolingKernels();
Span<const KernelEntry> getRotaryEmbeddingKernels();
Span<const KernelEntry> getScatterKernels();
Span<const KernelEntry> getSignalKernels();
Span<const KernelEntry> getSliceKernels();
Span<const KernelEntry> getSoftmaxKernels();
Span<const KernelEntry> getStringKernels();
Span<const KernelEntry> getTfIdfVectorizerKernels();
Span<const KernelEntry> getTopKKernels();
Span<const KernelEntry> getTransposeKernels();
Span<const KernelEntry> getUnaryKernels();
Span<const KernelEntry> getUniqueKernels();
Span<const KernelEntry> getWhereKernels();

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_KERNELS_H
