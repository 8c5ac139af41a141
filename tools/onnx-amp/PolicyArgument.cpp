//===- PolicyArgument.cpp - policies that command lines name --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyArgument.h"

#include "CommandLine.h"
#include "Messages.h"
#include "ModelStatistics.h"

#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Support/Quoted.h"

using namespace amp;
using namespace mlir;

std::optional<Policy> amp::loadPolicy(llvm::StringRef presetOrPath, int &code) {
  llvm::Expected<Policy> policy = Policy::load(presetOrPath);
  if (policy)
    return std::move(*policy);
  std::string reason = llvm::toString(policy.takeError());
  if (Policy::isPath(presetOrPath)) {
    printError(reason);
    code = ExitFailure;
  } else {
    code = wrongUsage(reason);
  }
  return std::nullopt;
}

/// True if a policy says something of a node.
static bool mentions(const Policy &policy, AutocastOpInterface node) {
  SmallVector<StringRef, 4> outputNames;
  for (unsigned i = 0, e = node->getNumResults(); i < e; ++i)
    outputNames.push_back(node.getAutocastResultName(i));
  OperationDescription description;
  description.domain = node.getAutocastDomain();
  description.name = node.getAutocastName();
  description.version = node.getAutocastVersion();
  description.nodeName = node.getAutocastNodeName();
  description.outputNames = outputNames;
  return policy.decide(description).isListed;
}

void amp::warnOfUnmatched(ModuleOp module, ArrayRef<std::string> keepOps,
                          ArrayRef<std::string> keepNodes) {
  auto check = [&](StringRef option, StringRef value, auto keep) {
    // A policy that says nothing but this.
    Policy policy = llvm::cantFail(Policy::parse({"{}", ""}));
    llvm::cantFail((policy.*keep)(value));
    WalkResult walk = module.walk([&](AutocastOpInterface node) {
      return isNode(node) && mentions(policy, node) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
    });
    if (!walk.wasInterrupted())
      printWarning("no node matches " + option + " " + quoted(value));
  };
  for (const std::string &op : keepOps)
    check("--keep-op", op, &Policy::keepOperator);
  for (const std::string &regex : keepNodes)
    check("--keep-node", regex, &Policy::keepNode);
}

void amp::warnOfUnmatched(ModuleOp module, llvm::StringRef policyName) {
  // Presets name no nodes.
  if (!Policy::isPath(policyName))
    return;
  llvm::Expected<Policy> policy = Policy::load(policyName);
  if (!policy)
    return llvm::consumeError(policy.takeError());
  SmallVector<const NodeExpression *> unmatched;
  for (const NodeExpression &expression : policy->nodeExpressions())
    unmatched.push_back(&expression);
  module.walk([&](Operation *node) {
    if (unmatched.empty())
      return WalkResult::interrupt();
    if (isNode(node))
      llvm::erase_if(unmatched, [&](const NodeExpression *expression) {
        return expression->matches(getNodeName(node));
      });
    return WalkResult::advance();
  });
  for (const NodeExpression *expression : unmatched)
    printWarning("no node matches " + quoted(expression->text) + " of " +
                 expression->place);
}
