//===- Prepare.h - before operations are grouped ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_FUSE_PREPARE_H
#define AMP_PASSES_CODEGEN_FUSE_PREPARE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace amp::codegen {

/// Moves views from between loops to their operands and results, where loops
/// can go through the dimensions of the other side.
void foldViews(mlir::Operation *function);

/// What is still a reshape becomes a view.
void restoreViews(mlir::Operation *function);

/// Reads dimensions of the first value that has them.
void rootDimensions(mlir::Block &block);

/// A reduction with little to share becomes two: of a fixed number of parts,
/// and of what these give.
void splitReductions(mlir::Block &block);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_FUSE_PREPARE_H
