//===- ConversionReport.cpp - what a conversion did -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConversionReport.h"

#include "NodeFormats.h"
#include "TypeSpelling.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

static Type getElementTypeOf(TypedAttr constant) {
  return cast<ShapedType>(constant.getType()).getElementType();
}

void ConversionReport::collectBefore(ModuleOp module) {
  before = ModelStatistics::collect(module);
  opsetBefore = onnx::getOpsetVersion(module, "");
  module.walk([&](AutocastOpInterface op) {
    if (!op.isAutocastConstant() && llvm::any_of(getFormats(op), isLow))
      lowBefore.insert(op);
  });
  for (auto function : module.getOps<func::FuncOp>()) {
    functionsBefore.insert(function);
    uint64_t &count =
        nodesOfFunctions[function->getAttr(onnx::ONNXDialect::kFunction)];
    function.walk([&](Operation *op) { count += isNode(op); });
  }
}

void ConversionReport::collectAfter(ModuleOp module) {
  after = ModelStatistics::collect(module);
  opsetAfter = onnx::getOpsetVersion(module, "");
  for (auto function : module.getOps<func::FuncOp>()) {
    if (functionsBefore.contains(function))
      continue;
    ++copiedFunctions;
    copiedNodes += nodesOfFunctions.lookup(
        function->getAttr(onnx::ONNXDialect::kFunction));
  }
  std::optional<FunctionFlow> functions;
  std::optional<CostModel> costs;
  if (explained) {
    functions.emplace(module);
    costs.emplace(*functions, *explained);
  }
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
    if (auto rule = op->getAttrOfType<StringAttr>(AMPDialect::kRule))
      node.rule = rule.getValue();
    node.fate = Fate::Kept;
    for (FloatType type : getFormats(autocast)) {
      node.formats +=
          (node.formats.empty() ? "" : ", ") + spellElementType(type);
      if (isLow(type))
        node.fate = lowBefore.contains(op) ? Fate::AlreadyLow : Fate::Lowered;
    }
    if (costs)
      explain(node, op, *costs);
    nodes.push_back(std::move(node));
  });
}

