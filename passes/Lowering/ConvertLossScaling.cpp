//===- ConvertLossScaling.cpp - loss scaling as ONNX operators ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rounding is the one that the operations' descriptions name: on a
// runtime with IEEE arithmetic the results are theirs to the last bit.
//
// What is read and written by each element of a gradient, in bytes: 12 to
// unscale it (read, write, read again for found_inf), and 6 more if it is in 16
// bits; 12 to clip it (read for the norm, read, write). A guard adds nothing.
//
//===----------------------------------------------------------------------===//

#include "ConvertLossScaling.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::Expr;
using onnx::NodeBuilder;

/// Since when Sum, Where and If take all that is given to them here.
constexpr int64_t kMinOpset = 13;

/// By Less: of LessOrEqual the schemas infer no type before opset 16.
Expr isFinite(Expr value) {
  return abs(value) < std::numeric_limits<double>::infinity();
}

/// 1 / value, rounded to nearest: Reciprocal may be an approximation, and ONNX
/// Runtime makes one division of a product with 1 / value, which rounds once.
Expr invert(Expr value) { return -(-1.0 / value); }

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

void yield(OpBuilder &builder, Location loc, StringRef graph,
           ValueRange values) {
  auto op = onnx::YieldOp::create(builder, loc, values);
  // ONNX wants a name of every graph.
  op->setAttr(onnx::ONNXDialect::kGraph,
              builder.getDictionaryAttr(
                  builder.getNamedAttr("name", builder.getStringAttr(graph))));
}

/// The subgraphs of a node, in the order of ONNX's attributes.
Region &elseBranch(Operation *op) { return op->getRegion(0); }
Region &thenBranch(Operation *op) { return op->getRegion(1); }

/// Fills a branch with what `build` makes, which returns the values to yield.
template <typename Build>
void fill(NodeBuilder &b, Region &branch, StringRef graph, Build build) {
  OpBuilder &builder = b.getBuilder();
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&branch);
  SmallVector<Value> values = build();
  yield(builder, b.getLocation(), graph, values);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

Expr sumOfMagnitudes(NodeBuilder &b, ArrayRef<Expr> tensors) {
  SmallVector<Value> sums;
  for (Expr tensor : tensors)
    sums.push_back(b.apply("ReduceL1", {tensor}, b.attr("keepdims", 0)));
  return sums.size() == 1 ? b.expr(sums[0]) : b.apply("Sum", sums);
}

/// True if an element is infinite or NaN. Operators that look for these give a
/// tensor of bools to reduce, and maxima of NaN are whatever a runtime makes of
/// them; sums keep both. The sum of the magnitudes can overflow where they are
/// finite, so that it is done again in smaller numbers where it is not.
Expr findNonFinite(NodeBuilder &b, ArrayRef<Expr> tensors) {
  Expr isSuspect = logicalNot(isFinite(sumOfMagnitudes(b, tensors)));
  Operation *choice = b.node("If", {isSuspect});
  fill(b, thenBranch(choice), "sum_again", [&] {
    SmallVector<Expr> small; // 2^64 elements of them have a sum
    for (Expr tensor : tensors)
      small.push_back(tensor * 0x1p-64);
    return SmallVector<Value>{logicalNot(isFinite(sumOfMagnitudes(b, small)))};
  });
  fill(b, elseBranch(choice), "all_finite", [&] {
    auto type = RankedTensorType::get({}, b.getBuilder().getI1Type());
    return SmallVector<Value>{
        b.constant(DenseElementsAttr::get(type, ArrayRef<bool>{false}))};
  });
  choice->getResult(0).setType(
      RankedTensorType::get({}, b.getBuilder().getI1Type()));
  return b.expr(choice->getResult(0));
}

SmallVector<Value> convert(NodeBuilder &b, UnscaleOp op) {
  // The quotient of float64, rounded to float32, is this: s * m = 1 + e with
  // |e| < 2^-49 has no solution but e = 0 for a float s and a number m halfway
  // between two floats.
  Expr inverse = invert(b.expr(op.getScale()));
  SmallVector<Expr> before, after;
  for (Value gradient : op.getGradients()) {
    before.push_back(b.cast(b.expr(gradient), b.getBuilder().getF32Type()));
    after.push_back(before.back() * inverse);
  }
  // What is not finite stays so when it is multiplied.
  bool isTorch = op.getMode() == ScalerMode::Torch;
  Expr found;
  if (!op.getFoundInf().use_empty())
    found = findNonFinite(b, isTorch ? before : after);
  SmallVector<Value> results(after.begin(), after.end());
  results.push_back(found);
  return results;
}

SmallVector<Value> convert(NodeBuilder &b, ClipGradNormOp op) {
  SmallVector<Value> norms;
  for (Value gradient : op.getGradients()) {
    Expr norm = b.apply("ReduceL2", {gradient}, b.attr("keepdims", 0));
    norms.push_back(op.getGradients().size() == 1 ? norm
                                                  : b.unsqueeze(norm, {0}));
  }
  Expr norm = b.expr(norms[0]);
  if (norms.size() > 1)
    norm = b.apply("ReduceL2", {b.concat(norms, 0)}, b.attr("keepdims", 0));
  Expr quotient = invert(norm + op.getEpsilon().convertToDouble()) *
                  op.getMaxNorm().convertToDouble();
  Expr factor = b.where(quotient > 1.0, 1.0, quotient);
  SmallVector<Value> results;
  for (Value gradient : op.getGradients())
    results.push_back(b.expr(gradient) * factor);
  results.push_back(norm);
  return results;
}

