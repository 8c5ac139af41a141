//===- PolicyFileParser.h - the statements of one policy file -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_POLICY_POLICYFILEPARSER_H
#define AMP_LIB_POLICY_POLICYFILEPARSER_H

#include "PolicyDocument.h"
#include "PolicyTable.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace amp::detail {

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
  llvm::Error expect(const PolicyValue &value, PolicyValue::Kind kind,
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

template <typename Enum, size_t n>
llvm::Expected<Enum> FileParser::parseChoice(
    const PolicyValue &value,
    const std::pair<llvm::StringLiteral, Enum> (&choices)[n]) {
  std::vector<llvm::StringRef> names;
  for (const auto &[name, choice] : choices) {
    if (value.kind == PolicyValue::Kind::Scalar && value.text == name)
      return choice;
    names.push_back(name);
  }
  return error(value, "expected one of " + llvm::join(names, ", ") + ", got " +
                          value.describe());
}

} // namespace amp::detail

#endif // AMP_LIB_POLICY_POLICYFILEPARSER_H
