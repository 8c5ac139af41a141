//===- Embedding.h - passes for MLIR's own dialects -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EMBEDDING_H
#define AMP_PASSES_EMBEDDING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace amp {

#define GEN_PASS_DECL
#include "amp/Passes/Embedding.h.inc"

/// Adds the passes of Embedding.td to the global registry, for command lines.
#define GEN_PASS_REGISTRATION
#include "amp/Passes/Embedding.h.inc"

/// Lets all of MLIR's dialects that there are models for (tosa, linalg, scf,
/// tensor, arith, math) implement AutocastOpInterface, when they are loaded.
void registerForeignAutocastModels(mlir::DialectRegistry &registry);

} // namespace amp

#endif // AMP_PASSES_EMBEDDING_H
