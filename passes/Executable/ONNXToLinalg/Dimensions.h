//===- Dimensions.h - which dimensions have one size ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_ONNXTOLINALG_DIMENSIONS_H
#define AMP_PASSES_EXECUTABLE_ONNXTOLINALG_DIMENSIONS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace amp {

/// The size of a dimension: a number, or that of a dimension of a value.
struct Size {
  int64_t number = mlir::ShapedType::kDynamic;
  mlir::Value value;
  unsigned dimension = 0;

  bool isStatic() const { return !mlir::ShapedType::isDynamic(number); }
  bool operator==(const Size &other) const {
    return isStatic() ? number == other.number
                      : !other.isStatic() && value == other.value &&
                            dimension == other.dimension;
  }
  bool operator!=(const Size &other) const { return !(*this == other); }
};

class Dimensions;

/// What says the size of a result's dimension, by operator or kernel. None if
/// it is not known.
using DimensionRule = std::optional<Size> (*)(Dimensions &dimensions,
                                              mlir::OpResult result,
                                              unsigned dimension);
/// Null for operations without one.
DimensionRule findDimensionRule(mlir::Operation *op);
/// The same of what is element `index` of a result, a list of integers or one.
using ElementRule = std::optional<Size> (*)(Dimensions &dimensions,
                                            mlir::OpResult result,
                                            unsigned index);
ElementRule findElementRule(mlir::Operation *op);

/// Follows unknown dimensions to where they come from: through nodes and
/// kernels, and through the lists of integers that say dimensions.
class Dimensions {
public:
  /// The size of a dimension of a ranked tensor. Two that are equal are known
  /// to be one size; others may be, too.
  Size get(mlir::Value value, unsigned dimension);
  llvm::SmallVector<Size> get(mlir::Value value);
  /// An element of a list of integers, or an integer, that is a number or a
  /// size.
  std::optional<Size> getElement(mlir::Value list, unsigned index);
  /// A value has these sizes.
  void set(mlir::Value value, llvm::ArrayRef<Size> sizes);

  /// Looks at all values of an operation in the order of the program, and
  /// remembers their sizes; otherwise dimensions are followed a few nodes far.
  /// None of the values may be erased as long as sizes are asked for.
  void remember(mlir::Operation *root);

private:
  class Question;
  /// Nodes that one question may go through.
  static constexpr unsigned kMostSteps = 64;

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Size> known;
  unsigned steps = 0, depth = 0;
  bool isRemembering = false;
};

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_ONNXTOLINALG_DIMENSIONS_H
