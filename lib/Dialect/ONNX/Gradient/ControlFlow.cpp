//===- ControlFlow.cpp - gradients of If, Loop and Scan -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subgraphs.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// For a branch in which a value of this type is not made: a tensor without
/// elements, or one of the same shape where the next iteration of a loop may
/// take the other branch, and stacks want one shape.
FailureOr<Value> nothing(NodeBuilder &b, Type type, bool isInLoop) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat())
    return failure();
  int64_t rank = tensor.hasRank() ? tensor.getRank() : 1;
  SmallVector<int64_t> shape(rank, 0);
  if (isInLoop && tensor.hasStaticShape())
    shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  auto one = RankedTensorType::get({1}, tensor.getElementType());
  auto zero = DenseElementsAttr::get(
      one,
      cast<TypedAttr>(b.getBuilder().getZeroAttr(tensor.getElementType())));
  return Value(b.apply(
      "ConstantOfShape", {b.ints(shape)},
      b.getBuilder().getNamedAttr(
          "value", TensorAttr::get(b.getContext(), zero, DictionaryAttr()))));
}

bool isInLoop(Operation *op) {
  for (Operation *around = op->getParentOp(); around;
       around = around->getParentOp()) {
    StringRef name = around->getName().getStringRef();
    if (name == "onnx.Loop" || name == "onnx.Scan")
      return true;
  }
  return false;
}

/// Makes the values of a branch that are saved results of the operation, from
/// `first` on; the other branch has none.
LogicalResult yieldSaved(Operation *op, ArrayRef<SavedValues> saved) {
  for (auto [made, region] : llvm::enumerate(op->getRegions())) {
    Operation *end = region.front().getTerminator();
    OpBuilder builder(end);
    NodeBuilder b(builder, op);
    SmallVector<Value> yielded(end->getOperands());
    for (auto [branch, values] : llvm::enumerate(saved))
      for (auto &[value, uses] : values) {
        FailureOr<Value> other =
            branch == made ? FailureOr<Value>(value)
                           : nothing(b, value.getType(), isInLoop(op));
        if (failed(other))
          return op->emitError()
                 << describeNode(op)
                 << " has no gradient where a branch makes a value of type "
                 << value.getType() << " that the gradient needs";
        yielded.push_back(*other);
      }
    end->setOperands(yielded);
  }
  return success();
}

} // namespace

