//===- Scalar.cpp - bodies of linalg operations as formulas ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace amp {

/// The type in which arith takes an element.
static Type signless(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && !integer.isSignless()
             ? IntegerType::get(type.getContext(), integer.getWidth())
             : type;
}

static bool hasNoSign(Type elementType) {
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

Scalar makeNumber(ImplicitLocOpBuilder &builder, double number,
                  Type elementType) {
  Type type = signless(elementType);
  TypedAttr value;
  if (auto floating = dyn_cast<FloatType>(type))
    value = FloatAttr::get(floating, number);
  else
    value = IntegerAttr::get(
        type, APInt(type.getIntOrFloatBitWidth(),
                    number < 0 ? uint64_t(int64_t(number)) : uint64_t(number),
                    /*isSigned=*/false, /*implicitTrunc=*/true));
  return Scalar(builder, arith::ConstantOp::create(builder, value),
                hasNoSign(elementType));
}

Scalar Scalar::number(double number) const {
  return like(makeNumber(*builder, number, getType()).getValue());
}

Scalar Scalar::ones() const {
  return like(arith::ConstantOp::create(
      *builder,
      IntegerAttr::get(getType(),
                       APInt::getAllOnes(getType().getIntOrFloatBitWidth()))));
}

Scalar Scalar::to(Type elementType) const {
  Type from = getType(), type = signless(elementType);
  bool noSign = hasNoSign(elementType);
  auto made = [&](Value result) { return Scalar(*builder, result, noSign); };
  if (from == type)
    return made(value);
  if (type.isInteger(1)) {
    if (isFloat())
      return made(arith::CmpFOp::create(*builder, arith::CmpFPredicate::UNE,
                                        value, number(0.0).getValue()));
    return made(arith::CmpIOp::create(*builder, arith::CmpIPredicate::ne, value,
                                      number(0.0).getValue()));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  if (auto floating = dyn_cast<FloatType>(type)) {
    if (!isFloat()) {
      // Into 16 bits by way of float32: exact up to float16's largest value.
      if (width < 32)
        return to(Float32Type::get(type.getContext())).to(type);
      if (isUnsigned())
        return made(arith::UIToFPOp::create(*builder, floating, value));
      return made(arith::SIToFPOp::create(*builder, floating, value));
    }
    if (fromWidth == width)
      return to(Float32Type::get(type.getContext())).to(type);
    if (fromWidth < width)
      return made(arith::ExtFOp::create(*builder, floating, value));
    return made(arith::TruncFOp::create(*builder, floating, value));
  }
  if (isFloat())
    return made(noSign ? Value(arith::FPToUIOp::create(*builder, type, value))
                       : arith::FPToSIOp::create(*builder, type, value));
  if (width < fromWidth)
    return made(arith::TruncIOp::create(*builder, type, value));
  if (isUnsigned())
    return made(arith::ExtUIOp::create(*builder, type, value));
  return made(arith::ExtSIOp::create(*builder, type, value));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {

template <typename FloatOp, typename IntegerOp>
Scalar binary(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.like(FloatOp::create(a.getBuilder(), a.getValue(), b.getValue()));
  return a.like(IntegerOp::create(a.getBuilder(), a.getValue(), b.getValue()));
}

template <typename FloatOp> Scalar unary(Scalar a) {
  return a.like(FloatOp::create(a.getBuilder(), a.getValue()));
}

Scalar compare(Scalar a, Scalar b, arith::CmpFPredicate ofFloats,
               arith::CmpIPredicate ofSigned, arith::CmpIPredicate ofUnsigned) {
  if (a.isFloat())
    return Scalar(a.getBuilder(),
                  arith::CmpFOp::create(a.getBuilder(), ofFloats, a.getValue(),
                                        b.getValue()),
                  /*isUnsigned=*/true);
  return Scalar(a.getBuilder(),
                arith::CmpIOp::create(a.getBuilder(),
                                      a.isUnsigned() ? ofUnsigned : ofSigned,
                                      a.getValue(), b.getValue()),
                /*isUnsigned=*/true);
}

} // namespace

Scalar operator-(Scalar a) {
  return a.isFloat() ? unary<arith::NegFOp>(a) : a.number(0.0) - a;
}
Scalar operator+(Scalar a, Scalar b) {
  return binary<arith::AddFOp, arith::AddIOp>(a, b);
}
Scalar operator-(Scalar a, Scalar b) {
  return binary<arith::SubFOp, arith::SubIOp>(a, b);
}
Scalar operator*(Scalar a, Scalar b) {
  return binary<arith::MulFOp, arith::MulIOp>(a, b);
}
Scalar operator/(Scalar a, Scalar b) {
  if (a.isUnsigned())
    return binary<arith::DivFOp, arith::DivUIOp>(a, b);
  return binary<arith::DivFOp, arith::DivSIOp>(a, b);
}
Scalar remainder(Scalar a, Scalar b) {
  if (a.isUnsigned())
    return binary<arith::RemFOp, arith::RemUIOp>(a, b);
  return binary<arith::RemFOp, arith::RemSIOp>(a, b);
}
Scalar modulo(Scalar a, Scalar b) {
  Scalar rest = remainder(a, b);
  if (a.isUnsigned())
    return rest;
  Scalar isOther = (rest ^ b) < 0.0;
  Scalar isNone = rest == 0.0;
  return select(isNone, rest, select(isOther, rest + b, rest));
}

Scalar operator+(Scalar a, double b) { return a + a.number(b); }
Scalar operator-(Scalar a, double b) { return a - a.number(b); }
Scalar operator*(Scalar a, double b) { return a * a.number(b); }
Scalar operator/(Scalar a, double b) { return a / a.number(b); }
Scalar operator+(double a, Scalar b) { return b.number(a) + b; }
Scalar operator-(double a, Scalar b) { return b.number(a) - b; }
Scalar operator*(double a, Scalar b) { return b.number(a) * b; }
Scalar operator/(double a, Scalar b) { return b.number(a) / b; }

Scalar operator==(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
                 arith::CmpIPredicate::eq);
}
Scalar operator!=(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne,
                 arith::CmpIPredicate::ne);
}
Scalar operator<(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt,
                 arith::CmpIPredicate::ult);
}
Scalar operator<=(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle,
                 arith::CmpIPredicate::ule);
}
Scalar operator>(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt,
                 arith::CmpIPredicate::ugt);
}
Scalar operator>=(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge,
                 arith::CmpIPredicate::uge);
}
Scalar operator==(Scalar a, double b) { return a == a.number(b); }
Scalar operator<(Scalar a, double b) { return a < a.number(b); }
Scalar operator<=(Scalar a, double b) { return a <= a.number(b); }
Scalar operator>(Scalar a, double b) { return a > a.number(b); }
Scalar operator>=(Scalar a, double b) { return a >= a.number(b); }

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Scalar operator&(Scalar a, Scalar b) {
  return a.like(
      arith::AndIOp::create(a.getBuilder(), a.getValue(), b.getValue()));
}
Scalar operator|(Scalar a, Scalar b) {
  return a.like(
      arith::OrIOp::create(a.getBuilder(), a.getValue(), b.getValue()));
}
Scalar operator^(Scalar a, Scalar b) {
  return a.like(
      arith::XOrIOp::create(a.getBuilder(), a.getValue(), b.getValue()));
}
Scalar operator~(Scalar a) { return a ^ a.ones(); }

