//===- MeasuredRanges.h - values that were seen to be too large -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_MEASUREDRANGES_H
#define AMP_LIB_ANALYSIS_MEASUREDRANGES_H

#include "amp/Policy/FloatFormat.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace amp {

/// Values whose measured range (amp.ranges, amp.argument_ranges), times a
/// margin, is beyond a format's, and those that flow into such values by
/// control flow: inside of regions nothing is measured.
class MeasuredRanges {
public:
  /// Takes one walk.
  MeasuredRanges(mlir::ModuleOp module, FloatFormat format, double margin);

  /// Why `value` can't be stored in the format; null if nothing is known
  /// against it.
  mlir::StringAttr getObstacle(mlir::Value value) const {
    return obstacles.lookup(value);
  }

  /// The largest absolute value that was measured; none if nothing was.
  static std::optional<double> getMeasured(mlir::Value value);

private:
  /// `what` is what messages call the value.
  void add(mlir::Value value, const std::string &what, mlir::Attribute range);
  void addOperation(mlir::Operation *op, mlir::ArrayAttr ranges);
  void addArguments(mlir::Operation *function);
  void flowBack(mlir::Operation *op);

  FloatFormat format;
  double margin;
  llvm::DenseMap<mlir::Value, mlir::StringAttr> obstacles;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_MEASUREDRANGES_H
