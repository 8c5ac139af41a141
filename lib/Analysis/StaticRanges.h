//===- StaticRanges.h - ranges of values that the program shows -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_STATICRANGES_H
#define AMP_LIB_ANALYSIS_STATICRANGES_H

#include "amp/Interfaces/RangeOpInterface.h"
#include "amp/Policy/FloatFormat.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace amp {

/// Bounds of all values, by RangeOpInterface, forward in program order.
/// Arguments of functions and what regions are given can be anything. What
/// comes out of regions is the join of all that flows there.
class StaticRanges {
public:
  /// Takes one walk. Of constants, those of few elements are read. Statistics
  /// count only if asked for.
  explicit StaticRanges(mlir::ModuleOp module, bool useStatistics = true);

  /// Top if nothing is known.
  Interval get(mlir::Value value) const;

  /// True if it is proved that no element overflows in `format`.
  bool fits(mlir::Value value, FloatFormat format) const;

  /// Why `value` can't be stored in the format; null if nothing is known
  /// against it: bounds that are reached are beyond its largest number, or the
  /// statistics of a normalization that reads the value speak of such numbers.
  mlir::StringAttr getObstacle(mlir::Value value, FloatFormat format) const;

private:
  void visit(mlir::Region &region);
  void visit(mlir::Operation *op);
  void setResult(mlir::Value value, Interval interval);

  bool useStatistics;
  /// Those that are not top.
  llvm::DenseMap<mlir::Value, Interval> intervals;
  /// Values that a normalization has statistics of.
  llvm::DenseMap<mlir::Value, mlir::Operation *> normalized;
};

} // namespace amp

#endif // AMP_LIB_ANALYSIS_STATICRANGES_H
