//===- Threads.h - stacks that suffice, work beside -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_THREADS_H
#define AMP_TOOLS_ONNX_AMP_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <pthread.h>

namespace amp {

/// Starts a thread, with a stack of 4 MiB unless said otherwise. Returns false
/// if there can be none.
bool startThread(pthread_t &thread, void *(*start)(void *), void *argument,
                 size_t stackSize = 4 << 20);

/// Runs `work` on a stack of 64 MiB, whatever the process was given: parser,
/// verifier and passes recurse over nested subgraphs. Where memory is short the
/// stack is smaller, and the process ends with an error if it would be too
/// small. Threads that libraries start later get at least 4 MiB. Returns what
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