//===----------------------------------------------------------------------===//
// The scale
//===----------------------------------------------------------------------===//

SmallVector<Value> convert(NodeBuilder &b, ScaleOp op) {
  Type element = getFloatElementType(op.getScaled().getType());
  return {b.cast(b.expr(op.getLoss()), element) *
          b.cast(b.expr(op.getScale()), element)};
}

/// The product in float64, rounded to float32; a float32 product is the same if
/// the factor is one of float32, since it is rounded once in both.
Expr multiply(Expr scale, double factor) {
  if (double(float(factor)) == factor)
    return scale * factor;
  NodeBuilder &b = scale.getBuilder();
  Builder &types = b.getBuilder();
  return b.cast(b.cast(scale, types.getF64Type()) * factor, types.getF32Type());
}

/// Bounds that are not passed by NaN.
Expr clamp(Expr value, float least, float most) {
  NodeBuilder &b = value.getBuilder();
  Expr raised = b.where(value > least, value, least);
  return b.where(raised < most, raised, most);
}

SmallVector<Value> convert(NodeBuilder &b, UpdateScaleOp op) {
  if (op.getFoundInf().empty())
    return {op.getScale(), op.getGrowthTracker()};
  Expr scale = b.expr(op.getScale());
  Expr next = b.expr(op.getGrowthTracker()) + 1.0;
  Expr found = b.expr(op.getFoundInf().front());
  for (Value other : op.getFoundInf().drop_front())
    found = logicalOr(found, b.expr(other));
  double interval = op.getGrowthInterval();
  Expr less = multiply(scale, op.getBackoffFactor().convertToDouble());
  Expr more = multiply(scale, op.getGrowthFactor().convertToDouble());
  Expr isDue;
  if (op.getMode() == ScalerMode::Torch) {
    isDue = next == interval;
    more = b.where(isFinite(more), more, scale);
  } else {
    isDue = next > interval - 1;
    less = clamp(less, op.getFloor(), op.getCap());
    more = clamp(more, op.getFloor(), op.getCap());
  }
  Expr newScale = b.where(found, less, b.where(isDue, more, scale));
  return {newScale, b.where(logicalOr(found, isDue), 0.0, next)};
}

//===----------------------------------------------------------------------===//
// The guard
//===----------------------------------------------------------------------===//

/// A subgraph gives what its own nodes make, and each once.
Value asOutput(NodeBuilder &b, Value value, Block *block,
               llvm::DenseSet<Value> &taken) {
  Operation *maker = value.getDefiningOp();
  if (maker && maker->getBlock() == block && taken.insert(value).second)
    return value;
  Value copy = b.apply("Identity", {value});
  copy.setType(value.getType());
  return copy;
}

SmallVector<Value> convert(NodeBuilder &b, GuardOp op) {
  OpBuilder &builder = b.getBuilder();
  Operation *choice =
      b.node("If", {op.getFoundInf()}, {}, op.getState().size());
  fill(b, thenBranch(choice), "skip", [&] {
    SmallVector<Value> old;
    llvm::DenseSet<Value> taken;
    for (Value value : op.getState())
      old.push_back(asOutput(b, value, builder.getInsertionBlock(), taken));
    return old;
  });
  Region &step = elseBranch(choice);
  step.takeBody(op.getBody());
  auto end = cast<YieldOp>(step.front().getTerminator());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(end);
  SmallVector<Value> values;
  llvm::DenseSet<Value> taken;
  for (Value value : end.getValues())
    values.push_back(asOutput(b, value, &step.front(), taken));
  yield(builder, end.getLoc(), "step", values);
  end.erase();
  for (auto [result, value] :
       llvm::zip_equal(choice->getResults(), op.getNewState()))
    result.setType(value.getType());
  return llvm::to_vector_of<Value>(choice->getResults());
}

/// The values get the types of the results, which users were built for. Null is
/// for what nobody uses.
void replace(IRRewriter &rewriter, Operation *op,
             MutableArrayRef<Value> values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    if (!value)
      continue;
    if (value.getDefiningOp() && value.getType() != result.getType())
      value.setType(result.getType());
    rewriter.replaceAllUsesWith(result, value);
  }
  rewriter.eraseOp(op);
}

} // namespace

LogicalResult convertLossScaling(ModuleOp module) {
  // What is inside comes before what it is in.
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<ScaleOp, UnscaleOp, ClipGradNormOp, GuardOp, UpdateScaleOp>(op))
      ops.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    NodeBuilder b(rewriter, op);
    if (b.getOpset() < kMinOpset)
      return op->emitOpError()
             << "expects opset " << kMinOpset
             << " or later of ai.onnx, but got " << b.getOpset();
    SmallVector<Value> values =
        llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
            .Case<ScaleOp, UnscaleOp, ClipGradNormOp, GuardOp, UpdateScaleOp>(
                [&](auto each) { return convert(b, each); });
    replace(rewriter, op, values);
  }
  return success();
}

} // namespace amp
