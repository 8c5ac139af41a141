//===- PolicyFileParser.cpp - the statements of one policy file -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyFileParser.h"

using namespace amp;
using namespace amp::detail;

using Kind = PolicyValue::Kind;

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
