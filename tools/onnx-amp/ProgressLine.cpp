//===- ProgressLine.cpp - long work on a terminal -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressLine.h"

#include "Messages.h"
#include "Quantities.h"

#include "llvm/Support/FormatVariadic.h"

#include <chrono>
#include <unistd.h>

using namespace amp;
using namespace std::chrono_literals;

ProgressLine::ProgressLine(bool isWanted) {
  if (isWanted && ::isatty(STDERR_FILENO))
    background.emplace(run, this);
}

void ProgressLine::begin(const char *newPhase, uint64_t newTotal) {
  std::lock_guard<std::mutex> lock(mutex);
  phase = newPhase;
  total = newTotal;
}

void ProgressLine::stop() {
  if (!background)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopped = true;
  }
  changed.notify_all();
  background.reset();
  if (drawn)
    printAside("\r" + std::string(drawn, ' ') + "\r");
  drawn = 0;
}

void ProgressLine::run(void *self) {
  auto *line = static_cast<ProgressLine *>(self);
  std::unique_lock<std::mutex> lock(line->mutex);
  std::chrono::milliseconds pause = 500ms;
  while (
      !line->changed.wait_for(lock, pause, [&] { return line->isStopped; })) {
    line->draw();
    pause = 100ms;
  }
}

void ProgressLine::draw() {
  std::string text = phase;
  if (total) {
    constexpr unsigned width = 24;
    double part = std::min(1.0, double(done.load()) / double(total));
    std::string bar(width, ' ');
    std::fill_n(bar.begin(), unsigned(part * width), '#');
    text = llvm::formatv("{0} [{1}] {2} of {3}", phase, bar,
                         formatBytes(std::min(done.load(), total)),
                         formatBytes(total));
  }
  unsigned size = text.size();
  if (size < drawn)
    text.append(drawn - size, ' ');
  drawn = size;
  printAside("\r" + text);
}
