//===- PolicyParser.cpp - reads policy files ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyParser.h"

#include "PolicyDocument.h"
#include "PolicyTable.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace amp;
using namespace amp::detail;

using Kind = PolicyValue::Kind;

//===----------------------------------------------------------------------===//
// The statements of one file
//===----------------------------------------------------------------------===//

namespace {
/// A rule while it is read.
struct Rule {
  std::vector<OperatorSpelling> operators;
  Setting setting;
  std::string reason;
};

/// Reads one file's statements into a table, after those of the files that it
/// extends. Every function fails with an error that says where and what.
class FileParser {
public:
  FileParser(Policy::Table &table, llvm::StringRef policyName,
             llvm::StringRef fileName)
      : table(table), policyName(policyName), fileName(fileName),
        numBaseSettings(table.settings.size()) {}

  llvm::Error parse(const PolicyValue &root);

private:
  /// What a mapping may say, and the function that reads it.
  template <typename... Args> struct Key {
    llvm::StringLiteral name;
    llvm::Error (FileParser::*read)(const PolicyValue &, Args...);
  };
  /// Reads a mapping's values in the order of `keys`, whatever the file's.
  template <typename... Args, size_t n>
  llvm::Error parseMapping(const PolicyValue &mapping, llvm::StringRef what,
                           const Key<Args...> (&keys)[n], Args... args);

  // The keys of a file.
  llvm::Error parseExtends(const PolicyValue &value);
  llvm::Error parseLow(const PolicyValue &value);
  llvm::Error parseOutOfRange(const PolicyValue &value);
  llvm::Error parseUnderflow(const PolicyValue &value);
  llvm::Error parseKeepIOTypes(const PolicyValue &value);
  llvm::Error parseCategories(const PolicyValue &value);
  llvm::Error parseNoPull(const PolicyValue &value);
  llvm::Error parsePin(const PolicyValue &value);
  llvm::Error parseFlush(const PolicyValue &value);
  llvm::Error parseRules(const PolicyValue &value);

  using Operands = std::optional<llvm::SmallVector<unsigned, 4>>;
  llvm::Error parseOperands(const PolicyValue &value,
                            Operands Setting::*member);

  // The parts of `categories`.
  llvm::Error parseCategoryItem(const PolicyValue &item, Category category);
  llvm::Error moveBaseCategories(const PolicyValue &value, Category category,
                                 llvm::StringRef reason);
  void applyMoves();
  llvm::Error addToCategory(const PolicyValue &value, Category category,
                            llvm::StringRef reason);

