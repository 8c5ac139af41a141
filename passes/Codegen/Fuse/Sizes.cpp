//===- Sizes.cpp - how far the loops of a block go ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace amp::codegen {

unsigned Sizes::number(Value value, unsigned axis) {
  auto [it, isNew] = axes.try_emplace({value, axis}, count);
  if (isNew) {
    classes.grow(++count);
    numbers.push_back(cast<RankedTensorType>(value.getType()).getDimSize(axis));
    members.push_back({{value, axis}});
  }
  return it->second;
}

void Sizes::join(Operation &op) {
  auto alike = [&](Value a, Value b) {
    for (int64_t i = 0; i < cast<RankedTensorType>(a.getType()).getRank(); ++i)
      classes.join(number(a, i), number(b, i));
  };
  if (auto loop = dyn_cast<linalg::LinalgOp>(op)) {
    for (OpOperand &operand : op.getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      AffineMap map = loop.getMatchingIndexingMap(&operand);
      for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
        auto dimension = dyn_cast<AffineDimExpr>(expr);
        if (!dimension)
          continue;
        unsigned of = number(operand.get(), axis);
        auto [it, isNew] =
            loops.try_emplace({&op, dimension.getPosition()}, of);
        if (!isNew)
          classes.join(it->second, of);
      }
    }
    for (auto [result, init] :
         llvm::zip_equal(op.getResults(), loop.getDpsInits()))
      alike(result, init);
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    unsigned next = 0;
    auto type = empty.getType();
    for (int64_t i = 0; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i))
        continue;
      auto dim = empty.getDynamicSizes()[next++].getDefiningOp<tensor::DimOp>();
      std::optional<int64_t> axis = dim ? dim.getConstantIndex() : std::nullopt;
      if (axis)
        classes.join(number(empty, i), number(dim.getSource(), *axis));
    }
  } else if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> axis = dim.getConstantIndex();
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    if (axis && type && *axis >= 0 && *axis < type.getRank())
      number(dim.getSource(), *axis);
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    // Axes that are neither split nor joined.
    auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
    auto groups =
        expand ? expand.getReassociationIndices()
               : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
    for (auto [i, group] : llvm::enumerate(groups))
      if (group.size() == 1) {
        Value many = expand ? op.getResult(0) : op.getOperand(0);
        Value few = expand ? op.getOperand(0) : op.getResult(0);
        classes.join(number(many, group.front()), number(few, i));
      }
  } else if (isa<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(op.getOperand(0).getType()) &&
        isa<RankedTensorType>(op.getResult(0).getType()))
      alike(op.getOperand(0), op.getResult(0));
  }
}

Sizes::Sizes(Block &block) {
  for (Operation &op : block)
    join(op);
  // Leaders know what their classes know.
  for (unsigned i = 0; i < count; ++i) {
    unsigned leader = classes.findLeader(i);
    if (leader == i)
      continue;
    if (!ShapedType::isDynamic(numbers[i]))
      numbers[leader] = numbers[i];
    llvm::append_range(members[leader], members[i]);
  }
}

LoopSize Sizes::get(Value value, unsigned axis) const {
  auto it = axes.find({value, axis});
  if (it == axes.end())
    return {cast<RankedTensorType>(value.getType()).getDimSize(axis)};
  unsigned leader = classes.findLeader(it->second);
  return {numbers[leader], leader};
}

LoopSize Sizes::get(linalg::LinalgOp op, unsigned loop) const {
  auto it = loops.find({op.getOperation(), loop});
  if (it == loops.end())
    return {};
  unsigned leader = classes.findLeader(it->second);
  return {numbers[leader], leader};
}

int64_t Sizes::countElements(Value value) const {
  int64_t elements = 1;
  for (int64_t i = 0, e = cast<RankedTensorType>(value.getType()).getRank();
       i < e; ++i)
    elements *= get(value, i).estimate();
  return elements;
}

int64_t Sizes::countBytes(Value value) const {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  int64_t bytes =
      element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 8;
  return countElements(value) * bytes;
}

ArrayRef<std::pair<Value, unsigned>> Sizes::getAxes(LoopSize size) const {
  if (size.unknown >= members.size())
    return {};
  return members[size.unknown];
}

} // namespace amp::codegen