void ConversionReport::explain(Node &node, Operation *op,
                               CostModel &costs) const {
  auto autocast = cast<AutocastOpInterface>(op);
  auto add = [&](int variable, Type type) {
    FloatType element = getFloatElementType(type);
    if (variable >= 0 && element && isLow(element) &&
        node.fate == Fate::Lowered)
      node.savedBytes += costs.getSaving(type, op->getBlock());
  };
  llvm::SmallPtrSet<Operation *, 4> castsIn;
  for (OpOperand &operand : op->getOpOperands()) {
    add(autocast.getOperandTypeVariable(operand.getOperandNumber()),
        operand.get().getType());
    if (auto cast = operand.get().getDefiningOp<CastOp>())
      castsIn.insert(cast);
  }
  node.castsIn = castsIn.size();
  for (OpResult result : op->getResults()) {
    add(autocast.getResultTypeVariable(result.getResultNumber()),
        result.getType());
    node.castsOut += llvm::count_if(
        result.getUsers(), [](Operation *user) { return isa<CastOp>(user); });
  }
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
  line("nodes") << countNodes();
  if (dtype != "none") {
    uint64_t float32 = llvm::count_if(
        nodes, [](const Node &node) { return node.isFloat32(); });
    uint64_t others = count(Fate::Kept) - float32;
    stream << ": " << count(Fate::Lowered) + alreadyLow << " low, ";
    if (alreadyLow)
      stream << alreadyLow << " of them before, ";
    stream << float32 << " float32, ";
    if (others)
      stream << others << " in other formats, ";
    stream << countNodes() - nodes.size() << " without a choice";
    if (!count(Fate::Lowered) && !alreadyLow && count(Fate::Kept))
      stream << "; --explain says why";
    stream << "\n";
    line("casts") << insertedCasts << " inserted\n";
    if (copiedFunctions)
      line("functions") << copiedFunctions << " copied, with "
                        << formatPlural(copiedNodes, "node") << "\n";
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

  if (!calibrationText.empty())
    line("measured") << calibrationText << "\n";
  if (!searchText.empty())
    line("search") << searchText << "\n";

  // Values that rounding changed beyond all measure.
  uint64_t rounded = 0, underflowed = 0;
  for (const Constant &constant : constants) {
    RoundingStats stats = rounding.lookup(constant.value);
    rounded += stats.count;
    underflowed += stats.underflowed;
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
  if (underflowed)
    line("constants") << formatCount(underflowed) << " of "
                      << formatCount(rounded)
                      << " values became zero; --explain says where\n";
  line("time") << formatSeconds(seconds()) << " (start "
               << formatSeconds(startSeconds) << ", import "
               << formatSeconds(importSeconds) << ", passes "
               << formatSeconds(passSeconds) << ", export "
               << formatSeconds(exportSeconds) << ")\n";
  return text;
}

/// What a policy says of an operator without its category, which stands beside:
/// "policy 'p' line 7: Op@11+ is allow, deny in the base: why" and "policy 'p'
/// line 7: allow: why" say "policy 'p' line 7: why" then.
static std::string dropCategory(StringRef text, StringRef op,
                                StringRef category) {
  auto drop = [&](size_t begin, StringRef rest) {
    return (text.take_front(begin) + rest).str();
  };
  std::string said = (": " + op).str();
  if (size_t at = text.find(said); at != StringRef::npos) {
    StringRef rest = text.substr(at + said.size());
    StringRef versions = rest.take_until([](char c) { return c == ' '; });
    rest = rest.drop_front(versions.size());
    if ((versions.empty() || versions.starts_with("@")) &&
        rest.consume_front((" is " + category).str()))
      return drop(at, rest);
  }
  said = (": " + category).str();
  if (size_t at = text.find(said); at != StringRef::npos)
    if (StringRef rest = text.substr(at + said.size());
        rest.empty() || rest.starts_with(":") || rest.starts_with(";"))
      return drop(at, rest);
  return text.str();
}

bool ConversionReport::Node::isFloat32() const {
  return fate == Fate::Kept && StringRef(formats).contains("float32");
}

/// Rule, reason, casts, bytes.
std::string ConversionReport::Node::explain() const {
  std::string text;
  if (rule.empty()) {
    text = dropCategory(reason, op, category);
  } else {
    text = dropCategory(rule, op, category);
    text += "; ";
    text += reason;
  }
  if (castsIn)
    text += "; " + formatPlural(castsIn, "cast") + " in";
  if (castsOut)
    text += (castsIn ? ", " : "; ") + formatPlural(castsOut, "cast") + " out";
  // Where that was the reason, it has been said: of a function, for one call.
  if (savedBytes && !reason.ends_with(" bytes less"))
    text += "; saves " + formatBytes(savedBytes);
  return text;
}

/// "of 8 values 3 became zero, ...", for constants of which some are changed
/// beyond measure; else empty.
static std::string explainRounding(RoundedAttr value,
                                   const RoundingStats &stats) {
  if (!stats.overflowed && !stats.underflowed && !stats.subnormal)
    return {};
  std::string text = "of " + formatPlural(stats.count, "value");
  const char *separator = " ";
  auto add = [&](uint64_t count, StringRef what) {
    if (!count)
      return;
    text += separator + std::to_string(count) + what.str();
    separator = ", ";
  };
  add(stats.overflowed, value.getOverflow() == Overflow::Saturate
                            ? " saturated"
                            : " became infinite");
  add(stats.underflowed, " became zero");
  add(stats.subnormal, " subnormal");
  text += llvm::formatv("; the largest relative error of others is {0:e1}",
                        stats.largestRelativeError);
  return text;
}

std::string ConversionReport::toExplanation() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const Node &node : nodes)
    stream << llvm::left_justify(node.formats, 9) << " "
           << llvm::left_justify(node.category, 7) << " " << spellName(node.op)
           << " " << quoted(node.name) << ": " << node.explain() << "\n";
  for (const Constant &constant : constants) {
    std::string changes =
        explainRounding(constant.value, rounding.lookup(constant.value));
    if (!changes.empty())
      stream << llvm::left_justify(
                    spellElementType(getElementTypeOf(constant.value)), 9)
             << " constant " << quoted(constant.name) << ": " << changes
             << "\n";
  }
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
    if (!node.rule.empty())
      object["rule"] = toValue(node.rule);
    if (explained) {
      object["casts_in"] = node.castsIn;
      object["casts_out"] = node.castsOut;
      object["saved_bytes"] = node.savedBytes;
    }
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
      {"nodes", json::Object{{"total", countNodes()},
                             {"lowered", count(Fate::Lowered)},
                             {"already_low", count(Fate::AlreadyLow)},
                             {"kept", count(Fate::Kept)},
                             {"without_choice", countNodes() - nodes.size()}}},
      {"categories", std::move(categories)},
      {"opset", json::Object{{"before", opsetBefore.value_or(0)},
                             {"after", opsetAfter.value_or(0)}}},
      {"casts", insertedCasts},
      {"total_casts", after.casts + insertedCasts},
      {"bytes",
       json::Object{{"before", bytesBefore()}, {"after", bytesAfter()}}},
      {"copied_functions", copiedFunctions},
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
  if (calibration)
    report["calibration"] = json::Object(*calibration);
  if (search)
    report["search"] = json::Object(*search);
  return llvm::formatv("{0:2}\n", json::Value(std::move(report)));
}
