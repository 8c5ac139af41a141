//===- Subgraphs.cpp - values of subgraphs that gradients read ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subgraphs.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/Schema.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace amp::onnx {

SmallVector<Value> findCaptured(Gradient &gradient) {
  llvm::SetVector<Value> captured;
  for (Region &region : gradient.getOperation()->getRegions())
    region.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!region.isAncestor(operand.getParentRegion()) &&
            gradient.getContext().isNeeded(operand))
          captured.insert(operand);
    });
  return captured.takeVector();
}

static bool isNamed(Operation *op, StringRef name) {
  return op && op->getName().getStringRef() == name;
}

void readFrom(ArrayRef<OpOperand *> uses, Value value) {
  for (OpOperand *use : uses)
    use->set(value);
}

/// Where `backward` reads a value of `forward`.
static SavedValues findUses(Region &forward, Region &backward) {
  SavedValues uses;
  backward.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (forward.isAncestor(operand.get().getParentRegion()))
        uses[operand.get()].push_back(&operand);
  });
  return uses;
}

SavedValues findSaved(Region &forward, Region &backward) {
  Operation *end = forward.front().getTerminator();
  for (auto &[value, uses] : findUses(forward, backward)) {
    llvm::DenseMap<Attribute, Value> shapes;
    for (OpOperand *use : uses) {
      Operation *reader = use->getOwner();
      if (!isNamed(reader, "onnx.Shape"))
        continue;
      Value &shape = shapes[reader->getAttrDictionary()];
      if (!shape) {
        OpBuilder builder(end);
        shape = builder.clone(*reader)->getResult(0);
      }
      reader->getResult(0).replaceAllUsesWith(shape);
      reader->erase();
    }
  }
  SavedValues saved;
  for (auto &[value, uses] : findUses(forward, backward)) {
    Operation *maker = value.getDefiningOp();
    if (isNamed(maker, "onnx.Constant")) {
      OpBuilder builder(backward.getContext());
      builder.setInsertionPointToStart(&backward.front());
      Operation *copy = builder.clone(*maker);
      copy->removeAttr(ONNXDialect::kOutputs);
      copy->removeAttr(ONNXDialect::kName);
      readFrom(uses, copy->getResult(0));
    } else if (isNamed(maker, "onnx.Initializer")) {
      maker->moveBefore(forward.getParentOp());
    } else {
      saved.insert({value, uses});
    }
  }
  return saved;
}

Operation *addResults(Operation *op, unsigned number) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  state.addTypes(SmallVector<Type>(number, UnknownType::get(op->getContext())));
  state.addAttributes(op->getAttrs());
  for ([[maybe_unused]] Region &region : op->getRegions())
    state.addRegion();
  if (auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs)) {
    SmallVector<Attribute> all(names.begin(), names.end());
    all.resize(op->getNumResults() + number, builder.getStringAttr(""));
    state.attributes.set(ONNXDialect::kOutputs, builder.getArrayAttr(all));
  }
  Operation *created = builder.create(state);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), created->getRegions()))
    to.takeBody(from);
  return created;
}

Operation *findRandom(Operation *op) {
  Operation *found = nullptr;
  op->walk([&](Operation *inner) {
    const Schema *schema = getSchema(inner);
    // Of what has subgraphs, their nodes count.
    if ((schema && (schema->deterministic || inner->getNumRegions() != 0)) ||
        isNamed(inner, "onnx.Yield") || isNamed(inner, "onnx.Initializer"))
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

void dropValueNames(Operation *terminator) {
  auto graph = terminator->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  if (!graph)
    return;
  NamedAttrList fields(graph);
  for (StringRef values : {"input", "output", "value_info"})
    fields.erase(values);
  terminator->setAttr(ONNXDialect::kGraph,
                      fields.getDictionary(terminator->getContext()));
}

Value withTypeOf(NodeBuilder &b, Value value, Value like) {
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type || value.getType() == type ||
      (isa<RankedTensorType>(value.getType()) &&
       cast<RankedTensorType>(value.getType()).hasStaticShape()))
    return value;
  Value same = b.apply("Identity", {value});
  same.setType(type);
  return same;
}

} // namespace amp::onnx
