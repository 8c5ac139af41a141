//===- ConversionReport.cpp - what a conversion did -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConversionReport.h"

#include "Quantities.h"
#include "TypeSpelling.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

/// The float types that autocast could choose for an operation.
static llvm::SmallSetVector<FloatType, 2> getFormats(AutocastOpInterface op) {
  llvm::SmallSetVector<FloatType, 2> formats;
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    if (FloatType type = getFloatElementType(op->getOperand(i).getType()))
      if (op.getOperandTypeVariable(i) >= 0)
        formats.insert(type);
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    if (FloatType type = getFloatElementType(op->getResult(i).getType()))
      if (op.getResultTypeVariable(i) >= 0)
        formats.insert(type);
  return formats;
}

static Type getElementTypeOf(TypedAttr constant) {
  return cast<ShapedType>(constant.getType()).getElementType();
}

static bool isLow(FloatType type) { return type.isF16() || type.isBF16(); }

void ConversionReport::collectBefore(ModuleOp module) {
  before = ModelStatistics::collect(module);
  opsetBefore = onnx::getOpsetVersion(module, "");
  module.walk([&](AutocastOpInterface op) {
    if (!op.isAutocastConstant() && llvm::any_of(getFormats(op), isLow))
      lowBefore.insert(op);
  });
}

void ConversionReport::collectAfter(ModuleOp module) {
  after = ModelStatistics::collect(module);
  opsetAfter = onnx::getOpsetVersion(module, "");
  module.walk([&](Operation *op) {
    if (onnx::TensorAttr tensor = getStoredTensor(op))
      if (auto rounded = dyn_cast<RoundedAttr>(Attribute(tensor.getValue())))
        constants.push_back({getOutputName(op, 0), rounded});
    if (isa<CastOp>(op)) {
      ++insertedCasts;
      return;
    }
    auto category = op->getAttrOfType<StringAttr>(AMPDialect::kCategory);
    auto reason = op->getAttrOfType<StringAttr>(AMPDialect::kReason);
    auto autocast = dyn_cast<AutocastOpInterface>(op);
    if (!category || !autocast)
      return;
    Node node;
    node.name = getNodeName(op);
    node.op = getOperatorName(op);
    node.category = category.getValue();
    node.reason = reason ? reason.getValue() : StringRef();
    node.fate = Fate::Kept;
    for (FloatType type : getFormats(autocast)) {
      node.formats +=
          (node.formats.empty() ? "" : ", ") + spellElementType(type);
      if (isLow(type))
        node.fate = lowBefore.contains(op) ? Fate::AlreadyLow : Fate::Lowered;
    }
    nodes.push_back(std::move(node));
  });
}

uint64_t ConversionReport::count(Fate fate) const {
  return llvm::count_if(nodes,
                        [&](const Node &node) { return node.fate == fate; });
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string ConversionReport::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto line = [&](StringRef title) -> llvm::raw_ostream & {
    return stream << "  " << llvm::left_justify(title, 10);
  };
  stream << quoted(input) << " -> " << quoted(output);
  if (dtype == "none")
    stream << ": nothing was converted\n";
  else
    stream << ": " << dtype << " by policy " << quoted(policy) << "\n";

  uint64_t alreadyLow = count(Fate::AlreadyLow);
  line("nodes") << before.nodes;
  if (dtype != "none") {
    stream << ": " << count(Fate::Lowered) << " lowered, ";
    if (alreadyLow)
      stream << alreadyLow << " low already, ";
    stream << count(Fate::Kept) << " kept, " << before.nodes - nodes.size()
           << " without a choice";
    if (!count(Fate::Lowered) && !alreadyLow && count(Fate::Kept))
      stream << "; --explain says why";
    stream << "\n";
    line("casts") << insertedCasts << " inserted\n";
  } else {
    stream << "\n";
  }
  if (opsetBefore && opsetAfter && opsetBefore != opsetAfter)
    line("opset") << *opsetBefore << " -> " << *opsetAfter << "\n";
  line("size") << formatBytes(bytesBefore()) << " -> "
               << formatBytes(bytesAfter());
  if (externalAfter())
    stream << ", " << formatBytes(externalAfter()) << " of it external data";
  stream << "\n";

  // Values that rounding changed beyond all measure.
  for (const Constant &constant : constants) {
    RoundingStats stats = rounding.lookup(constant.value);
    if (!stats.overflowed)
      continue;
    bool saturates = constant.value.getOverflow() == Overflow::Saturate;
    line("constant") << quoted(constant.name) << ": "
                     << formatPlural(stats.overflowed, "value") << " of "
                     << stats.count << " beyond the range of "
                     << spellElementType(getElementTypeOf(constant.value))
                     << ", now "
                     << (saturates ? "its largest value" : "infinity") << "\n";
  }
  line("time") << formatSeconds(seconds()) << " (start "
               << formatSeconds(startSeconds) << ", import "
               << formatSeconds(importSeconds) << ", passes "
               << formatSeconds(passSeconds) << ", export "
               << formatSeconds(exportSeconds) << ")\n";
  return text;
}

