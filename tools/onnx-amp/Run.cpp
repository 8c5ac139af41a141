//===- Run.cpp - onnx-amp run ---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Compile.h"
#include "Messages.h"
#include "Sibling.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace amp;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Runs amp-run, which is beside this program; returns the exit code.
static int runExecutable(llvm::StringRef executable,
                         const llvm::opt::InputArgList &arguments) {
  std::string program = getSiblingPath("amp-run");
  std::vector<std::string> strings = {program, executable.str()};
  for (auto [option, spelling] :
       {std::pair(OPT_inputs, "--inputs"), std::pair(OPT_outputs, "--outputs")})
    if (arguments.hasArg(option)) {
      strings.push_back(spelling);
      strings.push_back(arguments.getLastArgValue(option).str());
    }
  // What is behind "--" is an input to the parser.
  std::vector<std::string> inputs = arguments.getAllArgValues(OPT_INPUT);
  strings.insert(strings.end(), inputs.begin() + 1, inputs.end());
  std::vector<llvm::StringRef> views(strings.begin(), strings.end());
  std::string message;
  int code = llvm::sys::ExecuteAndWait(program, views, /*Env=*/std::nullopt,
                                       /*Redirects=*/{}, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &message);
  return code < 0 ? failToRunSibling(program, message) : code;
}

int amp::runRun(const llvm::opt::InputArgList &arguments) {
  CompileArguments options;
  if (!arguments.hasArg(OPT_INPUT))
    return wrongUsage("expected an input, the model to run");
  options.input = arguments.getAllArgValues(OPT_INPUT).front();
  if (int code = readCompileArguments(arguments, options))
    return code;
  llvm::SmallString<128> folder;
  if (std::error_code error = fs::createUniqueDirectory("onnx-amp", folder)) {
    printError("cannot make a folder for the executable: " + error.message());
    return ExitFailure;
  }
  llvm::scope_exit cleanUp([&] { (void)fs::remove_directories(folder); });
  llvm::SmallString<128> executable(folder);
  path::append(executable, path::stem(options.input) + ".ampx");
  options.output = executable.str().str();
  if (int code = compile(options))
    return code;
  return runExecutable(executable, arguments);
}
