//===- ModelStatistics.cpp - nodes and weights, counted -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelStatistics.h"

#include "TypeSpelling.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace amp;
using namespace mlir;
using onnx::ONNXDialect;

static bool isCustom(Operation *op) {
  return op->getName().getStringRef() == "onnx.Custom";
}

static bool isCall(Operation *op) {
  return op->getName().getStringRef() == "onnx.Call";
}

bool amp::isNode(Operation *op) {
  return onnx::lookupOperator(op->getName()) || isCustom(op) || isCall(op);
}

template <typename AttributeT>
static AttributeT getInherent(Operation *op, StringRef name) {
  return dyn_cast_if_present<AttributeT>(
      op->getInherentAttr(name).value_or(Attribute()));
}

static std::string join(StringRef domain, StringRef name) {
  return domain.empty() || domain == "ai.onnx" ? name.str()
                                               : (domain + ":" + name).str();
}

std::string amp::getOperatorName(Operation *op) {
  if (const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName()))
    return join(info->domain, info->name);
  if (isCustom(op)) {
    auto domain = getInherent<StringAttr>(op, "domain_name");
    auto name = getInherent<StringAttr>(op, "op_type");
    return join(domain ? domain.getValue() : "", name ? name.getValue() : "");
  }
  // The symbol of a local function is "domain::name".
  if (auto callee = getInherent<FlatSymbolRefAttr>(op, "callee")) {
    auto [domain, name] = callee.getValue().split("::");
    return join(domain, name);
  }
  return op->getName().stripDialect().str();
}

StringRef amp::getOutputName(Operation *op, unsigned result) {
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  if (!names || result >= op->getNumResults())
    return {};
  if (names.size() == op->getNumResults()) {
    auto name = dyn_cast<StringAttr>(names[result]);
    return name ? name.getValue() : StringRef();
  }
  // An output without a name has no result.
  for (Attribute attribute : names) {
    auto name = dyn_cast<StringAttr>(attribute);
    if (name && !name.empty() && result-- == 0)
      return name.getValue();
  }
  return {};
}

StringRef amp::getNodeName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
  return name && !name.empty() ? name.getValue() : getOutputName(op, 0);
}

StringRef amp::getInterfaceName(Operation *function, StringRef kind,
                                unsigned index) {
  auto fields = function->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  if (!fields)
    fields = function->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction);
  auto entries = fields ? fields.getAs<ArrayAttr>(kind) : ArrayAttr();
  if (!entries || index >= entries.size())
    return {};
  // Local functions have names alone.
  if (auto name = dyn_cast<StringAttr>(entries[index]))
    return name.getValue();
  auto entry = dyn_cast<DictionaryAttr>(entries[index]);
  auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

onnx::TensorAttr amp::getStoredTensor(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == "onnx.Initializer" || name == "onnx.Constant" ||
      name == "onnx.DefaultInput")
    return getInherent<onnx::TensorAttr>(op, "value");
  return {};
}

uint64_t amp::getTensorBytes(onnx::TensorAttr tensor) {
  auto type = cast<ShapedType>(tensor.getType());
  std::optional<onnx::ElementType> element =
      onnx::fromType(type.getElementType());
  if (!element || !type.hasStaticShape())
    return 0;
  return onnx::byteSize(*element, type.getNumElements()).value_or(0);
}

void TensorTotals::add(onnx::TensorAttr tensor) {
  ++tensors;
  elements += cast<ShapedType>(tensor.getType()).getNumElements();
  bytes += getTensorBytes(tensor);
}

uint64_t ModelStatistics::externalBytes() const {
  uint64_t bytes = 0;
  for (const auto &[location, totals] : externalData)
    bytes += totals.bytes;
  return bytes;
}

/// The data file of a tensor that is not in the model; none for the others.
static std::optional<StringRef> getLocation(onnx::TensorAttr tensor) {
  DictionaryAttr proto = tensor.getProto();
  auto storage = proto ? proto.getAs<StringAttr>("storage") : StringAttr();
  if (!storage || storage.getValue() != "external")
    return std::nullopt;
  if (auto entries = proto.getAs<ArrayAttr>("external_data"))
    for (auto entry : entries.getAsRange<DictionaryAttr>()) {
      auto key = entry.getAs<StringAttr>("key");
      auto value = entry.getAs<StringAttr>("value");
      if (key && value && key.getValue() == "location")
        return value.getValue();
    }
  return "";
}

ModelStatistics ModelStatistics::collect(ModuleOp module) {
  ModelStatistics statistics;
  DenseMap<OperationName, uint64_t> operators; // spelled once each
  module.walk([&](Operation *op) {
    if (onnx::TensorAttr tensor = getStoredTensor(op)) {
      Type element = cast<ShapedType>(tensor.getType()).getElementType();
      statistics.weights[spellElementType(element)].add(tensor);
      if (std::optional<StringRef> location = getLocation(tensor))
        statistics.externalData[location->str()].add(tensor);
    }
    if (!isNode(op))
      return;
    ++statistics.nodes;
    statistics.subgraphs += op->getNumRegions();
    if (!isa<func::FuncOp>(op->getParentOp()))
      ++statistics.subgraphNodes;
    if (isCustom(op) || isCall(op))
      ++statistics.operators[getOperatorName(op)];
    else
      ++operators[op->getName()];
  });
  for (auto [name, count] : operators) {
    const onnx::OperatorInfo *info = onnx::lookupOperator(name);
    statistics.operators[join(info->domain, info->name)] += count;
  }
  auto casts = statistics.operators.find("Cast");
  if (casts != statistics.operators.end())
    statistics.casts = casts->second;
  return statistics;
}
