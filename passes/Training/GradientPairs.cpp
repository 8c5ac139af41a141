//===- GradientPairs.cpp - gradients and their forward operations ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientPairs.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

using namespace mlir;

namespace amp {

using onnx::CustomOp;
using onnx::ONNXDialect;

StringRef getOperatorName(Operation *op) {
  if (auto custom = dyn_cast<CustomOp>(op))
    return custom.getOpType();
  const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
  return info ? StringRef(info->name) : StringRef();
}

/// "Conv" of "ConvGrad"; "" for what is no gradient operator.
static StringRef getForwardName(Operation *op) {
  auto custom = dyn_cast<CustomOp>(op);
  bool isOrt = custom && (custom.getDomainName() == "com.microsoft" ||
                          custom.getDomainName().empty());
  StringRef name = isOrt ? custom.getOpType() : StringRef();
  for (StringRef suffix : {"Grad", "Grad_13", "Grad_dX"})
    if (StringRef stem = name; stem.consume_back(suffix) && !stem.empty())
      return stem;
  return {};
}

bool isGradientOperator(Operation *op) { return !getForwardName(op).empty(); }

/// True if ONNX Runtime differentiates an operator of the one name into that of
/// the other.
static bool isForwardOperator(StringRef name, StringRef gradientOf) {
  // The forward operator with more outputs, or less inputs, of the same kind.
  name.consume_back("Internal");
  gradientOf.consume_back("Internal");
  return name == gradientOf ||
         (name == "BatchNorm" && gradientOf == "BatchNormalization");
}

/// Products, which are one kind of work whatever they are called.
static bool isProduct(StringRef name) {
  return llvm::is_contained(
      {"FusedGemm", "FusedMatMul", "Gemm", "MatMul", "TransposeMatMul"}, name);
}

/// What gradients of other operators than products are made of. Sums over
/// broadcast axes are no part of the pair, and what moves data goes where its
/// data goes.
static bool isArithmetic(StringRef name) {
  return isProduct(name) ||
         llvm::is_contained({"Add", "Div", "Erf", "Exp", "Mul", "Neg", "Pow",
                             "Scale", "Sqrt", "Sub"},
                            name);
}

/// What a value was before it was moved.
static Value skipMoves(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0 ||
        !llvm::is_contained({"Cast", "Flatten", "Identity", "Reshape",
                             "Squeeze", "Transpose", "Unsqueeze"},
                            getOperatorName(op)))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static StringRef getNodeName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
  return name ? name.getValue() : StringRef();
}

bool GradientPairs::isGradient(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && isGradient(op);
}

void GradientPairs::findGradientPart(Block &block) {
  for (Operation &op : block) {
    bool reads = false;
    op.walk([&](Operation *inside) {
      reads = reads || llvm::any_of(inside->getOperands(), [&](Value operand) {
                return isGradient(operand);
              });
    });
    if (reads || isGradientOperator(&op))
      gradientPart.insert(&op);
  }
}

/// 'F' of 'F_Grad/Op_0'.
Operation *GradientPairs::findByName(Operation *op) const {
  StringRef name = getNodeName(op);
  size_t end = name.rfind("_Grad/");
  return end == StringRef::npos ? nullptr
                                : forwardByName.lookup(name.take_front(end));
}

Operation *GradientPairs::findOperator(Operation *op) const {
  llvm::SmallMapVector<Operation *, unsigned, 4> shared;
  auto count = [&](Operation *other) {
    if (!isGradient(other) &&
        isForwardOperator(getOperatorName(other), getForwardName(op)))
      ++shared[other];
  };
  for (Value operand : op->getOperands()) {
    if (isGradient(operand))
      continue;
    if (Operation *maker = operand.getDefiningOp())
      count(maker);
    for (Operation *user : operand.getUsers())
      if (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op))
        count(user);
  }
  Operation *best = nullptr;
  for (auto [other, number] : shared)
    if (!best || number > shared[best] ||
        (number == shared[best] && best->isBeforeInBlock(other)))
      best = other;
  return best;
}

Operation *GradientPairs::findProduct(Operation *op) const {
  Operation *best = nullptr;
  for (Value operand : op->getOperands()) {
    if (isGradient(operand))
      continue;
    for (Operation *other : products.lookup(skipMoves(operand)))
      if (other->isBeforeInBlock(op) && (!best || best->isBeforeInBlock(other)))
        best = other;
  }
  return best;
}

GradientPairs::GradientPairs(Block &block) {
  findGradientPart(block);
  if (gradientPart.empty())
    return;
  for (Operation &op : block) {
    if (isGradient(&op))
      continue;
    if (StringRef name = getNodeName(&op); !name.empty())
      forwardByName.try_emplace(name, &op);
    if (isProduct(getOperatorName(&op)))
      for (Value operand : op.getOperands())
        products[skipMoves(operand)].push_back(&op);
  }
  for (Operation &op : block) {
    if (!isGradient(&op))
      continue;
    StringRef name = getOperatorName(&op);
    bool isOperator = isGradientOperator(&op);
    if (!isOperator && !isArithmetic(name))
      continue;
    Operation *forward = findByName(&op);
    if (forward && isOperator &&
        !isForwardOperator(getOperatorName(forward), getForwardName(&op)))
      forward = nullptr;
    if (!forward && isOperator)
      forward = findOperator(&op);
    if (!forward && isProduct(name))
      forward = findProduct(&op);
    if (forward)
      forwardOf[&op] = forward;
  }
}

} // namespace amp
