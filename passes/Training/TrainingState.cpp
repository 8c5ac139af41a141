//===- TrainingState.cpp - what a training step carries -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingState.h"

#include "NamedValues.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Support/Quoted.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

func::FuncOp findMainGraph(ModuleOp module, StringRef purpose) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (main && !main.getBody().empty())
    return main;
  module.emitError("has no main graph to ") << purpose;
  return {};
}

void updateType(func::FuncOp graph) {
  Block &block = graph.getBody().front();
  graph.setFunctionType(
      FunctionType::get(graph.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
}

/// An entry of a graph's field `input` or `output`.
static Attribute makeEntry(MLIRContext *context, StringRef name) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      builder.getNamedAttr("name", builder.getStringAttr(name)));
}

BlockArgument InterfaceUpdate::addInput(StringRef name, Type type) {
  inputs.push_back(makeEntry(graph.getContext(), name));
  return graph.getBody().front().addArgument(type, graph.getLoc());
}

BlockArgument InterfaceUpdate::addInput(StringRef name, TypedAttr initial) {
  BlockArgument argument = addInput(name, initial.getType());
  auto tensor = dyn_cast<onnx::TensorAttr>(initial);
  if (!tensor)
    tensor =
        onnx::TensorAttr::get(graph.getContext(), initial, DictionaryAttr());
  OpBuilder builder = OpBuilder::atBlockBegin(&graph.getBody().front());
  onnx::DefaultInputOp::create(builder, graph.getLoc(), argument, tensor);
  return argument;
}

void InterfaceUpdate::addOutput(StringRef name, Value value) {
  outputs.push_back(makeEntry(graph.getContext(), name));
  returned.push_back(value);
}

InterfaceUpdate::~InterfaceUpdate() {
  Operation *terminator = graph.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), returned);
  NamedAttrList entries(
      graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph));
  auto append = [&](StringRef key, ArrayRef<Attribute> added) {
    SmallVector<Attribute> list;
    if (auto known = dyn_cast_if_present<ArrayAttr>(entries.get(key)))
      llvm::append_range(list, known);
    llvm::append_range(list, added);
    if (!added.empty())
      entries.set(key, ArrayAttr::get(graph.getContext(), list));
  };
  append("input", inputs);
  append("output", outputs);
  graph->setAttr(ONNXDialect::kGraph,
                 entries.getDictionary(graph.getContext()));
  updateType(graph);
}

BlockArgument addInput(func::FuncOp graph, StringRef name, Type type) {
  return InterfaceUpdate(graph).addInput(name, type);
}

BlockArgument addInput(func::FuncOp graph, StringRef name, TypedAttr initial) {
  return InterfaceUpdate(graph).addInput(name, initial);
}

void addOutput(func::FuncOp graph, StringRef name, Value value) {
  InterfaceUpdate(graph).addOutput(name, value);
}

/// Erases entries of a list of fields of a graph.
static void eraseEntries(func::FuncOp graph, StringRef key,
                         const llvm::BitVector &erased) {
  NamedAttrList fields(
      graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph));
  SmallVector<Attribute> kept;
  if (auto known = dyn_cast_if_present<ArrayAttr>(fields.get(key)))
    for (auto [i, entry] : llvm::enumerate(known))
      if (i >= erased.size() || !erased.test(i))
        kept.push_back(entry);
  fields.set(key, ArrayAttr::get(graph.getContext(), kept));
  graph->setAttr(ONNXDialect::kGraph, fields.getDictionary(graph.getContext()));
}

void eraseOutputs(func::FuncOp graph, const llvm::BitVector &erased) {
  graph.getBody().front().getTerminator()->eraseOperands(erased);
  eraseEntries(graph, "output", erased);
  updateType(graph);
}

void removeOutputs(func::FuncOp graph, Value value) {
  Operation *terminator = graph.getBody().front().getTerminator();
  llvm::BitVector erased(terminator->getNumOperands());
  for (OpOperand &output : terminator->getOpOperands())
    if (output.get() == value)
      erased.set(output.getOperandNumber());
  eraseOutputs(graph, erased);
}

