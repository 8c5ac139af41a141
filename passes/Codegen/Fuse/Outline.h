//===- Outline.h - groups of operations become functions --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_FUSE_OUTLINE_H
#define AMP_PASSES_CODEGEN_FUSE_OUTLINE_H

#include "Sizes.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp::codegen {

/// Moves operations, which are side by side in a block, to a function of their
/// own that is inserted into the table, and launches it in their place. Fails,
/// with an error, where something that they need has no place in a kernel.
llvm::FailureOr<rt::LaunchOp>
outlineKernel(llvm::ArrayRef<mlir::linalg::GenericOp> members,
              const Sizes &sizes, mlir::SymbolTable &table);

/// Makes a kernel's body shorter: what is read once goes into its reader, and
/// reductions that go through the same loops become one.
void simplifyKernel(mlir::func::FuncOp kernel);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_FUSE_OUTLINE_H
