//===- SchemaToODS.cpp - operator schemas in, ODS records out -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs at build time: `amp-schema-to-ods OPERATORS.td TABLE.inc`. Prints one
// record for each operator of the linked ONNX library, all versions merged, and
// a table that says how operands and results are grouped.
//
// Merging goes by position, newest version first: a parameter is single when
// every version has it as single, else optional; a variadic one ends the list.
// A version that does not fit (Scan 8 has an optional parameter before the
// variadic one) is left out; the importer takes its nodes as onnx.Custom.
//
// An attribute that became an input of the same name (axes of Squeeze) is left
// out of the record: nodes of old versions carry it as a discardable attribute.
//
//===----------------------------------------------------------------------===//

#include "onnx/defs/schema.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using ::onnx::AttributeProto;
using ::onnx::OpSchema;

struct Parameter {
  std::string name;
  std::string description;
  char kind; // 's'ingle, 'o'ptional, 'v'ariadic
};

struct Operator {
  std::string domain;
  std::string name;
  std::vector<OpSchema> versions; // newest first
  std::vector<Parameter> operands;
  std::vector<Parameter> results;
  std::vector<int> unmerged; // versions that do not fit
};

char kindOf(OpSchema::FormalParameterOption option) {
  switch (option) {
  case OpSchema::Single:
    return 's';
  case OpSchema::Optional:
    return 'o';
  case OpSchema::Variadic:
    return 'v';
  }
  return 's';
}

/// Merges the parameters of an older version into `merged`; false when the
/// variadic parameter would not stand last.
bool mergeParameters(std::vector<Parameter> &merged,
                     const std::vector<OpSchema::FormalParameter> &older,
                     bool first) {
  std::vector<Parameter> result = merged;
  for (size_t i = 0; i < std::max(result.size(), older.size()); ++i) {
    char kind = i < older.size() ? kindOf(older[i].GetOption()) : 'o';
    if (i >= result.size()) {
      result.push_back({older[i].GetName(), older[i].GetDescription(),
                        first || kind == 'v' ? kind : 'o'});
      continue;
    }
    char &mine = result[i].kind;
    if (mine == 'v' || kind == 'v') {
      // A version without the variadic parameter has simply none of them.
      if (i < older.size() && mine != kind)
        return false;
    } else if (kind == 'o') {
      mine = 'o';
    }
  }
  for (size_t i = 0; i + 1 < result.size(); ++i)
    if (result[i].kind == 'v')
      return false;
  merged = std::move(result);
  return true;
}

std::string sanitize(const std::string &name) {
  static const std::set<std::string> reserved = {
      "alignas", "and",      "asm",    "auto",    "bool",    "break",
      "case",    "catch",    "char",   "class",   "const",   "continue",
      "default", "delete",   "do",     "double",  "else",    "enum",
      "export",  "extern",   "false",  "float",   "for",     "friend",
      "goto",    "if",       "inline", "int",     "long",    "namespace",
      "new",     "not",      "or",     "private", "public",  "register",
      "return",  "short",    "signed", "sizeof",  "static",  "struct",
      "switch",  "template", "this",   "throw",   "true",    "try",
      "typedef", "typename", "union",  "using",   "void",    "while",
      "xor",     "def",      "let",    "in",      "string",  "list",
      "bit",     "bits",     "dag",    "code",    "include", "operator"};
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])))
    result.insert(result.begin(), '_');
  if (reserved.count(result))
    result += '_';
  return result;
}

/// Text for a TableGen code block, which `}]` would end.
std::string codeBlock(const char *text) {
  std::string result = text ? text : "";
  for (size_t at; (at = result.find("}]")) != std::string::npos;)
    result.insert(at + 1, " ");
  return result;
}

/// The first sentence, on one line, for a summary.
std::string summaryOf(const Operator &op) {
  return op.name + " of " +
         (op.domain.empty() ? std::string("ai.onnx") : op.domain) +
         ", since version " +
         std::to_string(op.versions.back().since_version());
}

const char *attributeConstraint(AttributeProto::AttributeType type) {
  switch (type) {
  case AttributeProto::FLOAT:
    return "F32Attr";
  case AttributeProto::INT:
    return "I64Attr";
  case AttributeProto::STRING:
    return "StrAttr";
  case AttributeProto::TENSOR:
    return "ONNX_TensorAttribute";
  case AttributeProto::SPARSE_TENSOR:
    return "ONNX_SparseTensorAttribute";
  case AttributeProto::FLOATS:
    return "DenseF32ArrayAttr";
  case AttributeProto::INTS:
    return "DenseI64ArrayAttr";
  case AttributeProto::STRINGS:
    return "StrArrayAttr";
  case AttributeProto::TENSORS:
  case AttributeProto::SPARSE_TENSORS:
  case AttributeProto::TYPE_PROTOS:
    return "ArrayAttr";
  default:
    return "AnyAttr";
  }
}

