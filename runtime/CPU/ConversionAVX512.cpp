//===- ConversionAVX512.cpp - loops for AVX-512 ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"

#include "kernels/FloatConversionAVX512.h"

namespace {
constexpr FloatConversionLoops loops = makeConversionLoopsAVX512();
}

// Constant: nothing of this file may run before the machine is known.
constexpr amp::runtime::ConversionLoops amp::runtime::avx512ConversionLoops = {
    loops.float32ToFloat16,  loops.float32ToBFloat16, loops.float64ToFloat16,
    loops.float64ToBFloat16, loops.float16ToFloat32,  loops.bfloat16ToFloat32};
