//===- FloatRoundingAVX512.cpp - loops for AVX-512 F, BW, DQ, VL ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FloatRoundingFormulas.h"

#include "FloatConversionAVX512.h"

// Constant: nothing of this file may run before the machine is known.
constexpr amp::detail::FloatRoundingKernels amp::detail::avx512Kernels =
    makeKernels("avx512", makeConversionLoopsAVX512());
