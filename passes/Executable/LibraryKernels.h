//===- LibraryKernels.h - what the runtime's library has --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_LIBRARYKERNELS_H
#define AMP_PASSES_EXECUTABLE_LIBRARYKERNELS_H

#include "mlir/IR/Operation.h"

namespace amp {

/// A kernel of the runtime, and the operator that it computes as the newest
/// operator set defines it.
struct LibraryKernel {
  llvm::StringLiteral domain; ///< "" for ai.onnx
  llvm::StringLiteral op;     ///< "MatMul"
  llvm::StringLiteral kernel; ///< "matmul"
  /// Bit i: the data of input i says what dimensions outputs have.
  uint8_t shapedBy = 0;
  /// Gives something else each time.
  bool isRandom = false;
};

/// All of them, sorted by operator.
llvm::ArrayRef<LibraryKernel> getLibraryKernels();

/// The kernel for a node; null if there is none.
const LibraryKernel *findLibraryKernel(mlir::Operation *op);
/// The kernel of this name; null if there is none.
const LibraryKernel *findLibraryKernel(llvm::StringRef kernel);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_LIBRARYKERNELS_H
