//===- DeadNodes.cpp - what gradients left behind -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadNodes.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

/// True if the model, or a user of it, has a name for a result.
static bool isNamed(OpResult result) {
  auto names =
      result.getOwner()->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  if (!names)
    return false;
  if (names.size() != result.getOwner()->getNumResults())
    return true;
  auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]);
  return name && !name.getValue().empty();
}

/// The results that the model gave an operation with subgraphs.
static unsigned countDeclared(Operation *op) {
  Operation *end = op->getRegion(0).front().getTerminator();
  auto graph = end->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto outputs = graph ? graph.getAs<ArrayAttr>("output") : ArrayAttr();
  return outputs ? outputs.size() : 0;
}

/// The results of a Loop or Scan that are what it carries.
static unsigned countCarried(Operation *op) {
  unsigned arguments = op->getRegion(0).getNumArguments();
  if (op->getName().getStringRef() == "onnx.Loop")
    return arguments - std::min(arguments, 2u);
  auto scanned = op->getAttrOfType<IntegerAttr>("num_scan_inputs");
  return scanned ? arguments - std::min<unsigned>(arguments, scanned.getInt())
                 : 0;
}

template <typename T>
static SmallVector<T> keep(ArrayRef<T> list, ArrayRef<unsigned> kept) {
  SmallVector<T> result;
  for (unsigned i : kept)
    if (i < list.size())
      result.push_back(list[i]);
  return result;
}

/// An operation with subgraphs, without its results that are dead.
static Operation *dropResults(Operation *op) {
  unsigned carried = countCarried(op);
  bool isLoop = op->getName().getStringRef() == "onnx.Loop";
  // The subgraph has names for those.
  unsigned declared = countDeclared(op);
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    if (result.getResultNumber() < carried ||
        result.getResultNumber() + isLoop < declared || !result.use_empty() ||
        isNamed(result)) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  if (kept.empty() || kept.size() == op->getNumResults())
    return op;
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  if (auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
    state.attributes.set(ONNXDialect::kOutputs,
                         builder.getArrayAttr(keep(names.getValue(), kept)));
  for (StringRef name : {"scan_output_axes", "scan_output_directions"})
    if (auto list = op->getAttrOfType<DenseI64ArrayAttr>(name)) {
      SmallVector<int64_t> numbers;
      for (unsigned i : kept)
        if (i >= carried && i - carried < list.size())
          numbers.push_back(list[i - carried]);
      state.attributes.set(name, builder.getDenseI64ArrayAttr(numbers));
    }
  for ([[maybe_unused]] Region &region : op->getRegions())
    state.addRegion();
  Operation *created = builder.create(state);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), created->getRegions())) {
    to.takeBody(from);
    Operation *end = to.front().getTerminator();
    SmallVector<Value> yielded;
    if (isLoop)
      yielded.push_back(end->getOperand(0));
    for (unsigned i : kept)
      yielded.push_back(end->getOperand(i + isLoop));
    end->setOperands(yielded);
  }
  for (auto [i, result] : llvm::zip_equal(kept, created->getResults()))
    op->getResult(i).replaceAllUsesWith(result);
  op->erase();
  return created;
}

static bool isControlFlow(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name == "onnx.If" || name == "onnx.Loop" || name == "onnx.Scan";
}

void eraseDeadNodes(Block &block) {
  for (Operation *op = block.getTerminator()->getPrevNode(), *before = nullptr;
       op; op = before) {
    before = op->getPrevNode();
    if (op->getNumResults() == 0)
      continue;
    if (op->use_empty() && llvm::none_of(op->getResults(), isNamed) &&
        !op->hasAttr(ONNXDialect::kOutputs)) {
      op->erase();
      continue;
    }
    if (isControlFlow(op))
      op = dropResults(op);
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        eraseDeadNodes(inner);
  }
}

} // namespace amp
