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
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

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

/// The operators of the newest opsets by category. Rules with conditions are
/// asked with nothing known of the node.
static std::map<std::string, std::set<std::string>>
categorize(const Policy &policy) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<onnx::ONNXDialect>();
  std::map<std::string, std::set<std::string>> operators;
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
    Category category = policy.decide(description).category;
    std::string spelling = info->domain.empty()
                               ? info->name.str()
                               : (info->domain + ":" + info->name).str();
    operators[stringifyCategory(category).str()].insert(std::move(spelling));
  }
  return operators;
}

static int showPolicy(llvm::StringRef name, bool asJSON) {
  int code = ExitSuccess;
  std::optional<Policy> policy = loadPolicy(name, code);
  if (!policy)
    return code;
  json::Object object;
  std::string text;
  for (const auto &[category, operators] : categorize(*policy)) {
    object[category] = json::Array(operators);
    text += category + ":";
    size_t column = 80;
    for (const std::string &op : operators) {
      // Names go on in the next line before they get too long to read.
      bool wraps = column + op.size() + 1 > 80;
      text += wraps ? "\n  " : " ";
      column = (wraps ? 2 : column + 1) + op.size();
      text += op;
    }
    text += "\n";
  }
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
  for (const auto &[category, operators] : categorize(*policy)) {
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
