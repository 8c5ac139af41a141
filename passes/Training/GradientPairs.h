//===- GradientPairs.h - gradients and their forward operations -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a graph that ONNX Runtime has differentiated, the gradient part is what
// depends on its gradient operators. Of an operation there, the forward
// operation is
//
//  1. the one that its name says: ONNX Runtime calls what the gradient of 'F'
//     is made of 'F_Grad/Op_0', 'F_Grad/Op_1' and so on;
//  2. for a gradient operator, the last one of its forward operators with which
//     it shares most values: ConvGrad reads the X and W of its Conv, and
//     SoftmaxCrossEntropyLossGrad the log_prob that its loss gave;
//  3. for a product, the last product that reads the same value, behind what
//     only moves data: dA = dY B^T and dB = A^T dY.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_GRADIENTPAIRS_H
#define AMP_PASSES_TRAINING_GRADIENTPAIRS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace amp {

/// The operator of an operation of the onnx dialect, "" for others.
llvm::StringRef getOperatorName(mlir::Operation *op);
/// True for a gradient operator of ONNX Runtime: ConvGrad, SoftmaxGrad_13.
bool isGradientOperator(mlir::Operation *op);

class GradientPairs {
public:
  /// Looks at the operations of a block.
  explicit GradientPairs(mlir::Block &block);

  /// The forward operation of a gradient operator, or of arithmetic in the
  /// gradient part; null for others, and if it is not found.
  mlir::Operation *getForward(mlir::Operation *op) const {
    return forwardOf.lookup(op);
  }
  /// By forward operation, in the order of the block.
  const llvm::MapVector<mlir::Operation *, mlir::Operation *> &get() const {
    return forwardOf;
  }

private:
  bool isGradient(mlir::Operation *op) const {
    return gradientPart.contains(op);
  }
  bool isGradient(mlir::Value value) const;
  void findGradientPart(mlir::Block &block);
  mlir::Operation *findByName(mlir::Operation *op) const;
  mlir::Operation *findOperator(mlir::Operation *op) const;
  mlir::Operation *findProduct(mlir::Operation *op) const;

  llvm::DenseSet<mlir::Operation *> gradientPart;
  llvm::StringMap<mlir::Operation *> forwardByName;
  /// What reads a value, behind what only moves data, for products.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 2>> products;
  llvm::MapVector<mlir::Operation *, mlir::Operation *> forwardOf;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_GRADIENTPAIRS_H
