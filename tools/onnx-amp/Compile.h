//===- Compile.h - models to executables ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_COMPILE_H
#define AMP_TOOLS_ONNX_AMP_COMPILE_H

#include "CommandLine.h"

#include <string>
#include <vector>

namespace amp {

struct CompileArguments {
  std::string input, output;
  std::vector<std::string> cpus = {"native"};
  /// Each NAME=SIZE.
  std::vector<std::string> dims;
  bool allowLinks = false, explain = false, roundEachNode = false;
};

/// Fills all but the files; returns the exit code, after an error if it is not
/// 0.
int readCompileArguments(const llvm::opt::InputArgList &arguments,
                         CompileArguments &options);

/// Writes the executable, whole or not at all; returns the exit code, after an
/// error if it is not 0.
int compile(const CompileArguments &options);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_COMPILE_H
