//===- Training.h - passes that make training graphs ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_H
#define AMP_PASSES_TRAINING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"

namespace amp {

/// What becomes of nodes that do in training what they don't in inference.
enum class NodeForm { Train, Keep };

#define GEN_PASS_DECL
#include "amp/Passes/Training.h.inc"

#define GEN_PASS_REGISTRATION
#include "amp/Passes/Training.h.inc"

/// Reads what the command line says: "auto", "budget=256MiB" or "nodes=REGEX".
/// Fails, with one line, if it is none of them.
llvm::Expected<RecomputeOptions> parseRecompute(llvm::StringRef text);

} // namespace amp

#endif // AMP_PASSES_TRAINING_H
