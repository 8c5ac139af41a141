//===- RandomProgram.h - small programs of the test dialect -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_UNIT_ANALYSIS_RANDOMPROGRAM_H
#define AMP_UNIT_ANALYSIS_RANDOMPROGRAM_H

#include <random>
#include <string>

namespace amp {

/// Draws a program of `size` operations or more: branches, loops, and functions
/// that the function @main calls. The text of a module.
std::string generateProgram(std::mt19937 &random, unsigned size);

} // namespace amp

#endif // AMP_UNIT_ANALYSIS_RANDOMPROGRAM_H
