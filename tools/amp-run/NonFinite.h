//===- NonFinite.h - who makes a NaN or an infinity -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_NONFINITE_H
#define AMP_TOOLS_AMPRUN_NONFINITE_H

#include "amp/Runtime/Session.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace amp::run {

/// Elements of a tensor that are not finite.
struct NonFiniteCount {
  uint64_t count = 0;
  /// The index of the first, and what it is.
  uint64_t first = 0;
  double value = 0;
  bool hasNaN = false, hasInfinity = false;

  explicit operator bool() const { return count > 0; }
};

/// Of types that have none, 0.
NonFiniteCount countNonFinite(const runtime::TensorView &tensor);

/// "12 of 4096 elements are not finite; the first, inf, is at index 7"
std::string describe(const NonFiniteCount &count,
                     const runtime::TensorView &tensor);

/// Watches a step for the first command that makes a NaN of none, or an
/// infinity of finite numbers.
class NonFiniteFinder final : public runtime::CommandObserver {
public:
  /// Before a step; states may have some already.
  runtime::Status begin(const runtime::Session &session);
  void handle(const runtime::CommandEvent &event) override;

  /// Commands that did so until now do so in every step (a mask of -inf): they
  /// are not looked for from here on.
  void ignoreFound();
  /// "node 'x' ('matmul') makes …".
  const std::optional<std::string> &getFirst() const { return first; }

private:
  /// Memory of values with such elements.
  struct Range {
    const char *begin, *end;
    bool hasNaN, hasInfinity;
  };
  using Maker = std::pair<std::string, std::string>;

  void markMemory(const runtime::TensorView &tensor,
                  const NonFiniteCount &count);
  /// What an input had before the command ran.
  NonFiniteCount countBefore(const runtime::CommandEvent &event,
                             size_t input) const;

  std::vector<Range> ranges;
  std::set<Maker> found, ignored;
  std::optional<std::string> first;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_NONFINITE_H
