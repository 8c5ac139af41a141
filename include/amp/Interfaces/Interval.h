//===- Interval.h - between which bounds values lie -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_INTERVAL_H
#define AMP_INTERFACES_INTERVAL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <limits>

namespace amp {

/// Bounds of a tensor's elements, infinities included. Nothing is said of NaN.
/// Bounds are those of exact arithmetic, rounded to float32: what a chain of
/// operations adds to that by rounding is not counted.
///
///   bottom  no element, or none but NaN
///   [a, b]
///   top     [-inf, inf]
///
/// joins by union. Arithmetic is of all pairs of elements, so it forgets that
/// two operands depend on each other.
struct Interval {
  /// How much the bounds say, the less the smaller. A bound that a value is
  /// proved to stay within may be far from all that it ever is.
  enum class Kind : uint8_t {
    Bound,    ///< proved, no more
    Attained, ///< one set of inputs or another reaches each end
    Constant, ///< these are the ends of known elements
  };

  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  Kind kind = Kind::Bound;

  static Interval top() { return {}; }
  static Interval bottom() {
    return {std::numeric_limits<double>::infinity(),
            -std::numeric_limits<double>::infinity(), Kind::Constant};
  }
  static Interval attained(double lo, double hi) {
    return {lo, hi, Kind::Attained};
  }
  static Interval bound(double lo, double hi) { return {lo, hi, Kind::Bound}; }

  bool isBottom() const { return lo > hi; }
  bool isTop() const;
  bool isFinite() const;
  /// The largest magnitude; 0 of bottom.
  double absmax() const;
  /// The smallest; 0 of bottom.
  double absmin() const;
  bool contains(double value) const { return lo <= value && value <= hi; }
  /// With NaN and infinities of its own left out.
  void include(double value);

  bool operator==(const Interval &other) const;
};

Interval join(const Interval &a, const Interval &b);
/// What is in both; of the kind of the one that says more.
Interval meet(const Interval &a, const Interval &b);

Interval operator-(const Interval &a);
Interval operator+(const Interval &a, const Interval &b);
Interval operator-(const Interval &a, const Interval &b);
/// 0 times an infinite bound is 0: the elements on the way there are finite.
Interval operator*(const Interval &a, const Interval &b);
/// Top where the divisor may be 0.
Interval operator/(const Interval &a, const Interval &b);
Interval abs(const Interval &a);
Interval square(const Interval &a);
Interval min(const Interval &a, const Interval &b);
Interval max(const Interval &a, const Interval &b);
/// Under a function that does not decrease.
Interval increasing(const Interval &a,
                    llvm::function_ref<double(double)> function);

} // namespace amp

#endif // AMP_INTERFACES_INTERVAL_H
