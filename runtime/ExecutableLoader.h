//===- ExecutableLoader.h - loads with other kernels ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_EXECUTABLELOADER_H
#define AMP_RUNTIME_EXECUTABLELOADER_H

#include "ModuleReader.h"
#include "amp/Runtime/Executable.h"

namespace amp::runtime {

/// Executable::load with kernels that tests bring along.
struct ExecutableLoader {
  static Result<std::shared_ptr<const Executable>>
  load(const std::string &path, const LoadOptions &options,
       KernelLookup lookup);
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_EXECUTABLELOADER_H
