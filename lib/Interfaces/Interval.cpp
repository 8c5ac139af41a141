//===- Interval.cpp - between which bounds values lie ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/Interval.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

using namespace amp;
using Kind = Interval::Kind;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// To nearest, as float32 arithmetic does: rounding never changes an order, so
/// a rounded element lies between the rounded bounds.
static double toFloat32(double value) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (std::isnan(value) || std::abs(value) <= largest)
    return static_cast<float>(value);
  return value < 0 ? -kInfinity : kInfinity;
}

/// Of an operation on two: both ends are attained together if one is constant.
static Kind combine(Kind a, Kind b) {
  return a == Kind::Constant || b == Kind::Constant ? std::min(a, b)
                                                    : Kind::Bound;
}

/// NaN stands for a bound that is not known.
static Interval make(double lo, double hi, Kind kind) {
  lo = toFloat32(lo);
  hi = toFloat32(hi);
  return {std::isnan(lo) ? -kInfinity : lo, std::isnan(hi) ? kInfinity : hi,
          kind};
}

bool Interval::isTop() const { return lo == -kInfinity && hi == kInfinity; }

bool Interval::isFinite() const {
  return std::isfinite(lo) && std::isfinite(hi);
}

double Interval::absmax() const {
  return isBottom() ? 0 : std::max(std::abs(lo), std::abs(hi));
}

double Interval::absmin() const {
  return isBottom() || contains(0) ? 0 : std::min(std::abs(lo), std::abs(hi));
}

void Interval::include(double value) {
  if (std::isnan(value))
    return;
  lo = std::min(lo, value);
  hi = std::max(hi, value);
}

bool Interval::operator==(const Interval &other) const {
  return (isBottom() && other.isBottom()) ||
         (lo == other.lo && hi == other.hi && kind == other.kind);
}

Interval amp::join(const Interval &a, const Interval &b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), std::min(a.kind, b.kind)};
}

Interval amp::meet(const Interval &a, const Interval &b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi), std::max(a.kind, b.kind)};
}

Interval amp::operator-(const Interval &a) { return {-a.hi, -a.lo, a.kind}; }

Interval amp::operator+(const Interval &a, const Interval &b) {
  if (a.isBottom() || b.isBottom())
    return Interval::bottom();
  return make(a.lo + b.lo, a.hi + b.hi, combine(a.kind, b.kind));
}

Interval amp::operator-(const Interval &a, const Interval &b) { return a + -b; }

static Interval ofEnds(std::initializer_list<double> ends, Kind kind) {
  return make(std::min(ends), std::max(ends), kind);
}

Interval amp::operator*(const Interval &a, const Interval &b) {
  if (a.isBottom() || b.isBottom())
    return Interval::bottom();
  auto multiply = [](double x, double y) {
    return x == 0 || y == 0 ? 0 : x * y;
  };
  return ofEnds({multiply(a.lo, b.lo), multiply(a.lo, b.hi),
                 multiply(a.hi, b.lo), multiply(a.hi, b.hi)},
                combine(a.kind, b.kind));
}

Interval amp::operator/(const Interval &a, const Interval &b) {
  if (a.isBottom() || b.isBottom())
    return Interval::bottom();
  if (b.contains(0) || !b.isFinite())
    return Interval::top();
  return ofEnds({a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi},
                combine(a.kind, b.kind));
}

Interval amp::abs(const Interval &a) {
  if (a.isBottom())
    return a;
  return {a.absmin(), a.absmax(), a.kind};
}

Interval amp::square(const Interval &a) {
  if (a.isBottom())
    return a;
  return make(a.absmin() * a.absmin(), a.absmax() * a.absmax(), a.kind);
}

Interval amp::min(const Interval &a, const Interval &b) {
  if (a.isBottom() || b.isBottom())
    return Interval::bottom();
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi), std::min(a.kind, b.kind)};
}

Interval amp::max(const Interval &a, const Interval &b) { return -min(-a, -b); }

Interval amp::increasing(const Interval &a,
                         llvm::function_ref<double(double)> function) {
  if (a.isBottom())
    return a;
  return make(function(a.lo), function(a.hi), a.kind);
}
