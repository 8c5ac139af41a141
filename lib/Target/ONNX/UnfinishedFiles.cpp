//===- UnfinishedFiles.cpp - Temporary names to remove on a signal --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnfinishedFiles.h"

#include "amp/Target/ONNX/ProcessSetup.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace amp;

namespace {
enum class SlotState : int { Free, Filling, Noted };

struct Slot {
  std::atomic<SlotState> state{SlotState::Free};
  int folder = -1;
  char name[maxTemporaryName] = {};
};
} // namespace

/// A run writes a model and a data file; tests write a few more at once.
static Slot slots[16];

/// How many SignalDelays live, and the signal that waits for them.
static std::atomic<int> delays{0};
static std::atomic<int> delayedSignal{0};

int amp::noteUnfinishedFile(int folder, const char *name) {
  size_t length = std::strlen(name);
  if (length >= maxTemporaryName)
    return -1;
  for (Slot &slot : slots) {
    SlotState free = SlotState::Free;
    if (!slot.state.compare_exchange_strong(free, SlotState::Filling))
      continue;
    slot.folder = folder;
    std::memcpy(slot.name, name, length + 1);
    slot.state = SlotState::Noted;
    return static_cast<int>(&slot - slots);
  }
  return -1;
}

void amp::forgetUnfinishedFile(int slot) {
  if (slot >= 0)
    slots[slot].state = SlotState::Free;
}

void amp::removeUnfinishedFiles() {
  int saved = errno;
  for (Slot &slot : slots)
    if (slot.state == SlotState::Noted)
      ::unlinkat(slot.folder, slot.name, 0);
  errno = saved;
}

SignalDelay::SignalDelay() { ++delays; }

SignalDelay::~SignalDelay() {
  if (--delays != 0)
    return;
  if (int signal = delayedSignal.exchange(0))
    ::raise(signal);
}

bool amp::mayDieNow(int signal) {
  if (delays == 0)
    return true;
  delayedSignal = signal;
  // The last delay may have ended meanwhile, without seeing the signal.
  return delays == 0 && delayedSignal.exchange(0) != 0;
}
