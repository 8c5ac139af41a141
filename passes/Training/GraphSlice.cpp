//===- GraphSlice.cpp - what values of a graph depend on ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphSlice.h"

using namespace mlir;

namespace amp {

void visitReadValues(Operation *op, llvm::function_ref<void(Value)> visit) {
  Block *block = op->getBlock();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == block)
        visit(operand);
  });
}

GraphSlice sliceGraph(Block &block, ValueRange values,
                      ArrayRef<Operation *> roots) {
  GraphSlice slice;
  SmallVector<Operation *> list;
  auto add = [&](Operation *op) {
    if (op && op->getBlock() == &block && slice.insert(op).second)
      list.push_back(op);
  };
  for (Value value : values)
    add(value.getDefiningOp());
  for (Operation *op : roots)
    add(op);
  while (!list.empty())
    visitReadValues(list.pop_back_val(),
                    [&](Value value) { add(value.getDefiningOp()); });
  return slice;
}

} // namespace amp
