//===- Policy.cpp - onnx-amp policy ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ExplainOperator.h"
#include "Messages.h"
#include "PolicyArgument.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace amp;
namespace json = llvm::json;

static int listPolicies(bool asJSON) {
  std::string text;
  json::Array names;
  for (const std::string &name : Policy::presetNames()) {
    text += name + "\n";
    names.push_back(name);
  }
  if (asJSON)
    text = llvm::formatv("{0:2}\n", json::Value(std::move(names)));
  return printOutput(text) ? ExitSuccess : ExitFailure;
}

/// An operator of the newest opset, and how policies call it.
struct NamedOperator {
  std::string spelling;
  OperationDescription description;
};

/// All of them, sorted.
static std::vector<NamedOperator> listOperators() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<onnx::ONNXDialect>();
  std::vector<NamedOperator> operators;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    const onnx::OperatorInfo *info = onnx::lookupOperator(name);
    if (!info)
      continue;
    int64_t opset = onnx::latestOpset(info->domain);
    const onnx::Schema *schema =
        onnx::lookupSchema(info->domain, info->name, opset);
    if (!schema || schema->deprecated)
      continue;
    OperationDescription description;
    description.domain = info->domain;
    description.name = info->name;
    description.version = opset;
    operators.push_back({info->domain.empty()
                             ? info->name.str()
                             : (info->domain + ":" + info->name).str(),
                         description});
  }
  llvm::sort(operators, [](const NamedOperator &a, const NamedOperator &b) {
    return a.spelling < b.spelling;
  });
  return operators;
}

/// The operators by category. Rules with conditions are asked with nothing
/// known of the node.
static std::map<std::string, std::vector<std::string>>
categorize(const Policy &policy, llvm::ArrayRef<NamedOperator> all) {
  std::map<std::string, std::vector<std::string>> operators;
  for (const NamedOperator &op : all) {
    Category category = policy.decide(op.description).category;
    operators[stringifyCategory(category).str()].push_back(op.spelling);
  }
  return operators;
}

namespace {
/// What a policy says of operators, categories apart.
class PolicyDetails {
public:
  PolicyDetails(const Policy &policy, llvm::ArrayRef<NamedOperator> operators)
      : policy(policy), numOperators(operators.size()) {
    for (const NamedOperator &op : operators)
      add(op);
  }

  std::string toText() const;
  void addTo(json::Object &object) const;

private:
  struct Rule {
    ConditionalStatement statement;
    std::vector<std::string> operators;
  };
  using OperandLists =
      std::vector<std::pair<std::string, llvm::SmallVector<unsigned, 4>>>;

  void add(const NamedOperator &op);
  std::string spellOperators(const Rule &rule) const;

  const Policy &policy;
  size_t numOperators;
  std::vector<std::string> noPull;
  OperandLists pins, flushes;
  /// In the order of the first operator that each speaks of.
  std::vector<Rule> rules;
};
} // namespace

void PolicyDetails::add(const NamedOperator &op) {
  const OperationDescription &description = op.description;
  Decision decision = policy.decide(description);
  if (decision.noPull)
    noPull.push_back(op.spelling);
  if (!decision.pinnedOperands.empty())
    pins.push_back({op.spelling, decision.pinnedOperands});
  if (!decision.flushedOperands.empty())
    flushes.push_back({op.spelling, decision.flushedOperands});
  // The last statement comes first there, and holds.
  for (ConditionalStatement &statement : policy.conditionalStatements(
           description.domain, description.name, description.version)) {
    auto rule = llvm::find_if(rules, [&](const Rule &known) {
      return known.statement.rule == statement.rule &&
             known.statement.conditions == statement.conditions &&
             known.statement.effect == statement.effect;
    });
    if (rule == rules.end())
      rule = rules.insert(rules.end(), {std::move(statement), {}});
    rule->operators.push_back(op.spelling);
  }
}

/// Adds words to a text whose lines get no longer than people like to read.
static void appendWrapped(std::string &text, llvm::StringRef title,
                          llvm::ArrayRef<std::string> words) {
  text += (title + ":").str();
  size_t column = 80;
  for (const std::string &word : words) {
    bool wraps = column + word.size() + 1 > 80;
    text += wraps ? "\n  " : " ";
    column = (wraps ? 2 : column + 1) + word.size();
    text += word;
  }
  text += "\n";
}

std::string PolicyDetails::spellOperators(const Rule &rule) const {
  return rule.operators.size() == numOperators
             ? "any operator"
             : llvm::join(rule.operators, ", ");
}

