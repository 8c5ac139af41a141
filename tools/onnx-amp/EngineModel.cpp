//===- EngineModel.cpp - a model as the engine takes it -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineModel.h"

#include "ModelStatistics.h"
#include "TypeSpelling.h"

#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Dialect/ONNX/GraphNames.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Passes/Lowering.h"
#include "amp/Target/ONNX.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace amp;
using namespace mlir;
using onnx::ONNXDialect;
namespace json = llvm::json;

LogicalResult amp::report(MLIRContext *context, llvm::Error error) {
  if (!error)
    return success();
  return emitError(UnknownLoc::get(context))
         << llvm::toString(std::move(error));
}

static bool isFloatTensor(Type type) {
  return isa<TensorType>(type) && getFloatElementType(type);
}

/// "float32", and per dimension its size, its name or "?"; null without a rank.
static json::Object describeInput(BlockArgument argument) {
  Type type = argument.getType();
  json::Value dims = nullptr;
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (ranked) {
    json::Array sizes;
    auto names = dyn_cast_if_present<onnx::DimsAttr>(ranked.getEncoding());
    for (auto [i, size] : llvm::enumerate(ranked.getShape())) {
      StringAttr name = names ? names.getNames()[i] : StringAttr();
      if (!ShapedType::isDynamic(size))
        sizes.push_back(size);
      else
        sizes.push_back(json::fixUTF8(
            name && !name.empty() ? spellName(name.getValue()) : "?"));
    }
    dims = std::move(sizes);
  }
  auto tensor = dyn_cast<TensorType>(type);
  bool optional = llvm::any_of(argument.getUsers(), [](Operation *user) {
    return user->getName().getStringRef() == "onnx.DefaultInput";
  });
  return json::Object{
      {"name", json::fixUTF8(onnx::nameOfInput(argument))},
      {"type",
       tensor ? spellElementType(tensor.getElementType()) : spellType(type)},
      {"dims", std::move(dims)},
      {"optional", optional},
  };
}

FailureOr<EngineModel> EngineModel::write(ModuleOp module, const Engine &engine,
                                          StringRef name) {
  EngineModel model;
  model.path = engine.getPath(name);
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : main.getArguments())
    model.inputs.push_back(describeInput(argument));
  for (Operation &op : main.getBody().front()) {
    auto autocast = dyn_cast<AutocastOpInterface>(op);
    if (!isNode(&op) || (autocast && autocast.isAutocastConstant()))
      continue;
    for (OpResult result : op.getResults())
      if (StringRef text = getOutputName(&op, result.getResultNumber());
          !text.empty() && json::isUTF8(text) &&
          isa<TensorType>(result.getType()))
        model.values.push_back({text, result.getType(), &op});
  }

  for (unsigned i = 0, e = main.getNumResults(); i < e; ++i)
    model.outputs.push_back(onnx::getOutputName(main, i).str());

  OwningOpRef<ModuleOp> copy = module.clone();
  removeAnnotations(*copy);
  // By which the engine tells what is inside of a node, whatever becomes of the
  // names of its outputs.
  copy->walk([&](Operation *op) {
    if (isNode(op) && op->getNumRegions() > 0)
      op->setAttr(ONNXDialect::kName,
                  StringAttr::get(op->getContext(), getOutputName(op, 0)));
  });
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createInferTypes());
  WidenOptions widen;
  widen.interface = true;
  passes.addPass(createWiden(widen));
  if (failed(passes.run(*copy)))
    return failure();
  // The engine writes the rest of the model anew for each part of its values.
  constexpr uint64_t kLargestInline = 16 << 20;
  uint64_t bytes = 0;
  copy->walk([&](Operation *op) {
    if (onnx::TensorAttr tensor = getStoredTensor(op))
      bytes += getTensorBytes(tensor);
  });
  ExportOptions options;
  options.externalData =
      bytes > kLargestInline ? ExternalData::File : ExternalData::Inline;
  if (failed(exportONNX(*copy, model.path, options)))
    return failure();
  return model;
}

std::vector<StringRef> EngineModel::getFloatValues() const {
  std::vector<StringRef> names;
  for (const Observable &value : values)
    if (isFloatTensor(value.type))
      names.push_back(value.name);
  return names;
}

json::Array EngineModel::getBFloat16() const {
  json::Array names;
  for (const Observable &value : values)
    if (isFloatTensor(value.type) && getFloatElementType(value.type).isBF16())
      names.push_back(value.name);
  return names;
}
