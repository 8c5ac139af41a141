//===- GemmKernelsAVX512.cpp - matrix products by AVX-512 -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/GemmLoops.h"

namespace amp::runtime {

static constexpr int maxHeight = 14, maxVectors = 2;

static constexpr PanelKernels floats = {
    maxHeight,
    maxVectors *vectorWidth,
    vectorWidth,
    /*depthUnit=*/1,
    sizeof(float),
    /*maxDepth=*/256,
    /*maxRows=*/252,
    /*maxColumns=*/1024,
    &pack,
    &pack,
    &packPatches,
    &multiplyAnyPanels<maxHeight, maxVectors>,
};

const GemmKernels avx512GemmKernels = {
    &floats,       maxFewRows,    &getStripWidth, &multiplyStrip,
    vectorWidth,   &multiplyDots, &convertRows,   &multiplyTaps,
    &softmaxBlock, &scaleRows,    &finishTile,    &addTile,
};

} // namespace amp::runtime
