//===- ReverseMode.cpp - gradients of a block of operations ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace amp {

Value ReverseMode::getGradient(Value value) {
  auto found = gradients.find(value);
  if (found == gradients.end())
    return {};
  SmallVector<Value, 2> &parts = found->second;
  if (parts.size() > 1) {
    Value sum = nodes.sum(parts);
    // Building may have moved the map's entries.
    gradients[value] = {sum};
    return sum;
  }
  return parts.front();
}

/// A gradient has the type of its value, of which more may be known.
static Type mergeShapes(Type gradient, Type value) {
  auto known = dyn_cast<RankedTensorType>(gradient);
  return known && known.hasStaticShape() ? gradient : value;
}

void ReverseMode::addGradient(Value value, Value gradient) {
  gradient.setType(mergeShapes(gradient.getType(), value.getType()));
  gradients[value].push_back(gradient);
}

LogicalResult ReverseMode::run(Block &block,
                               ArrayRef<std::pair<Value, Value>> seeds) {
  for (auto [value, gradient] : seeds)
    gradients[value].push_back(gradient);
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    bool reaches = llvm::any_of(op->getResults(), [&](Value result) {
      return isNeeded(result) && gradients.contains(result);
    });
    if (!reaches || op->getNumOperands() + op->getNumRegions() == 0)
      continue;
    auto interface = dyn_cast<GradientOpInterface>(op);
    if (!interface)
      return op->emitError()
             << onnx::describeNode(op)
             << " has no gradient: its operator is not one of ONNX";
    if (failed(interface.buildGradient(*this)))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<Value>>
ReverseMode::differentiate(Block &block,
                           ArrayRef<std::pair<Value, Value>> seeds,
                           ArrayRef<Value> wanted) {
  Gradients around = std::move(gradients);
  gradients.clear();
  LogicalResult done = run(block, seeds);
  SmallVector<Value> found;
  if (succeeded(done))
    for (Value value : wanted)
      found.push_back(getGradient(value));
  gradients = std::move(around);
  if (failed(done))
    return failure();
  return found;
}

void ReverseMode::replace(Operation *op, ValueRange by) {
  for (auto [old, value] : llvm::zip_equal(op->getResults(), by)) {
    if (active.erase(old))
      active.insert(value);
    auto known = gradients.find(old);
    if (known == gradients.end())
      continue;
    SmallVector<Value, 2> parts = std::move(known->second);
    gradients.erase(known);
    gradients[value] = std::move(parts);
  }
  op->replaceAllUsesWith(by);
  op->erase();
}

FailureOr<SmallVector<Value>>
buildGradients(Block &block, onnx::NodeBuilder &nodes, ArrayRef<Value> losses,
               ArrayRef<Value> wanted, llvm::DenseSet<Value> active,
               Value seed) {
  ReverseMode reverse(nodes, std::move(active));
  SmallVector<std::pair<Value, Value>> seeds;
  for (Value loss : losses)
    seeds.push_back(
        {loss,
         seed ? nodes.expandLike(nodes.castLike(nodes.expr(seed), loss), loss)
              : nodes.filledLike(loss, 1.0)});
  // As operands, they are replaced with what makes them.
  Operation *terminator = block.getTerminator();
  unsigned first = terminator->getNumOperands();
  terminator->insertOperands(first, wanted);
  LogicalResult done = reverse.run(block, seeds);
  SmallVector<Value> gradients;
  for (Value value : terminator->getOperands().drop_front(first)) {
    Value gradient = succeeded(done) ? reverse.getGradient(value) : Value();
    gradients.push_back(gradient ? gradient
                                 : Value(nodes.filledLike(value, 0.0)));
  }
  terminator->eraseOperands(first, wanted.size());
  if (failed(done))
    return failure();
  return gradients;
}

} // namespace amp
