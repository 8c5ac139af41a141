//===- Arithmetic.cpp - operations on numbers or lanes of them ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"

#include <numeric>

using namespace mlir;
using namespace amp::codegen;

Type Arithmetic::inRegister(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isF16() || element.isBF16())
    return IntegerType::get(context, 16);
  if (element.isIndex())
    return IntegerType::get(context, 64);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, integer.getWidth());
  return element;
}

Type Arithmetic::inMemory(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : inRegister(element);
}

Value Arithmetic::constant(Type type, Attribute number) {
  auto typed = cast<TypedAttr>(number);
  if (auto vector = dyn_cast<VectorType>(type))
    typed = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(builder, loc, typed);
}

Value Arithmetic::splat(Value value, int64_t lanes) {
  if (lanes == 1 || lanesOf(value) == lanes)
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  if (Attribute number; matchPattern(value, m_Constant(&number)))
    return constant(type, number);
  Value undefined = LLVM::PoisonOp::create(builder, loc, type);
  Value zero = integer(i(32), 0);
  Value first =
      LLVM::InsertElementOp::create(builder, loc, type, undefined, value, zero);
  return LLVM::ShuffleVectorOp::create(builder, loc, first, undefined,
                                       SmallVector<int32_t>(lanes, 0));
}

Value Arithmetic::slice(Value value, int64_t first, int64_t count) {
  SmallVector<int32_t> lanes(count);
  std::iota(lanes.begin(), lanes.end(), int32_t(first));
  return LLVM::ShuffleVectorOp::create(builder, loc, value, value, lanes);
}

Value Arithmetic::extract(Value value, int64_t lane) {
  return LLVM::ExtractElementOp::create(builder, loc, value,
                                        integer(i(32), lane));
}

Value Arithmetic::zeroExtend(Value a, unsigned width) {
  return elementOf(a).getIntOrFloatBitWidth() == width
             ? a
             : make<arith::ExtUIOp>(like(a, i(width)), a);
}

Value Arithmetic::signExtend(Value a, unsigned width) {
  return elementOf(a).getIntOrFloatBitWidth() == width
             ? a
             : make<arith::ExtSIOp>(like(a, i(width)), a);
}

Value Arithmetic::truncateInteger(Value a, unsigned width) {
  return elementOf(a).getIntOrFloatBitWidth() == width
             ? a
             : make<arith::TruncIOp>(like(a, i(width)), a);
}

Value Arithmetic::fma(Value a, Value b, Value c) {
  if (elementOf(a).isF64())
    return add(mul(a, b), c);
  if (cpu.hasFMA)
    return make<math::FmaOp>(a, b, c);
  // The product is exact in double. The sum is rounded to odd by what was lost
  // (Knuth's TwoSum): then rounding to float is the only rounding.
  Value p = mul(extend(a), extend(b)), z = extend(c);
  Value sum = add(p, z);
  Value part = sub(sum, p);
  Value lost = add(sub(p, sub(sum, part)), sub(z, part));
  Value sumBits = bits(sum);
  Value inexact = make<arith::AndIOp>(
      cmp(Predicate::ONE, lost, 0.0),
      cmp(IPredicate::eq, andi(sumBits, 1), integer(sumBits, 0)));
  Value away = cmp(IPredicate::sge, make<arith::XOrIOp>(sumBits, bits(lost)),
                   integer(sumBits, 0));
  Value moved = select(away, addi(sumBits, 1), addi(sumBits, -1));
  return truncate(fromBits(select(inexact, moved, sumBits), f64()));
}

Value Arithmetic::polynomial(Value x, ArrayRef<double> coefficients) {
  Value result = number(x, coefficients.front());
  for (double coefficient : coefficients.drop_front())
    result = fma(result, x, coefficient);
  return result;
}

