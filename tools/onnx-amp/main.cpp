//===- main.cpp - onnx-amp, the driver ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Commands.h"
#include "FatalErrors.h"
#include "Threads.h"

#include "amp/Target/ONNX/ProcessSetup.h"

#include <unistd.h>

int main(int argc, char **argv) {
  amp::guardStandardDescriptors();
  amp::installSignalHandlers("onnx-amp");
  amp::installFatalErrorHandlers();

  llvm::SmallVector<const char *> arguments(argv + (argc > 0), argv + argc);
  int code = amp::runOnBigStack(
      [&] { return amp::runCommandLine(amp::getCommands(), arguments); });
  // Outputs are written and closed. Freeing what is left, piece by piece, would
  // take as long as building it.
  ::_exit(code);
}
