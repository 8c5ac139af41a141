//===- PolicyTesting.h - policies and operations in one line ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_POLICY_POLICYTESTING_H
#define AMP_TEST_UNIT_POLICY_POLICYTESTING_H

#include "amp/Policy/Policy.h"

#include "gtest/gtest.h"

namespace amp {

/// The policy of this text, which must parse; an empty one if it does not.
inline Policy parsed(llvm::StringRef text) {
  auto policy = Policy::parse({text, "test.yaml"});
  if (policy)
    return std::move(*policy);
  ADD_FAILURE() << llvm::toString(policy.takeError());
  return llvm::cantFail(Policy::parse({"{}", "test.yaml"}));
}

/// An operation by the policies' spelling of its operator.
inline OperationDescription operation(llvm::StringRef op, int64_t version = 17,
                                      llvm::StringRef nodeName = "") {
  OperationDescription description;
  if (op.contains(':'))
    std::tie(description.domain, description.name) = op.rsplit(':');
  else
    description.name = op;
  description.version = version;
  description.nodeName = nodeName;
  description.low = FloatFormat::fp16();
  return description;
}

/// The category of an operation whose operands are constants of so many
/// elements, if any are given.
inline Category category(const Policy &policy, llvm::StringRef op,
                         int64_t version = 17, llvm::StringRef nodeName = "",
                         std::optional<uint64_t> elements = std::nullopt) {
  OperationDescription description = operation(op, version, nodeName);
  auto isConstant = [&](unsigned) { return elements.has_value(); };
  auto count = [&](unsigned) { return elements; };
  description.isConstantOperand = isConstant;
  description.operandElements = count;
  return policy.decide(description).category;
}

} // namespace amp

#endif // AMP_TEST_UNIT_POLICY_POLICYTESTING_H
