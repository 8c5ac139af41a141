//===- PrepareExecutable.cpp - the interface of an executable -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Training/TrainingState.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Interfaces/DimensionNames.h"
#include "amp/Passes/Executable.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"

namespace amp {
#define GEN_PASS_DEF_PREPAREEXECUTABLE
#include "amp/Passes/Executable.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using rt::AMPRTDialect;

namespace {

/// A tensor type without names of dimensions.
Type withoutNames(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding() ? tensor.dropEncoding() : type;
}

/// Exporters write "?" and the like for dimensions without a name.
bool isName(StringRef text) {
  return llvm::any_of(text, [](unsigned char c) {
    return llvm::isAlnum(c) || c == '_' || c >= 0x80;
  });
}

/// The names of a tensor's dimensions, empty for those without one.
ArrayAttr getSymbols(Builder &builder, Type type) {
  SmallVector<StringRef> symbols;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    auto names =
        dyn_cast_or_null<DimensionNamesInterface>(tensor.getEncoding());
    for (int64_t axis = 0; axis < tensor.getRank(); ++axis)
      symbols.push_back(names && tensor.isDynamicDim(axis) &&
                                isName(names.getDimensionName(axis))
                            ? names.getDimensionName(axis)
                            : StringRef());
  }
  return builder.getStrArrayAttr(symbols);
}

struct PrepareExecutable
    : public amp::impl::PrepareExecutableBase<PrepareExecutable> {
  using Base::Base;

  void runOnOperation() final {
    func::FuncOp graph = findMainGraph(getOperation(), "compile");
    if (!graph || failed(writeSignature(graph)))
      return signalPassFailure();
    dropNames(graph);
  }

private:
  LogicalResult writeSignature(func::FuncOp graph);
  static void dropNames(func::FuncOp graph);
};

} // namespace

LogicalResult PrepareExecutable::writeSignature(func::FuncOp graph) {
  Builder builder(&getContext());
  llvm::DenseMap<Value, TypedAttr> initial;
  for (auto op : llvm::make_early_inc_range(
           graph.getBody().getOps<onnx::DefaultInputOp>())) {
    initial[op.getInput()] = op.getValue().getValue();
    op.erase();
  }

  llvm::StringMap<unsigned> arguments, results;
  SmallVector<Attribute> inputs, outputs, states;
  auto named = [&](StringRef name) {
    return builder.getNamedAttr("name", builder.getStringAttr(name));
  };
  for (BlockArgument argument : graph.getArguments()) {
    StringRef name = nameOfInput(argument);
    if (!isa<TensorType>(argument.getType()))
      return graph.emitError("input ")
             << quoted(name)
             << " is no tensor, which executables don't have as inputs";
    arguments[name] = argument.getArgNumber();
    SmallVector<NamedAttribute> entry = {
        named(name), builder.getNamedAttr(
                         "symbols", getSymbols(builder, argument.getType()))};
    if (TypedAttr value = initial.lookup(argument))
      entry.push_back(builder.getNamedAttr("initial", value));
    inputs.push_back(builder.getDictionaryAttr(entry));
  }
  for (unsigned i = 0; i < graph.getNumResults(); ++i) {
    StringRef name = getOutputName(graph, i);
    results[name] = i;
    outputs.push_back(builder.getDictionaryAttr({named(name)}));
  }
  for (auto &[input, output] : getStatePairs(getOperation())) {
    auto argument = arguments.find(input);
    auto result = results.find(output);
    if (argument == arguments.end() || result == results.end())
      return graph.emitError("metadata amp.state names ")
             << quoted(argument == arguments.end() ? input : output)
             << ", which is no "
             << (argument == arguments.end() ? "input" : "output");
    Value value = graph.getArgument(argument->second);
    TypedAttr first = initial.lookup(value);
    if (!first)
      return graph.emitError("the state ")
             << quoted(input) << " has no initial value";
    if (withoutNames(value.getType()) !=
        withoutNames(graph.getFunctionType().getResult(result->second)))
      return graph.emitError("the state ")
             << quoted(input) << " of type " << value.getType()
             << " becomes one of type "
             << graph.getFunctionType().getResult(result->second);
    states.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("argument",
                              builder.getI64IntegerAttr(argument->second)),
         builder.getNamedAttr("result",
                              builder.getI64IntegerAttr(result->second)),
         builder.getNamedAttr("initial", first)}));
  }
  graph->setAttr(
      AMPRTDialect::kSignature,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("inputs", builder.getArrayAttr(inputs)),
           builder.getNamedAttr("outputs", builder.getArrayAttr(outputs)),
           builder.getNamedAttr("states", builder.getArrayAttr(states))}));
  return success();
}

void PrepareExecutable::dropNames(func::FuncOp graph) {
  graph.walk([](Operation *op) {
    for (Value result : op->getResults())
      result.setType(withoutNames(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(withoutNames(argument.getType()));
  });
  updateType(graph);
}
