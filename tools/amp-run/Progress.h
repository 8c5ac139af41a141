//===- Progress.h - a line on a terminal that says how far it is *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_PROGRESS_H
#define AMP_TOOLS_AMPRUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace amp::run {

/// How far it is.
struct ProgressState {
  uint64_t step = 0, steps = 0;
  /// 0 where there are none.
  uint64_t epoch = 0, epochs = 0;
  std::optional<double> loss, scale;
  uint64_t skipped = 0;
  double samplesPerSecond = 0, secondsLeft = 0;
};

/// "epoch 2/5  step 37/110  loss 0.4312  scale 65536  1 skipped  5123
/// samples/s  0:12 left", appended.
void appendProgress(std::string &line, const ProgressState &state);

/// One line on standard error, rewritten at most ten times a second, gone in
/// the end; nothing at all unless that is a terminal.
class Progress {
public:
  using Clock = std::chrono::steady_clock;

  Progress();
  /// For tests.
  Progress(int descriptor, bool isTerminal)
      : descriptor(descriptor), isTerminal(isTerminal) {}
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Whether the line is due.
  bool isDue(Clock::time_point now) const;
  void draw(const ProgressState &state, Clock::time_point now);
  /// Before anything else is written there.
  void clear();

private:
  void write() const;

  int descriptor;
  bool isTerminal;
  std::optional<Clock::time_point> last;
  std::string line;
  size_t width = 0;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_PROGRESS_H
