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

void addStatePairs(ModuleOp module, ArrayRef<StatePair> added) {
  constexpr StringLiteral kKey = "amp.state";
  Builder builder(module.getContext());
  NamedAttrList model(
      module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel));
  SmallVector<Attribute> metadata;
  llvm::json::Array pairs;
  if (auto known = dyn_cast_if_present<ArrayAttr>(model.get("metadata_props")))
    for (Attribute entry : known) {
      auto fields = dyn_cast<DictionaryAttr>(entry);
      auto key = fields ? fields.getAs<StringAttr>("key") : StringAttr();
      if (!key || key.getValue() != kKey) {
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
      {builder.getNamedAttr("key", builder.getStringAttr(kKey)),
       builder.getNamedAttr("value", builder.getStringAttr(text))}));
  model.set("metadata_props", builder.getArrayAttr(metadata));
  module->setAttr(ONNXDialect::kModel,
                  model.getDictionary(module.getContext()));
}

} // namespace amp
