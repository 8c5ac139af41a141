//===- RegularExpression.h - patterns of RE2's syntax -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_REGULAREXPRESSION_H
#define AMP_RUNTIME_CPU_REGULAREXPRESSION_H

#include "amp/Runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace amp::runtime {

/// Code points from first to last.
using CodePointRange = std::pair<uint32_t, uint32_t>;

/// Whether a text as a whole matches. All states are followed at once (Thompson
/// 1968), so that time is linear in the text, whatever the pattern.
class RegularExpression {
public:
  /// An error says what is wrong with the pattern, or not supported: Unicode
  /// properties (\\p), \\C.
  static Result<RegularExpression> parse(std::string_view pattern);

  /// Numbers of 32 bits that a match needs to work with.
  size_t getScratchSize() const { return 4 * program.size(); }
  bool matches(std::string_view text, uint32_t *scratch) const;

private:
  friend class RegularExpressionParser;

  enum class Kind {
    Characters, ///< one of `ranges`
    Split,      ///< goes on at both targets
    Jump,
    TextBegin,
    TextEnd,
    LineBegin,
    LineEnd,
    WordBoundary,
    NoWordBoundary,
    Match,
  };
  struct Instruction {
    Kind kind;
    uint32_t first = 0, second = 0; // targets
    std::vector<CodePointRange> ranges;
  };
  struct Surroundings;
  void follow(uint32_t start, const Surroundings &at, uint32_t *states,
              uint32_t *positions, uint32_t *stack, uint32_t &count) const;

  std::vector<Instruction> program;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_REGULAREXPRESSION_H