std::string ConversionReport::toExplanation() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const Node &node : nodes)
    stream << llvm::left_justify(node.formats, 9) << " "
           << llvm::left_justify(node.category, 7) << " " << spellName(node.op)
           << " " << quoted(node.name) << ": " << node.reason << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Names are bytes, JSON is text.
static json::Value toValue(StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

static json::Array toValue(const std::map<std::string, TensorTotals> &weights) {
  json::Array array;
  for (const auto &[type, totals] : weights)
    array.push_back(json::Object{{"type", type},
                                 {"tensors", totals.tensors},
                                 {"elements", totals.elements},
                                 {"bytes", totals.bytes}});
  return array;
}

static json::Object toValue(StringRef name, RoundedAttr value,
                            const RoundingStats &stats) {
  bool saturates = value.getOverflow() == Overflow::Saturate;
  return json::Object{
      {"name", toValue(name)},
      {"from", spellElementType(getElementTypeOf(value.getSource()))},
      {"to", spellElementType(getElementTypeOf(value))},
      {"elements", stats.count},
      {"overflow", saturates ? "saturate" : "infinity"},
      {"overflowed", stats.overflowed},
      {"underflowed", stats.underflowed},
      {"subnormal", stats.subnormal},
      {"nan", stats.nan},
      {"infinite", stats.infinite},
      {"absmax", stats.absmax},
      {"largest_relative_error", stats.largestRelativeError},
  };
}

std::string ConversionReport::toJSON(bool withExplanation) const {
  struct Counts {
    uint64_t lowered = 0, alreadyLow = 0, kept = 0;
  };
  llvm::MapVector<StringRef, Counts> byCategory;
  json::Array kept, explanation;
  for (const Node &node : nodes) {
    Counts &counts = byCategory[node.category];
    json::Object object{{"node", toValue(node.name)},
                        {"operator", toValue(node.op)},
                        {"category", node.category},
                        {"formats", node.formats},
                        {"reason", toValue(node.reason)}};
    switch (node.fate) {
    case Fate::Lowered:
      ++counts.lowered;
      break;
    case Fate::AlreadyLow:
      ++counts.alreadyLow;
      break;
    case Fate::Kept:
      ++counts.kept;
      kept.push_back(json::Object(object));
      break;
    }
    if (withExplanation)
      explanation.push_back(std::move(object));
  }
  json::Object categories;
  for (const auto &[category, counts] : byCategory)
    categories[category] = json::Object{{"lowered", counts.lowered},
                                        {"already_low", counts.alreadyLow},
                                        {"kept", counts.kept}};
  json::Array rounded;
  for (const Constant &constant : constants)
    rounded.push_back(toValue(constant.name, constant.value,
                              rounding.lookup(constant.value)));

  json::Object report{
      {"input", toValue(input)},
      {"output", toValue(output)},
      {"dtype", dtype},
      {"policy", toValue(policy)},
      {"nodes", json::Object{{"total", before.nodes},
                             {"lowered", count(Fate::Lowered)},
                             {"already_low", count(Fate::AlreadyLow)},
                             {"kept", count(Fate::Kept)},
                             {"without_choice", before.nodes - nodes.size()}}},
      {"categories", std::move(categories)},
      {"opset", json::Object{{"before", opsetBefore.value_or(0)},
                             {"after", opsetAfter.value_or(0)}}},
      {"casts", insertedCasts},
      {"total_casts", after.casts + insertedCasts},
      {"bytes",
       json::Object{{"before", bytesBefore()}, {"after", bytesAfter()}}},
      {"external_bytes", json::Object{{"before", before.externalBytes()},
                                      {"after", externalAfter()}}},
      {"weights", json::Object{{"before", toValue(before.weights)},
                               {"after", toValue(after.weights)}}},
      {"seconds", seconds()},
      {"phases", json::Object{{"start", startSeconds},
                              {"import", importSeconds},
                              {"passes", passSeconds},
                              {"export", exportSeconds}}},
      {"kept", std::move(kept)},
      {"rounded", std::move(rounded)},
  };
  if (withExplanation)
    report["explain"] = std::move(explanation);
  return llvm::formatv("{0:2}\n", json::Value(std::move(report)));
}
