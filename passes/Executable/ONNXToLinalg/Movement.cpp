//===- Movement.cpp - what only moves data --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transpose and Expand become no loops of their own: loops that read them read
// what is behind them. Other operators that move data are the library's.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "amp/Dialect/ONNX/ConstantNumber.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace amp {

namespace {

LogicalResult identity(Node &n) {
  n.set(0, n.x());
  return success();
}

/// In inference; nobody may ask what was kept.
LogicalResult dropout(Node &n) {
  if (n.isUsed(1) ||
      (n.x(2) && onnx::getConstantNumber(n.x(2)) != std::optional(0.0)))
    return failure();
  n.set(0, n.x());
  return success();
}

constexpr LinalgRule rules[] = {
    {"Dropout", dropout},
    {"Identity", identity},
};

/// For an index of a node's result, that of its operand; null where that is not
/// known, or rows would be read across.
AffineMap getRead(Operation *op) {
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!from || !to || to.getRank() == 0 || from.getRank() == 0)
    return AffineMap();
  MLIRContext *context = op->getContext();
  SmallVector<AffineExpr> results;
  if (isa<onnx::TransposeOp>(op)) {
    auto order = op->getAttrOfType<DenseI64ArrayAttr>("perm");
    int64_t rank = from.getRank();
    if (!order || order.size() != rank || order[rank - 1] != rank - 1)
      return AffineMap();
    results.resize(rank);
    for (int64_t i = 0; i < rank; ++i)
      results[order[i]] = getAffineDimExpr(i, context);
    return AffineMap::get(rank, 0, results, context);
  }
  int64_t shift = to.getRank() - from.getRank();
  if (!to.hasStaticShape() || shift < 0)
    return AffineMap();
  for (int64_t i = 0; i < from.getRank(); ++i) {
    if (from.getDimSize(i) == 1)
      results.push_back(getAffineConstantExpr(0, context));
    else if (from.getDimSize(i) == to.getDimSize(i + shift))
      results.push_back(getAffineDimExpr(i + shift, context));
    else
      return AffineMap();
  }
  return AffineMap::get(to.getRank(), 0, results, context);
}

/// True for loops that may read any element.
bool isParallel(Operation *op) {
  auto loops = dyn_cast<linalg::GenericOp>(op);
  return loops && loops.getNumReductionLoops() == 0;
}

} // namespace

ArrayRef<LinalgRule> getMovementRules() { return rules; }

void foldMovement(Operation *root) {
  SmallVector<Operation *> moves;
  root->walk([&](Operation *op) {
    if (isa<onnx::TransposeOp, onnx::ExpandOp>(op))
      moves.push_back(op);
  });
  for (Operation *op : llvm::reverse(moves)) {
    AffineMap read = getRead(op);
    if (!read || op->use_empty() ||
        !llvm::all_of(op->getResult(0).getUsers(), isParallel))
      continue;
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      auto loops = cast<linalg::GenericOp>(use.getOwner());
      SmallVector<AffineMap> maps = loops.getIndexingMapsArray();
      AffineMap &map = maps[use.getOperandNumber()];
      map = read.compose(map);
      loops.setIndexingMapsAttr(
          Builder(op->getContext()).getAffineMapArrayAttr(maps));
      use.set(op->getOperand(0));
    }
    op->erase();
  }
}

} // namespace amp
