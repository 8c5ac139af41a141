//===- PlainLosses.cpp - cross entropy in few nodes -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainLosses.h"

#include "ExpandFunctions.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

/// Scores and labels alone. Those in 16 bits are rounded where the function
/// does.
static bool isPlain(onnx::SoftmaxCrossEntropyLossOp op) {
  auto scores = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  return scores && scores.getElementType().isF32() &&
         op->getNumOperands() == 2 && (!reduction || reduction == "mean");
}

/// Nodes that gradients have, too, are built as there: runtimes merge them.
static void expandLoss(onnx::SoftmaxCrossEntropyLossOp op) {
  OpBuilder builder(op);
  NodeBuilder b(builder, op);
  b.setLocation(op.getLoc());
  Expr labels = b.expr(op->getOperand(1)), isValid;
  Expr logarithms =
      b.apply("LogSoftmax", {op->getOperand(0)}, b.attr("axis", 1));
  if (auto ignored = op->getAttrOfType<IntegerAttr>("ignore_index")) {
    isValid = logicalNot(
        labels == b.number(double(ignored.getInt()), labels.getElementType()));
    labels = b.where(isValid, labels, 0.0);
  }
  Expr taken = b.apply("GatherElements", {logarithms, b.unsqueeze(labels, 1)},
                       b.attr("axis", 1));
  Expr loss;
  if (isValid) {
    Expr counted = b.where(b.unsqueeze(isValid, 1), taken, 0.0);
    Expr total = b.reduceSum(b.castLike(isValid, taken), {}, false);
    loss = -b.reduceSum(counted, {}, false) / total;
  } else {
    loss = -b.reduceMean(taken, {}, /*keepDims=*/false);
  }
  SmallVector<Value> results;
  for (auto [result, position] :
       llvm::zip_equal(op->getResults(), onnx::outputPositions(op))) {
    Value value = position == 0 ? loss : logarithms;
    value.setType(result.getType());
    results.push_back(value);
  }
  replaceBy(op, results, b);
}

void expandLosses(func::FuncOp graph) {
  for (auto op : llvm::make_early_inc_range(
           graph.getBody().front().getOps<onnx::SoftmaxCrossEntropyLossOp>()))
    if (isPlain(op))
      expandLoss(op);
}

} // namespace amp
