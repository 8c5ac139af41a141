//===- Progress.cpp - a line on a terminal that says how far it is --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace amp::run;
using namespace std::chrono_literals;

template <typename... T>
static void append(std::string &line, const char *format, T... values) {
  char buffer[64];
  int size = std::snprintf(buffer, sizeof(buffer), format, values...);
  line.append(buffer, std::clamp(size, 0, int(sizeof(buffer)) - 1));
}

/// "0:12", "1:02:03".
static void appendDuration(std::string &line, double seconds) {
  auto whole = static_cast<unsigned long long>(std::clamp(seconds, 0.0, 1e9));
  if (whole >= 3600)
    append(line, "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60,
           whole % 60);
  else
    append(line, "%llu:%02llu", whole / 60, whole % 60);
}

void amp::run::appendProgress(std::string &line, const ProgressState &state) {
  using Number = unsigned long long;
  if (state.epochs > 0)
    append(line, "epoch %llu/%llu  ", Number(state.epoch),
           Number(state.epochs));
  append(line, "step %llu/%llu", Number(state.step), Number(state.steps));
  if (state.loss)
    append(line, "  loss %.4g", *state.loss);
  if (state.scale)
    append(line, "  scale %.6g", *state.scale);
  if (state.skipped > 0)
    append(line, "  %llu skipped", Number(state.skipped));
  append(line, "  %.0f samples/s  ", state.samplesPerSecond);
  appendDuration(line, state.secondsLeft);
  line += " left";
}

Progress::Progress()
    : descriptor(STDERR_FILENO), isTerminal(isatty(STDERR_FILENO)) {}

bool Progress::isDue(Clock::time_point now) const {
  return isTerminal && (!last || now - *last >= 100ms);
}

void Progress::draw(const ProgressState &state, Clock::time_point now) {
  if (!isDue(now))
    return;
  last = now;
  line = "\r";
  appendProgress(line, state);
  // A line that is wrapped cannot be rewritten.
  struct winsize window = {};
  if (ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
    line.resize(std::min<size_t>(line.size(), window.ws_col));
  size_t size = line.size() - 1;
  if (size < width)
    line.append(width - size, ' ');
  width = size;
  write();
}

void Progress::clear() {
  if (width == 0)
    return;
  line = "\r" + std::string(width, ' ') + "\r";
  width = 0;
  write();
}

void Progress::write() const {
  // A terminal that takes nothing is no reason to stop.
  [[maybe_unused]] ssize_t written =
      ::write(descriptor, line.data(), line.size());
}
