//===- ChannelAffine.h - constants that scale and shift channels -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_CHANNELAFFINE_H
#define AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_CHANNELAFFINE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace amp {

/// Constant weights, and what is done to each channel of their results. All is
/// computed in float64, and rounded once when it becomes constants.
class ChannelAffine {
public:
  /// `channelAxis` is that of the weight's outputs, of each of `groups` groups.
  /// None if weights are not constant or somebody else reads them.
  static std::optional<ChannelAffine> get(mlir::Value weight, mlir::Value bias,
                                          int64_t channelAxis, int64_t groups);

  /// Takes a BatchNormalization by running statistics, or an Add or Mul of a
  /// constant, of the value `before`, whose second dimension are the channels.
  /// False, with nothing changed, for other nodes.
  bool take(mlir::Operation *op, mlir::Value before);

  /// Whether weights are others than they were.
  bool isWeightChanged() const { return isChanged; }
  mlir::Value makeWeight(mlir::OpBuilder &builder, mlir::Location loc) const;
  mlir::Value makeBias(mlir::OpBuilder &builder, mlir::Location loc) const;

private:
  mlir::RankedTensorType type;
  int64_t channelAxis = 0, groups = 1;
  llvm::SmallVector<double> weights, factors, shifts;
  bool isChanged = false;
};

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_CHANNELAFFINE_H
