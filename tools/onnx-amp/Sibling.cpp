//===- Sibling.cpp - programs beside this one -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sibling.h"

#include "CommandLine.h"
#include "Messages.h"

#include "amp/Support/Quoted.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace amp;
namespace path = llvm::sys::path;

std::string amp::getSiblingPath(llvm::StringRef name) {
  static const int anchor = 0;
  llvm::SmallString<256> program(
      path::parent_path(llvm::sys::fs::getMainExecutable(
          "onnx-amp", const_cast<int *>(&anchor))));
  path::append(program, name);
  return program.str().str();
}

int amp::becomeSibling(llvm::StringRef name,
                       llvm::ArrayRef<const char *> arguments) {
  std::string program = getSiblingPath(name);
  std::vector<const char *> strings = {program.c_str()};
  strings.insert(strings.end(), arguments.begin(), arguments.end());
  strings.push_back(nullptr);
  ::execv(program.c_str(), const_cast<char *const *>(strings.data()));
  return failToRunSibling(program, std::strerror(errno));
}

int amp::failToRunSibling(llvm::StringRef path, const llvm::Twine &reason) {
  printError("cannot run " + quoted(path) + ": " + reason +
             "; it belongs beside onnx-amp");
  return ExitFailure;
}
