//===- Gates.cpp - values that wait for others ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gates.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace amp {

using onnx::Expr;

void Gates::wait(ArrayRef<Value> late) {
  if (late.empty())
    return;
  llvm::append_range(pending, late);
  passed.clear();
  shapes.clear();
}

Value Gates::getEmpty() {
  if (pending.empty())
    return empty;
  llvm::MapVector<Type, SmallVector<Value>> parts;
  for (Value late : pending)
    parts[getElementTypeOrSelf(late)].push_back(
        nodes.slice(nodes.reshape(nodes.expr(late), {-1}), {0}, {0}, {0}));
  pending.clear();

  SmallVector<Value> lists;
  if (empty)
    lists.push_back(empty);
  Type integer = nodes.getBuilder().getI64Type();
  for (auto &[type, values] : parts)
    lists.push_back(nodes.cast(values.size() == 1 ? nodes.expr(values.front())
                                                  : nodes.concat(values, 0),
                               integer));
  empty = lists.size() == 1 ? lists.front() : Value(nodes.concat(lists, 0));
  return empty;
}

Value Gates::pass(Value value) {
  Value &known = passed[value];
  if (known)
    return known;
  Value shape = nodes.shape(value);
  Value &late = shapes[shape];
  if (!late)
    late = nodes.concat({shape, getEmpty()}, 0);
  known = nodes.apply("Reshape", {value, late});
  known.setType(value.getType());
  return known;
}

} // namespace amp