Value Arithmetic::truncateToOdd(Value value) {
  Value near = truncate(value);
  Value back = extend(near);
  Value nearBits = bits(near);
  Value inexact = make<arith::AndIOp>(
      cmp(Predicate::ONE, back, value),
      cmp(IPredicate::eq, andi(nearBits, 1), integer(nearBits, 0)));
  // Even and not equal: the odd neighbour is on the value's side.
  Value away = cmp(Predicate::OLT, abs(back), abs(value));
  Value moved = select(away, addi(nearBits, 1), addi(nearBits, -1));
  return fromBits(select(inexact, moved, nearBits), f32());
}

//===----------------------------------------------------------------------===//
// 16-bit formats
//===----------------------------------------------------------------------===//

static Value widenF16(Arithmetic &a, Value half) {
  // Exponent and mantissa at their places in float, then a factor of 2^112,
  // which makes denormals right, too; infinities and NaNs need all of the
  // exponent set.
  Value wide = a.zeroExtend(half, 32);
  Value rest = a.shl(a.andi(wide, 0x7fff), 13);
  Value scaled = a.bits(a.mul(a.fromBits(rest, a.f32()), 0x1p112));
  Value special =
      a.cmp(arith::CmpIPredicate::uge, rest, a.integer(rest, 0x7c00 << 13));
  Value quiet =
      a.cmp(arith::CmpIPredicate::ugt, rest, a.integer(rest, 0x7c00 << 13));
  Value full = a.ori(rest, 0x7f800000);
  full = a.select(quiet, a.ori(full, 0x400000), full);
  Value sign = a.shl(a.andi(wide, 0x8000), 16);
  return a.fromBits(a.ori(a.select(special, full, scaled), sign), a.f32());
}

static Value narrowF16(Arithmetic &a, Value value) {
  using IP = arith::CmpIPredicate;
  Value u = a.bits(value);
  Value magnitude = a.andi(u, 0x7fffffff);
  Value sign = a.andi(a.shr(u, 16), 0x8000);
  // Normal: the exponent's offset, then half of what is lost, less one if even.
  Value odd = a.andi(a.shr(magnitude, 13), 1);
  Value normal =
      a.shr(a.addi(a.addi(magnitude, -(int64_t(112) << 23) + 0xfff), odd), 13);
  // Denormal: the addition rounds, for the sum's last place is 2^-24.
  Value sum = a.bits(a.add(a.fromBits(magnitude, a.f32()), 0.5));
  Value denormal = a.addi(sum, -int64_t(0x3f000000));
  Value nan = a.ori(a.andi(a.shr(magnitude, 13), 0x3ff), 0x7e00);
  Value result = a.select(a.cmp(IP::ult, magnitude, a.integer(u, 113 << 23)),
                          denormal, normal);
  result = a.select(a.cmp(IP::uge, magnitude, a.integer(u, 0x477ff000)),
                    a.integer(u, 0x7c00), result);
  result = a.select(a.cmp(IP::ugt, magnitude, a.integer(u, 0x7f800000)), nan,
                    result);
  return a.truncateInteger(a.ori(result, sign), 16);
}

Value Arithmetic::widen(Value half, Type format) {
  if (format.isBF16())
    return fromBits(shl(zeroExtend(half, 32), 16), f32());
  if (!cpu.hasF16C)
    return widenF16(*this, half);
  return make<arith::ExtFOp>(like(half, f32()),
                             fromBits(half, builder.getF16Type()));
}

Value Arithmetic::narrow(Value value, Type format) {
  if (format.isBF16()) {
    Value u = bits(value);
    Value high = shr(u, 16);
    Value rounded = shr(addi(addi(u, 0x7fff), andi(high, 1)), 16);
    return truncateInteger(select(isNaN(value), ori(high, 0x40), rounded), 16);
  }
  if (!cpu.hasF16C)
    return narrowF16(*this, value);
  return bits(make<arith::TruncFOp>(like(value, builder.getF16Type()), value));
}
