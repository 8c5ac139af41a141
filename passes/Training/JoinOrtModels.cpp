//===- JoinOrtModels.cpp - ONNX Runtime's training models as one ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/OrtModels.h"

#include "JoinedGraphs.h"
#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::CustomOp;
using onnx::ONNXDialect;

/// A parameter of a training model, and its gradient.
struct Trained {
  std::string name;
  BlockArgument value;
  Value gradient;
};

class OrtModelJoiner {
public:
  OrtModelJoiner(func::FuncOp main, func::FuncOp update)
      : main(main), update(update), builder(main.getContext()),
        nodes(builder, main) {}

  LogicalResult join();

private:
  Block &getBlock() { return main.getBody().front(); }
  LogicalResult findTrained();
  LogicalResult mapInputs();
  LogicalResult mapInput(InterfaceUpdate &interface, BlockArgument argument);
  Value makeSequence(ArrayRef<Value> tensors);
  void cloneUpdate();
  void countSteps();
  void eraseAccumulators();

  func::FuncOp main, update;
  OpBuilder builder;
  onnx::NodeBuilder nodes;
  SmallVector<Trained> trained;
  SmallVector<CustomOp> accumulators;
  IRMapping mapping;
  /// The number of the step, if the optimizer asks for it, and whether it was
  /// made.
  BlockArgument step;
  Value flag;
};

/// The inputs whose gradients are accumulated: ONNX Runtime names buffers.
LogicalResult OrtModelJoiner::findTrained() {
  constexpr StringLiteral kBuffer = "_grad.accumulation.buffer";
  NamedValues named(main);
  for (auto op : getBlock().getOps<CustomOp>())
    if (op.getOpType() == "InPlaceAccumulatorV2" && op->getNumOperands() >= 2)
      accumulators.push_back(op);
  if (accumulators.empty())
    return main.emitError("expects ONNX Runtime's training model, but has no "
                          "InPlaceAccumulatorV2");
  for (CustomOp op : accumulators) {
    auto buffer = dyn_cast<BlockArgument>(op->getOperand(0));
    StringRef name = buffer ? nameOfInput(buffer) : StringRef();
    bool isBuffer = name.consume_back(kBuffer);
    auto parameter = dyn_cast_if_present<BlockArgument>(named.lookup(name));
    if (!isBuffer || !parameter)
      return op.emitError()
             << onnx::describeNode(op)
             << " expects a buffer 'X_grad.accumulation.buffer' for an input "
                "'X', as ONNX Runtime names them";
    auto type = dyn_cast<RankedTensorType>(parameter.getType());
    if (!type || !type.hasStaticShape() || !type.getElementType().isF32())
      return main.emitError() << "parameter " << quoted(name)
                              << " expects float32 and a static shape, but is "
                              << parameter.getType();
    trained.push_back({name.str(), parameter, op->getOperand(1)});
  }
  return success();
}

Value OrtModelJoiner::makeSequence(ArrayRef<Value> tensors) {
  Operation *op = nodes.node("SequenceConstruct", tensors);
  op->setDiscardableAttr(AMPDialect::kKeep,
                         builder.getStringAttr("read by an optimizer"));
  return op->getResult(0);
}

/// "first_order_moment" of "first_order_moments".
StringRef getSingular(StringRef name) {
  name.consume_back("s");
  return name;
}

LogicalResult OrtModelJoiner::mapInput(InterfaceUpdate &interface,
                                       BlockArgument argument) {
  StringRef name = nameOfInput(argument);
  if (isa<onnx::SequenceType>(argument.getType())) {
    SmallVector<Value> tensors;
    for (const Trained &each : trained) {
      if (name == "params")
        tensors.push_back(each.value);
      else if (name == "gradients")
        tensors.push_back(each.gradient);
      else
        tensors.push_back(interface.addInput(
            each.name + "." + getSingular(name).str(),
            DenseElementsAttr::get(cast<ShapedType>(each.value.getType()),
                                   0.0f)));
    }
    mapping.map(argument, makeSequence(tensors));
    return success();
  }
  if (NamedValues(main).contains(name))
    return update.emitError() << "has an input " << quoted(name)
                              << ", as a value of the training model is named";
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (name != "step" || !type || !type.hasStaticShape() ||
      !type.getElementType().isInteger(64)) {
    mapping.map(argument, interface.addInput(name, argument.getType()));
    return success();
  }
  step = interface.addInput(name, DenseElementsAttr::get(type, int64_t(1)));
  mapping.map(argument, step);
  return success();
}

