//===- ProgressLine.h - long work on a terminal -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_PROGRESSLINE_H
#define AMP_TOOLS_ONNX_AMP_PROGRESSLINE_H

#include "Threads.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace amp {

/// A line on standard error that says what goes on and how far it is. It shows
/// up after half a second, on terminals only, and is gone in the end.
class ProgressLine {
public:
  /// Does nothing, ever, unless `isWanted` and standard error is a terminal.
  explicit ProgressLine(bool isWanted);
  ~ProgressLine() { stop(); }

  bool isActive() const { return background.has_value(); }

  /// What goes on now, a literal; `bytes` is how many there are to write, 0 if
  /// that can't be said.
  void begin(const char *newPhase, uint64_t newTotal = 0);

  /// Counts the bytes written.
  std::atomic<uint64_t> &written() { return done; }

  /// Removes the line. Call it before anything else is printed.
  void stop();

private:
  static void run(void *self);
  void draw();

  std::mutex mutex;
  std::condition_variable changed;
  bool isStopped = false;
  const char *phase = "reading";
  uint64_t total = 0;
  std::string totalText;
  unsigned drawn = 0;
  std::atomic<uint64_t> done{0};
  std::optional<BackgroundWork> background;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_PROGRESSLINE_H
