//===- WeightHistory.h - what weights tell of their past --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_WEIGHTHISTORY_H
#define AMP_TOOLS_ONNX_AMP_WEIGHTHISTORY_H

#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// How many float32 weights are numbers of a narrower format, as they are if
/// they were trained, or stored, in that format.
struct WeightHistory {
  /// In tensors that are more than a few parameters; zeros do not count.
  uint64_t weights = 0;
  /// The low 16 bits of the mantissa are zero; the low 13 bits are.
  uint64_t bfloat16 = 0, float16 = 0;

  static WeightHistory collect(mlir::ModuleOp module);

  /// Nearly all weights are.
  bool isBFloat16() const { return isMost(bfloat16); }
  bool isFloat16() const { return !isBFloat16() && isMost(float16); }

private:
  bool isMost(uint64_t count) const {
    return weights > 0 && double(count) >= 0.99 * double(weights);
  }
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_WEIGHTHISTORY_H
