//===- MetricsLog.h - a line of JSON for each step --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_METRICSLOG_H
#define AMP_TOOLS_AMPRUN_METRICSLOG_H

#include "ScalarValues.h"
#include "amp/Runtime/Status.h"

#include <cstdint>
#include <string>

namespace amp::run {

/// A step as logs have it.
struct StepRecord {
  /// Both count from 1.
  uint64_t step = 0, epoch = 0;
  double samplesPerSecond = 0;
  /// Since training began, over all runs that it took.
  double seconds = 0;
};

/// Writes each line at once, whole: a process that is killed loses at most the
/// line of the step that it was in. A line takes no memory but for the first.
class MetricsLog {
public:
  MetricsLog() = default;
  ~MetricsLog();
  MetricsLog(const MetricsLog &) = delete;
  MetricsLog &operator=(const MetricsLog &) = delete;

  /// Begins the file anew, or behind the line of the step that a run resumes
  /// from: what follows that is cut off.
  runtime::Status open(const std::string &path, uint64_t resumedStep);
  bool isOpen() const { return descriptor >= 0; }

  runtime::Status write(const StepRecord &record, const ScalarValues &values);
  /// Everything is on the disk.
  runtime::Status sync();

private:
  runtime::Status fail(const char *what) const;

  std::string path, line;
  int descriptor = -1;
};

/// One line, with its end, appended to `line`. Numbers that JSON has not (NaN,
/// infinities) are null. Names that the record has get "output." before them.
void appendMetrics(std::string &line, const StepRecord &record,
                   const ScalarValues &values);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_METRICSLOG_H
