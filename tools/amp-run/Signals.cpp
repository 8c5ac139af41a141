//===- Signals.cpp - the wish to stop -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signals.h"

#include <csignal>

static volatile std::sig_atomic_t caught = 0;

static void note(int signal) { caught = signal; }

void amp::run::catchSignals() {
  caught = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int amp::run::getSignal() { return caught; }
