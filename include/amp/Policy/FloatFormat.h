//===- FloatFormat.h - the lattice of floating point formats ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Formats are ordered by containment: `a <= b` when every finite value of `a`
// is exactly a value of `b`. With the same rules for subnormals and rounding
// everywhere, this is an order on (exponent bits, mantissa bits):
//
//                 fp64 (11,52)
//                      |
//                 fp32 (8,23)
//                      |
//                 tf32 (8,10)
//                 /         \
//        fp16 (5,10)       bf16 (8,7)
//                 \         /
//                    (5,7)
//                      |
//                    (5,3)
//                 /         \
//         e4m3 (4,3)       e5m2 (5,2)
//                 \         /
//                    (4,2)
//                      |
//           bottom: not yet known
//
// The join is the component-wise maximum. join(fp16, bf16) is tf32: what to
// compute in when both meet; it is stored as fp32. The formats without a name
// are the other joins and meets of those that have one.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_POLICY_FLOATFORMAT_H
#define AMP_POLICY_FLOATFORMAT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace amp {

/// A binary floating point format, by the bits of its exponent and mantissa
/// (the implicit leading bit and the sign bit not counted). The default value
/// is the lattice's bottom: nothing is known yet, and it joins as neutral.
///
/// Formats of up to 4 exponent bits spend the largest exponent on finite
/// values and have no infinity (what ONNX calls FLOAT8E4M3FN); wider ones
/// follow IEEE 754.
struct FloatFormat {
  unsigned exponentBits = 0;
  unsigned mantissaBits = 0;

  static constexpr FloatFormat bottom() { return {0, 0}; }
  static constexpr FloatFormat e4m3() { return {4, 3}; }
  static constexpr FloatFormat e5m2() { return {5, 2}; }
  static constexpr FloatFormat fp16() { return {5, 10}; }
  static constexpr FloatFormat bf16() { return {8, 7}; }
  static constexpr FloatFormat tf32() { return {8, 10}; }
  static constexpr FloatFormat fp32() { return {8, 23}; }
  static constexpr FloatFormat fp64() { return {11, 52}; }

  /// The smallest format that holds every value of both.
  static constexpr FloatFormat join(FloatFormat a, FloatFormat b) {
    return {a.exponentBits > b.exponentBits ? a.exponentBits : b.exponentBits,
            a.mantissaBits > b.mantissaBits ? a.mantissaBits : b.mantissaBits};
  }

  /// The largest format whose values are values of both.
  static constexpr FloatFormat meet(FloatFormat a, FloatFormat b) {
    return {a.exponentBits < b.exponentBits ? a.exponentBits : b.exponentBits,
            a.mantissaBits < b.mantissaBits ? a.mantissaBits : b.mantissaBits};
  }

  /// True if every finite value of `other` is exactly a value of this format,
  /// that is `other <= *this`: a cast from `other` to it does not round.
  constexpr bool contains(FloatFormat other) const {
    return other.exponentBits <= exponentBits &&
           other.mantissaBits <= mantissaBits;
  }

  constexpr bool isBottom() const {
    return exponentBits == 0 && mantissaBits == 0;
  }

  constexpr bool operator==(FloatFormat other) const {
    return exponentBits == other.exponentBits &&
           mantissaBits == other.mantissaBits;
  }
  constexpr bool operator!=(FloatFormat other) const {
    return !(*this == other);
  }

  /// The smallest format that memory can hold and that contains this one: one
  /// of e4m3, e5m2, fp16, bf16, fp32, fp64 (tf32 gives fp32); bottom for
  /// bottom.
  FloatFormat storageFormat() const;

  /// Bits of one stored element: 8, 16, 32 or 64; 0 for bottom.
  unsigned storageBits() const;

  /// The largest finite value; 0 for bottom.
  double maxFinite() const;

  /// The smallest positive value with the format's full precision; 0 for
  /// bottom.
  double smallestNormal() const;

  /// The smallest positive value; 0 for bottom.
  double smallestSubnormal() const;

  /// The format of this name (fp16, float16, f16, half, bf16, …, fp64, or any
  /// `eXmY` with X in 1..11 and Y in 0..52); none if there is no such format.
  static std::optional<FloatFormat> parse(llvm::StringRef name);

  /// The name in this project's spelling: "fp16", "bf16", "tf32", …, "e5m7"
  /// for a format without a name of its own, "none" for bottom.
  std::string name() const;

  /// Prints name(); what MLIR's data flow solver asks of a lattice value.
  void print(llvm::raw_ostream &os) const;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, FloatFormat format);

} // namespace amp

#endif // AMP_POLICY_FLOATFORMAT_H
