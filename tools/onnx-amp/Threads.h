//===- Threads.h - stacks that suffice, work beside -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_THREADS_H
#define AMP_TOOLS_ONNX_AMP_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <pthread.h>

namespace amp {

/// Runs `work` on a stack of 64 MiB, whatever the process was given: parser,
/// verifier and passes recurse over nested subgraphs. Where memory is short the
/// stack is smaller. Threads that start later get at least 4 MiB. Returns what
/// `work` does.
int runOnBigStack(llvm::function_ref<int()> work);

/// Work that goes on beside the caller's. It must not fail.
class BackgroundWork {
public:
  /// Starts `work(argument)`. If there can be no thread, nothing is done.
  BackgroundWork(void (*work)(void *argument), void *argument);
  /// Waits for its end.
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork &) = delete;
  BackgroundWork &operator=(const BackgroundWork &) = delete;

private:
  static void *start(void *self);

  void (*work)(void *argument);
  void *argument;
  pthread_t thread;
  bool runs;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_THREADS_H
