//===- PolicyTable.h - what a policy is inside ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_POLICY_POLICYTABLE_H
#define AMP_LIB_POLICY_POLICYTABLE_H

#include "amp/Policy/Policy.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

#include <limits>

namespace amp {
namespace detail {

/// How files spell the values.
inline constexpr std::pair<llvm::StringLiteral, OutOfRange> outOfRangeNames[] =
    {{"saturate", OutOfRange::Saturate},
     {"clamp", OutOfRange::Clamp},
     {"keep", OutOfRange::KeepFloat32},
     {"convert", OutOfRange::Convert}};
inline constexpr std::pair<llvm::StringLiteral, Underflow> underflowNames[] = {
    {"keep", Underflow::KeepFloat32}, {"flush", Underflow::Flush}};

/// Numbers from the first to the last, both included.
struct NumberRange {
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();

  bool contains(int64_t number) const {
    return first <= number && number <= last;
  }
  bool overlaps(NumberRange other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Magnitudes from the first to the last, both included.
struct MagnitudeRange {
  double first = 0;
  double last = std::numeric_limits<double>::infinity();

  bool contains(double value) const { return first <= value && value <= last; }
};

/// Reads "1e4", "1e4+" or "10..1e4"; none if the text is none of these.
std::optional<MagnitudeRange> parseMagnitudeRange(llvm::StringRef text);

using Expressions = std::vector<std::shared_ptr<const llvm::Regex>>;

/// Reads "N", "N+" or "N-M"; none if the text is none of these.
std::optional<NumberRange> parseNumberRange(llvm::StringRef text);

/// One statement of a policy: for the operations that it matches, it may say
/// each of the things below. Categories, no_pull, pins and rules of a file are
/// all kept as such statements; of those that match and say a thing, the last
/// one holds for that thing.
struct Setting {
  // What it matches: all of these.
  NumberRange versions;
  /// Any of these, on the whole of the node's name; empty matches all.
  Expressions nodes;
  /// The same for the name of any of its outputs, and for that of anything it
  /// is part of.
  Expressions outputs, scopes;
  /// Operands that all must be constants.
  llvm::SmallVector<unsigned, 2> constantOperands;
  /// Operands that all must have so many elements.
  llvm::SmallVector<std::pair<unsigned, NumberRange>, 1> operandElements;
  /// Operands that all must have as many dimensions, of these sizes; none for
  /// a dimension of any size.
  llvm::SmallVector<
      std::pair<unsigned, llvm::SmallVector<std::optional<NumberRange>, 4>>, 0>
      operandShapes;
  /// Operands whose largest magnitude must be in these ranges.
  llvm::SmallVector<std::pair<unsigned, MagnitudeRange>, 0> operandAbsmax;
  std::optional<NumberRange> reductionLength;
  /// The program's low format must be one of these; empty matches all.
  llvm::SmallVector<FloatFormat, 0> lowFormats;
  /// Attributes that all must have one of these values.
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<std::string, 1>>,
                    0>
      attributes;

  // What it says.
  std::optional<Category> category;
  std::optional<bool> noPull;
  std::optional<llvm::SmallVector<unsigned, 4>> pinnedOperands;
  std::optional<llvm::SmallVector<unsigned, 4>> flushedOperands;
  std::optional<OutOfRange> outOfRange;
  std::optional<Underflow> underflow;
  std::optional<FloatFormat> low;
  std::optional<bool> island;

  /// The text of Decision::rule.
  std::string reason;

  /// `version` is what `versions` are asked with.
  bool matches(const OperationDescription &op, int64_t version) const;
  /// True if it says nothing, whatever it matches.
  bool isSilent() const;
};

/// Which inputs or outputs keep their types.
struct KeptInterface {
  bool all = false;
  Expressions names;

  bool keeps(llvm::StringRef name) const;
};

/// An operator as policies spell it, `[domain:]Name[@versions]`.
struct OperatorSpelling {
  /// "Name" for domain ai.onnx, "domain:Name" for others: what Table is keyed
  /// by.
  std::string key;
  NumberRange versions;
};

/// Fails with a message that says what is malformed.
llvm::Expected<OperatorSpelling> parseOperatorSpelling(llvm::StringRef text);

/// The key of an operator that has been split already.
llvm::StringRef operatorKey(llvm::StringRef domain, llvm::StringRef name,
                            llvm::SmallVectorImpl<char> &storage);

/// The ONNX operator that an operator of MLIR's dialects, "tosa:exp", does the
/// same as; empty if there is none. What is said of it is said of both.
llvm::StringRef counterpartOf(llvm::StringRef key);

/// The keys of the operators that the presets have a category for.
const llvm::StringSet<> &knownOperators();

/// Fails, with the nearest name, for an operator of an ONNX domain that no
/// preset has a category for. Operators of other domains need not be known.
llvm::Error checkOperatorIsKnown(llvm::StringRef key);

/// Compiles an expression for the whole of a node's name. Fails if it is
/// malformed or would take too much memory or time.
llvm::Expected<std::shared_ptr<const llvm::Regex>>
compileNodeExpression(llvm::StringRef expression);

/// ", did you mean 'x'?" for the nearest of these names, if one is near.
std::string nearestName(llvm::StringRef got,
                        llvm::ArrayRef<llvm::StringRef> names);

/// The nearest name, or all of them where none is near: for short lists.
std::string nearestNameOrAll(llvm::StringRef got,
                             llvm::ArrayRef<llvm::StringRef> names);

/// The YAML text of a preset; none if there is no preset of this name.
std::optional<llvm::StringRef> presetText(llvm::StringRef name);

/// The error for a name that no preset has, with the nearest that one has.
llvm::Error unknownPreset(llvm::StringRef name);

/// The categories as files spell them.
llvm::ArrayRef<llvm::StringRef> categoryNames();

llvm::Error makeError(const llvm::Twine &message);

} // namespace detail

struct Policy::Table {
  std::string name;
  std::optional<FloatFormat> low;
  OutOfRange outOfRange = OutOfRange::KeepFloat32;
  Underflow underflow = Underflow::KeepFloat32;
  std::optional<detail::KeptInterface> keptInputs, keptOutputs;
  /// Decision::rule of an operator without a category.
  std::string notListed;

  /// In the order of the files, base first.
  std::vector<detail::Setting> settings;
  /// Settings by operator key, and those that are for any operator; both in
  /// ascending order.
  llvm::StringMap<std::vector<unsigned>> byOperator;
  std::vector<unsigned> forAll;
  /// Those in settings, for the user.
  std::vector<NodeExpression> nodeExpressions;

  /// Indices of the settings for an operator, and for its counterpart; in
  /// ascending order. What follows them is the version that they are asked
  /// with: the counterpart's newest, since the other one's count differently.
  std::pair<std::vector<unsigned>, int64_t> settingsFor(llvm::StringRef domain,
                                                        llvm::StringRef name,
                                                        int64_t version) const;

  /// Adds a setting after all others; for any operator if the key is empty.
  void add(llvm::StringRef operatorKey, detail::Setting setting);
};

} // namespace amp

#endif // AMP_LIB_POLICY_POLICYTABLE_H
