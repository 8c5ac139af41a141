//===- PolicyParser.h - reads policy files ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_POLICY_POLICYPARSER_H
#define AMP_LIB_POLICY_POLICYPARSER_H

#include "amp/Policy/Policy.h"

#include "llvm/ADT/StringSet.h"

namespace amp {

namespace detail {
struct PolicyValue;

/// Adds the operators that `text` gives a category. Says nothing of faults:
/// reading the preset does.
void collectCategorisedOperators(llvm::StringRef text,
                                 llvm::StringSet<> &names);
} // namespace detail

/// Makes policies from text; a file and what it extends, base first.
class PolicyParser {
public:
  static llvm::Expected<Policy> parsePreset(llvm::StringRef name,
                                            llvm::StringRef text);
  static llvm::Expected<Policy> parseFile(llvm::MemoryBufferRef buffer);

private:
  struct Source;
  static llvm::Expected<Policy> parse(const Source &source);
  static llvm::Error parseInto(Policy::Table &table, const Source &source);
  static llvm::Error parseBase(Policy::Table &table, const Source &source,
                               const detail::PolicyValue &value);
};

} // namespace amp

#endif // AMP_LIB_POLICY_POLICYPARSER_H
