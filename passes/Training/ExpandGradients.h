//===- ExpandGradients.h - Gradient nodes as nodes of ai.onnx ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_EXPANDGRADIENTS_H
#define AMP_PASSES_TRAINING_EXPANDGRADIENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// True if a graph, or a subgraph in it, has nodes of
/// ai.onnx.preview.training's Gradient.
bool hasGradients(mlir::func::FuncOp graph);

/// Replaces the Gradient nodes of a graph by nodes of ai.onnx; emits an error
/// where there is no gradient.
mlir::LogicalResult expandGradients(mlir::func::FuncOp graph);

} // namespace amp

#endif // AMP_PASSES_TRAINING_EXPANDGRADIENTS_H
