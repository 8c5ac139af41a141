//===- NodeImporter.cpp - nodes into operations ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "NodeFields.h"
#include "ProtoFields.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"

#include "onnx/onnx_pb.h"

using namespace mlir;

namespace amp {

using onnx::AttributeKind;
using onnx::ONNXDialect;

/// An AttributeProto.
struct Importer::AttributeParts {
  StringRef name;
  AttributeKind kind = AttributeKind::Undefined;
  /// Null for a reference, and for graphs.
  mlir::Attribute value;
  SmallVector<StringRef, 1> graphs;
  bool isReference = false;
  /// What the value does not tell.
  DictionaryAttr fields;
};

/// A NodeProto.
struct Importer::NodeParts {
  std::optional<StringRef> name, domain;
  StringRef opType, overload;
  SmallVector<StringRef, 4> inputs, outputs;
  SmallVector<AttributeParts, 2> attributes;
  std::optional<FieldCollector> others;

  StringRef normalizedDomain() const {
    StringRef text = domain.value_or("");
    return text == "ai.onnx" ? StringRef() : text;
  }
};

std::string Importer::describe(const NodeParts &node) const {
  std::string text = "node";
  if (node.name && !node.name->empty())
    text += " " + quoted(*node.name);
  else if (!node.outputs.empty())
    text += " that makes " + quoted(node.outputs[0]);
  StringRef domain = node.normalizedDomain();
  // The operator's name is foreign text like any other; quotes are for names
  // that are no identifier.
  auto plain = [](StringRef name) {
    return !name.empty() && name.size() <= 80 && llvm::all_of(name, [](char c) {
      return llvm::isAlnum(c) || c == '_' || c == '.';
    });
  };
  text += " (";
  if (!domain.empty())
    text += (plain(domain) ? domain.str() : quoted(domain)) + ".";
  text += plain(node.opType) ? node.opType.str() : quoted(node.opType);
  if (std::optional<int64_t> opset = opsetOf(domain))
    text += ", opset " + std::to_string(*opset);
  return text + ")";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

llvm::Error Importer::readAttribute(StringRef message,
                                    AttributeParts &attribute) {
  SmallVector<WireField, 4> values;
  FieldCollector others(context, input, ::onnx::AttributeProto::descriptor());
  std::optional<int32_t> type;
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
    case ::onnx::AttributeProto::kNameFieldNumber:
      if (field.isBytes())
        attribute.name = field.bytes;
      else
        others.addUnknown(field);
      break;
    case ::onnx::AttributeProto::kTypeFieldNumber:
      if (field.isVarint())
        type = field.asInt32();
      else
        others.addUnknown(field);
      break;
    case ::onnx::AttributeProto::kRefAttrNameFieldNumber:
      attribute.isReference = field.isBytes() && !field.bytes.empty();
      others.add(field);
      break;
    case ::onnx::AttributeProto::kDocStringFieldNumber:
      others.add(field);
      break;
    default:
      if (nodefields::kindOfField(field.number) != AttributeKind::Undefined)
        values.push_back(field);
      else
        others.addUnknown(field);
    }
  }
  if (input.failed())
    return input.takeError();
  if (attribute.name.empty())
    return llvm::createStringError("has an attribute without a name");
  auto error = [&](const Twine &problem) {
    return llvm::createStringError("has attribute " + quoted(attribute.name) +
                                   " " + problem);
  };
  if (type && (*type < 0 || *type > int32_t(AttributeKind::TypeProtos)))
    return error("of unknown type " + Twine(*type));
  // Before IR version 2 the value alone told the type.
  attribute.kind = static_cast<AttributeKind>(type.value_or(0));
  bool untyped = attribute.kind == AttributeKind::Undefined;
  if (untyped && !values.empty())
    attribute.kind = nodefields::kindOfField(values[0].number);
  if (untyped)
    others.set("untyped", UnitAttr::get(context));
  if (type && *type == 0)
    others.set("type", Builder(context).getI64IntegerAttr(0));
  if (attribute.kind == AttributeKind::Undefined && !attribute.isReference)
    return error("without a type and a value");