/// "" for ai.onnx, "ml." for ai.onnx.ml, "preview.training." …
std::string mnemonicPrefix(const std::string &domain) {
  if (domain.empty())
    return "";
  const std::string vendor = "ai.onnx.";
  return (domain.rfind(vendor, 0) == 0 ? domain.substr(vendor.size())
                                       : domain) +
         ".";
}

/// "" for ai.onnx, "ML" for ai.onnx.ml, "PreviewTraining" …
std::string classPrefix(const std::string &domain) {
  std::string prefix = mnemonicPrefix(domain);
  if (prefix == "ml.")
    return "ML";
  std::string result;
  bool upper = true;
  for (char c : prefix) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      result += upper ? static_cast<char>(std::toupper(c)) : c;
      upper = false;
    } else {
      upper = true;
    }
  }
  return result;
}

std::vector<Operator> mergedOperators() {
  std::map<std::pair<std::string, std::string>, Operator> byName;
  for (OpSchema &schema :
       ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    Operator &op = byName[{schema.domain(), schema.Name()}];
    op.domain = schema.domain();
    op.name = schema.Name();
    op.versions.push_back(std::move(schema));
  }
  std::vector<Operator> result;
  for (auto &[key, op] : byName) {
    std::sort(op.versions.begin(), op.versions.end(),
              [](const OpSchema &a, const OpSchema &b) {
                return a.since_version() > b.since_version();
              });
    bool first = true;
    for (const OpSchema &schema : op.versions) {
      std::vector<Parameter> operands = op.operands, results = op.results;
      if (mergeParameters(operands, schema.inputs(), first) &&
          mergeParameters(results, schema.outputs(), first)) {
        op.operands = std::move(operands);
        op.results = std::move(results);
      } else {
        op.unmerged.push_back(schema.since_version());
      }
      first = false;
    }
    result.push_back(std::move(op));
  }
  return result;
}

bool segmented(const std::vector<Parameter> &parameters) {
  return std::count_if(parameters.begin(), parameters.end(),
                       [](const Parameter &p) { return p.kind != 's'; }) > 1;
}

/// What tblgen makes of a member's name for its accessor: `some_name` and
/// `SomeName` are both read by getSomeName.
std::string accessorOf(const std::string &name) {
  std::string result;
  bool upper = true;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_' && i + 1 < name.size() &&
        std::isalpha(static_cast<unsigned char>(name[i + 1]))) {
      upper = true;
      continue;
    }
    result += upper ? static_cast<char>(std::toupper(name[i])) : name[i];
    upper = false;
  }
  return result;
}

struct Names {
  std::set<std::string> used; // accessors
  /// A name whose accessor no other member has.
  std::string unique(const std::string &name) {
    std::string result = sanitize(name);
    while (!used.insert(accessorOf(result)).second)
      result += "_";
    return result;
  }
};

void printParameters(std::ostream &out, const char *dag,
                     const std::vector<Parameter> &parameters, Names &names,
                     const std::vector<std::string> &attributes) {
  std::string separator;
  out << "(" << dag;
  for (const Parameter &parameter : parameters) {
    out << separator << " ";
    separator = ",";
    const char *type = parameter.kind == 's'   ? "AnyType"
                       : parameter.kind == 'o' ? "Optional<AnyType>"
                                               : "Variadic<AnyType>";
    out << type << ":$" << names.unique(parameter.name);
  }
  for (const std::string &attribute : attributes) {
    out << separator << " " << attribute;
    separator = ",";
  }
  out << ")";
}

struct Attribute {
  AttributeProto::AttributeType type;
  std::string description;
  bool mixed = false; // other versions have another type
};

