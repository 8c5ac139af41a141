//===- Threads.cpp - stacks that suffice, work beside ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of the system, since those of the C++ library and of LLVM have no way
// to say that one can't be had.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"

#include "FatalErrors.h"

using namespace amp;

static constexpr size_t kMiB = 1 << 20;

bool amp::startThread(pthread_t &thread, void *(*start)(void *), void *argument,
                      size_t stackSize) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  bool started = pthread_attr_setstacksize(&attributes, stackSize) == 0 &&
                 pthread_create(&thread, &attributes, start, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

/// The writers of outputs have stacks of the default size, which a limit on the
/// process's own stack may have made small.
static void raiseDefaultStackSize(size_t least) {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0)
    return;
  size_t size;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < least &&
      pthread_attr_setstacksize(&attributes, least) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

int amp::runOnBigStack(llvm::function_ref<int()> work) {
  struct Call {
    llvm::function_ref<int()> work;
    int result;
  } call = {work, 0};
  auto start = [](void *argument) -> void * {
    auto *call = static_cast<Call *>(argument);
    call->result = call->work();
    return nullptr;
  };

  raiseDefaultStackSize(4 * kMiB);
  pthread_t thread;
  for (size_t size : {64 * kMiB, 16 * kMiB, 4 * kMiB}) {
    if (!startThread(thread, start, &call, size))
      continue;
    pthread_join(thread, nullptr);
    return call.result;
  }
  die("cannot start a thread, out of memory or of processes");
}

void *BackgroundWork::start(void *self) {
  auto *background = static_cast<BackgroundWork *>(self);
  background->work(background->argument);
  return nullptr;
}

BackgroundWork::BackgroundWork(void (*work)(void *), void *argument)
    : work(work), argument(argument), runs(startThread(thread, start, this)) {}

BackgroundWork::~BackgroundWork() {
  if (runs)
    pthread_join(thread, nullptr);
}
