//===- Flops.h - what a command computes ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_FLOPS_H
#define AMP_TOOLS_AMPRUN_FLOPS_H

#include "amp/Runtime/Session.h"

#include <cstdint>

namespace amp::run {

/// The floating point operations of a product, a convolution or an attention,
/// a multiplication and an addition being two, padding and masked positions
/// among them; 0 for other commands, whose bytes say what they take.
uint64_t countFlops(const runtime::CommandEvent &event);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_FLOPS_H
