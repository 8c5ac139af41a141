//===- ContribSchemas.cpp - types of com.microsoft's operators ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContribSchemas.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace amp::onnx {

namespace {

// R"txt(…)txt" with what is in contrib.txt.
constexpr llvm::StringLiteral kText =
#include "contrib.inc"
    ;

std::optional<ElementType> parseElement(StringRef name) {
  return parseElementTypeName(llvm::StringSwitch<StringRef>(name)
                                  .Case("f16", "float16")
                                  .Case("bf16", "bfloat16")
                                  .Case("f32", "float")
                                  .Case("f64", "double")
                                  .Default(name));
}

/// "T: f16 f32; U: f32" by variable.
llvm::StringMap<std::pair<int, TypeSet>> parseVariables(StringRef text) {
  llvm::StringMap<std::pair<int, TypeSet>> variables;
  SmallVector<StringRef> entries;
  text.split(entries, ';');
  for (StringRef entry : entries) {
    auto [name, types] = entry.split(':');
    TypeSet set;
    SmallVector<StringRef> names;
    types.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef type : names)
      if (std::optional<ElementType> element = parseElement(type))
        set.tensorElements |= uint64_t(1) << int32_t(*element);
    variables[name.trim()] = {static_cast<int>(variables.size()), set};
  }
  return variables;
}

/// "0", "2:0", "=0" or "" of an output's shape.
ShapeRule parseShape(StringRef text) {
  ShapeRule rule;
  if (text.empty())
    rule.kind = ShapeRule::Scalar;
  else
    rule.kind = text.consume_front("=") ? ShapeRule::Elements
                : text.contains(':')    ? ShapeRule::Length
                                        : ShapeRule::Like;
  auto [input, dimension] = text.split(':');
  input.getAsInteger(10, rule.input);
  dimension.getAsInteger(10, rule.dimension);
  return rule;
}

/// "T[0], T?, -" without shapes, which are added to `shapes`.
std::string takeShapes(StringRef text, SmallVectorImpl<ShapeRule> &shapes) {
  std::string plain;
  SmallVector<StringRef> entries;
  text.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [front, rest] = entry.split('[');
    auto [shape, end] = rest.split(']');
    shapes.push_back(entry.contains('[') ? parseShape(shape) : ShapeRule());
    plain += (plain.empty() ? "" : ",") + front.str() + end.str();
  }
  return plain;
}

/// "T, T?, -" by those variables.
std::vector<Parameter>
parseParameters(StringRef text,
                const llvm::StringMap<std::pair<int, TypeSet>> &variables) {
  std::vector<Parameter> parameters;
  SmallVector<StringRef> entries;
  text.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    entry = entry.trim();
    Parameter parameter;
    parameter.kind = entry.consume_back("?")   ? 'o'
                     : entry.consume_back("*") ? 'v'
                                               : 's';
    if (auto found = variables.find(entry); found != variables.end()) {
      parameter.typeVariable = found->second.first;
      parameter.types = found->second.second;
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

llvm::StringMap<ContribSchema> parseSchemas() {
  llvm::StringMap<ContribSchema> schemas;
  SmallVector<StringRef> lines;
  StringRef(kText).split(lines, '\n');
  for (StringRef line : lines) {
    line = line.split('#').first.trim();
    if (line.empty())
      continue;
    auto [signature, types] = line.split(" with ");
    auto [name, rest] = signature.split('(');
    auto [inputs, outputs] = rest.split(") -> (");
    auto variables = parseVariables(types);
    ContribSchema schema;
    schema.domain = "com.microsoft";
    schema.name = name.str();
    schema.sinceVersion = 1;
    schema.inputs = parseParameters(inputs, variables);
    schema.outputs = parseParameters(
        takeShapes(outputs.rtrim(")"), schema.shapes), variables);
    schemas[name] = std::move(schema);
  }
  return schemas;
}

/// True if the values that share a variable have one type that it admits.
/// Models may be made for another version of the operators.
bool agrees(Operation *op, const Schema &schema) {
  llvm::SmallDenseMap<int, Type> elements;
  auto admits = [&](const Parameter *parameter, Type type) {
    if (!parameter)
      return false;
    FloatType element = amp::getFloatElementType(type);
    if (parameter->typeVariable < 0 || !element)
      return true;
    Type known =
        elements.insert({parameter->typeVariable, element}).first->second;
    return known == element && parameter->types.admits(type);
  };
  for (auto [position, value] :
       llvm::zip_equal(inputPositions(op), op->getOperands()))
    if (!admits(schema.inputAt(position), value.getType()))
      return false;
  for (auto [position, value] :
       llvm::zip_equal(outputPositions(op), op->getResults()))
    if (!admits(schema.outputAt(position), value.getType()))
      return false;
  return true;
}

} // namespace

const ContribSchema *lookupContribSchema(StringRef name) {
  static const llvm::StringMap<ContribSchema> schemas = parseSchemas();
  auto found = schemas.find(name);
  return found == schemas.end() ? nullptr : &found->second;
}

StringRef getOperatorDomain(CustomOp op) {
  StringRef domain = op.getDomainName();
  if ((domain.empty() || domain == "ai.onnx") &&
      !lookupOperator(/*domain=*/"", op.getOpType()) &&
      lookupContribSchema(op.getOpType()))
    return "com.microsoft";
  return domain;
}

const ContribSchema *getContribSchema(Operation *op) {
  auto custom = dyn_cast<CustomOp>(op);
  if (!custom || getOperatorDomain(custom) != "com.microsoft")
    return nullptr;
  const ContribSchema *schema = lookupContribSchema(custom.getOpType());
  return schema && agrees(op, *schema) ? schema : nullptr;
}

const Schema *getTypeSchema(Operation *op) {
  return isa<CustomOp>(op) ? getContribSchema(op) : getSchema(op);
}

} // namespace amp::onnx
