//===- FloatRoundingAVX2.cpp - loops for AVX2 and F16C --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FloatRoundingFormulas.h"

#include "FloatConversionAVX2.h"

// Constant: nothing of this file may run before the machine is known.
constexpr amp::detail::FloatRoundingKernels amp::detail::avx2Kernels =
    makeKernels("avx2", makeConversionLoopsAVX2());
