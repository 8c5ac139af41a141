//===- Scalar.h - bodies of linalg operations as formulas -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds arith and math operations on scalars, so that what an operator does
// with an element reads like its definition:
//
//   Scalar gate = 1.0 / (1.0 + exp(-x));
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_ONNXTOLINALG_SCALAR_H
#define AMP_PASSES_EXECUTABLE_ONNXTOLINALG_SCALAR_H

#include "mlir/IR/Builders.h"

namespace amp {

/// A number in a formula: a float, an integer with or without sign, or a bool,
/// which is an unsigned integer of one bit. Operations are built where its
/// builder stands. Both sides have one type; numbers take that of the other.
class Scalar {
public:
  Scalar() = default;
  Scalar(mlir::ImplicitLocOpBuilder &builder, mlir::Value value,
         bool isUnsigned = false)
      : builder(&builder), value(value), unsignedInteger(isUnsigned) {}

  mlir::Value getValue() const { return value; }
  mlir::Type getType() const { return value.getType(); }
  mlir::ImplicitLocOpBuilder &getBuilder() const { return *builder; }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(getType()); }
  bool isBool() const { return getType().isInteger(1); }
  bool isUnsigned() const { return unsignedInteger; }
  explicit operator bool() const { return bool(value); }

  /// A value of the same type.
  Scalar like(mlir::Value other) const {
    return Scalar(*builder, other, unsignedInteger);
  }
  Scalar number(double number) const;
  /// All bits set: of a bool, true.
  Scalar ones() const;
  /// The element as ONNX's type, of which it is a number: extended, rounded to
  /// nearest even, or wrapped around.
  Scalar to(mlir::Type elementType) const;

private:
  mlir::ImplicitLocOpBuilder *builder = nullptr;
  mlir::Value value;
  bool unsignedInteger = false;
};

/// A number of an element type.
Scalar makeNumber(mlir::ImplicitLocOpBuilder &builder, double number,
                  mlir::Type elementType);

Scalar operator-(Scalar a);
Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
/// Of integers, towards zero; what they are by zero is the compiler's.
Scalar operator/(Scalar a, Scalar b);
Scalar operator+(Scalar a, double b);
Scalar operator-(Scalar a, double b);
Scalar operator*(Scalar a, double b);
Scalar operator/(Scalar a, double b);
Scalar operator+(double a, Scalar b);
Scalar operator-(double a, Scalar b);
Scalar operator*(double a, Scalar b);
Scalar operator/(double a, Scalar b);
// Of bools; what is not a number is unequal to everything.
Scalar operator==(Scalar a, Scalar b);
Scalar operator!=(Scalar a, Scalar b);
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
Scalar operator>(Scalar a, Scalar b);
Scalar operator>=(Scalar a, Scalar b);
Scalar operator==(Scalar a, double b);
Scalar operator<(Scalar a, double b);
Scalar operator<=(Scalar a, double b);
Scalar operator>(Scalar a, double b);
Scalar operator>=(Scalar a, double b);
// Of the bits of integers.
Scalar operator&(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);
Scalar operator^(Scalar a, Scalar b);
Scalar operator~(Scalar a);
/// Beyond the type's bits, zero.
Scalar shiftLeft(Scalar a, Scalar bits);
Scalar shiftRight(Scalar a, Scalar bits);

Scalar select(Scalar condition, Scalar a, Scalar b);
Scalar select(Scalar condition, Scalar a, double b);
Scalar select(Scalar condition, double a, Scalar b);
/// What is not a number stays so.
Scalar min(Scalar a, Scalar b);
Scalar max(Scalar a, Scalar b);
Scalar min(Scalar a, double b);
Scalar max(Scalar a, double b);
/// Of integers: what a / b leaves, with the sign of a, or of b.
Scalar remainder(Scalar a, Scalar b);
Scalar modulo(Scalar a, Scalar b);

Scalar abs(Scalar a);
Scalar sign(Scalar a);
Scalar isNaN(Scalar a);
/// x with the sign of y.
Scalar copySign(Scalar x, Scalar y);
// Elementary functions, of floats.
Scalar acos(Scalar a);
Scalar acosh(Scalar a);
Scalar asin(Scalar a);
Scalar asinh(Scalar a);
Scalar atan(Scalar a);
Scalar atanh(Scalar a);
Scalar ceil(Scalar a);
Scalar cos(Scalar a);
Scalar cosh(Scalar a);
Scalar erf(Scalar a);
Scalar exp(Scalar a);
Scalar expm1(Scalar a);
Scalar floor(Scalar a);
Scalar log(Scalar a);
Scalar log1p(Scalar a);
Scalar roundEven(Scalar a);
Scalar sin(Scalar a);
Scalar sinh(Scalar a);
Scalar sqrt(Scalar a);
Scalar tan(Scalar a);
Scalar tanh(Scalar a);
Scalar pow(Scalar a, Scalar b);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_ONNXTOLINALG_SCALAR_H