LogicalResult OrtModelJoiner::mapInputs() {
  for (StringRef name : {"params", "gradients"})
    if (llvm::none_of(update.getArguments(), [&](BlockArgument argument) {
          return nameOfInput(argument) == name &&
                 isa<onnx::SequenceType>(argument.getType());
        }))
      return update.emitError()
             << "expects ONNX Runtime's optimizer model, but has no sequence "
             << quoted(name);
  InterfaceUpdate interface(main);
  for (BlockArgument argument : update.getArguments())
    if (!argument.use_empty() && failed(mapInput(interface, argument)))
      return failure();
  return success();
}

/// The optimizer's nodes, under names of their own, and its outputs but
/// sequences, whose tensors are state.
void OrtModelJoiner::cloneUpdate() {
  llvm::StringSet<> names = collectNames(main), nodeNames;
  collectNodeNames(main, nodeNames);
  Block &body = update.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    renameNodes(copy, nodeNames);
    for (auto [name, result] :
         llvm::zip_equal(getResultNames(copy), copy->getResults()))
      if (!name.empty())
        setResultName(result, makeUnique(name, names));
  }
  InterfaceUpdate interface(main);
  for (auto [i, output] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(output.getType());
    if (!type)
      continue;
    Value value = mapping.lookupOrDefault(output);
    if (!flag && type.getElementType().isInteger(1))
      flag = value;
    StringRef name = getOutputName(update, i);
    if (Operation *maker = value.getDefiningOp())
      name = getResultNames(maker)[cast<OpResult>(value).getResultNumber()];
    interface.addOutput(name, value);
  }
}

/// What ONNX Runtime's training API does: steps that are skipped don't count.
void OrtModelJoiner::countSteps() {
  if (!step)
    return;
  onnx::Expr number = nodes.expr(step), one = nodes.integer(1);
  if (flag)
    one = nodes.reshapeLike(nodes.cast(nodes.expr(flag), builder.getI64Type()),
                            step);
  StringRef name = nameOfInput(step);
  addOutput(main, nextName(name), number + one);
  addStatePairs(main->getParentOfType<ModuleOp>(),
                {{name.str(), nextName(name)}});
}

/// And what they alone read, the buffers and the switch that restarts them.
void OrtModelJoiner::eraseAccumulators() {
  llvm::BitVector unread(main.getNumArguments());
  SmallVector<BlockArgument> read;
  for (CustomOp op : accumulators) {
    for (Value result : op->getResults())
      removeOutputs(main, result);
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        read.push_back(argument);
    if (op->use_empty())
      op->erase();
  }
  for (BlockArgument argument : read)
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
  eraseInputs(main, unread);
}

LogicalResult OrtModelJoiner::join() {
  if (failed(findTrained()))
    return failure();
  builder.setInsertionPoint(getBlock().getTerminator());
  if (failed(mapInputs()))
    return failure();
  cloneUpdate();
  countSteps();
  eraseAccumulators();
  return success();
}

/// The domains that a model imports, and others, too.
void addImports(ModuleOp module, ModuleOp other) {
  auto getImports = [](ModuleOp of) {
    auto model = of->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
    auto imports = model ? model.getAs<ArrayAttr>("opset_import") : ArrayAttr();
    return imports ? SmallVector<Attribute>(imports.begin(), imports.end())
                   : SmallVector<Attribute>();
  };
  auto getDomain = [](Attribute import) {
    auto fields = dyn_cast<DictionaryAttr>(import);
    return fields ? fields.get("domain") : Attribute();
  };
  SmallVector<Attribute> imports = getImports(module);
  for (Attribute import : getImports(other))
    if (llvm::none_of(imports, [&](Attribute known) {
          return getDomain(known) == getDomain(import);
        }))
      imports.push_back(import);
  NamedAttrList model(
      module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel));
  model.set("opset_import", ArrayAttr::get(module.getContext(), imports));
  module->setAttr(ONNXDialect::kModel,
                  model.getDictionary(module.getContext()));
}

} // namespace

LogicalResult joinOrtModels(ModuleOp training, ModuleOp optimizer) {
  func::FuncOp main = findMainGraph(training),
               update = findMainGraph(optimizer);
  if (!main || !update)
    return failure();
  if (!llvm::hasSingleElement(optimizer.getOps<func::FuncOp>()))
    return optimizer.emitError("expects ONNX Runtime's optimizer model, but "
                               "has functions");
  if (failed(OrtModelJoiner(main, update).join()))
    return failure();
  addImports(training, optimizer);
  return success();
}

} // namespace amp
