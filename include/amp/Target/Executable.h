//===- Executable.h - .ampx files out ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_EXECUTABLE_H
#define AMP_TARGET_EXECUTABLE_H

#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// Writes the program of a module, the function with `amprt.signature` in
/// operations of the amprt dialect, as an executable: whole or not at all.
/// Fails with an error, at the operation if it is about one.
llvm::LogicalResult writeExecutable(mlir::ModuleOp module,
                                    llvm::StringRef path);

} // namespace amp

#endif // AMP_TARGET_EXECUTABLE_H