  // The keys of a rule, and of its `when`.
  llvm::Error parseRule(const PolicyValue &value);
  llvm::Error parseRuleOperators(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleNodes(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleOutputs(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleScopes(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleWhen(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleCategory(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleNoPull(const PolicyValue &value, Rule &rule);
  llvm::Error parseRulePin(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleFlush(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleOutOfRange(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleUnderflow(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleLow(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleIsland(const PolicyValue &value, Rule &rule);
  llvm::Error parseRuleReason(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenConstant(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenElements(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenShape(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenAbsmax(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenReduction(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenAttributes(const PolicyValue &value, Rule &rule);
  llvm::Error parseWhenLow(const PolicyValue &value, Rule &rule);

  // Values.
  llvm::Expected<OperatorSpelling> parseOperator(const PolicyValue &value);
  llvm::Error parseExpressions(const PolicyValue &value, llvm::StringRef what,
                               Expressions &expressions);
  llvm::Expected<bool> parseSwitch(const PolicyValue &value);
  llvm::Expected<FloatFormat> parseLowFormat(const PolicyValue &value);
  llvm::Expected<NumberRange> parseNumbers(const PolicyValue &value,
                                           llvm::StringRef what);
  /// Calls `read` with the position and the value of each entry of a mapping.
  llvm::Error forEachOperand(
      const PolicyValue &value, llvm::StringRef what,
      llvm::function_ref<llvm::Error(unsigned, const PolicyValue &)> read);
  llvm::Expected<unsigned> parsePosition(const PolicyValue &value);
  llvm::Expected<llvm::SmallVector<unsigned, 4>>
  parsePositions(const PolicyValue &value);
  template <typename Enum, size_t n>
  llvm::Expected<Enum>
  parseChoice(const PolicyValue &value,
              const std::pair<llvm::StringLiteral, Enum> (&choices)[n]);
  llvm::Expected<OutOfRange> parseOutOfRangeValue(const PolicyValue &value);
  llvm::Expected<Underflow> parseUnderflowValue(const PolicyValue &value);

  llvm::Error error(const PolicyValue &value, const llvm::Twine &message) {
    return errorAt(fileName, value, message);
  }
  llvm::Error expect(const PolicyValue &value, Kind kind,
                     llvm::StringRef expected) {
    if (value.kind == kind)
      return llvm::Error::success();
    return error(value, "expected " + expected + ", got " + value.describe());
  }
  /// Calls `read` for the items of a list, or for a single value.
  llvm::Error
  forEach(const PolicyValue &value, llvm::StringRef expected,
          llvm::function_ref<llvm::Error(const PolicyValue &)> read);

  /// The beginning of a statement's reason.
  std::string place(const PolicyValue &value) {
    return ("policy " + quoted(policyName) + " line " + llvm::Twine(value.line))
        .str();
  }

  Policy::Table &table;
  llvm::StringRef policyName, fileName;
  size_t numBaseSettings;
  /// What this file's `categories` have said of an operator.
  struct Listed {
    NumberRange versions;
    Category category;
    unsigned line;
  };
  llvm::StringMap<llvm::SmallVector<Listed, 1>> listed;
  /// What becomes of a category of the files that this one extends.
  struct Move {
    Category category;
    unsigned line;
    std::string rule;   // "policy 'mine' line 3"
    std::string reason; // may be empty
  };
  std::map<Category, Move> moves;
};
} // namespace

template <typename... Args, size_t n>
llvm::Error
FileParser::parseMapping(const PolicyValue &mapping, llvm::StringRef what,
                         const Key<Args...> (&keys)[n], Args... args) {
  for (const auto &entry : mapping.entries) {
    const PolicyValue &name = entry.first;
    if (llvm::any_of(keys,
                     [&](const auto &key) { return key.name == name.text; }))
      continue;
    std::vector<llvm::StringRef> names;
    for (const auto &key : keys)
      names.push_back(key.name);
    return error(name, "unknown " + what + " " + quoted(name.text) +
                           nearestNameOrAll(name.text, names));
  }
  for (const auto &key : keys)
    for (const auto &[name, value] : mapping.entries)
      if (name.text == key.name)
        if (llvm::Error failure = (this->*key.read)(value, args...))
          return failure;
  return llvm::Error::success();
}

llvm::Error
FileParser::forEach(const PolicyValue &value, llvm::StringRef expected,
                    llvm::function_ref<llvm::Error(const PolicyValue &)> read) {
  if (value.kind == Kind::Scalar)
    return read(value);
  if (llvm::Error failure = expect(value, Kind::List, expected))
    return failure;
  for (const PolicyValue &item : value.items)
    if (llvm::Error failure = read(item))
      return failure;
  return llvm::Error::success();
}

llvm::Error FileParser::parse(const PolicyValue &root) {
  if (llvm::Error failure =
          expect(root, Kind::Mapping, "a mapping with the policy's keys"))
    return failure;
  // Rules come last: they refine what the lists say.
  static constexpr Key<> keys[] = {
      {"extends", &FileParser::parseExtends},
      {"low", &FileParser::parseLow},
      {"out_of_range", &FileParser::parseOutOfRange},
      {"underflow", &FileParser::parseUnderflow},
      {"keep_io_types", &FileParser::parseKeepIOTypes},
      {"categories", &FileParser::parseCategories},
      {"no_pull", &FileParser::parseNoPull},
      {"pin", &FileParser::parsePin},
      {"flush", &FileParser::parseFlush},
      {"rules", &FileParser::parseRules},
  };
  return parseMapping(root, "key", keys);
}

/// PolicyParser has followed it already.
llvm::Error FileParser::parseExtends(const PolicyValue &) {
  return llvm::Error::success();
}

llvm::Error FileParser::parseLow(const PolicyValue &value) {
  auto low = parseLowFormat(value);
  if (!low)
    return low.takeError();
  table.low = *low;
  return llvm::Error::success();
}

/// For all inputs and outputs, or by name.
llvm::Error FileParser::parseKeepIOTypes(const PolicyValue &value) {
  KeptInterface inputs, outputs;
  if (value.kind == Kind::Mapping) {
    for (const auto &[name, names] : value.entries) {
      if (name.text != "inputs" && name.text != "outputs")
        return error(name,
                     "unknown key " + quoted(name.text) +
                         nearestNameOrAll(name.text, {"inputs", "outputs"}));
      KeptInterface &kept = name.text == "inputs" ? inputs : outputs;
      if (llvm::Error failure = parseExpressions(names, "names", kept.names))
        return failure;
    }
  } else {
    auto all = parseSwitch(value);
    if (!all)
      return all.takeError();
    inputs.all = outputs.all = *all;
  }
  table.keptInputs = std::move(inputs);
  table.keptOutputs = std::move(outputs);
  return llvm::Error::success();
}

llvm::Error FileParser::parseOutOfRange(const PolicyValue &value) {
  auto choice = parseOutOfRangeValue(value);
  if (!choice)
    return choice.takeError();
  // As a statement too: it overrides the rules of a file that this one extends.
  table.outOfRange = *choice;
  Setting setting;
  setting.outOfRange = *choice;
  table.add("", std::move(setting));
  return llvm::Error::success();
}

llvm::Error FileParser::parseUnderflow(const PolicyValue &value) {
  auto choice = parseUnderflowValue(value);
  if (!choice)
    return choice.takeError();
  table.underflow = *choice;
  Setting setting;
  setting.underflow = *choice;
  table.add("", std::move(setting));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Operators by category, no_pull, pin
//===----------------------------------------------------------------------===//

llvm::Error FileParser::parseCategories(const PolicyValue &value) {
  if (llvm::Error failure = expect(value, Kind::Mapping,
                                   "a mapping from categories to operators"))
    return failure;
  for (const auto &[name, operators] : value.entries) {
    std::optional<Category> category = parseCategory(name.text);
    if (!category)
      return error(name, "unknown category " + quoted(name.text) +
                             nearestNameOrAll(name.text, categoryNames()));
    if (llvm::Error failure =
            expect(operators, Kind::List, "a list of operators"))
      return failure;
    for (const PolicyValue &item : operators.items)
      if (llvm::Error failure = parseCategoryItem(item, *category))
        return failure;
  }
  applyMoves();
  return llvm::Error::success();
}

/// An operator, or a group of them with a reason: by name, or all that the base
/// has in some categories.
llvm::Error FileParser::parseCategoryItem(const PolicyValue &item,
                                          Category category) {
  if (item.kind == Kind::Scalar)
    return addToCategory(item, category, "");
  if (llvm::Error failure = expect(
          item, Kind::Mapping, "an operator, or 'operators' with a 'reason'"))
    return failure;
  Rule group;
  const PolicyValue *operators = nullptr, *base = nullptr;
  for (const auto &[name, value] : item.entries) {
    if (name.text == "operators")
      operators = &value;
    else if (name.text == "base")
      base = &value;
    else if (name.text != "reason")
      return error(name, "unknown key " + quoted(name.text) +
                             nearestNameOrAll(name.text,
                                              {"operators", "base", "reason"}));
    else if (llvm::Error failure = parseRuleReason(value, group))
      return failure;
  }
  if (!operators && !base)
    return error(item, "expected 'operators' or 'base' beside the reason");
  if (base)
    if (llvm::Error failure = forEach(
            *base, "a list of categories", [&](const PolicyValue &value) {
              return moveBaseCategories(value, category, group.reason);
            }))
      return failure;
  if (!operators)
    return llvm::Error::success();
  return forEach(*operators, "a list of operators",
                 [&](const PolicyValue &value) {
                   return addToCategory(value, category, group.reason);
                 });
}

llvm::Error FileParser::moveBaseCategories(const PolicyValue &value,
                                           Category category,
                                           llvm::StringRef reason) {
  if (llvm::Error failure = expect(value, Kind::Scalar, "a category"))
    return failure;
  std::optional<Category> from = parseCategory(value.text);
  if (!from)
    return error(value, "unknown category " + quoted(value.text) +
                            nearestNameOrAll(value.text, categoryNames()));
  if (!numBaseSettings)
    return error(value, "'base' is for files that extend another");
  auto [move, isNew] = moves.try_emplace(
      *from, Move{category, value.line, place(value), reason.str()});
  if (!isNew)
    return error(value, "'" + value.text + "' of the base is in '" +
                            stringifyCategory(move->second.category) +
                            "' already, on line " +
                            llvm::Twine(move->second.line));
  return llvm::Error::success();
}

/// Every statement of the base says the new category where it said the old one,
/// so that which of them holds stays as it was.
void FileParser::applyMoves() {
  if (moves.empty())
    return;
  std::vector<llvm::StringRef> keys(numBaseSettings);
  for (const auto &[key, indices] : table.byOperator)
    for (unsigned index : indices)
      if (index < numBaseSettings)
        keys[index] = key;
  for (size_t i = 0; i < numBaseSettings; ++i) {
    Setting &setting = table.settings[i];
    if (!setting.category)
      continue;
    auto move = moves.find(*setting.category);
    if (move == moves.end())
      continue;
    const auto &[from, to] = *move;
    setting.category = to.category;
    setting.reason = to.rule + ": ";
    if (!keys[i].empty())
      setting.reason += (keys[i] + " is ").str();
    setting.reason += (stringifyCategory(to.category) + ", " +
                       stringifyCategory(from) + " in the base")
                          .str();
    if (!to.reason.empty())
      setting.reason += ": " + to.reason;
  }
}

llvm::Error FileParser::addToCategory(const PolicyValue &value,
                                      Category category,
                                      llvm::StringRef reason) {
  auto spelling = parseOperator(value);
  if (!spelling)
    return spelling.takeError();
  auto &before = listed[spelling->key];
  for (const Listed &other : before)
    if (spelling->versions.overlaps(other.versions))
      return error(value, "operator " + quoted(value.text) + " is in '" +
                              stringifyCategory(other.category) +
                              "' already, on line " + llvm::Twine(other.line));
  before.push_back({spelling->versions, category, value.line});

  Setting setting;
  setting.versions = spelling->versions;
  setting.category = category;
  setting.reason =
      (place(value) + ": " + value.text + " is " + stringifyCategory(category))
          .str();
  if (!reason.empty())
    setting.reason += (": " + reason).str();
  table.add(spelling->key, std::move(setting));
  return llvm::Error::success();
}

llvm::Error FileParser::parseNoPull(const PolicyValue &value) {
  return forEach(value, "a list of operators",
                 [&](const PolicyValue &item) -> llvm::Error {
                   auto spelling = parseOperator(item);
                   if (!spelling)
                     return spelling.takeError();
                   Setting setting;
                   setting.versions = spelling->versions;
                   setting.noPull = true;
                   table.add(spelling->key, std::move(setting));
                   return llvm::Error::success();
                 });
}

llvm::Error FileParser::parsePin(const PolicyValue &value) {
  return parseOperands(value, &Setting::pinnedOperands);
}

llvm::Error FileParser::parseFlush(const PolicyValue &value) {
  return parseOperands(value, &Setting::flushedOperands);
}

/// A mapping from operators to what a setting says of their operands.
llvm::Error FileParser::parseOperands(const PolicyValue &value,
                                      Operands Setting::*member) {
  if (llvm::Error failure =
          expect(value, Kind::Mapping, "a mapping from operators to positions"))
    return failure;
  for (const auto &[name, positions] : value.entries) {
    auto spelling = parseOperator(name);
    if (!spelling)
      return spelling.takeError();
    auto operands = parsePositions(positions);
    if (!operands)
      return operands.takeError();
    Setting setting;
    setting.versions = spelling->versions;
    setting.*member = std::move(*operands);
    table.add(spelling->key, std::move(setting));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

llvm::Error FileParser::parseRules(const PolicyValue &value) {
  if (llvm::Error failure = expect(value, Kind::List, "a list of rules"))
    return failure;
  for (const PolicyValue &item : value.items)
    if (llvm::Error failure = parseRule(item))
      return failure;
  return llvm::Error::success();
}

llvm::Error FileParser::parseRule(const PolicyValue &value) {
  if (llvm::Error failure = expect(value, Kind::Mapping, "a rule"))
    return failure;
  static constexpr Key<Rule &> keys[] = {
      {"operators", &FileParser::parseRuleOperators},
      {"nodes", &FileParser::parseRuleNodes},
      {"outputs", &FileParser::parseRuleOutputs},
      {"scopes", &FileParser::parseRuleScopes},
      {"when", &FileParser::parseRuleWhen},
      {"category", &FileParser::parseRuleCategory},
      {"no_pull", &FileParser::parseRuleNoPull},
      {"pin", &FileParser::parseRulePin},
      {"flush", &FileParser::parseRuleFlush},
      {"out_of_range", &FileParser::parseRuleOutOfRange},
      {"underflow", &FileParser::parseRuleUnderflow},
      {"low", &FileParser::parseRuleLow},
      {"island", &FileParser::parseRuleIsland},
      {"reason", &FileParser::parseRuleReason},
  };
  Rule rule;
  if (llvm::Error failure =
          parseMapping<Rule &>(value, "key of a rule", keys, rule))
    return failure;
  Setting &setting = rule.setting;
  if (setting.isSilent())
    return error(value, "expected the rule to say one of category, no_pull, "
                        "pin, flush, out_of_range, underflow, low, island");
  setting.reason = place(value);
  if (setting.category)
    setting.reason += (": " + stringifyCategory(*setting.category)).str();
  if (!rule.reason.empty())
    setting.reason += ": " + rule.reason;

  if (rule.operators.empty())
    table.add("", setting);
  for (const OperatorSpelling &spelling : rule.operators) {
    setting.versions = spelling.versions;
    table.add(spelling.key, setting);
  }
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleOperators(const PolicyValue &value,
                                           Rule &rule) {
  llvm::Error failure =
      forEach(value, "a list of operators",
              [&](const PolicyValue &item) -> llvm::Error {
                auto spelling = parseOperator(item);
                if (!spelling)
                  return spelling.takeError();
                rule.operators.push_back(std::move(*spelling));
                return llvm::Error::success();
              });
  if (!failure && rule.operators.empty())
    return error(value, "expected at least one operator");
  return failure;
}

llvm::Error FileParser::parseRuleNodes(const PolicyValue &value, Rule &rule) {
  if (llvm::Error failure =
          parseExpressions(value, "node names", rule.setting.nodes))
    return failure;
  // In the order of the file, each beside what it became.
  auto compiled = rule.setting.nodes.begin();
  return forEach(value, "a regular expression on node names",
                 [&](const PolicyValue &item) -> llvm::Error {
                   table.nodeExpressions.push_back(
                       {item.text, place(item), *compiled++});
                   return llvm::Error::success();
                 });
}

llvm::Error FileParser::parseRuleOutputs(const PolicyValue &value, Rule &rule) {
  return parseExpressions(value, "output names", rule.setting.outputs);
}

llvm::Error FileParser::parseRuleScopes(const PolicyValue &value, Rule &rule) {
  return parseExpressions(value, "names of scopes", rule.setting.scopes);
}

llvm::Error FileParser::parseRuleWhen(const PolicyValue &value, Rule &rule) {
  if (llvm::Error failure =
          expect(value, Kind::Mapping, "a mapping with conditions"))
    return failure;
  static constexpr Key<Rule &> conditions[] = {
      {"constant", &FileParser::parseWhenConstant},
      {"elements", &FileParser::parseWhenElements},
      {"shape", &FileParser::parseWhenShape},
      {"absmax", &FileParser::parseWhenAbsmax},
      {"reduction", &FileParser::parseWhenReduction},
      {"attributes", &FileParser::parseWhenAttributes},
      {"low", &FileParser::parseWhenLow},
  };
  return parseMapping<Rule &>(value, "condition", conditions, rule);
}

llvm::Error FileParser::parseWhenConstant(const PolicyValue &value,
                                          Rule &rule) {
  auto positions = parsePositions(value);
  if (!positions)
    return positions.takeError();
  rule.setting.constantOperands.assign(positions->begin(), positions->end());
  return llvm::Error::success();
}

llvm::Error FileParser::parseWhenElements(const PolicyValue &value,
                                          Rule &rule) {
  return forEachOperand(
      value, "numbers",
      [&](unsigned position, const PolicyValue &item) -> llvm::Error {
        auto range = parseNumbers(item, "a number of elements");
        if (!range)
          return range.takeError();
        rule.setting.operandElements.emplace_back(position, *range);
        return llvm::Error::success();
      });
}

llvm::Error FileParser::parseWhenShape(const PolicyValue &value, Rule &rule) {
  return forEachOperand(
      value, "shapes",
      [&](unsigned position, const PolicyValue &item) -> llvm::Error {
        if (llvm::Error failure = expect(item, Kind::List, "a list of sizes"))
          return failure;
        auto &[_, shape] = rule.setting.operandShapes.emplace_back();
        rule.setting.operandShapes.back().first = position;
        for (const PolicyValue &size : item.items) {
          if (size.kind == Kind::Scalar && size.text == "any") {
            shape.push_back(std::nullopt);
            continue;
          }
          auto range = parseNumbers(size, "'any' or a size");
          if (!range)
            return range.takeError();
          shape.push_back(*range);
        }
        return llvm::Error::success();
      });
}

llvm::Error FileParser::parseWhenAbsmax(const PolicyValue &value, Rule &rule) {
  return forEachOperand(
      value, "magnitudes",
      [&](unsigned position, const PolicyValue &item) -> llvm::Error {
        std::optional<MagnitudeRange> range = parseMagnitudeRange(item.text);
        if (!range)
          return error(item, "expected a magnitude as '1e4', '1e4+' or "
                             "'10..1e4', got " +
                                 item.describe());
        rule.setting.operandAbsmax.emplace_back(position, *range);
        return llvm::Error::success();
      });
}

llvm::Error FileParser::parseWhenReduction(const PolicyValue &value,
                                           Rule &rule) {
  auto range = parseNumbers(value, "a number of elements");
  if (!range)
    return range.takeError();
  rule.setting.reductionLength = *range;
  return llvm::Error::success();
}

llvm::Error FileParser::parseWhenAttributes(const PolicyValue &value,
                                            Rule &rule) {
  if (llvm::Error failure = expect(value, Kind::Mapping,
                                   "a mapping from attribute names to values"))
    return failure;
  for (const auto &[name, values] : value.entries) {
    llvm::SmallVector<std::string, 1> texts;
    if (llvm::Error failure =
            forEach(values, "a value or a list of values",
                    [&](const PolicyValue &item) -> llvm::Error {
                      if (llvm::Error failure =
                              expect(item, Kind::Scalar, "a number or a text"))
                        return failure;
                      texts.push_back(item.text);
                      return llvm::Error::success();
                    }))
      return failure;
    rule.setting.attributes.emplace_back(name.text, std::move(texts));
  }
  return llvm::Error::success();
}

llvm::Error FileParser::parseWhenLow(const PolicyValue &value, Rule &rule) {
  return forEach(value, "a list of formats",
                 [&](const PolicyValue &item) -> llvm::Error {
                   auto format = parseLowFormat(item);
                   if (!format)
                     return format.takeError();
                   rule.setting.lowFormats.push_back(*format);
                   return llvm::Error::success();
                 });
}

llvm::Error FileParser::parseRuleCategory(const PolicyValue &value,
                                          Rule &rule) {
  if (llvm::Error failure = expect(value, Kind::Scalar, "a category"))
    return failure;
  rule.setting.category = parseCategory(value.text);
  if (rule.setting.category)
    return llvm::Error::success();
  return error(value, "unknown category " + quoted(value.text) +
                          nearestNameOrAll(value.text, categoryNames()));
}

llvm::Error FileParser::parseRuleNoPull(const PolicyValue &value, Rule &rule) {
  auto choice = parseSwitch(value);
  if (!choice)
    return choice.takeError();
  rule.setting.noPull = *choice;
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleLow(const PolicyValue &value, Rule &rule) {
  auto low = parseLowFormat(value);
  if (!low)
    return low.takeError();
  rule.setting.low = *low;
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleIsland(const PolicyValue &value, Rule &rule) {
  auto choice = parseSwitch(value);
  if (!choice)
    return choice.takeError();
  rule.setting.island = *choice;
  return llvm::Error::success();
}

llvm::Error FileParser::parseRulePin(const PolicyValue &value, Rule &rule) {
  auto positions = parsePositions(value);
  if (!positions)
    return positions.takeError();
  rule.setting.pinnedOperands = std::move(*positions);
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleFlush(const PolicyValue &value, Rule &rule) {
  auto positions = parsePositions(value);
  if (!positions)
    return positions.takeError();
  rule.setting.flushedOperands = std::move(*positions);
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleOutOfRange(const PolicyValue &value,
                                            Rule &rule) {
  auto choice = parseOutOfRangeValue(value);
  if (!choice)
    return choice.takeError();
  rule.setting.outOfRange = *choice;
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleUnderflow(const PolicyValue &value,
                                           Rule &rule) {
  auto choice = parseUnderflowValue(value);
  if (!choice)
    return choice.takeError();
  rule.setting.underflow = *choice;
  return llvm::Error::success();
}

llvm::Error FileParser::parseRuleReason(const PolicyValue &value, Rule &rule) {
  if (llvm::Error failure = expect(value, Kind::Scalar, "a text"))
    return failure;
  // A block scalar has several lines, a reason is part of one.
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(value.text, words, " \t\r\n");
  rule.reason = llvm::join(words, " ");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

llvm::Expected<OperatorSpelling>
FileParser::parseOperator(const PolicyValue &value) {
  if (llvm::Error failure = expect(value, Kind::Scalar, "an operator"))
    return std::move(failure);
  auto spelling = parseOperatorSpelling(value.text);
  if (!spelling)
    return error(value, llvm::toString(spelling.takeError()));
  if (llvm::Error failure = checkOperatorIsKnown(spelling->key))
    return error(value, llvm::toString(std::move(failure)));
  return spelling;
}

/// One regular expression, or a list of them.
llvm::Error FileParser::parseExpressions(const PolicyValue &value,
                                         llvm::StringRef what,
                                         Expressions &expressions) {
  std::string expected = ("a regular expression on " + what).str();
  llvm::Error failure =
      forEach(value, expected, [&](const PolicyValue &item) -> llvm::Error {
        if (llvm::Error failure =
                expect(item, Kind::Scalar, "a regular expression"))
          return failure;
        auto regex = compileNodeExpression(item.text);
        if (!regex)
          return error(item, llvm::toString(regex.takeError()));
        expressions.push_back(std::move(*regex));
        return llvm::Error::success();
      });
  if (!failure && expressions.empty())
    return error(value, "expected at least one regular expression");
  return failure;
}

llvm::Expected<bool> FileParser::parseSwitch(const PolicyValue &value) {
  static constexpr std::pair<llvm::StringLiteral, bool> choices[] = {
      {"true", true}, {"false", false}};
  return parseChoice(value, choices);
}

llvm::Expected<FloatFormat>
FileParser::parseLowFormat(const PolicyValue &value) {
  static constexpr std::pair<llvm::StringLiteral, FloatFormat> choices[] = {
      {"fp16", FloatFormat::fp16()},
      {"bf16", FloatFormat::bf16()},
      {"tf32", FloatFormat::tf32()}};
  return parseChoice(value, choices);
}

llvm::Expected<NumberRange> FileParser::parseNumbers(const PolicyValue &value,
                                                     llvm::StringRef what) {
  std::optional<NumberRange> range = parseNumberRange(value.text);
  if (range)
    return *range;
  return error(value, "expected " + what + " as 'N', 'N+' or 'N-M', got " +
                          value.describe());
}

llvm::Error FileParser::forEachOperand(
    const PolicyValue &value, llvm::StringRef what,
    llvm::function_ref<llvm::Error(unsigned, const PolicyValue &)> read) {
  std::string expected = ("a mapping from operand positions to " + what).str();
  if (llvm::Error failure = expect(value, Kind::Mapping, expected))
    return failure;
  for (const auto &[key, item] : value.entries) {
    auto position = parsePosition(key);
    if (!position)
      return position.takeError();
    if (llvm::Error failure = read(*position, item))
      return failure;
  }
  return llvm::Error::success();
}

llvm::Expected<unsigned> FileParser::parsePosition(const PolicyValue &value) {
  constexpr unsigned largest = 65535;
  unsigned position = 0;
  if (value.kind == Kind::Scalar &&
      !llvm::StringRef(value.text).getAsInteger(10, position) &&
      position <= largest)
    return position;
  return error(value, "expected an operand's position, counted from 0, got " +
                          value.describe());
}

llvm::Expected<llvm::SmallVector<unsigned, 4>>
FileParser::parsePositions(const PolicyValue &value) {
  llvm::SmallVector<unsigned, 4> positions;
  llvm::Error failure = forEach(value, "a list of operand positions",
                                [&](const PolicyValue &item) -> llvm::Error {
                                  auto position = parsePosition(item);
                                  if (!position)
                                    return position.takeError();
                                  positions.push_back(*position);
                                  return llvm::Error::success();
                                });
  if (failure)
    return std::move(failure);
  llvm::sort(positions);
  positions.erase(llvm::unique(positions), positions.end());
  return positions;
}

template <typename Enum, size_t n>
llvm::Expected<Enum> FileParser::parseChoice(
    const PolicyValue &value,
    const std::pair<llvm::StringLiteral, Enum> (&choices)[n]) {
  std::vector<llvm::StringRef> names;
  for (const auto &[name, choice] : choices) {
    if (value.kind == Kind::Scalar && value.text == name)
      return choice;
    names.push_back(name);
  }
  return error(value, "expected one of " + llvm::join(names, ", ") + ", got " +
                          value.describe());
}

llvm::Expected<OutOfRange>
FileParser::parseOutOfRangeValue(const PolicyValue &value) {
  return parseChoice(value, outOfRangeNames);
}

llvm::Expected<Underflow>
FileParser::parseUnderflowValue(const PolicyValue &value) {
  return parseChoice(value, underflowNames);
}

//===----------------------------------------------------------------------===//
// Files that extend files
//===----------------------------------------------------------------------===//

/// A text to parse, and the one that extends it.
struct PolicyParser::Source {
  llvm::StringRef policyName;
  llvm::StringRef fileName; // for a preset, its name
  llvm::StringRef text;
  bool isPreset;
  const Source *extendedBy;
};

bool Policy::isPath(llvm::StringRef name) {
  return name.contains('/') || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

/// Reads a regular file of a policy's size, or says why not.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readPolicyFile(llvm::StringRef path) {
  constexpr uint64_t largest = 4 << 20;
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (!code && status.type() != llvm::sys::fs::file_type::regular_file)
    return makeError("cannot read policy file " + quoted(path) +
                     ": not a regular file");
  if (!code && status.getSize() > largest)
    return makeError("cannot read policy file " + quoted(path) + ": " +
                     llvm::Twine(status.getSize()) +
                     " bytes, expected at most " + llvm::Twine(largest));
  if (!code) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true);
    if (buffer)
      return std::move(*buffer);
    code = buffer.getError();
  }
  std::string why = code.message();
  if (!why.empty())
    why.front() = llvm::toLower(why.front());
  return makeError("cannot read policy file " + quoted(path) + ": " + why);
}

/// Parses what `extends` names, at `value` in `source`, into the table.
llvm::Error PolicyParser::parseBase(Policy::Table &table, const Source &source,
                                    const PolicyValue &value) {
  llvm::StringRef name = value.text;
  Source base;
  base.extendedBy = &source;
  base.isPreset = !Policy::isPath(name);
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::SmallString<128> path;
  if (base.isPreset) {
    std::optional<llvm::StringRef> text = presetText(name);
    if (!text)
      return errorAt(source.fileName, value,
                     llvm::toString(unknownPreset(name)));
    base.policyName = base.fileName = name;
    base.text = *text;
  } else {
    if (source.isPreset)
      return errorAt(source.fileName, value,
                     "expected a preset, got " + value.describe());
    if (!llvm::sys::path::is_absolute(name))
      path = llvm::sys::path::parent_path(source.fileName);
    llvm::sys::path::append(path, name);
    auto read = readPolicyFile(path);
    if (!read)
      return errorAt(source.fileName, value, llvm::toString(read.takeError()));
    buffer = std::move(*read);
    base.policyName = llvm::sys::path::stem(path);
    base.fileName = path;
    base.text = buffer->getBuffer();
  }

  constexpr unsigned longest = 32;
  std::string route = base.policyName.str();
  unsigned length = 1;
  for (const Source *other = &source; other; other = other->extendedBy) {
    if (++length > longest)
      return errorAt(source.fileName, value,
                     "more than " + llvm::Twine(longest) +
                         " policies extend each other");
    route = (other->policyName + " -> " + route).str();
    bool same =
        other->isPreset == base.isPreset &&
        (base.isPreset ? other->policyName == base.policyName
                       : llvm::sys::fs::equivalent(other->fileName, path));
    if (same)
      return errorAt(source.fileName, value,
                     "policy extends itself: " + quoted(route));
  }
  return parseInto(table, base);
}

llvm::Error PolicyParser::parseInto(Policy::Table &table,
                                    const Source &source) {
  auto root = readPolicyDocument(source.text, source.fileName);
  if (!root)
    return root.takeError();

  for (const auto &[key, value] : root->entries) {
    if (key.text != "extends")
      continue;
    if (value.kind != Kind::Scalar)
      return errorAt(source.fileName, value,
                     "expected the name of a policy, got " + value.describe());
    if (llvm::Error failure = parseBase(table, source, value))
      return failure;
  }
  return FileParser(table, source.policyName, source.fileName).parse(*root);
}

llvm::Expected<Policy> PolicyParser::parse(const Source &source) {
  auto table = std::make_unique<Policy::Table>();
  table->name = source.policyName.str();
  table->notListed = "policy " + quoted(source.policyName) +
                     " does not list the operator: keep";
  if (llvm::Error failure = parseInto(*table, source))
    return std::move(failure);
  return Policy(std::move(table));
}

llvm::Expected<Policy> PolicyParser::parsePreset(llvm::StringRef name,
                                                 llvm::StringRef text) {
  return parse({name, name, text, /*isPreset=*/true, nullptr});
}

llvm::Expected<Policy> Policy::parse(llvm::MemoryBufferRef buffer) {
  return PolicyParser::parseFile(buffer);
}

llvm::Expected<Policy> PolicyParser::parseFile(llvm::MemoryBufferRef buffer) {
  llvm::StringRef fileName = buffer.getBufferIdentifier();
  return parse({llvm::sys::path::stem(fileName), fileName, buffer.getBuffer(),
                /*isPreset=*/false, nullptr});
}

llvm::Expected<Policy> Policy::load(llvm::StringRef presetOrPath) {
  if (!isPath(presetOrPath))
    return preset(presetOrPath);
  auto buffer = readPolicyFile(presetOrPath);
  if (!buffer)
    return buffer.takeError();
  return parse((*buffer)->getMemBufferRef());
}

//===----------------------------------------------------------------------===//
// The operators of the presets
//===----------------------------------------------------------------------===//

void detail::collectCategorisedOperators(llvm::StringRef text,
                                         llvm::StringSet<> &names) {
  auto add = [&](const PolicyValue &value) {
    auto spelling = parseOperatorSpelling(value.text);
    if (spelling)
      names.insert(spelling->key);
    else
      llvm::consumeError(spelling.takeError());
  };
  auto root = readPolicyDocument(text, "");
  if (!root)
    return llvm::consumeError(root.takeError());
  for (const auto &[key, categories] : root->entries) {
    if (key.text != "categories")
      continue;
    for (const auto &[category, operators] : categories.entries)
      for (const PolicyValue &item : operators.items) {
        if (item.kind == Kind::Scalar)
          add(item);
        for (const auto &[part, grouped] : item.entries)
          if (part.text == "operators")
            llvm::for_each(grouped.items, add);
      }
  }
}
