//===- MemoryModel.h - the memory of a graph with gradients -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counted are activations: what nodes make, unless it is a constant or an
// output of the graph. Inputs and initializers are the caller's. Views take
// nothing, no result is written over an operand, and what happens in subgraphs
// is there while their node runs.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_MEMORYMODEL_H
#define AMP_PASSES_TRAINING_MEMORYMODEL_H

#include "RunOrder.h"

#include "amp/Analysis/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace amp {

struct MemoryModel {
  MemoryGraph graph;
  /// The operations of the graph's nodes.
  std::vector<mlir::Operation *> ops;
  /// The numbers of values that nodes make. Others are inputs, or constants.
  llvm::DenseMap<mlir::Value, unsigned> values;
  /// What the forward part is there for.
  llvm::SmallVector<mlir::Value> forwardEnds;

  /// The forward part is what `losses`, and outputs that are no gradients,
  /// depend on. Fails after an error if a loss has another name, or there are
  /// no gradients.
  static llvm::FailureOr<MemoryModel> build(mlir::func::FuncOp main,
                                            llvm::ArrayRef<std::string> losses,
                                            const CostOptions &sizes);

  /// The values from outside that an operation and its subgraphs read.
  static llvm::SetVector<mlir::Value> getReads(mlir::Operation *op);
  bool isForward(mlir::Value value) const {
    return forward.contains(value.getDefiningOp());
  }
  bool isConstant(mlir::Value value) const {
    return constants.contains(value.getDefiningOp());
  }
  /// Why a node can't run again.
  llvm::StringRef getReasonToKeep(mlir::Operation *op) const;

private:
  mlir::LogicalResult findForward(mlir::func::FuncOp main,
                                  llvm::ArrayRef<std::string> losses);
  void addNode(mlir::Operation *op, const CostOptions &sizes);

  llvm::DenseSet<mlir::Operation *> forward, constants;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_MEMORYMODEL_H
