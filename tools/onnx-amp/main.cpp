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

#include <malloc.h>
#include <unistd.h>

/// One heap for all threads, that grows in big steps. glibc's other heaps ask
/// the kernel for every page, and reserve address space that may be limited.
static void configureHeap() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int main(int argc, char **argv) {
  configureHeap();
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
