//===- Body.cpp - one operation of a kernel's body ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Functions.h"
#include "Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::codegen;

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

static bool isNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isIndex() || isHalf(type) || type.isF32() || type.isF64();
}

/// What instructions do.
static bool isInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
             math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundOp,
             math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

std::string amp::codegen::whyNotScalar(Operation *op) {
  auto unsupported = [&] {
    return llvm::formatv("{0} is not supported", op->getName()).str();
  };
  if (isa<linalg::IndexOp>(op))
    return "";
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                SmallVector<Type>(op->getResultTypes())))
    if (!isNumber(type))
      return llvm::formatv("{0} of {1} is not supported", op->getName(), type);
  if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op)) {
    // Between integers with a sign and without.
    bool reinterprets =
        op->getNumOperands() == 1 && op->getNumResults() == 1 &&
        Arithmetic::inRegister(cast.getOperand(0).getType()) ==
            Arithmetic::inRegister(cast.getResult(0).getType()) &&
        isa<IntegerType>(cast.getOperand(0).getType()) &&
        isa<IntegerType>(cast.getResult(0).getType());
    return reinterprets ? "" : unsupported();
  }
  if (isa<arith::ConstantOp>(op))
    return "";
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1 ||
      isa<arith::RemFOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
          arith::FloorDivSIOp, arith::ScalingExtFOp, arith::ScalingTruncFOp>(
          op))
    return unsupported();
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op) &&
      op->getResult(0).getType().isInteger(1))
    return unsupported();
  if (op->getDialect()->getNamespace() == "math" && !isInstruction(op)) {
    Type type = op->getOperand(0).getType();
    if (!hasFunction(op,
                     isHalf(type) ? Float32Type::get(op->getContext()) : type))
      return llvm::formatv("{0} of {1} is not supported", op->getName(), type);
  }
  if (isa<math::FmaOp>(op) && op->getResult(0).getType().isF64())
    return "math.fma of f64 is not supported";
  return op->getDialect()->getNamespace() == "arith" ||
                 op->getDialect()->getNamespace() == "math"
             ? ""
             : unsupported();
}

unsigned amp::codegen::getCost(Operation *op) {
  if (isa<arith::ConstantOp, linalg::IndexOp, linalg::YieldOp>(op))
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp>(op))
    return 8;
  if (op->getDialect()->getNamespace() == "math" && !isInstruction(op))
    return op->getOperand(0).getType().isF64() ? 60 : 25;
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return 3;
  return 1;
}

/// What x86's division of integers would stop the program for gives a number:
/// x / 0 = x, the least number / -1 = itself, remainders 0.
static Value emitDivision(Arithmetic &a, Operation *op, Value x, Value y) {
  using IP = arith::CmpIPredicate;
  Value bad = a.cmp(IP::eq, y, 0);
  if (isa<arith::DivSIOp, arith::RemSIOp>(op)) {
    unsigned width = Arithmetic::elementOf(x).getIntOrFloatBitWidth();
    int64_t least = llvm::minIntN(width);
    bad = a.ori(bad, a.andi(a.cmp(IP::eq, x, least), a.cmp(IP::eq, y, -1)));
  }
  y = a.select(bad, a.integer(y, 1), y);
  if (isa<arith::DivSIOp>(op))
    return a.make<arith::DivSIOp>(x, y);
  if (isa<arith::DivUIOp>(op))
    return a.make<arith::DivUIOp>(x, y);
  if (isa<arith::RemSIOp>(op))
    return a.make<arith::RemSIOp>(x, y);
  return a.make<arith::RemUIOp>(x, y);
}

static Value emitExtension(Arithmetic &a, Value value, Type from, Type to) {
  if (isHalf(from))
    value = a.widen(value, from);
  return to.isF64() ? a.extend(value) : value;
}

static Value emitTruncation(Arithmetic &a, Value value, Type from, Type to) {
  if (from.isF64())
    value = isHalf(to) ? a.truncateToOdd(value) : a.truncate(value);
  return isHalf(to) ? a.narrow(value, to) : value;
}

static Value emitFromInteger(Arithmetic &a, Value value, Type to,
                             bool isSigned) {
  unsigned width = Arithmetic::elementOf(value).getIntOrFloatBitWidth();
  auto convert = [&](Type element) -> Value {
    // Vectors of 32 bits have instructions, fewer bits only sometimes.
    if (width < 32)
      return a.toFloat(isSigned ? a.signExtend(value, 32)
                                : a.zeroExtend(value, 32),
                       element);
    if (isSigned)
      return a.toFloat(value, element);
    return a.make<arith::UIToFPOp>(Arithmetic::like(value, element), value);
  };
  if (!to.isBF16() || width < 32)
    return emitTruncation(a, convert(to.isF64() ? to : Type(a.f32())), a.f32(),
                          to);
  if (width == 64) {
    // Bits far below the last place only say that they are there.
    using IP = arith::CmpIPredicate;
    Value low = a.cmp(IP::ne, a.andi(value, 0xffff), 0);
    Value sticky = a.select(low, a.integer(value, 0x8000), a.integer(value, 0));
    Value high = a.ori(a.andi(value, ~int64_t(0xffff)), sticky);
    Value large = a.cmp(IP::ne, a.sar(value, 40), a.sar(value, 63));
    if (!isSigned)
      large = a.cmp(IP::ne, a.shr(value, 40), 0);
    value = a.select(large, high, value);
  }
  return emitTruncation(a, convert(a.f64()), a.f64(), to);
}

