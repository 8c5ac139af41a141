//===- Trainer.h - runs a training step on batches of data ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_TRAINER_H
#define AMP_TOOLS_AMPRUN_TRAINER_H

#include "Model.h"
#include "amp/Runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp::run {

/// Paths are empty where nothing was said.
struct TrainOptions {
  std::vector<std::string> data, renames;
  std::optional<uint64_t> batch, seed;
  /// One of them, or one epoch.
  std::optional<uint64_t> epochs, steps;
  std::string loss, log;
  std::string checkpoint, resume;
  /// 0: at the end only.
  uint64_t checkpointEvery = 0;
  /// How many checkpoints to keep, the newest among them.
  unsigned keep = 1;
  bool stopOnNonFinite = false;
};

/// Trains; the exit code: 0, or 128 + the signal that ended it before.
runtime::Result<int> train(const ModelOptions &modelOptions,
                           const TrainOptions &options);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_TRAINER_H
