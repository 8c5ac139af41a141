//===- Differences.cpp - how far two models are apart ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differences.h"

#include "TypeSpelling.h"

#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quantities.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

double Difference::getError() const {
  return isInfinite() ? std::numeric_limits<double>::infinity() : relative;
}

bool amp::isWorse(const Difference &a, const Difference &b) {
  return a.getError() > b.getError();
}

std::string Difference::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!shapes.empty()) {
    stream << "shapes " << shapes;
    return text;
  }
  if (nonFinite)
    stream << formatPlural(nonFinite, "element") << " not finite in one of them"
           << (relative > 0 ? ", otherwise " : "");
  if (relative > 0 || !nonFinite)
    stream << llvm::format("relative %.3g", relative);
  if (ulps > 0)
    stream << llvm::format(", %.3g ulps", ulps);
  if (!index.empty() && first != second)
    stream << ", " << first << " and " << second << " at " << index;
  return text;
}

json::Object Difference::toJSON() const {
  json::Object object{
      {"name", json::fixUTF8(name)}, {"sample", sample},
      {"nonfinite", nonFinite},      {"relative", relative},
      {"absolute", absolute},        {"ulps", ulps},
  };
  if (!index.empty()) {
    object["index"] = index;
    object["first"] = first;
    object["second"] = second;
  }
  if (!shapes.empty())
    object["shapes"] = shapes;
  return object;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

static std::string joinSizes(const json::Array *sizes, StringRef separator) {
  std::string text;
  if (sizes)
    for (const json::Value &size : *sizes)
      text += (text.empty() ? "" : separator.str()) +
              std::to_string(size.getAsInteger().value_or(0));
  return text;
}

static Difference readDifference(const json::Object &object) {
  Difference result;
  result.name = object.getString("name").value_or("").str();
  result.sample = object.getInteger("sample").value_or(0);
  result.nonFinite = object.getInteger("nonfinite").value_or(0);
  result.relative = object.getNumber("relative").value_or(0);
  result.absolute = object.getNumber("absolute").value_or(0);
  result.ulps = object.getNumber("ulps").value_or(0);
  if (const json::Array *index = object.getArray("index"))
    result.index = "[" + joinSizes(index, ", ") + "]";
  if (const json::Array *pair = object.getArray("pair"))
    if (pair->size() == 2) {
      result.first = (*pair)[0].getAsString().value_or("").str();
      result.second = (*pair)[1].getAsString().value_or("").str();
    }
  if (const json::Array *shapes = object.getArray("shapes"))
    if (shapes->size() == 2)
      result.shapes = "[" + joinSizes((*shapes)[0].getAsArray(), ",") +
                      "] and [" + joinSizes((*shapes)[1].getAsArray(), ",") +
                      "]";
  return result;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// The format in which ulps of two values of these types are counted.
static StringRef getUlpFormat(Type a, Type b) {
  auto spell = [](Type type) {
    return spellElementType(cast<TensorType>(type).getElementType());
  };
  for (StringRef narrow : {"float16", "bfloat16"})
    if (spell(a) == narrow || spell(b) == narrow)
      return narrow;
  return "float32";
}

FailureOr<std::vector<Difference>>
amp::compareModels(MLIRContext *context, Engine &engine, const EngineModel &a,
                   const EngineModel &b, ArrayRef<std::string> data) {
  llvm::StringMap<Type> types;
  for (const EngineModel::Observable &value : b.values)
    types[value.name] = value.type;
  json::Array names, formats;
  for (const EngineModel::Observable &value : a.values) {
    auto other = types.find(value.name);
    if (other == types.end() || bool(getFloatElementType(value.type)) !=
                                    bool(getFloatElementType(other->second)))
      continue;
    names.push_back(value.name);
    formats.push_back(getUlpFormat(value.type, other->second));
  }
  llvm::Expected<json::Object> response = engine.run(json::Object{
      {"command", "compare"},
      {"models", json::Array{a.path, b.path}},
      {"inputs", json::Array(a.inputs)},
      {"data", json::Array(data)},
      {"values", std::move(names)},
      {"formats", std::move(formats)},
      {"bfloat16", json::Array{a.getBFloat16(), b.getBFloat16()}},
  });
  if (!response)
    return report(context, response.takeError());
  std::vector<Difference> differences;
  if (const json::Array *entries = response->getArray("differences"))
    for (const json::Value &entry : *entries)
      if (const json::Object *object = entry.getAsObject())
        differences.push_back(readDifference(*object));
  return differences;
}

FailureOr<Difference> amp::scoreModel(MLIRContext *context, Engine &engine,
                                      const EngineModel &reference,
                                      const EngineModel &candidate,
                                      ArrayRef<std::string> data,
                                      ArrayRef<StringRef> tf32) {
  llvm::Expected<json::Object> response = engine.run(json::Object{
      {"command", "score"},
      {"models", json::Array{reference.path, candidate.path}},
      {"inputs", json::Array(reference.inputs)},
      {"data", json::Array(data)},
      {"tf32", json::Array(tf32)},
  });
  if (!response)
    return report(context, response.takeError());
  const json::Object *worst = response->getObject("worst");
  return worst ? readDifference(*worst) : Difference();
}