template <typename Op> static Scalar shift(Scalar a, Scalar bits) {
  Scalar isFar = bits >= double(a.getType().getIntOrFloatBitWidth());
  Scalar near = select(isFar, 0.0, bits);
  Value shifted = Op::create(a.getBuilder(), a.getValue(), near.getValue());
  return select(isFar, 0.0, a.like(shifted));
}
Scalar shiftLeft(Scalar a, Scalar bits) {
  return shift<arith::ShLIOp>(a, bits);
}
Scalar shiftRight(Scalar a, Scalar bits) {
  return shift<arith::ShRUIOp>(a, bits);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

Scalar select(Scalar condition, Scalar a, Scalar b) {
  return a.like(arith::SelectOp::create(a.getBuilder(), condition.getValue(),
                                        a.getValue(), b.getValue()));
}
Scalar select(Scalar condition, Scalar a, double b) {
  return select(condition, a, a.number(b));
}
Scalar select(Scalar condition, double a, Scalar b) {
  return select(condition, b.number(a), b);
}
Scalar min(Scalar a, Scalar b) {
  if (a.isUnsigned())
    return binary<arith::MinimumFOp, arith::MinUIOp>(a, b);
  return binary<arith::MinimumFOp, arith::MinSIOp>(a, b);
}
Scalar max(Scalar a, Scalar b) {
  if (a.isUnsigned())
    return binary<arith::MaximumFOp, arith::MaxUIOp>(a, b);
  return binary<arith::MaximumFOp, arith::MaxSIOp>(a, b);
}
Scalar min(Scalar a, double b) { return min(a, a.number(b)); }
Scalar max(Scalar a, double b) { return max(a, a.number(b)); }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Scalar abs(Scalar a) {
  if (a.isUnsigned())
    return a;
  if (a.isFloat())
    return unary<math::AbsFOp>(a);
  return select(a < 0.0, -a, a);
}

Scalar sign(Scalar a) {
  Scalar one = a.number(1.0);
  Scalar positive = select(a > 0.0, one, a.isFloat() ? a : a.number(0.0));
  return a.isUnsigned() ? positive : select(a < 0.0, -one, positive);
}

Scalar isNaN(Scalar a) { return a != a; }

Scalar copySign(Scalar x, Scalar y) {
  return x.like(
      math::CopySignOp::create(x.getBuilder(), x.getValue(), y.getValue()));
}

Scalar acos(Scalar a) { return unary<math::AcosOp>(a); }
Scalar acosh(Scalar a) { return unary<math::AcoshOp>(a); }
Scalar asin(Scalar a) { return unary<math::AsinOp>(a); }
Scalar asinh(Scalar a) { return unary<math::AsinhOp>(a); }
Scalar atan(Scalar a) { return unary<math::AtanOp>(a); }
Scalar atanh(Scalar a) { return unary<math::AtanhOp>(a); }
Scalar ceil(Scalar a) { return unary<math::CeilOp>(a); }
Scalar cos(Scalar a) { return unary<math::CosOp>(a); }
Scalar cosh(Scalar a) { return unary<math::CoshOp>(a); }
Scalar erf(Scalar a) { return unary<math::ErfOp>(a); }
Scalar exp(Scalar a) { return unary<math::ExpOp>(a); }
Scalar expm1(Scalar a) { return unary<math::ExpM1Op>(a); }
Scalar floor(Scalar a) { return unary<math::FloorOp>(a); }
Scalar log(Scalar a) { return unary<math::LogOp>(a); }
Scalar log1p(Scalar a) { return unary<math::Log1pOp>(a); }
Scalar roundEven(Scalar a) { return unary<math::RoundEvenOp>(a); }
Scalar sin(Scalar a) { return unary<math::SinOp>(a); }
Scalar sinh(Scalar a) { return unary<math::SinhOp>(a); }
Scalar sqrt(Scalar a) { return unary<math::SqrtOp>(a); }
Scalar tan(Scalar a) { return unary<math::TanOp>(a); }
Scalar tanh(Scalar a) { return unary<math::TanhOp>(a); }
Scalar pow(Scalar a, Scalar b) {
  return binary<math::PowFOp, math::IPowIOp>(a, b);
}

} // namespace amp
