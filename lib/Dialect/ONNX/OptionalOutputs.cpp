//===- OptionalOutputs.cpp - outputs that a node leaves out ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/OptionalOutputs.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

using namespace mlir;

namespace amp::onnx {

static SmallVector<Value, 4> byPosition(ValueRange values,
                                        ArrayRef<unsigned> positions) {
  SmallVector<Value, 4> all;
  for (auto [value, position] : llvm::zip_equal(values, positions)) {
    all.resize(std::max<size_t>(all.size(), position + 1));
    all[position] = value;
  }
  return all;
}

SmallVector<Value, 4> inputsByPosition(Operation *op) {
  return byPosition(op->getOperands(), inputPositions(op));
}

SmallVector<Value, 4> outputsByPosition(Operation *op) {
  return byPosition(op->getResults(), outputPositions(op));
}

Operation *withOutputs(Operation *op, unsigned count, NodeBuilder &nodes) {
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().getValue().ends_with("SegmentSizes") &&
        attribute.getName() != ONNXDialect::kOutputs)
      attributes.push_back(attribute);
  Operation *whole = nodes.node(lookupOperator(op->getName())->name,
                                inputsByPosition(op), attributes, count);
  auto known = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  if (!known)
    return whole;
  SmallVector<Attribute> names(count, StringAttr::get(op->getContext(), ""));
  for (auto [i, position] : llvm::enumerate(outputPositions(op))) {
    // With or without empty names of what is left out.
    size_t index = known.size() == op->getNumResults() ? i : position;
    if (index < known.size())
      names[position] = known[index];
  }
  whole->setAttr(ONNXDialect::kOutputs,
                 ArrayAttr::get(op->getContext(), names));
  return whole;
}

} // namespace amp::onnx
