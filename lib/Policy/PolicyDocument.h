//===- PolicyDocument.h - a YAML text as a tree with positions --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_POLICY_POLICYDOCUMENT_H
#define AMP_LIB_POLICY_POLICYDOCUMENT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace amp::detail {

/// One value of a YAML text and where it begins (line and column from 1).
struct PolicyValue {
  enum class Kind { Nothing, Scalar, List, Mapping };
  Kind kind = Kind::Nothing;
  unsigned line = 1, column = 1;
  std::string text; // of a scalar, without quotes
  std::vector<PolicyValue> items;
  std::vector<std::pair<PolicyValue, PolicyValue>> entries;

  /// "nothing", "'text'", "a list" or "a mapping", for messages.
  std::string describe() const;
};

/// An error at a value: `file:line:column: message`.
llvm::Error errorAt(llvm::StringRef fileName, const PolicyValue &value,
                    const llvm::Twine &message);

/// Reads a text with one YAML document. Keys are scalars, given once per
/// mapping; anchors, aliases and tags are refused. Fails with
/// `file:line:column: message`, and prints nothing.
llvm::Expected<PolicyValue> readPolicyDocument(llvm::StringRef text,
                                               llvm::StringRef fileName);

} // namespace amp::detail

#endif // AMP_LIB_POLICY_POLICYDOCUMENT_H