std::string PolicyDetails::toText() const {
  std::string text;
  auto spell = [](const OperandLists &lists) {
    std::vector<std::string> words;
    for (const auto &[op, positions] : lists) {
      std::vector<std::string> numbers;
      for (unsigned position : positions)
        numbers.push_back(llvm::utostr(position));
      words.push_back(op + "[" + llvm::join(numbers, ",") + "]");
    }
    return words;
  };
  if (!noPull.empty())
    appendWrapped(text, "no_pull", noPull);
  if (!pins.empty())
    appendWrapped(text, "pin", spell(pins));
  if (!flushes.empty())
    appendWrapped(text, "flush", spell(flushes));
  text += llvm::formatv("constants: out_of_range {0}, underflow {1}\n",
                        stringifyOutOfRange(policy.outOfRange()),
                        stringifyUnderflow(policy.underflow()));
  if (!rules.empty())
    text += "rules:\n";
  for (const Rule &rule : rules)
    text += llvm::formatv("  {0}, if {1}: {2}\n    {3}\n", spellOperators(rule),
                          rule.statement.conditions, rule.statement.effect,
                          rule.statement.rule);
  return text;
}

void PolicyDetails::addTo(json::Object &object) const {
  auto toJSON = [](const OperandLists &lists) {
    json::Object operands;
    for (const auto &[op, positions] : lists)
      operands[op] = json::Array(positions);
    return operands;
  };
  object["no_pull"] = json::Array(noPull);
  object["pin"] = toJSON(pins);
  object["flush"] = toJSON(flushes);
  object["out_of_range"] = stringifyOutOfRange(policy.outOfRange());
  object["underflow"] = stringifyUnderflow(policy.underflow());
  json::Array array;
  for (const Rule &rule : rules)
    array.push_back(json::Object{{"operators", json::Array(rule.operators)},
                                 {"if", rule.statement.conditions},
                                 {"says", rule.statement.effect},
                                 {"rule", rule.statement.rule}});
  object["rules"] = std::move(array);
}

static int showPolicy(llvm::StringRef name, bool asJSON) {
  int code = ExitSuccess;
  std::optional<Policy> policy = loadPolicy(name, code);
  if (!policy)
    return code;
  std::vector<NamedOperator> operators = listOperators();
  PolicyDetails details(*policy, operators);
  json::Object object;
  std::string text;
  for (const auto &[category, names] : categorize(*policy, operators)) {
    object[category] = json::Array(names);
    appendWrapped(text, category, names);
  }
  text += details.toText();
  details.addTo(object);
  if (asJSON)
    text = llvm::formatv("{0:2}\n", json::Value(std::move(object)));
  return printOutput(text) ? ExitSuccess : ExitFailure;
}

static int checkPolicy(llvm::StringRef name, bool asJSON) {
  int code = ExitSuccess;
  std::optional<Policy> policy = loadPolicy(name, code);
  if (!policy)
    return code;
  json::Object object{{"policy", policy->name()}};
  std::string text =
      llvm::formatv("{0}: ok; of ONNX's operators", quoted(name));
  json::Object counts;
  const char *separator = " ";
  for (const auto &[category, operators] :
       categorize(*policy, listOperators())) {
    counts[category] = operators.size();
    text += llvm::formatv("{0}{1} {2}", separator, operators.size(), category);
    separator = ", ";
  }
  object["categories"] = std::move(counts);
  text += "\n";
  if (asJSON)
    text = llvm::formatv("{0:2}\n", json::Value(std::move(object)));
  return printOutput(text) ? ExitSuccess : ExitFailure;
}

int amp::runPolicy(const llvm::opt::InputArgList &arguments) {
  struct Action {
    llvm::StringLiteral name, operand; // operand "" for none
    int (*run)(llvm::StringRef operand, const llvm::opt::InputArgList &);
  };
  static constexpr Action actions[] = {
      {"list", "",
       [](llvm::StringRef, const llvm::opt::InputArgList &arguments) {
         return listPolicies(arguments.hasArg(OPT_json));
       }},
      {"show", "one policy",
       [](llvm::StringRef name, const llvm::opt::InputArgList &arguments) {
         return showPolicy(name, arguments.hasArg(OPT_json));
       }},
      {"explain", "one operator", explainOperator},
      {"check", "one file",
       [](llvm::StringRef name, const llvm::opt::InputArgList &arguments) {
         return checkPolicy(name, arguments.hasArg(OPT_json));
       }},
  };
  std::vector<std::string> words = arguments.getAllArgValues(OPT_INPUT);
  if (words.empty())
    return wrongUsage("expected 'list', 'show NAME|FILE', 'explain OP' or "
                      "'check FILE'");
  llvm::SmallVector<llvm::StringRef> names;
  for (const Action &action : actions)
    names.push_back(action.name);
  const auto *action = llvm::find_if(
      actions, [&](const Action &each) { return each.name == words[0]; });
  if (action == std::end(actions))
    return wrongUsage("unknown word " + quoted(words[0]) +
                      suggest(words[0], names));
  if (arguments.hasArg(OPT_policy) && action->name != "explain")
    return wrongUsage("--policy is for 'explain'");
  bool takesOperand = !action->operand.empty();
  if (words.size() != (takesOperand ? 2 : 1))
    return wrongUsage(quoted(words[0]) + (takesOperand
                                              ? " expects " + action->operand
                                              : " takes no name"));
  return action->run(takesOperand ? words[1] : llvm::StringRef(), arguments);
}
