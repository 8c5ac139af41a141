//===- Policy.h - which operations run in which format ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A policy gives each operation a category. It is read from YAML (the format
// is described in docs/policy-format.md); the presets in lib/Policy/presets are
// such files, built into the library. Policies know operators by name only:
// this library depends on LLVM and on nothing of MLIR or ONNX.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_POLICY_POLICY_H
#define AMP_POLICY_POLICY_H

#include "amp/Policy/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Regex;
} // namespace llvm

namespace amp {

/// How an operation takes part in mixed precision.
enum class Category {
  Allow,   ///< runs in the low format (tensor core work)
  Deny,    ///< runs in float32 (its range or precision needs it)
  Promote, ///< runs in the join of its float inputs' formats
  Follow,  ///< safe in the low format when its data already is there
  Clear,   ///< moves or compares data, exact in every format
  Keep,    ///< never touched: its operands keep the types the model gave them
  Ban,     ///< refused with an error that names a better operator
};

/// The category's name in policy files: "allow", "deny", …
llvm::StringRef stringifyCategory(Category category);
std::optional<Category> parseCategory(llvm::StringRef name);

/// What happens to a constant operand with finite values beyond the low
/// format's largest.
enum class OutOfRange {
  Saturate,    ///< bounds and masks become the largest finite value
  Clamp,       ///< all of them do, weights too
  KeepFloat32, ///< the operation that reads the constant stays in float32
  Convert,     ///< they round to infinity, as a plain cast does
};

/// The word of policy files: "saturate", …
llvm::StringRef stringifyOutOfRange(OutOfRange outOfRange);

/// What happens to a constant operand that is too small for the low format (an
/// epsilon of 1e-12 in fp16).
enum class Underflow {
  KeepFloat32, ///< the operation that reads the constant stays in float32
  Flush,       ///< it becomes zero or subnormal, as by a plain cast
};

/// The word of policy files: "keep" or "flush".
llvm::StringRef stringifyUnderflow(Underflow underflow);

/// What a policy may ask of one operation. It refers to the caller's data for
/// the time of one call of decide().
struct OperationDescription {
  /// Operator domain; "" and "ai.onnx" are the same.
  llvm::StringRef domain;
  /// Operator name: "MatMul".
  llvm::StringRef name;
  /// Version of the domain's operator set that the node is read with (or the
  /// version of the operator's schema: presets split only where schemas do).
  int64_t version = 0;
  /// The node's own name; may be empty. Expressions on node names then see
  /// the first output's name.
  llvm::StringRef nodeName;
  llvm::ArrayRef<llvm::StringRef> outputNames;
  /// True if the operand at this position of the operator's schema is there
  /// and is a constant (an initializer, or the output of a Constant node). A
  /// null function counts as "no constants".
  llvm::function_ref<bool(unsigned)> isConstantOperand;
  /// The number of elements of the operand at this position; none if there is
  /// no such operand or its shape is not known. A null function counts as
  /// "not known": conditions on sizes then do not hold. So for the other
  /// functions here.
  llvm::function_ref<std::optional<uint64_t>(unsigned)> operandElements;
  /// The sizes of the dimensions of the operand at this position, -1 for those
  /// not known; none if not even their number is known.
  llvm::function_ref<std::optional<llvm::SmallVector<int64_t>>(unsigned)>
      operandShape;
  /// The largest finite magnitude in the operand at this position: of a
  /// constant, or measured.
  llvm::function_ref<std::optional<double>(unsigned)> operandAbsmax;
  /// How many numbers the operation adds up, or compares, for each element of
  /// its result.
  llvm::function_ref<std::optional<int64_t>()> reductionLength;
  /// The value of the attribute of this name, or its default: a number in
  /// decimal digits, or a text.
  llvm::function_ref<std::optional<std::string>(llvm::StringRef)> attribute;
  /// True if `matches` holds for the name of something that the operation is
  /// part of: of the modules of the program that it was exported from, their
  /// classes, its function and the nodes around it, and of what calls that
  /// function is part of. Of one `rule`, `matches` is always the same.
  llvm::function_ref<bool(const void *rule,
                          llvm::function_ref<bool(llvm::StringRef)> matches)>
      isInScope;
  /// The program's low format; bottom counts as "not known".
  FloatFormat low;
};

/// What a policy says of one operation.
struct Decision {
  Category category = Category::Keep;
  /// False if no statement gave the category: the operator is not listed.
  bool isListed = false;
  /// The operation is never a reason to round a float32 input: it runs in the
  /// low format only if its data is there anyhow (comparisons, ArgMax).
  bool noPull = false;
  /// Schema positions of operands that keep their type whatever the category.
  llvm::SmallVector<unsigned, 4> pinnedOperands;
  /// Schema positions of constants that are added to something larger (biases):
  /// for these Underflow::Flush holds whatever `underflow` says.
  llvm::SmallVector<unsigned, 4> flushedOperands;
  /// For this operation's constant operands.
  OutOfRange outOfRange = OutOfRange::KeepFloat32;
  Underflow underflow = Underflow::KeepFloat32;
  /// The low format of this operation (fp16, bf16 or tf32); none for that of
  /// the program. tf32 is computed in, never stored: the operation's types
  /// stay.
  std::optional<FloatFormat> low;
  /// The operation runs in float32, and so does what leads to it, up to
  /// operations that are allowed to be low: the arithmetic before a loss.
  bool island = false;
  /// Why, for people: "policy 'inference': Softmax is deny: …". Owned by the
  /// policy; valid until the policy is changed or destroyed.
  llvm::StringRef rule;
};

/// What a policy says of an operator where an operation meets conditions.
struct ConditionalStatement {
  std::string conditions; ///< "operand 0 is a constant"
  std::string effect;     ///< "allow; underflow: flush"
  llvm::StringRef rule;   ///< as Decision::rule
};

/// An expression on names of nodes, of a rule in a policy file.
struct NodeExpression {
  std::string text;
  std::string place; ///< "policy 'mine' line 7"
  std::shared_ptr<const llvm::Regex> regex;