void eraseInputs(func::FuncOp graph, const llvm::BitVector &erased) {
  Block &block = graph.getBody().front();
  for (unsigned index : erased.set_bits())
    for (Operation *user :
         llvm::make_early_inc_range(block.getArgument(index).getUsers()))
      user->erase();
  block.eraseArguments(erased);
  eraseEntries(graph, "input", erased);
  updateType(graph);
}

FailureOr<SmallVector<TrainedInput>> findTrainedInputs(func::FuncOp graph) {
  NamedValues named(graph);
  SmallVector<TrainedInput> found;
  unsigned count = graph.getBody().front().getTerminator()->getNumOperands();
  for (unsigned i = 0; i < count; ++i) {
    StringRef base = getOutputName(graph, i);
    if (!base.consume_back(kGradientSuffix))
      continue;
    auto input = dyn_cast_if_present<BlockArgument>(named.lookup(base));
    if (!input)
      continue;
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || !type.hasStaticShape() || !type.getElementType().isF32())
      return graph.emitError() << "parameter " << quoted(base)
                               << " expects float32 and a static shape, but is "
                               << input.getType();
    found.push_back({base.str(), input, i});
  }
  if (found.empty())
    return graph.emitError("has no input 'X' with an output 'X_grad': "
                           "amp-differentiate makes them");
  return found;
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kStateKey = "amp.state";

/// The entries of the metadata, and the value of the one with this key.
static std::pair<SmallVector<Attribute>, StringRef>
takeMetadata(ModuleOp module, StringRef key) {
  SmallVector<Attribute> others;
  StringRef value;
  auto model = module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
  if (auto known =
          model ? model.getAs<ArrayAttr>("metadata_props") : ArrayAttr())
    for (Attribute entry : known) {
      auto fields = dyn_cast<DictionaryAttr>(entry);
      auto name = fields ? fields.getAs<StringAttr>("key") : StringAttr();
      if (!name || name.getValue() != key)
        others.push_back(entry);
      else if (auto text = fields.getAs<StringAttr>("value"))
        value = text.getValue();
    }
  return {std::move(others), value};
}

void setMetadata(ModuleOp module, StringRef key, llvm::json::Value value) {
  Builder builder(module.getContext());
  SmallVector<Attribute> entries = takeMetadata(module, key).first;
  std::string text;
  llvm::raw_string_ostream(text) << value;
  entries.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("key", builder.getStringAttr(key)),
       builder.getNamedAttr("value", builder.getStringAttr(text))}));
  NamedAttrList model(
      module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel));
  model.set("metadata_props", builder.getArrayAttr(entries));
  module->setAttr(ONNXDialect::kModel,
                  model.getDictionary(module.getContext()));
}

SmallVector<StatePair> getStatePairs(ModuleOp module) {
  SmallVector<StatePair> pairs;
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(takeMetadata(module, kStateKey).second);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return pairs;
  }
  if (const llvm::json::Array *list = parsed->getAsArray())
    for (const llvm::json::Value &entry : *list) {
      const llvm::json::Object *fields = entry.getAsObject();
      auto input = fields ? fields->getString("input") : std::nullopt;
      auto output = fields ? fields->getString("output") : std::nullopt;
      if (input && output)
        pairs.push_back({input->str(), output->str()});
    }
  return pairs;
}

void setStatePairs(ModuleOp module, ArrayRef<StatePair> pairs) {
  llvm::json::Array list;
  for (const auto &[input, output] : pairs)
    list.push_back(llvm::json::Object{{"input", llvm::json::fixUTF8(input)},
                                      {"output", llvm::json::fixUTF8(output)}});
  setMetadata(module, kStateKey, std::move(list));
}

void clearStatePairs(ModuleOp module) {
  NamedAttrList model(
      module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel));
  SmallVector<Attribute> others = takeMetadata(module, kStateKey).first;
  if (others.empty())
    model.erase("metadata_props");
  else
    model.set("metadata_props", ArrayAttr::get(module.getContext(), others));
  module->setAttr(ONNXDialect::kModel,
                  model.getDictionary(module.getContext()));
}

void addStatePairs(ModuleOp module, ArrayRef<StatePair> added) {
  SmallVector<StatePair> pairs = getStatePairs(module);
  llvm::append_range(pairs, added);
  setStatePairs(module, pairs);
}

} // namespace amp
