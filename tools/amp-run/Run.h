//===- Run.h - runs an executable on arrays from files ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_RUN_H
#define AMP_TOOLS_AMPRUN_RUN_H

#include "Model.h"
#include "amp/Runtime/Status.h"

#include <string>

namespace amp::run {

/// Paths are empty where nothing was said.
struct RunOptions {
  std::string outputs;
  std::string profile;
  unsigned repeat = 1;
};

/// Steps, then writes what was asked for.
runtime::Status run(const ModelOptions &modelOptions,
                    const RunOptions &options);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_RUN_H