  nodefields::ValueBuilder builder(context, input, attribute.kind);
  for (const WireField &field : values) {
    if (nodefields::kindOfField(field.number) != attribute.kind ||
        attribute.isReference) {
      others.addUnread(field);
      continue;
    }
    switch (attribute.kind) {
    case AttributeKind::Graph:
    case AttributeKind::Graphs:
      if (!field.isBytes())
        return error("of a wrong wire type");
      attribute.graphs.push_back(field.bytes);
      break;
    case AttributeKind::Tensor:
    case AttributeKind::Tensors: {
      if (!field.isBytes())
        return error("of a wrong wire type");
      llvm::Expected<onnx::TensorAttr> tensor = tensors.read(field.bytes);
      if (!tensor)
        return error("with " + llvm::toString(tensor.takeError()));
      builder.add(*tensor);
      break;
    }
    case AttributeKind::SparseTensor:
    case AttributeKind::SparseTensors: {
      if (!field.isBytes())
        return error("of a wrong wire type");
      llvm::Expected<onnx::SparseTensorAttr> tensor =
          tensors.readSparse(field.bytes);
      if (!tensor)
        return error("with " + llvm::toString(tensor.takeError()));
      builder.add(*tensor);
      break;
    }
    case AttributeKind::TypeProto:
    case AttributeKind::TypeProtos: {
      if (!field.isBytes())
        return error("of a wrong wire type");
      std::string problem;
      DecodedType decoded = types.decode(field.bytes, problem);
      if (input.failed())
        return input.takeError();
      if (!decoded.type)
        return error("that " + problem);
      if (decoded.canonical)
        builder.add(TypeAttr::get(decoded.type));
      else
        builder.add(onnx::TypeProtoAttr::get(context, decoded.type,
                                             string(field.bytes)));
      break;
    }
    default:
      if (!builder.add(field))
        others.addUnknown(field);
    }
  }
  if (input.failed())
    return input.takeError();
  bool singular = attribute.kind == AttributeKind::Tensor ||
                  attribute.kind == AttributeKind::SparseTensor ||
                  attribute.kind == AttributeKind::TypeProto;
  if ((singular && builder.size() > 1) ||
      (attribute.kind == AttributeKind::Graph && attribute.graphs.size() > 1))
    return error("in two pieces");
  if (((singular && builder.size() == 0) ||
       (attribute.kind == AttributeKind::Graph && attribute.graphs.empty())) &&
      !attribute.isReference)
    return error("of type " + nameOf(attribute.kind) + " without a value");

  bool isGraph = attribute.kind == AttributeKind::Graph ||
                 attribute.kind == AttributeKind::Graphs;
  if (!attribute.isReference && !isGraph)
    attribute.value = builder.finish();
  if (builder.unset() && !attribute.isReference && !isGraph)
    others.set("unset", UnitAttr::get(context));
  // The kind of a reference, of an empty list and of an empty list of graphs
  // can't be seen in the value.
  auto array = dyn_cast_or_null<ArrayAttr>(attribute.value);
  if (!untyped && (!attribute.value || (array && array.empty())) &&
      !(attribute.kind == AttributeKind::Graph))
    others.set("type",
               Builder(context).getI64IntegerAttr(int64_t(attribute.kind)));
  if (!others.empty() || untyped || attribute.isReference || builder.unset() ||
      (array && array.empty()) || attribute.kind == AttributeKind::Graphs)
    attribute.fields = others.finish();
  if (attribute.fields && attribute.fields.empty())
    attribute.fields = nullptr;
  return llvm::Error::success();
}

