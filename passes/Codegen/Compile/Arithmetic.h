//===- Arithmetic.h - operations on numbers or lanes of them ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas are written once, for a number or a vector of any length: shapes
// follow the operands.
//
// In registers, 16-bit floating-point numbers are their bits (i16), and an
// index is an i64; an i1 is a byte in memory.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_ARITHMETIC_H
#define AMP_PASSES_CODEGEN_COMPILE_ARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace amp::codegen {

/// What instructions there are.
struct CPU {
  bool hasF16C = true;
  bool hasFMA = true;
  /// Masked loads and stores of 32 and 64 bits, of 8 and 16.
  bool hasMasks = true;
  bool hasByteMasks = false;
};

class Arithmetic {
public:
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc, const CPU &cpu)
      : builder(builder), loc(loc), cpu(cpu) {}

  using Value = mlir::Value;
  using Type = mlir::Type;

  static Type elementOf(Value value) {
    return mlir::getElementTypeOrSelf(value.getType());
  }
  /// The number of lanes, 1 for a number.
  static int64_t lanesOf(Value value) {
    auto type = mlir::dyn_cast<mlir::VectorType>(value.getType());
    return type ? type.getNumElements() : 1;
  }
  static Type withLanes(Type element, int64_t lanes) {
    return lanes == 1 ? element : mlir::VectorType::get({lanes}, element);
  }
  static Type like(Value value, Type element) {
    return withLanes(element, lanesOf(value));
  }
  /// How elements are held in registers, and in memory.
  static Type inRegister(Type element);
  static Type inMemory(Type element);

  Type f32() { return builder.getF32Type(); }
  Type f64() { return builder.getF64Type(); }
  Type i(unsigned bits) { return builder.getIntegerType(bits); }

  Value constant(Type type, mlir::Attribute number);
  /// Of the same type as `other`.
  Value number(Value other, double value) {
    return constant(other.getType(),
                    builder.getFloatAttr(elementOf(other), value));
  }
  Value integer(Value other, int64_t value) {
    return constant(other.getType(),
                    builder.getIntegerAttr(elementOf(other), value));
  }
  Value integer(Type type, int64_t value) {
    return constant(
        type, builder.getIntegerAttr(mlir::getElementTypeOrSelf(type), value));
  }
  Value splat(Value value, int64_t lanes);
  /// Lanes [first, first + count).
  Value slice(Value value, int64_t first, int64_t count);
  Value extract(Value value, int64_t lane);

  template <typename Op, typename... Args> Value make(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  Value add(Value a, Value b) { return make<mlir::arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<mlir::arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<mlir::arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<mlir::arith::DivFOp>(a, b); }
  Value add(Value a, double b) { return add(a, number(a, b)); }
  Value mul(Value a, double b) { return mul(a, number(a, b)); }
  Value neg(Value a) { return make<mlir::arith::NegFOp>(a); }
  Value abs(Value a) { return make<mlir::math::AbsFOp>(a); }
  Value sqrt(Value a) { return make<mlir::math::SqrtOp>(a); }
  Value roundeven(Value a) { return make<mlir::math::RoundEvenOp>(a); }
  Value copysign(Value a, Value sign) {
    return make<mlir::math::CopySignOp>(a, sign);
  }
  /// a * b + c. Of float, rounded once; of double, twice: what is rounded once
  /// there takes too long without the instruction.
  Value fma(Value a, Value b, Value c);
  Value fma(Value a, double b, Value c) { return fma(a, number(a, b), c); }
  Value fma(Value a, Value b, double c) { return fma(a, b, number(a, c)); }
  Value fma(Value a, double b, double c) {
    return fma(a, number(a, b), number(a, c));
  }
  /// Coefficients from that of the highest power down.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);

  using Predicate = mlir::arith::CmpFPredicate;
  using IPredicate = mlir::arith::CmpIPredicate;
  Value cmp(Predicate predicate, Value a, Value b) {
    return make<mlir::arith::CmpFOp>(predicate, a, b);
  }
  Value cmp(Predicate predicate, Value a, double b) {
    return cmp(predicate, a, number(a, b));
  }
  Value cmp(IPredicate predicate, Value a, Value b) {
    return make<mlir::arith::CmpIOp>(predicate, a, b);
  }
  Value cmp(IPredicate predicate, Value a, int64_t b) {
    return cmp(predicate, a, integer(a, b));
  }
  Value isNaN(Value a) { return cmp(Predicate::UNO, a, a); }
  Value select(Value condition, Value a, Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }

  Value addi(Value a, Value b) { return make<mlir::arith::AddIOp>(a, b); }
  Value addi(Value a, int64_t b) { return addi(a, integer(a, b)); }
  Value subi(Value a, Value b) { return make<mlir::arith::SubIOp>(a, b); }
  Value muli(Value a, Value b) { return make<mlir::arith::MulIOp>(a, b); }
  Value andi(Value a, Value b) { return make<mlir::arith::AndIOp>(a, b); }
  Value andi(Value a, int64_t b) { return andi(a, integer(a, b)); }
  Value ori(Value a, Value b) { return make<mlir::arith::OrIOp>(a, b); }
  Value ori(Value a, int64_t b) { return ori(a, integer(a, b)); }
  Value shl(Value a, int64_t b) {
    return make<mlir::arith::ShLIOp>(a, integer(a, b));
  }
  Value shr(Value a, int64_t b) {
    return make<mlir::arith::ShRUIOp>(a, integer(a, b));
  }
  Value sar(Value a, int64_t b) {
    return make<mlir::arith::ShRSIOp>(a, integer(a, b));
  }

  Value bits(Value a) {
    return make<mlir::arith::BitcastOp>(
        like(a, i(elementOf(a).getIntOrFloatBitWidth())), a);
  }
  Value fromBits(Value a, Type element) {
    return make<mlir::arith::BitcastOp>(like(a, element), a);
  }
  Value toInteger(Value a, unsigned width) {
    return make<mlir::arith::FPToSIOp>(like(a, i(width)), a);
  }
  Value toFloat(Value a, Type element) {
    return make<mlir::arith::SIToFPOp>(like(a, element), a);
  }
  Value extend(Value a) { return make<mlir::arith::ExtFOp>(like(a, f64()), a); }
  Value truncate(Value a) {
    return make<mlir::arith::TruncFOp>(like(a, f32()), a);
  }
  Value zeroExtend(Value a, unsigned width);
  Value signExtend(Value a, unsigned width);
  Value truncateInteger(Value a, unsigned width);

  /// Bits of a 16-bit format to float, which is exact, and back, to nearest
  /// even. A NaN stays one, with the payload that fits.
  Value widen(Value bits, Type format);
  Value narrow(Value value, Type format);
  /// To the float next to a double towards the neighbour with the odd bits: a
  /// further rounding to fewer bits is as if it had been the only one.
  Value truncateToOdd(Value value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const CPU &cpu;
};

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_ARITHMETIC_H