/// y = If(condition): the gradients of the branches, by the same condition.
LogicalResult differentiateIf(Gradient &g) {
  Operation *op = g.getOperation();
  OpBuilder &builder = g.b.getBuilder();
  SmallVector<Value> captured = findCaptured(g);
  SmallVector<Value> dys;
  for (Value result : op->getResults())
    dys.push_back(g.getContext().getGradient(result));

  Operation *draft = g.b.node("If", {op->getOperand(0)}, {}, 0);
  SmallVector<SmallVector<Value>> found;
  for (auto [region, gradient] :
       llvm::zip_equal(op->getRegions(), draft->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&gradient);
    SmallVector<std::pair<Value, Value>> seeds;
    for (auto [value, dy] :
         llvm::zip_equal(region.front().getTerminator()->getOperands(), dys))
      if (dy && g.getContext().isNeeded(value))
        seeds.push_back({value, withTypeOf(g.b, dy, value)});
    FailureOr<SmallVector<Value>> gradients =
        g.getContext().differentiate(region.front(), seeds, captured);
    if (failed(gradients))
      return failure();
    found.push_back(std::move(*gradients));
  }

  g.b.setLocation(op->getLoc());
  SmallVector<Value> changed;
  for (auto [i, value] : llvm::enumerate(captured))
    if (found[0][i] || found[1][i])
      changed.push_back(value);
  if (changed.empty()) {
    g.b.erase(draft);
    return success();
  }
  for (auto [region, gradients] : llvm::zip_equal(draft->getRegions(), found)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region.front());
    SmallVector<Value> yielded;
    for (auto [i, value] : llvm::enumerate(captured))
      if (found[0][i] || found[1][i])
        yielded.push_back(gradients[i] ? gradients[i]
                                       : Value(g.b.filledLike(value, 0.0)));
    g.b.yield(yielded);
  }

  SmallVector<SavedValues> saved;
  unsigned number = 0;
  for (auto [region, gradient] :
       llvm::zip_equal(op->getRegions(), draft->getRegions())) {
    SavedValues values = findSaved(region, gradient);
    // What is a result is there already.
    OperandRange yielded = region.front().getTerminator()->getOperands();
    values.remove_if([&](auto &entry) {
      auto at = llvm::find(yielded, entry.first);
      if (at == yielded.end())
        return false;
      readFrom(entry.second, op->getResult(at - yielded.begin()));
      return true;
    });
    saved.push_back(std::move(values));
    number += saved.back().size();
  }
  if (number != 0) {
    unsigned next = op->getNumResults();
    if (failed(yieldSaved(op, saved)))
      return failure();
    Operation *forward = addResults(op, number);
    g.b.infer(forward);
    for (SavedValues &values : saved)
      for (auto &[value, uses] : values)
        readFrom(uses, forward->getResult(next++));

    g.getContext().replace(
        op, forward->getResults().take_front(op->getNumResults()));
    op = forward;
  }

  Operation *gradient = g.b.node("If", {op->getOperand(0)}, {}, changed.size());
  for (auto [from, to] :
       llvm::zip_equal(draft->getRegions(), gradient->getRegions()))
    to.takeBody(from);
  g.b.erase(draft);
  g.b.infer(gradient);
  for (auto [value, result] : llvm::zip_equal(changed, gradient->getResults()))
    g.getContext().addGradient(value, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Where values flow
//===----------------------------------------------------------------------===//

void getControlFlow(Operation *op,
                    SmallVectorImpl<std::pair<Value, Value>> &flow) {
  StringRef name = op->getName().getStringRef();
  auto add = [&](auto from, auto to) {
    for (auto [a, b] : llvm::zip(from, to))
      flow.push_back({a, b});
  };
  if (name == "onnx.If") {
    for (Region &region : op->getRegions())
      if (!region.empty())
        add(region.front().getTerminator()->getOperands(), op->getResults());
    return;
  }
  bool isLoop = name == "onnx.Loop";
  if ((!isLoop && name != "onnx.Scan") || op->getRegion(0).empty())
    return;
  // Of a Loop: the iteration and the condition are arguments, the condition is
  // yielded.
  Block &body = op->getRegion(0).front();
  auto arguments = body.getArguments().drop_front(
      std::min<size_t>(body.getNumArguments(), isLoop ? 2 : 0));
  OperandRange operands = op->getOperands();
  operands = operands.take_back(std::min(operands.size(), arguments.size()));
  OperandRange yielded = body.getTerminator()->getOperands();
  yielded = yielded.drop_front(std::min<size_t>(yielded.size(), isLoop));
  size_t carried = arguments.size();
  if (auto scanned = op->getAttrOfType<IntegerAttr>("num_scan_inputs");
      scanned && !isLoop)
    carried -=
        std::min<size_t>(carried, std::max<int64_t>(0, scanned.getInt()));
  add(operands, arguments);
  add(yielded, op->getResults());
  // Without an iteration, what is carried is what it was.
  add(operands.take_front(std::min(carried, operands.size())),
      op->getResults());
  add(yielded.take_front(std::min(carried, yielded.size())), arguments);
}

ArrayRef<GradientRule> getControlFlowRules() {
  static constexpr GradientRule rules[] = {
      {"If", differentiateIf},
      {"Loop", differentiateLoop},
      {"Scan", differentiateScan},
  };
  return rules;
}

} // namespace amp::onnx
