//===- Codegen.h - passes that make compiled kernels ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_H
#define AMP_PASSES_CODEGEN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <optional>
#include <string>

namespace amp {

#define GEN_PASS_DECL
#include "amp/Passes/Codegen.h.inc"

/// Adds the passes of Codegen.td to the global registry, for command lines.
#define GEN_PASS_REGISTRATION
#include "amp/Passes/Codegen.h.inc"

/// Why amp-compile-kernels refuses a function, and where.
struct KernelRefusal {
  mlir::Location location;
  std::string reason;
};

/// Nothing if amp-compile-kernels compiles the function, whose body is what
/// Codegen.td describes. Takes as long as a canonicalization.
std::optional<KernelRefusal> whyNotCompilable(mlir::func::FuncOp func);

/// Why an operation of arith, math or linalg has no place in the body of a
/// kernel's generic; empty if it has.
std::string whyNotCompilable(mlir::Operation *op);

} // namespace amp

#endif // AMP_PASSES_CODEGEN_H
