//===- Policy.cpp - onnx-amp policy ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
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

int amp::runPolicy(const llvm::opt::InputArgList &arguments) {
  static constexpr llvm::StringRef actions[] = {"list", "show"};
  std::vector<std::string> words = arguments.getAllArgValues(OPT_INPUT);
  bool asJSON = arguments.hasArg(OPT_json);
  if (words.size() == 1 && words[0] == "list")
    return listPolicies(asJSON);
  if (words.size() == 2 && words[0] == "show")
    return showPolicy(words[1], asJSON);
  if (words.empty())
    return wrongUsage("expected 'list' or 'show NAME|FILE'");
  if (!llvm::is_contained(actions, words[0]))
    return wrongUsage("unknown word " + quoted(words[0]) +
                      suggest(words[0], actions));
  return wrongUsage(words[0] == "list" ? "'list' takes no name"
                                       : "'show' expects one policy");
}
