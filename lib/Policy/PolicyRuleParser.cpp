//===- PolicyRuleParser.cpp - the rules of a policy file ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyFileParser.h"

using namespace amp;
using namespace amp::detail;

using Kind = PolicyValue::Kind;

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
