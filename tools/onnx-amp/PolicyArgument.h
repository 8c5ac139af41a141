//===- PolicyArgument.h - policies that command lines name ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_POLICYARGUMENT_H
#define AMP_TOOLS_ONNX_AMP_POLICYARGUMENT_H

#include "amp/Policy/Policy.h"

namespace amp {

/// The policy that an argument names. None after an error, with the exit code
/// in `code`: a preset that does not exist is wrong usage, a file that can't be
/// read, or is malformed, is a failure.
std::optional<Policy> loadPolicy(llvm::StringRef presetOrPath, int &code);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_POLICYARGUMENT_H
