//===- TrainingState.cpp - what a training step carries -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingState.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "llvm/Support/JSON.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

static constexpr StringLiteral kStateKey = "amp.state";

/// Adds an entry to a list of fields of a graph: `input`, `output`.
static void addEntry(func::FuncOp graph, StringRef key, StringRef name) {
  Builder builder(graph.getContext());
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  NamedAttrList entries(fields);
  SmallVector<Attribute> list;
  if (auto known = dyn_cast_if_present<ArrayAttr>(entries.get(key)))
    llvm::append_range(list, known);
  list.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr("name", builder.getStringAttr(name))));
  entries.set(key, builder.getArrayAttr(list));
  graph->setAttr(ONNXDialect::kGraph,
                 entries.getDictionary(graph.getContext()));
}

static StringRef getEntryName(func::FuncOp graph, StringRef list,
                              size_t position) {
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto entries = fields ? fields.getAs<ArrayAttr>(list) : ArrayAttr();
  auto entry = entries && position < entries.size()
                   ? dyn_cast<DictionaryAttr>(entries[position])
                   : DictionaryAttr();
  auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

StringRef getInputName(func::FuncOp graph, size_t position) {
  return getEntryName(graph, "input", position);
}

StringRef getOutputName(func::FuncOp graph, size_t position) {
  return getEntryName(graph, "output", position);
}

void updateType(func::FuncOp graph) {
  Block &block = graph.getBody().front();
  graph.setFunctionType(
      FunctionType::get(graph.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
}

BlockArgument addInput(func::FuncOp graph, StringRef name, TypedAttr initial) {
  Block &block = graph.getBody().front();
  BlockArgument argument = block.addArgument(initial.getType(), graph.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  onnx::DefaultInputOp::create(
      builder, graph.getLoc(), argument,
      onnx::TensorAttr::get(graph.getContext(), initial, DictionaryAttr()));
  addEntry(graph, "input", name);
  updateType(graph);
  return argument;
}

void addOutput(func::FuncOp graph, StringRef name, Value value) {
  Operation *terminator = graph.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), value);
  addEntry(graph, "output", name);
  updateType(graph);
}

SmallVector<StatePair> getStatePairs(ModuleOp module) {
  auto model = module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
  auto metadata =
      model ? model.getAs<ArrayAttr>("metadata_props") : ArrayAttr();
  SmallVector<StatePair> pairs;
  for (Attribute entry :
       metadata ? metadata.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    auto key = fields ? fields.getAs<StringAttr>("key") : StringAttr();
    auto text = fields ? fields.getAs<StringAttr>("value") : StringAttr();
    if (!key || key.getValue() != kStateKey || !text)
      continue;
    llvm::Expected<llvm::json::Value> parsed =
        llvm::json::parse(text.getValue());
    if (!parsed) {
      llvm::consumeError(parsed.takeError());
      continue;
    }
    const llvm::json::Array *list = parsed->getAsArray();
    for (const llvm::json::Value &pair : list ? *list : llvm::json::Array())
      if (const llvm::json::Object *object = pair.getAsObject())
        pairs.push_back({object->getString("input").value_or("").str(),
                         object->getString("output").value_or("").str()});
  }
  return pairs;
}

void addStatePairs(ModuleOp module, ArrayRef<StatePair> added) {
  Builder builder(module.getContext());
  NamedAttrList model(
      module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel));
  SmallVector<Attribute> metadata;
  llvm::json::Array pairs;
  if (auto known = dyn_cast_if_present<ArrayAttr>(model.get("metadata_props")))
    for (Attribute entry : known) {
      auto fields = dyn_cast<DictionaryAttr>(entry);
      auto key = fields ? fields.getAs<StringAttr>("key") : StringAttr();
      if (!key || key.getValue() != kStateKey) {
        metadata.push_back(entry);
        continue;
      }
      auto text = fields.getAs<StringAttr>("value");
      llvm::Expected<llvm::json::Value> parsed =
          llvm::json::parse(text ? text.getValue() : StringRef());
      if (parsed && parsed->getAsArray())
        pairs = std::move(*parsed->getAsArray());
      else
        llvm::consumeError(parsed.takeError());
    }
  for (const auto &[input, output] : added)
    pairs.push_back(
        llvm::json::Object{{"input", llvm::json::fixUTF8(input)},
                           {"output", llvm::json::fixUTF8(output)}});
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(pairs));
  metadata.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("key", builder.getStringAttr(kStateKey)),
       builder.getNamedAttr("value", builder.getStringAttr(text))}));
  model.set("metadata_props", builder.getArrayAttr(metadata));
  module->setAttr(ONNXDialect::kModel,
                  model.getDictionary(module.getContext()));
}

} // namespace amp
