//===- ProgressLine.cpp - long work on a terminal -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressLine.h"

#include "Messages.h"

#include "amp/Support/Quantities.h"

#include "llvm/ADT/SmallString.h"

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
  totalText = formatBytes(total);
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
  // Beside the commit of outputs, where nobody may die: nothing is allocated.
  llvm::SmallString<128> line("\r");
  line += phase;
  if (total) {
    constexpr unsigned width = 24;
    uint64_t now = std::min(done.load(), total);
    uint64_t filled = width * now / total;
    line += " [";
    line.append(filled, '#');
    line.append(width - filled, ' ');
    line += "] ";
    line += std::to_string(100 * now / total); // kept in place, so short
    line += "% of ";
    line += totalText;
  }
  unsigned size = line.size() - 1;
  if (size < drawn)
    line.append(drawn - size, ' ');
  drawn = size;
  printAside(line);
}
