//===- SchemaRegistry.cpp - ONNX's operator schemas in our own form -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SchemaRegistry.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"

#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"
#include "onnx/defs/operator_sets_preview.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <tuple>

using namespace mlir;

namespace amp::onnx {

namespace {

using ::onnx::OpSchema;

/// One version of an operator.
struct Entry {
  llvm::StringLiteral domain, name;
  int64_t sinceVersion;
  OpSchema (*build)();

  std::tuple<StringRef, StringRef, int64_t> key() const {
    return {domain, name, sinceVersion};
  }
};

// Sorted.
constexpr Entry entries[] = {
#include "amp/Dialect/ONNX/ONNXSchemaTable.inc"
};

/// The newest version of an operator that an opset has, or nullptr.
const Entry *findEntry(StringRef domain, StringRef name, int64_t opset) {
  const auto *after = llvm::upper_bound(
      entries, std::tuple(domain, name, opset),
      [](const auto &key, const Entry &entry) { return key < entry.key(); });
  if (after == std::begin(entries))
    return nullptr;
  const Entry *entry = std::prev(after);
  return entry->domain == domain && entry->name == name ? entry : nullptr;
}

/// "seq(tensor(float))" of a type, as schemas spell it; "" for what schemas
/// can't spell.
std::string spell(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type)) {
    std::optional<ElementType> element = fromType(tensor.getElementType());
    return element ? "tensor(" + nameOf(*element).str() + ")" : "";
  }
  if (auto sequence = dyn_cast<SequenceType>(type))
    return "seq(" + spell(sequence.getElementType()) + ")";
  if (auto optional = dyn_cast<OptionalType>(type))
    return "optional(" + spell(optional.getElementType()) + ")";
  return "";
}

TypeSet typeSet(const std::vector<std::string> &spellings) {
  TypeSet set;
  for (StringRef spelling : spellings) {
    StringRef element = spelling;
    if (element.consume_front("tensor(") && element.consume_back(")"))
      if (std::optional<ElementType> type = parseElementTypeName(element)) {
        set.tensorElements |= uint64_t(1) << int32_t(*type);
        continue;
      }
    set.others.push_back(spelling.str());
  }
  return set;
}

char kindOf(OpSchema::FormalParameterOption option) {
  return option == OpSchema::Single     ? 's'
         : option == OpSchema::Optional ? 'o'
                                        : 'v';
}

std::optional<std::string> defaultOf(const ::onnx::AttributeProto &attribute) {
  if (attribute.has_i())
    return std::to_string(attribute.i());
  if (attribute.has_s())
    return attribute.s();
  return std::nullopt;
}

std::unique_ptr<Schema> convert(const OpSchema &schema) {
  auto result = std::make_unique<Schema>();
  result->domain = schema.domain();
  result->name = schema.Name();
  result->sinceVersion = schema.since_version();
  result->deterministic = schema.GetNodeDeterminism() !=
                          OpSchema::NodeDeterminism::NonDeterministic;
  result->deprecated = schema.Deprecated();
  result->minInputs = schema.min_input();
  result->maxInputs = schema.max_input();
  result->minOutputs = schema.min_output();
  result->maxOutputs = schema.max_output();
  std::map<std::string, int> variables;
  std::map<std::string, TypeSet> constraints;
  for (const OpSchema::TypeConstraintParam &constraint :
       schema.typeConstraintParams()) {
    int variable = int(variables.size());
    variables[constraint.type_param_str] = variable;
    constraints[constraint.type_param_str] =
        typeSet(constraint.allowed_type_strs);
  }
  auto parameters = [&](const std::vector<OpSchema::FormalParameter> &formals,
                        std::vector<Parameter> &into) {
    for (const OpSchema::FormalParameter &formal : formals) {
      Parameter parameter;
      parameter.name = formal.GetName();
      parameter.kind = kindOf(formal.GetOption());
      parameter.homogeneous = formal.GetIsHomogeneous();
      auto variable = variables.find(formal.GetTypeStr());
      if (variable != variables.end()) {
        parameter.typeVariable = variable->second;
        parameter.types = constraints[formal.GetTypeStr()];
      } else {
        parameter.types = typeSet({formal.GetTypeStr()});
      }
      into.push_back(std::move(parameter));
    }
  };
  parameters(schema.inputs(), result->inputs);
  parameters(schema.outputs(), result->outputs);
  for (const auto &[name, attribute] : schema.attributes())
    result->attributes[name] = {
        static_cast<AttributeKind>(static_cast<int32_t>(attribute.type)),
        attribute.required, defaultOf(attribute.default_value)};
  return result;
}

