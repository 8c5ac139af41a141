//===- ActivePaths.cpp - what depends on what, for gradients --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivePaths.h"

#include "amp/Interfaces/ElementTypes.h"
#include "amp/Interfaces/GradientOpInterface.h"

using namespace mlir;

namespace amp {

ActivePaths::ActivePaths(Operation *root) {
  for (Region &region : root->getRegions())
    region.walk([&](Operation *op) { addOperation(op); });
}

static bool isFloat(Value value) {
  return bool(getFloatElementType(value.getType()));
}

/// All that is read leads to all results: by one point between them, since
/// there may be many of both.
void ActivePaths::addHub(Operation *op) {
  for (Value operand : op->getOperands())
    if (isFloat(operand))
      addEdge(operand, op);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (isFloat(operand) && !region.isAncestor(operand.getParentRegion()))
          addEdge(operand, op);
    });
  for (Value result : op->getResults())
    if (isFloat(result))
      addEdge(op, result);
}

void ActivePaths::addOperation(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  auto interface = dyn_cast<GradientOpInterface>(op);
  if (!interface)
    return addHub(op);
  if (op->getNumRegions() != 0) {
    SmallVector<std::pair<Value, Value>> flow;
    interface.getRegionFlow(flow);
    for (auto [from, to] : flow)
      if (isFloat(from) && isFloat(to))
        addEdge(from, to);
    if (flow.empty())
      addHub(op);
    return;
  }
  for (OpOperand &operand : op->getOpOperands())
    for (OpResult result : op->getResults())
      if (interface.isGradientPath(operand.getOperandNumber(),
                                   result.getResultNumber()))
        addEdge(operand.get(), result);
}

llvm::DenseSet<Value> ActivePaths::follow(ArrayRef<Value> values,
                                          const Edges &edges) {
  llvm::DenseSet<Point> seen(values.begin(), values.end());
  SmallVector<Point> list(seen.begin(), seen.end());
  while (!list.empty()) {
    auto next = edges.find(list.pop_back_val());
    if (next == edges.end())
      continue;
    for (Point point : next->second)
      if (seen.insert(point).second)
        list.push_back(point);
  }
  llvm::DenseSet<Value> found;
  for (Point point : seen)
    if (auto value = dyn_cast<Value>(point))
      found.insert(value);
  return found;
}

} // namespace amp
