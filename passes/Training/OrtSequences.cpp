//===- OrtSequences.cpp - formulas over sequences of tensors --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrtSequences.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

std::optional<OperandRange> getElements(Value sequence) {
  auto construct = sequence.getDefiningOp<onnx::SequenceConstructOp>();
  return construct ? std::optional(construct->getOperands()) : std::nullopt;
}

/// The number of a position that is known.
static std::optional<int64_t> getNumber(Value position) {
  auto constant = position.getDefiningOp<onnx::ConstantOp>();
  auto tensor = constant ? constant->getAttrOfType<onnx::TensorAttr>("value")
                         : onnx::TensorAttr();
  auto elements =
      tensor ? dyn_cast<DenseIntElementsAttr>(Attribute(tensor.getValue()))
             : DenseIntElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return (*elements.begin()).getSExtValue();
}

SmallVector<Value>
forEachPosition(NodeBuilder &b, Value sequence, ArrayRef<Value> initial,
                llvm::function_ref<SmallVector<Value>(Expr, ValueRange)> body) {
  if (std::optional<OperandRange> elements = getElements(sequence)) {
    SmallVector<Value> carried(initial);
    for (size_t i = 0; i < elements->size(); ++i)
      carried = body(b.integer(i), carried);
    return carried;
  }
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
  std::optional<OperandRange> elements = getElements(sequence);
  std::optional<int64_t> number = getNumber(position);
  if (elements && number && size_t(*number) < elements->size())
    return b.expr((*elements)[*number]);
  Expr tensor = b.apply("SequenceAt", {sequence, position});
  if (auto type = dyn_cast<onnx::SequenceType>(sequence.getType()))
    Value(tensor).setType(type.getElementType());
  return tensor;
}

SmallVector<Value>
mapPositions(NodeBuilder &b, Value like, unsigned count,
             llvm::function_ref<SmallVector<Value>(Expr)> body) {
  if (std::optional<OperandRange> elements = getElements(like)) {
    SmallVector<SmallVector<Value>> tensors(count);
    for (size_t i = 0; i < elements->size(); ++i)
      for (auto [sequence, value] :
           llvm::zip_equal(tensors, body(b.integer(i))))
        sequence.push_back(value);
    return llvm::map_to_vector(tensors, [&](ArrayRef<Value> each) -> Value {
      return b.apply("SequenceConstruct", each);
    });
  }
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