  /// On the whole of a node's name, or of its first output's if it has none.
  bool matches(llvm::StringRef name) const;
};

/// A policy: operators by category, operands that keep their type, rules that
/// refine both, and what to do with constants. Cheap to move, can be copied;
/// decide() may be called from several threads at once.
class Policy {
public:
  /// What is inside; defined where policies are read.
  struct Table;

  /// The preset of this name. Fails with one line that offers the nearest
  /// name.
  static llvm::Expected<Policy> preset(llvm::StringRef name);

  /// Reads a policy file's text; the buffer's identifier is what errors call
  /// the file, and where a relative `extends` path starts. Fails with one
  /// line, `file:line:column: message`. Keeps no reference to the buffer.
  static llvm::Expected<Policy> parse(llvm::MemoryBufferRef buffer);

  /// What a command line names: a preset, or the path of a policy file.
  static llvm::Expected<Policy> load(llvm::StringRef presetOrPath);
  /// The same, and what it names besides: keepOperator() and keepNode().
  static llvm::Expected<Policy> load(llvm::StringRef presetOrPath,
                                     llvm::ArrayRef<std::string> keptOperators,
                                     llvm::ArrayRef<std::string> keptNodes);

  /// True for the path of a policy file, which ends in .yaml or .yml or has a
  /// slash; everything else is the name of a preset.
  static bool isPath(llvm::StringRef presetOrPath);

  /// Names of the presets, in alphabetical order.
  static std::vector<std::string> presetNames();

  Policy(const Policy &);
  Policy(Policy &&) noexcept;
  Policy &operator=(const Policy &);
  Policy &operator=(Policy &&) noexcept;
  ~Policy();

  /// Keeps every node whose whole name matches this POSIX extended regular
  /// expression, over all rules. Fails if the expression is malformed.
  llvm::Error keepNode(llvm::StringRef regex);

  /// Keeps every node of this operator, "Op" or "domain:Op", over all rules.
  /// Fails, offering the nearest name, if it names an operator of an ONNX
  /// domain that does not exist; operators of other domains need not be known.
  llvm::Error keepOperator(llvm::StringRef op);

  /// The decision for one operation. An operator that the policy does not
  /// mention is kept.
  Decision decide(const OperationDescription &op) const;

  /// What decide() can't say of an operator without an operation: the
  /// statements with conditions on operands or names of nodes, as far as
  /// nothing overrides them anyhow. The last one comes first: it holds where
  /// several speak of the same thing.
  std::vector<ConditionalStatement>
  conditionalStatements(llvm::StringRef domain, llvm::StringRef name,
                        int64_t version) const;

  /// The expressions of all rules, in the order of the files, base first.
  llvm::ArrayRef<NodeExpression> nodeExpressions() const;

  /// Fails as keepOperator() does.
  static llvm::Error checkOperator(llvm::StringRef op);

  /// The operators that the policy names, "Op" or "domain:Op", sorted.
  std::vector<std::string> operators() const;

  /// The preset's name, or the path of the file without folder and extension.
  llvm::StringRef name() const;

  /// The low format that the policy asks for (fp16, bf16 or tf32); none if it
  /// leaves the choice.
  std::optional<FloatFormat> low() const;

  /// True if the policy, or one of its rules, asks for this low format.
  bool asksFor(FloatFormat low) const;

  /// Whether an input (output) of the program keeps its type; none if the
  /// policy does not say.
  std::optional<bool> keepsInput(llvm::StringRef name) const;
  std::optional<bool> keepsOutput(llvm::StringRef name) const;

  /// For constants, unless a rule says otherwise of an operation
  /// (Decision::outOfRange, Decision::underflow are what to use).
  OutOfRange outOfRange() const;
  Underflow underflow() const;

private:
  explicit Policy(std::unique_ptr<Table> table);
  friend class PolicyParser;
  std::unique_ptr<Table> table;
};

} // namespace amp

#endif // AMP_POLICY_POLICY_H
