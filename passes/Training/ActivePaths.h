//===- ActivePaths.h - what depends on what, for gradients ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_ACTIVEPATHS_H
#define AMP_PASSES_TRAINING_ACTIVEPATHS_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"

namespace amp {

/// The paths of gradients through an operation's regions, at all depths, by
/// GradientOpInterface. An operation without it passes all that is float: where
/// a gradient reaches it, it is refused, not passed over.
class ActivePaths {
public:
  explicit ActivePaths(mlir::Operation *root);

  /// The values that depend on these, themselves included.
  llvm::DenseSet<mlir::Value>
  findDependents(llvm::ArrayRef<mlir::Value> values) const {
    return follow(values, successors);
  }
  /// The values that these depend on, themselves included.
  llvm::DenseSet<mlir::Value>
  findSources(llvm::ArrayRef<mlir::Value> values) const {
    return follow(values, predecessors);
  }

private:
  /// A value, or an operation whose operands all lead to all of its results.
  using Point = llvm::PointerUnion<mlir::Value, mlir::Operation *>;
  using Edges = llvm::DenseMap<Point, llvm::SmallVector<Point, 2>>;

  void addOperation(mlir::Operation *op);
  void addHub(mlir::Operation *op);
  void addEdge(Point from, Point to) {
    successors[from].push_back(to);
    predecessors[to].push_back(from);
  }
  static llvm::DenseSet<mlir::Value> follow(llvm::ArrayRef<mlir::Value> values,
                                            const Edges &edges);

  Edges successors, predecessors;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_ACTIVEPATHS_H
