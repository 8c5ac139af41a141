//===- PolicyArgument.cpp - policies that command lines name --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyArgument.h"

#include "CommandLine.h"
#include "Messages.h"

using namespace amp;

std::optional<Policy> amp::loadPolicy(llvm::StringRef presetOrPath, int &code) {
  llvm::Expected<Policy> policy = Policy::load(presetOrPath);
  if (policy)
    return std::move(*policy);
  std::string reason = llvm::toString(policy.takeError());
  if (Policy::isPath(presetOrPath)) {
    printError(reason);
    code = ExitFailure;
  } else {
    code = wrongUsage(reason);
  }
  return std::nullopt;
}
