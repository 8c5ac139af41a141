//===- PolicyArgument.h - policies that command lines name ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_POLICYARGUMENT_H
#define AMP_TOOLS_ONNX_AMP_POLICYARGUMENT_H

#include "amp/Policy/Policy.h"

#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// The policy that an argument names. None after an error, with the exit code
/// in `code`: a preset that does not exist is wrong usage, a file that can't be
/// read, or is malformed, is a failure.
std::optional<Policy> loadPolicy(llvm::StringRef presetOrPath, int &code);

/// Warns of values of --keep-op and --keep-node that fit no node: the model has
/// no such operator, or an expression fits no whole name. They must be valid.
void warnOfUnmatched(mlir::ModuleOp module, llvm::ArrayRef<std::string> keepOps,
                     llvm::ArrayRef<std::string> keepNodes);

/// The same for expressions in rules of a policy file, which must be one that
/// loads.
void warnOfUnmatched(mlir::ModuleOp module, llvm::StringRef policy);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_POLICYARGUMENT_H
