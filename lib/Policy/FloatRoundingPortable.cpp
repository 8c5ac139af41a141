//===- FloatRoundingPortable.cpp - loops for any machine ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FloatRoundingFormulas.h"

constexpr amp::detail::FloatRoundingKernels amp::detail::portableKernels =
    makeKernels("portable", {});
