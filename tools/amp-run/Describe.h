//===- Describe.h - what is in an executable --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_DESCRIBE_H
#define AMP_TOOLS_AMPRUN_DESCRIBE_H

#include "Model.h"

namespace amp::run {

/// Prints inputs, outputs and states, what runs, and how memory is planned: the
/// size of the arena, the most that is needed at one moment, and by whom. Of
/// values whose dimensions are known when the model runs only, how many they
/// are.
runtime::Status printDescription(const ModelOptions &options);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_DESCRIBE_H
