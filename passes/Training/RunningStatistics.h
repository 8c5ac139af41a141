//===- RunningStatistics.h - BatchNormalization that learns -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_RUNNINGSTATISTICS_H
#define AMP_PASSES_TRAINING_RUNNINGSTATISTICS_H

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

struct StatisticsOptions {
  /// Running variances gather the unbiased ones of batches, as PyTorch's do;
  /// ONNX's gather the biased ones, which are (n - 1) / n of these.
  bool isUnbiased = false;
  /// Channels whose new statistics are not finite keep the old ones.
  bool keepsFinite = true;
};

/// Gives BatchNormalization nodes of a main graph their training form, where
/// they don't have it, and makes their running statistics, initializers or
/// inputs with defaults, state of the graph in float32. Nodes that share
/// statistics update them one after the other. Those that are state already
/// stay. Fails for nodes in subgraphs, and statistics that are computed.
llvm::LogicalResult
trainStatistics(mlir::func::FuncOp main,
                llvm::ArrayRef<onnx::BatchNormalizationOp> normalizations,
                const StatisticsOptions &options);

} // namespace amp

#endif // AMP_PASSES_TRAINING_RUNNINGSTATISTICS_H
