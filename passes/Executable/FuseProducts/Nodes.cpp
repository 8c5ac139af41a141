//===- Nodes.cpp - what patterns around products ask of nodes -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nodes.h"

#include "amp/Dialect/ONNX/ConstantNumber.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace amp {

Nodes::~Nodes() {
  for (Operation *op : dropped)
    op->erase();
}

bool Nodes::mayJoin(Value value) const {
  return !roundEachNode || !is16Bit(value);
}

Value Nodes::getInput(Operation *op, unsigned position) {
  SmallVector<Value, 4> inputs = onnx::inputsByPosition(op);
  return position < inputs.size() ? inputs[position] : Value();
}

Operation *Nodes::getOnlyUser(Value value) {
  if (!value.hasOneUse())
    return nullptr;
  Operation *user = *value.user_begin();
  return user->getBlock() == value.getParentBlock() &&
                 isa<onnx::ONNXDialect>(user->getDialect()) &&
                 !user->hasTrait<OpTrait::IsTerminator>()
             ? user
             : nullptr;
}

int64_t Nodes::getRank(Value value) {
  auto type =
      dyn_cast_if_present<RankedTensorType>(value ? value.getType() : Type());
  return type ? type.getRank() : -1;
}

bool Nodes::isFloat(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return getRank(value) >= 0 && (element.isF32() || is16Bit(value));
}

bool Nodes::is16Bit(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isF16() || element.isBF16();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Rounded to a float type; integers as they are.
static double roundTo(double number, Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return number;
  llvm::APFloat value(number);
  bool losesInfo;
  value.convert(floatType.getFloatSemantics(),
                llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

std::optional<double> Nodes::getNumber(Value value, unsigned depth) {
  constexpr unsigned most = 12;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() != 1)
    return std::nullopt;
  if (auto number = onnx::getConstantNumber(value))
    return number;
  Operation *op = value.getDefiningOp();
  if (!op || depth > most)
    return std::nullopt;
  if (type.getElementType().isIntOrIndex()) {
    std::optional<Size> size =
        type.getRank() <= 1 ? dimensions.getElement(value, 0) : std::nullopt;
    return size && size->isStatic() ? std::optional<double>(size->number)
                                    : std::nullopt;
  }
  double x[2];
  unsigned count = isa<onnx::DivOp, onnx::MulOp>(op) ? 2 : 1;
  if (op->getNumOperands() < count)
    return std::nullopt;
  for (unsigned i = 0; i < count; ++i) {
    std::optional<double> operand = getNumber(op->getOperand(i), depth + 1);
    if (!operand)
      return std::nullopt;
    x[i] = *operand;
  }
  std::optional<double> result =
      llvm::TypeSwitch<Operation *, std::optional<double>>(op)
          .Case<onnx::CastOp, onnx::CastLikeOp, onnx::IdentityOp,
                onnx::ReshapeOp, onnx::SqueezeOp, onnx::UnsqueezeOp>(
              [&](auto) { return x[0]; })
          .Case<onnx::DivOp>([&](auto) { return x[0] / x[1]; })
          .Case<onnx::MulOp>([&](auto) { return x[0] * x[1]; })
          .Case<onnx::ReciprocalOp>([&](auto) { return 1.0 / x[0]; })
          .Case<onnx::SqrtOp>([&](auto) { return std::sqrt(x[0]); })
          .Default([](auto) { return std::nullopt; });
  if (!result)
    return result;
  return roundTo(*result, type.getElementType());
}

std::optional<double> Nodes::getNumber(Value value) {
  return value ? getNumber(value, 0) : std::nullopt;
}

std::optional<double> Nodes::getNumberFor(Value value, Value other) {
  return getRank(value) <= getRank(other) ? getNumber(value) : std::nullopt;
}

bool isNearly(std::optional<double> number, double expected, Value like) {
  Type element = getElementTypeOrSelf(like.getType());
  double most = element.isBF16() ? 0x1p-8 : element.isF16() ? 0x1p-11 : 1e-6;
  return number && std::abs(*number - expected) <= most * std::abs(expected);
}

bool isPowerOfTwo(double number) {
  int exponent;
  return std::isfinite(number) &&
         std::abs(std::frexp(number, &exponent)) == 0.5;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

bool Nodes::haveSameShape(Value a, Value b) {
  return getRank(a) == getRank(b) && getRank(a) >= 0 &&
         dimensions.get(a) == dimensions.get(b);
}

bool Nodes::isBroadcastTo(Value value, ArrayRef<Size> sizes) {
  int64_t rank = getRank(value);
  if (rank < 0 || rank > int64_t(sizes.size()))
    return false;
  for (auto [own, size] :
       llvm::zip_equal(dimensions.get(value), sizes.take_back(rank)))
    if (own != Size{1, Value(), 0} && own != size)
      return false;
  return true;
}

/// Transpose by an order that exchanges the last two dimensions alone.
static bool isMatrixTranspose(Operation *op, int64_t rank) {
  if (!isa_and_present<onnx::TransposeOp>(op) || rank < 2)
    return false;
  auto order = op->getAttrOfType<DenseI64ArrayAttr>("perm");
  if (!order)
    return rank == 2;
  if (order.size() != rank)
    return false;
  for (int64_t i = 0; i < rank; ++i)
    if (order[i] != (i < rank - 2 ? i : 2 * rank - 3 - i))
      return false;
  return true;
}

Value Nodes::getExchanged(Value value) {
  Operation *op = value.getDefiningOp();
  int64_t rank = getRank(value);
  if (isMatrixTranspose(op, rank))
    return op->getOperand(0);
  // As some exporters write it: of batches that are one dimension meanwhile.
  Operation *inner = isa_and_present<onnx::ReshapeOp>(op)
                         ? op->getOperand(0).getDefiningOp()
                         : nullptr;
  if (!isMatrixTranspose(inner, 3) || getRank(inner->getResult(0)) != 3)
    return {};
  Operation *flat = inner->getOperand(0).getDefiningOp();
  if (!isa_and_present<onnx::ReshapeOp>(flat))
    return {};
  Value source = flat->getOperand(0);
  if (getRank(source) != rank || rank < 3)
    return {};
  SmallVector<Size> from = dimensions.get(source), to = dimensions.get(value),
                    middle = dimensions.get(flat->getResult(0));
  // The matrices stay matrices; then the batches are equal if all of them but
  // one are.
  if (middle[1] != from[rank - 2] || middle[2] != from[rank - 1] ||
      to[rank - 1] != from[rank - 2] || to[rank - 2] != from[rank - 1])
    return {};
  int64_t unequal = 0;
  for (int64_t i = 0; i < rank - 2; ++i)
    unequal += from[i] != to[i];
  return unequal <= 1 ? source : Value();
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void Nodes::replace(Value value, Value made) {
  value.replaceAllUsesWith(made);
  drop(value.getDefiningOp());
}

void Nodes::drop(Operation *first) {
  SmallVector<Operation *> pending = {first};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!op || !op->use_empty() || op->getNumRegions() != 0 ||
        !isa<onnx::ONNXDialect>(op->getDialect()) || !dropped.insert(op))
      continue;
    SmallVector<Value> operands(op->getOperands());
    op->dropAllReferences();
    for (Value operand : operands)
      pending.push_back(operand.getDefiningOp());
  }
}

} // namespace amp