/// Out of range the bits are those that the instructions leave, as wide as they
/// are.
static Value emitToInteger(Arithmetic &a, Value value, Type to, bool isSigned) {
  unsigned width = to.getIntOrFloatBitWidth();
  if (!isSigned && width == 64)
    return a.make<arith::FPToUIOp>(Arithmetic::like(value, to), value);
  unsigned through = width < 32 ? 32 : isSigned ? width : 64;
  return a.truncateInteger(a.toInteger(value, through), width);
}

static Value emitRound(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x);
  Value whole = a.make<math::TruncOp>(magnitude);
  Value up = a.cmp(arith::CmpFPredicate::OGE, a.sub(magnitude, whole), 0.5);
  return a.copysign(a.select(up, a.add(whole, 1.0), whole), x);
}

Value amp::codegen::emitScalar(Arithmetic &a, Operation *op,
                               ArrayRef<Value> given) {
  Type resultType = op->getResult(0).getType();
  Type element = Arithmetic::inRegister(resultType);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue());
        number && isHalf(resultType))
      return a.constant(element,
                        a.builder.getIntegerAttr(
                            element, number.getValue().bitcastToAPInt()));
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      return a.constant(element,
                        a.builder.getIntegerAttr(element, number.getValue()));
    return a.constant(element, constant.getValue());
  }

  SmallVector<Value> operands(given);
  int64_t lanes = 1;
  for (Value operand : operands)
    lanes = std::max(lanes, Arithmetic::lanesOf(operand));
  for (Value &operand : operands)
    operand = a.splat(operand, lanes);
  Type from = op->getOperand(0).getType();

  if (isa<UnrealizedConversionCastOp>(op))
    return operands[0];
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    unsigned width = element.getIntOrFloatBitWidth();
    if (width < Arithmetic::elementOf(operands[0]).getIntOrFloatBitWidth())
      return a.truncateInteger(operands[0], width);
    return isa<arith::IndexCastOp>(op) ? a.signExtend(operands[0], width)
                                       : a.zeroExtend(operands[0], width);
  }
  if (isa<arith::ExtFOp>(op))
    return emitExtension(a, operands[0], from, resultType);
  if (isa<arith::TruncFOp>(op))
    return emitTruncation(a, operands[0], from, resultType);
  if (isa<arith::BitcastOp>(op) &&
      element == Arithmetic::elementOf(operands[0]))
    return operands[0];
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return emitFromInteger(a, operands[0], resultType,
                           isa<arith::SIToFPOp>(op));
  if (isa<arith::SelectOp>(op))
    return a.select(operands[0], operands[1], operands[2]);

  // What is left of 16-bit arithmetic is done in float: of two numbers of 11 or
  // 8 bits, float has more than twice the bits, so rounding twice is harmless.
  for (auto [operand, type] : llvm::zip(operands, op->getOperandTypes()))
    if (isHalf(type))
      operand = a.widen(operand, type);
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return emitToInteger(a, operands[0], element, isa<arith::FPToSIOp>(op));
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return emitDivision(a, op, operands[0], operands[1]);

  Value result;
  if (isa<math::FmaOp>(op)) {
    result = a.fma(operands[0], operands[1], operands[2]);
  } else if (isa<math::RoundOp>(op)) {
    result = emitRound(a, operands[0]);
  } else if (op->getDialect()->getNamespace() == "math" && !isInstruction(op)) {
    result = emitFunction(a, op, operands);
  } else {
    IRMapping mapping;
    Operation *copy = op->clone(mapping);
    copy->setOperands(operands);
    copy->setLoc(a.loc);
    copy->getResult(0).setType(Arithmetic::withLanes(
        isHalf(resultType) ? Type(a.f32()) : element, lanes));
    if (copy->hasAttr("fastmath"))
      copy->setAttr("fastmath",
                    arith::FastMathFlagsAttr::get(op->getContext(),
                                                  arith::FastMathFlags::none));
    result = a.builder.insert(copy)->getResult(0);
  }
  return isHalf(resultType) ? a.narrow(result, resultType) : result;
}