llvm::Expected<DictionaryAttr>
Importer::readAttributeDefault(StringRef message) {
  AttributeParts attribute;
  if (llvm::Error error = readAttribute(message, attribute))
    return llvm::createStringError("a function " +
                                   llvm::toString(std::move(error)));
  if (!attribute.graphs.empty())
    return llvm::createStringError(
        "a function has a graph as the default of attribute " +
        quoted(attribute.name) + ", which is not supported");
  SmallVector<NamedAttribute> entries = {
      {string("name"), string(attribute.name)}};
  if (attribute.value)
    entries.push_back({string("value"), attribute.value});
  if (attribute.fields)
    entries.push_back({string("fields"), attribute.fields});
  return DictionaryAttr::get(context, entries);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

llvm::Error Importer::readNode(StringRef message, NodeParts &node) {
  SmallVector<StringRef, 4> attributes;
  node.others.emplace(context, input, ::onnx::NodeProto::descriptor());
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    switch (field.isBytes() ? field.number : 0) {
    case ::onnx::NodeProto::kInputFieldNumber:
      node.inputs.push_back(field.bytes);
      break;
    case ::onnx::NodeProto::kOutputFieldNumber:
      node.outputs.push_back(field.bytes);
      break;
    case ::onnx::NodeProto::kNameFieldNumber:
      node.name = field.bytes;
      break;
    case ::onnx::NodeProto::kOpTypeFieldNumber:
      node.opType = field.bytes;
      break;
    case ::onnx::NodeProto::kDomainFieldNumber:
      node.domain = field.bytes;
      break;
    case ::onnx::NodeProto::kOverloadFieldNumber:
      node.overload = field.bytes;
      node.others->add(field);
      break;
    case ::onnx::NodeProto::kAttributeFieldNumber:
      attributes.push_back(field.bytes);
      break;
    default:
      node.others->add(field);
    }
  }
  if (input.failed())
    return input.takeError();
  auto nodeError = [&](llvm::Error error) {
    return llvm::createStringError(describe(node) + " " +
                                   llvm::toString(std::move(error)));
  };
  if (node.opType.empty())
    return nodeError(llvm::createStringError("has no op_type"));
  llvm::SmallDenseSet<StringRef, 8> names;
  for (StringRef attributeMessage : attributes) {
    AttributeParts attribute;
    if (llvm::Error error = readAttribute(attributeMessage, attribute))
      return nodeError(std::move(error));
    if (!names.insert(attribute.name).second)
      return nodeError(llvm::createStringError(
          "has attribute " + quoted(attribute.name) + " more than once"));
    if (attribute.isReference && currentFunction < 0)
      return nodeError(llvm::createStringError(
          "has attribute " + quoted(attribute.name) +
          " that refers to a function's attribute, outside of a function"));
    node.attributes.push_back(std::move(attribute));
  }
  return llvm::Error::success();
}

llvm::Error Importer::resolveOperands(const NodeParts &node, Scope &scope,
                                      SmallVectorImpl<Value> &operands,
                                      OperationState &state, bool segments) {
  auto lastPresent = llvm::find_if(
      llvm::reverse(node.inputs), [](StringRef name) { return !name.empty(); });
  auto numPresent = static_cast<size_t>(node.inputs.rend() - lastPresent);
  const onnx::OperatorInfo *info = onnx::lookupOperator(state.name);
  StringRef kinds = info ? StringRef(info->operandKinds) : StringRef("v");
  bool variadic = kinds.ends_with("v");
  auto nodeError = [&](const Twine &problem) {
    return llvm::createStringError(describe(node) + " " + problem);
  };
  if (numPresent > kinds.size() && !variadic)
    return nodeError("expects at most " + Twine(kinds.size()) +
                     " inputs, but got " + Twine(numPresent));

  SmallVector<int32_t> sizes(kinds.size(), 0);
  SmallVector<int64_t> absent;
  for (auto [position, name] : llvm::enumerate(node.inputs)) {
    size_t group = std::min(position, kinds.size() - 1);
    if (name.empty()) {
      if (position >= numPresent || kinds[group] == 'v')
        absent.push_back(static_cast<int64_t>(position));
      continue;
    }
    Value value = lookup(scope, name);
    if (!value)
      return undefined(scope, name, describe(node) + " reads");
    operands.push_back(value);
    ++sizes[group];
  }
  for (auto [position, kind] : llvm::enumerate(kinds))
    if (kind == 's' && sizes[position] != 1)
      return nodeError("lacks the required input number " +
                       Twine(position + 1));
  if (segments)
    state.addAttribute("operandSegmentSizes",
                       DenseI32ArrayAttr::get(context, sizes));
  if (!absent.empty())
    state.addAttribute(ONNXDialect::kAbsentInputs,
                       DenseI64ArrayAttr::get(context, absent));
  return llvm::Error::success();
}

