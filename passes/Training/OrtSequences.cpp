//===- OrtSequences.cpp - formulas over sequences of tensors --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrtSequences.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

SmallVector<Value>
forEachPosition(NodeBuilder &b, Value sequence, ArrayRef<Value> initial,
                llvm::function_ref<SmallVector<Value>(Expr, ValueRange)> body) {
  OpBuilder &builder = b.getBuilder();
  SmallVector<Value> inputs = {b.apply("SequenceLength", {sequence}), Value()};
  llvm::append_range(inputs, initial);
  Operation *loop = b.node("Loop", inputs, {}, initial.size());
  SmallVector<Type> types = {RankedTensorType::get({}, builder.getI64Type()),
                             RankedTensorType::get({}, builder.getI1Type())};
  llvm::append_range(types, ValueRange(initial).getTypes());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(
        &loop->getRegion(0), {}, types,
        SmallVector<Location>(types.size(), b.getLocation()));
    SmallVector<Value> yielded = {b.apply("Identity", {block->getArgument(1)})};
    llvm::append_range(yielded, body(b.expr(block->getArgument(0)),
                                     block->getArguments().drop_front(2)));
    b.yield(yielded);
  }
  for (auto [result, value] : llvm::zip_equal(loop->getResults(), initial))
    result.setType(value.getType());
  return SmallVector<Value>(loop->getResults());
}

Expr at(NodeBuilder &b, Value sequence, Expr position) {
  Expr tensor = b.apply("SequenceAt", {sequence, position});
  if (auto type = dyn_cast<onnx::SequenceType>(sequence.getType()))
    Value(tensor).setType(type.getElementType());
  return tensor;
}

SmallVector<Value>
mapPositions(NodeBuilder &b, Value like, unsigned count,
             llvm::function_ref<SmallVector<Value>(Expr)> body) {
  SmallVector<Value> empty;
  for (unsigned i = 0; i < count; ++i) {
    empty.push_back(b.apply("SequenceEmpty", {}));
    empty.back().setType(like.getType());
  }
  return forEachPosition(
      b, like, empty, [&](Expr position, ValueRange carried) {
        SmallVector<Value> longer;
        for (auto [sequence, value] :
             llvm::zip_equal(carried, body(position))) {
          longer.push_back(b.apply("SequenceInsert", {sequence, value}));
          longer.back().setType(sequence.getType());
        }
        return longer;
      });
}

} // namespace amp
