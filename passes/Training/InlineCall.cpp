//===- InlineCall.cpp - bodies of local functions -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlineCall.h"

#include "JoinedGraphs.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::ONNXDialect;

constexpr StringLiteral kNodeAttributes = "node_attributes";

/// What a call passes for the attribute parameters of its function, or their
/// defaults.
class Parameters {
public:
  Parameters(Operation *call, func::FuncOp callee)
      : passed(call->getAttrOfType<DictionaryAttr>(kNodeAttributes)) {
    auto fields = callee->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction);
    auto list =
        fields ? fields.getAs<ArrayAttr>("attribute_proto") : ArrayAttr();
    if (list)
      for (Attribute attribute : list)
        if (auto entry = dyn_cast<DictionaryAttr>(attribute))
          if (auto name = entry.getAs<StringAttr>("name"))
            defaults[name] = entry.get("value");
  }

  /// Null if it is left out.
  Attribute lookup(StringAttr name) const {
    Attribute value = passed ? passed.get(name) : Attribute();
    return value ? value : defaults.lookup(name);
  }

private:
  DictionaryAttr passed;
  llvm::DenseMap<StringAttr, Attribute> defaults;
};

/// Gives a node the attributes for which its function has parameters.
void resolveReferences(Operation *op, const Parameters &parameters) {
  auto node = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode);
  auto fields =
      node ? node.getAs<DictionaryAttr>("attribute_fields") : DictionaryAttr();
  if (!fields)
    return;
  bool isOperator = onnx::lookupOperator(op->getName());
  NamedAttrList kept;
  NamedAttrList others(op->getAttrOfType<DictionaryAttr>(kNodeAttributes));
  for (NamedAttribute field : fields) {
    auto entry = dyn_cast<DictionaryAttr>(field.getValue());
    auto parameter =
        entry ? entry.getAs<StringAttr>("ref_attr_name") : StringAttr();
    if (!parameter) {
      kept.append(field);
      continue;
    }
    Attribute value = parameters.lookup(parameter);
    if (!value)
      continue;
    if (isOperator)
      op->setAttr(field.getName(), value);
    else
      others.set(field.getName(), value);
  }
  MLIRContext *context = op->getContext();
  if (!isOperator && !others.empty())
    op->setAttr(kNodeAttributes, others.getDictionary(context));
  NamedAttrList rest(node);
  rest.erase("attribute_fields");
  if (!kept.empty())
    rest.set("attribute_fields", kept.getDictionary(context));
  if (rest.empty())
    op->removeAttr(ONNXDialect::kNode);
  else
    op->setAttr(ONNXDialect::kNode, rest.getDictionary(context));
}

} // namespace

void forgetNames(Operation *op, StringRef prefix) {
  MLIRContext *context = op->getContext();
  op->removeAttr(ONNXDialect::kOutputs);
  op->removeAttr(kOrigin);
  if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName)) {
    if (prefix.empty())
      op->removeAttr(ONNXDialect::kName);
    else
      op->setAttr(ONNXDialect::kName,
                  StringAttr::get(context, prefix + "/" + name.getValue()));
  }
  if (auto graph = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph)) {
    NamedAttrList fields(graph);
    for (StringRef values : {"input", "output", "value_info"})
      fields.erase(values);
    op->setAttr(ONNXDialect::kGraph, fields.getDictionary(context));
  }
}

FailureOr<SmallVector<Value>> inlineCall(Operation *call, SymbolTable &symbols,
                                         size_t &budget) {
  auto symbol = call->getAttrOfType<FlatSymbolRefAttr>("callee");
  auto callee =
      symbol ? symbols.lookup<func::FuncOp>(symbol.getValue()) : func::FuncOp();
  if (!callee || callee.getBody().empty())
    return call->emitError()
           << onnx::describeNode(call) << " calls a function without a body";
  std::optional<int64_t> version = onnx::getOpsetVersion(callee, "");
  std::optional<int64_t> expected = onnx::getOpsetVersion(call, "");
  if (version && version != expected)
    return call->emitError()
           << onnx::describeNode(call) << " calls a function of opset "
           << *version << " from one of " << expected.value_or(0)
           << ": inlining it takes one opset for both";

  Block &body = callee.getBody().front();
  size_t size = 0;
  body.walk([&](Operation *) { ++size; });
  if (size > budget)
    return call->emitError()
           << onnx::describeNode(call)
           << " makes local functions too big: their calls expand to more "
              "than a million nodes";
  budget -= size;

  IRMapping map;
  for (auto [position, operand] :
       llvm::zip_equal(onnx::inputPositions(call), call->getOperands()))
    if (position < body.getNumArguments())
      map.map(body.getArgument(position), operand);
  for (BlockArgument argument : body.getArguments())
    if (!map.contains(argument) && !argument.use_empty())
      return call->emitError()
             << onnx::describeNode(call) << " leaves out input "
             << argument.getArgNumber() << " of its function, which reads it";

  auto name = call->getAttrOfType<StringAttr>(ONNXDialect::kName);
  Parameters parameters(call, callee);
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator())
    builder.clone(op, map)->walk([&](Operation *built) {
      resolveReferences(built, parameters);
      forgetNames(built, name ? name.getValue() : StringRef());
    });
  SmallVector<Value> results;
  OperandRange returned = body.getTerminator()->getOperands();
  for (unsigned position : onnx::outputPositions(call)) {
    if (position >= returned.size())
      return call->emitError()
             << onnx::describeNode(call) << " expects at most "
             << returned.size() << " outputs of its function";
    results.push_back(map.lookup(returned[position]));
  }
  return results;
}

} // namespace amp
