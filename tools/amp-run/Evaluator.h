//===- Evaluator.h - runs a model on data and judges it ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_EVALUATOR_H
#define AMP_TOOLS_AMPRUN_EVALUATOR_H

#include "Model.h"
#include "amp/Runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp::run {

/// Names are empty where nothing was said.
struct EvaluateOptions {
  std::vector<std::string> data, renames;
  std::optional<uint64_t> batch;
  bool accuracy = false, loss = false;
  /// Outputs of the model.
  std::string logits, lossName;
  /// An input of the model, or an array of the data.
  std::string labels;
};

/// Prints what was asked for, one line each.
runtime::Status evaluate(const ModelOptions &modelOptions,
                         const EvaluateOptions &options);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_EVALUATOR_H
