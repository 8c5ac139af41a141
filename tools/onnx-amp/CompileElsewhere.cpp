//===- CompileElsewhere.cpp - what compiles, in the program that can ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// onnx-amp-compile is this driver with LLVM's code generation in it.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Sibling.h"

#include "llvm/Option/ArgList.h"

using namespace amp;

static int runElsewhere(const char *command,
                        const llvm::opt::InputArgList &arguments) {
  std::vector<const char *> strings = {command};
  for (unsigned i = 0; i < arguments.getNumInputArgStrings(); ++i)
    strings.push_back(arguments.getArgString(i));
  return becomeSibling("onnx-amp-compile", strings);
}

int amp::runCompile(const llvm::opt::InputArgList &arguments) {
  return runElsewhere("compile", arguments);
}

int amp::runRun(const llvm::opt::InputArgList &arguments) {
  return runElsewhere("run", arguments);
}