llvm::Error Importer::defineResults(const NodeParts &node, Scope &scope,
                                    Operation *op) {
  unsigned result = 0;
  bool allAreResults = op->getNumResults() == node.outputs.size();
  for (StringRef name : node.outputs) {
    if (name.empty()) {
      result += allAreResults;
      continue;
    }
    if (llvm::Error error = define(scope, name, op->getResult(result++)))
      return llvm::createStringError(describe(node) + ": " +
                                     llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

llvm::Error Importer::importNode(StringRef message, Scope &scope,
                                 OpBuilder &builder) {
  NodeParts node;
  if (llvm::Error error = readNode(message, node))
    return error;
  auto nodeError = [&](const Twine &problem) {
    return llvm::createStringError(describe(node) + " " + problem);
  };
  StringRef domain = node.normalizedDomain();

  // Which operation? A local function goes before an operator.
  const onnx::OperatorInfo *info = nullptr;
  const onnx::Schema *schema = nullptr;
  int64_t callee = -1;
  StringRef operationName = onnx::CustomOp::getOperationName();
  auto function = functionsByKey.find(
      (domain + "::" + node.opType + "::" + node.overload).str());
  std::optional<int64_t> opset = opsetOf(domain);
  if (function != functionsByKey.end()) {
    callee = static_cast<int64_t>(function->second);
    operationName = onnx::CallOp::getOperationName();
    if (currentFunction >= 0)
      functions[currentFunction].callees.push_back(function->second);
  } else {
    if (!opset)
      return nodeError("has an operator of domain " +
                       quoted(domain.empty() ? "ai.onnx" : domain) +
                       ", which opset_import does not list");
    info = onnx::lookupOperator(domain, node.opType);
    if (info) {
      // Some runtimes use an operator before its opset; like any operator that
      // has no schema here, it stays as it is.
      schema = onnx::lookupSchema(domain, node.opType, *opset);
      if (!schema || info->isUnmerged(schema->sinceVersion))
        info = nullptr;
    }
    if (info)
      operationName = info->operationName;
  }
  OperationState state(location, operationName);
  bool operandSegments =
      info && state.name.hasTrait<OpTrait::AttrSizedOperandSegments>();
  bool resultSegments =
      info && state.name.hasTrait<OpTrait::AttrSizedResultSegments>();

  SmallVector<Value> operands;
  if (llvm::Error error =
          resolveOperands(node, scope, operands, state, operandSegments))
    return error;
  state.addOperands(operands);

  // Attributes and regions.
  SmallVector<NamedAttribute> attributes, attributeFields;
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<StringRef, 2> regionNames;
  if (info) {
    regionNames = info->regionNames();
    for (size_t i = 0; i < regionNames.size(); ++i)
      regions.push_back(std::make_unique<Region>());
  }
  auto subgraph = [&](StringRef graph, Region &region) -> llvm::Error {
    if (llvm::Error error = importSubgraph(graph, scope, region)) {
      std::string text = llvm::toString(std::move(error));
      // Where a fault lies in depth is said once, by the innermost node.
      return llvm::createStringError(text);
    }
    return llvm::Error::success();
  };
  for (AttributeParts &attribute : node.attributes) {
    if (attribute.fields)
      attributeFields.push_back({string(attribute.name), attribute.fields});
    if (schema)
      if (std::string problem =
              schema->checkAttribute(attribute.name, attribute.kind);
          !problem.empty())
        return nodeError(problem);
    if (attribute.isReference)
      continue;
    if (attribute.value) {
      attributes.push_back({string(attribute.name), attribute.value});
      continue;
    }
    if (info) {
      auto name = llvm::find(regionNames, attribute.name);
      if (name == regionNames.end())
        return nodeError("has graph attribute " + quoted(attribute.name) +
                         " that its operator does not have");
      if (llvm::Error error = subgraph(attribute.graphs[0],
                                       *regions[name - regionNames.begin()]))
        return error;
      continue;
    }
    if (callee >= 0)
      return nodeError("passes a graph to a function, which is not supported");
    SmallVector<mlir::Attribute, 1> indices;
    for (StringRef graph : attribute.graphs) {
      indices.push_back(onnx::RegionAttr::get(context, regions.size()));
      regions.push_back(std::make_unique<Region>());
      if (llvm::Error error = subgraph(graph, *regions.back()))
        return error;
    }
    attributes.push_back(
        {string(attribute.name), attribute.kind == AttributeKind::Graph
                                     ? indices[0]
                                     : ArrayAttr::get(context, indices)});
  }
  for (std::unique_ptr<Region> &region : regions)
    state.addRegion(std::move(region));
  if (info) {
    state.addAttributes(attributes);
  } else {
    if (callee >= 0) {
      state.addAttribute(
          "callee", FlatSymbolRefAttr::get(context, functions[callee].symbol));
    } else {
      state.addAttribute("domain_name", string(domain));
      state.addAttribute("op_type", string(node.opType));
    }
    if (!attributes.empty())
      state.addAttribute("node_attributes",
                         DictionaryAttr::get(context, attributes));
  }

  // Results.
  StringRef kinds = info ? StringRef(info->resultKinds) : StringRef("v");
  // Where there may be any number, all are results: those of subgraphs and
  // calls are others' values, by their position.
  bool allAreResults = kinds.ends_with("v");
  SmallVector<int32_t> sizes(kinds.size(), 0);
  SmallVector<mlir::Attribute, 2> outputNames;
  for (auto [position, name] : llvm::enumerate(node.outputs)) {
    outputNames.push_back(string(name));
    if (name.empty() && !allAreResults)
      continue;
    if (kinds.empty() || (position >= kinds.size() && !kinds.ends_with("v")))
      return nodeError("expects at most " + Twine(kinds.size()) +
                       " outputs, but got " + Twine(node.outputs.size()));
    ++sizes[std::min(position, kinds.size() - 1)];
    auto declared = scope.declared.find(name);
    state.addTypes(declared != scope.declared.end() ? declared->second
                                                    : unknownType);
  }
  for (auto [position, kind] : llvm::enumerate(kinds))
    if (kind == 's' && sizes[position] != 1)
      return nodeError("lacks the required output number " +
                       Twine(position + 1));
  if (resultSegments)
    state.addAttribute("resultSegmentSizes",
                       DenseI32ArrayAttr::get(context, sizes));

  // The rest of the node.
  if (node.name)
    state.addAttribute(ONNXDialect::kName, string(*node.name));
  state.addAttribute(ONNXDialect::kOutputs,
                     ArrayAttr::get(context, outputNames));
  if (node.domain && (node.domain->empty() || *node.domain == "ai.onnx"))
    node.others->set("domain", string(*node.domain));
  auto byName = [](const AttributeParts &a, const AttributeParts &b) {
    return a.name < b.name;
  };
  if (!llvm::is_sorted(node.attributes, byName)) {
    SmallVector<mlir::Attribute> order;
    for (const AttributeParts &attribute : node.attributes)
      order.push_back(string(attribute.name));
    node.others->set("attribute_order", ArrayAttr::get(context, order));
  }
  if (!attributeFields.empty())
    node.others->set("attribute_fields",
                     DictionaryAttr::get(context, attributeFields));
  if (DictionaryAttr fields = node.others->finish(); !fields.empty())
    state.addAttribute(ONNXDialect::kNode, fields);
  if (input.failed())
    return input.takeError();

  return defineResults(node, scope, builder.create(state));
}

} // namespace amp
