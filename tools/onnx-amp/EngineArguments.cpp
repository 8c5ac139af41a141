//===- EngineArguments.cpp - --threads and --timeout ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineArguments.h"

using namespace amp;

std::optional<EngineOptions>
amp::readEngineOptions(const llvm::opt::InputArgList &arguments) {
  EngineOptions options;
  std::optional<unsigned> threads =
      readCount(arguments, OPT_threads, /*least=*/1, options.threads);
  if (!threads)
    return std::nullopt;
  std::optional<unsigned> timeout =
      readCount(arguments, OPT_timeout, /*least=*/1, options.timeoutSeconds);
  if (!timeout)
    return std::nullopt;
  options.threads = *threads;
  options.timeoutSeconds = *timeout;
  return options;
}
