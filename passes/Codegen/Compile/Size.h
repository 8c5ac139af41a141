//===- Size.h - how many: known now, or of an argument's axes ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_SIZE_H
#define AMP_PASSES_CODEGEN_COMPILE_SIZE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <numeric>
#include <tuple>

namespace amp::codegen {

/// A dimension of an argument that is known at run time only.
struct Axis {
  unsigned argument, axis;

  bool operator==(const Axis &other) const {
    return argument == other.argument && axis == other.axis;
  }
  bool operator<(const Axis &other) const {
    return std::tie(argument, axis) < std::tie(other.argument, other.axis);
  }
};

/// factor * axes / divisor, which is a whole number.
class Size {
public:
  Size(int64_t factor = 1) : factor(factor) {}
  Size(Axis axis) : axes{axis} {}

  bool isStatic() const { return axes.empty() && divisor == 1; }
  bool isOne() const { return isStatic() && factor == 1; }
  int64_t getFactor() const { return factor; }
  int64_t getDivisor() const { return divisor; }
  llvm::ArrayRef<Axis> getAxes() const { return axes; }

  /// The value, or a guess for what is not known.
  int64_t estimate() const {
    int64_t result = factor;
    for ([[maybe_unused]] Axis axis : axes)
      result *= 128;
    return result / divisor;
  }

  Size operator*(const Size &other) const {
    Size result = *this;
    result.factor *= other.factor;
    result.divisor *= other.divisor;
    result.axes.append(other.axes.begin(), other.axes.end());
    llvm::sort(result.axes);
    result.reduce();
    return result;
  }
  Size operator/(int64_t number) const {
    Size result = *this;
    result.divisor *= number;
    result.reduce();
    return result;
  }
  bool operator==(const Size &other) const {
    return factor == other.factor && divisor == other.divisor &&
           axes == other.axes;
  }
  bool operator!=(const Size &other) const { return !(*this == other); }

private:
  void reduce() {
    if (int64_t common = std::gcd(factor, divisor); common > 1) {
      factor /= common;
      divisor /= common;
    }
  }

  int64_t factor = 1, divisor = 1;
  llvm::SmallVector<Axis, 2> axes;
};

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_SIZE_H