void printOperator(std::ostream &td, std::ostream &table, const Operator &op) {
  const OpSchema &newest = op.versions.front();
  std::map<std::string, Attribute> attributes;
  for (const OpSchema &schema : op.versions)
    for (const auto &[name, attribute] : schema.attributes()) {
      auto [it, inserted] = attributes.insert(
          {name, {attribute.type, attribute.description, false}});
      if (!inserted && it->second.type != attribute.type)
        it->second.mixed = true;
    }
  std::set<std::string> operandNames;
  for (const Parameter &operand : op.operands)
    operandNames.insert(accessorOf(operand.name));

  std::vector<std::string> traits, attributeRecords, regions;
  Names names;
  Names resultNames;
  std::ostringstream arguments, results;
  std::vector<std::pair<std::string, std::string>> attributeMembers;
  for (const auto &[name, attribute] : attributes) {
    if (attribute.type == AttributeProto::GRAPH && !attribute.mixed) {
      regions.push_back(name);
      continue;
    }
    if (operandNames.count(accessorOf(name)))
      continue; // became an input
    // ODS names are the attribute's real names: one that is no identifier, or
    // a word of C++, stays a discardable attribute.
    if (sanitize(name) != name)
      continue;
    attributeMembers.push_back(
        {name, std::string("OptionalAttr<") +
                   (attribute.mixed ? "AnyAttr"
                                    : attributeConstraint(attribute.type)) +
                   ">:$" + name});
  }
  for (auto &[name, record] : attributeMembers)
    attributeRecords.push_back(record);
  for (auto &[name, record] : attributeMembers)
    names.used.insert(accessorOf(name));
  printParameters(arguments, "ins", op.operands, names, attributeRecords);
  resultNames.used = names.used;
  // A result may have the name of an operand (BatchNormalization 7 mean).
  printParameters(results, "outs", op.results, resultNames, {});

  bool random =
      newest.Name().rfind("Random", 0) == 0 || attributes.count("seed") != 0;
  if (!regions.empty())
    traits.push_back("RecursiveMemoryEffects");
  else if (!random)
    traits.push_back("Pure");
  if (segmented(op.operands))
    traits.push_back("AttrSizedOperandSegments");
  if (segmented(op.results))
    traits.push_back("AttrSizedResultSegments");

  std::string className = classPrefix(op.domain) + op.name + "Op";
  td << "def ONNX_" << className << " : ONNX_Operator<\""
     << mnemonicPrefix(op.domain) << op.name << "\",\n    ";
  std::string list = "[";
  for (const std::string &trait : traits)
    list += (list.size() > 1 ? ", " : "") + trait;
  list += "]";
  if (op.domain.empty())
    td << "!listconcat(" << list << ", ONNX_OperatorTraits<\"" << op.name
       << "\">.traits)";
  else
    td << list;
  td << "> {\n";
  td << "  let summary = \"" << summaryOf(op) << "\";\n";
  td << "  let description = [{\n" << codeBlock(newest.doc()) << "\n";
  td << "Versions:";
  for (const OpSchema &schema : op.versions)
    td << " " << schema.since_version()
       << (schema.Deprecated() ? " (deprecated)" : "");
  td << ".\n";
  for (int version : op.unmerged)
    td << "Nodes of version " << version << " are imported as `onnx.Custom`.\n";
  td << "  }];\n";
  td << "  let arguments = " << arguments.str() << ";\n";
  td << "  let results = " << results.str() << ";\n";
  if (!regions.empty()) {
    td << "  let regions = (region";
    for (size_t i = 0; i < regions.size(); ++i)
      td << (i ? "," : "") << " AnyRegion:$" << sanitize(regions[i]);
    td << ");\n";
  }
  td << "}\n\n";

  table << "{\"onnx." << mnemonicPrefix(op.domain) << op.name << "\", \""
        << op.domain << "\", \"" << op.name << "\", \"";
  for (const Parameter &operand : op.operands)
    table << operand.kind;
  table << "\", \"";
  for (const Parameter &result : op.results)
    table << result.kind;
  table << "\", \"";
  for (size_t i = 0; i < regions.size(); ++i)
    table << (i ? "," : "") << regions[i];
  table << "\", \"";
  for (size_t i = 0; i < op.unmerged.size(); ++i)
    table << (i ? "," : "") << op.unmerged[i];
  table << "\"},\n";
}

/// How ONNX's headers name the classes of a domain's schemas.
const char *schemaClassDomain(const std::string &domain) {
  if (domain.empty())
    return "Onnx";
  return domain == "ai.onnx.ml" ? "OnnxML" : "OnnxPreview";
}

/// A line of SchemaRegistry.cpp's table for each version, oldest first.
void printSchemas(std::ostream &schemas, const Operator &op) {
  for (auto it = op.versions.rbegin(); it != op.versions.rend(); ++it)
    schemas << "{\"" << op.domain << "\", \"" << op.name << "\", "
            << it->since_version()
            << ", ::onnx::GetOpSchema<::onnx::"
               "ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME("
            << schemaClassDomain(op.domain) << ", " << it->since_version()
            << ", " << op.name << ")>},\n";
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: amp-schema-to-ods OPERATORS.td "
                         "OPERATORS.inc SCHEMAS.inc\n");
    return 2;
  }
  std::ofstream td(argv[1]), table(argv[2]), schemas(argv[3]);
  td << "// Printed by amp-schema-to-ods from ONNX's operator schemas.\n\n";
  for (const Operator &op : mergedOperators()) {
    printOperator(td, table, op);
    printSchemas(schemas, op);
  }
  td.close();
  table.close();
  schemas.close();
  if (!td || !table || !schemas) {
    std::fprintf(stderr, "amp-schema-to-ods: cannot write the output\n");
    return 1;
  }
  return 0;
}
