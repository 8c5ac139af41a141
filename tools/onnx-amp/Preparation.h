//===- Preparation.h - what comes before all decisions ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_PREPARATION_H
#define AMP_TOOLS_ONNX_AMP_PREPARATION_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace amp {

struct PreparationOptions {
  /// As for the conversion that follows.
  std::string low, policy;
  std::vector<std::string> keepOps, keepNodes;
  /// Raise the opset where operators need that, up to this one (0: any).
  bool mayRaise = false;
  int64_t maxOpset = 0;
  /// Raise the opset to this one if it is earlier (0: none).
  int64_t minOpset = 0;
};

/// Infers types and shapes, raises the opset, and pairs the gradients of a
/// differentiated graph with their forward operations. Fails with a diagnostic.
llvm::LogicalResult prepare(mlir::ModuleOp module,
                            const PreparationOptions &options);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_PREPARATION_H
