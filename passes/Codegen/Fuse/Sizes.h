//===- Sizes.h - how far the loops of a block go ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_FUSE_SIZES_H
#define AMP_PASSES_CODEGEN_FUSE_SIZES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"

namespace amp::codegen {

/// The size of a loop: a number, or one of those that are known at run time
/// only; kOther is unlike all others.
struct LoopSize {
  static constexpr unsigned kOther = ~0u;
  int64_t number = mlir::ShapedType::kDynamic;
  unsigned unknown = kOther;

  bool isStatic() const { return !mlir::ShapedType::isDynamic(number); }
  bool isOne() const { return number == 1; }
  /// The number, or a guess.
  int64_t estimate() const { return isStatic() ? number : 128; }
  bool operator==(const LoopSize &other) const {
    return number == other.number &&
           (isStatic() || (unknown == other.unknown && unknown != kOther));
  }
  bool operator!=(const LoopSize &other) const { return !(*this == other); }
};

/// Which sizes of a block are one: loops of a linalg operation go as far as all
/// that it reads and writes.
class Sizes {
public:
  explicit Sizes(mlir::Block &block);

  LoopSize get(mlir::Value value, unsigned axis) const;
  LoopSize get(mlir::linalg::LinalgOp op, unsigned loop) const;
  /// Elements of a tensor, where unknown sizes are guessed.
  int64_t countElements(mlir::Value value) const;
  /// The bytes that it takes.
  int64_t countBytes(mlir::Value value) const;
  /// The values and axes that have an unknown size, in the order of the block.
  llvm::ArrayRef<std::pair<mlir::Value, unsigned>> getAxes(LoopSize size) const;

private:
  using Axis = std::pair<mlir::Value, unsigned>;
  unsigned number(mlir::Value value, unsigned axis);
  void join(mlir::Operation &op);

  llvm::DenseMap<Axis, unsigned> axes;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, unsigned> loops;
  llvm::IntEqClasses classes;
  unsigned count = 0;
  llvm::SmallVector<int64_t> numbers;                 // of classes
  llvm::SmallVector<llvm::SmallVector<Axis>> members; // of classes
};

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_FUSE_SIZES_H
