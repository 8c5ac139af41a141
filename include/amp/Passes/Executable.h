//===- Executable.h - passes from ONNX to executables -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_H
#define AMP_PASSES_EXECUTABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace amp {

#define GEN_PASS_DECL
#include "amp/Passes/Executable.h.inc"

/// Adds the passes of Executable.td to the global registry, for command lines.
#define GEN_PASS_REGISTRATION
#include "amp/Passes/Executable.h.inc"

/// An operator that executables can have, and what runs its nodes: "kernel
/// matmul", "loops, kernel add", "control flow".
struct CompiledOperator {
  llvm::StringRef domain, name;
  std::string how;
};

/// All of them in the newest opset, sorted, for a context with the ONNX
/// dialect.
std::vector<CompiledOperator> listCompiledOperators(mlir::MLIRContext &context);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_H
