//===- Passes.h - the passes of this project --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Autocast.td describes each pass. What runs when is in Pipelines.h.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_PASSES_H
#define AMP_PASSES_PASSES_H

#include "amp/Analysis/Placement.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace amp {

#define GEN_PASS_DECL
#include "amp/Passes/Autocast.h.inc"

/// Adds the passes of Autocast.td to the global registry, for command lines.
#define GEN_PASS_REGISTRATION
#include "amp/Passes/Autocast.h.inc"

} // namespace amp

#endif // AMP_PASSES_PASSES_H