const Parameter *parameterAt(const std::vector<Parameter> &parameters,
                             unsigned position) {
  if (position < parameters.size())
    return &parameters[position];
  if (!parameters.empty() && parameters.back().kind == 'v')
    return &parameters.back();
  return nullptr;
}

} // namespace

bool TypeSet::admits(Type type) const {
  if (isa<UnknownType>(type))
    return true;
  if (auto sparse = dyn_cast<SparseTensorType>(type))
    type = sparse.getDenseType();
  if (auto tensor = dyn_cast<TensorType>(type)) {
    if (isa<UndefinedType>(tensor.getElementType()))
      return true;
    std::optional<ElementType> element = fromType(tensor.getElementType());
    if (element && (tensorElements >> int32_t(*element)) & 1)
      return true;
  } else if (!isa<SequenceType, OptionalType>(type)) {
    return true; // a map or an opaque type
  }
  std::string spelling = spell(type);
  return llvm::is_contained(others, spelling) ||
         llvm::StringRef(spelling).contains("()") ||
         llvm::StringRef(spelling).contains("undefined");
}

const Parameter *Schema::inputAt(unsigned position) const {
  return parameterAt(inputs, position);
}

const Parameter *Schema::outputAt(unsigned position) const {
  return parameterAt(outputs, position);
}

std::string Schema::checkAttribute(StringRef name, AttributeKind kind) const {
  auto it = attributes.find(name);
  if (it == attributes.end()) {
    if (name.starts_with("__"))
      return "";
    return "has no attribute " + quoted(name);
  }
  if (it->second.kind != kind)
    return "expects attribute " + quoted(name) + " to be of type " +
           nameOf(it->second.kind).str() + ", but got " + nameOf(kind).str();
  return "";
}

StringRef nameOf(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::Undefined:
    return "undefined";
  case AttributeKind::Float:
    return "float";
  case AttributeKind::Int:
    return "int";
  case AttributeKind::String:
    return "string";
  case AttributeKind::Tensor:
    return "tensor";
  case AttributeKind::Graph:
    return "graph";
  case AttributeKind::Floats:
    return "floats";
  case AttributeKind::Ints:
    return "ints";
  case AttributeKind::Strings:
    return "strings";
  case AttributeKind::Tensors:
    return "tensors";
  case AttributeKind::Graphs:
    return "graphs";
  case AttributeKind::SparseTensor:
    return "sparse tensor";
  case AttributeKind::SparseTensors:
    return "sparse tensors";
  case AttributeKind::TypeProto:
    return "type";
  case AttributeKind::TypeProtos:
    return "types";
  }
  return "unknown";
}

const OpSchema *lookupOpSchema(StringRef domain, StringRef name,
                               int64_t opset) {
  static std::atomic<const OpSchema *> built[std::size(entries)];
  static std::mutex mutex;
  const Entry *entry = findEntry(domain, name, opset);
  if (!entry)
    return nullptr;
  std::atomic<const OpSchema *> &slot = built[entry - entries];
  if (const OpSchema *schema = slot)
    return schema;
  std::lock_guard<std::mutex> lock(mutex);
  if (!slot) {
    auto *schema = new OpSchema(entry->build());
    schema->Finalize();
    slot = schema;
  }
  return slot;
}

const Schema *lookupSchema(StringRef domain, StringRef name, int64_t opset) {
  // Lives as long as the process, so that results are never stale.
  struct Cache {
    std::shared_mutex mutex;
    llvm::StringMap<const Schema *> byQuery;
    std::map<const OpSchema *, std::unique_ptr<Schema>> converted;
  };
  static Cache *cache = new Cache;
  if (domain == "ai.onnx")
    domain = "";
  llvm::SmallString<64> query(domain);
  query += ':';
  query += name;
  query += ':';
  query += std::to_string(opset);
  {
    std::shared_lock<std::shared_mutex> lock(cache->mutex);
    auto it = cache->byQuery.find(query);
    if (it != cache->byQuery.end())
      return it->second;
  }
  const Schema *result = nullptr;
  std::unique_lock<std::shared_mutex> lock(cache->mutex);
  if (const OpSchema *schema = lookupOpSchema(domain, name, opset)) {
    std::unique_ptr<Schema> &converted = cache->converted[schema];
    if (!converted)
      converted = convert(*schema);
    result = converted.get();
  }
  cache->byQuery[query] = result;
  return result;
}

int64_t latestOpset(StringRef domain) {
  if (domain == "ai.onnx")
    domain = "";
  const auto &ranges =
      ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto it = ranges.find(domain.str());
  return it == ranges.end() ? 0 : it->second.second;
}

bool isKnownDomain(StringRef domain) { return latestOpset(domain) != 0; }

int64_t latestIRVersion() { return ::onnx::Version::IR_VERSION; }

} // namespace amp::onnx
