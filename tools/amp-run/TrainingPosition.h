//===- TrainingPosition.h - where a training run is -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_TRAININGPOSITION_H
#define AMP_TOOLS_AMPRUN_TRAININGPOSITION_H

#include "amp/Runtime/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace amp::run {

/// What makes a run repeat bit for bit.
struct TrainingSetup {
  /// Of the executable.
  uint64_t model = 0;
  uint64_t data = 0;
  uint64_t samples = 0, batch = 0;
  std::optional<uint64_t> seed;
};

/// Where it is, as checkpoints say it.
struct TrainingPosition {
  /// Steps that are done.
  uint64_t step = 0;
  double seconds = 0;
};

/// The metadata of a checkpoint.
std::map<std::string, std::string>
writePosition(const TrainingSetup &setup, const TrainingPosition &position);

/// Reads it; an error if the run that it is of was another.
runtime::Result<TrainingPosition>
readPosition(const std::map<std::string, std::string> &metadata,
             const TrainingSetup &setup);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_TRAININGPOSITION_H
