//===- EngineArguments.h - --threads and --timeout --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_ENGINEARGUMENTS_H
#define AMP_TOOLS_ONNX_AMP_ENGINEARGUMENTS_H

#include "CommandLine.h"
#include "Engine.h"

namespace amp {

/// None after an error.
std::optional<EngineOptions>
readEngineOptions(const llvm::opt::InputArgList &arguments);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_ENGINEARGUMENTS_H
