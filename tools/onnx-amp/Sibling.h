//===- Sibling.h - programs beside this one ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_SIBLING_H
#define AMP_TOOLS_ONNX_AMP_SIBLING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace amp {

/// The path of the program of that name in the folder of this one.
std::string getSiblingPath(llvm::StringRef name);

/// This process becomes that program. Returns, with the exit code, after an
/// error only.
int becomeSibling(llvm::StringRef name, llvm::ArrayRef<const char *> arguments);

/// The error that a sibling can't be run, for this reason; the exit code.
int failToRunSibling(llvm::StringRef path, const llvm::Twine &reason);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_SIBLING_H
