//===- RankInference.cpp - ranks that lengths of lists say ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankInference.h"

#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace amp::onnx {

static std::optional<int64_t> getRank(Operation *op, unsigned operand) {
  auto type =
      operand < op->getNumOperands()
          ? dyn_cast<RankedTensorType>(op->getOperand(operand).getType())
          : RankedTensorType();
  return type ? std::optional(type.getRank()) : std::nullopt;
}

/// What a list as long as this says is no shape: models may declare anything.
constexpr int64_t kMostDimensions = 64;

/// The length of a list.
static std::optional<int64_t> getLength(Operation *op, unsigned operand) {
  if (getRank(op, operand) != 1)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  int64_t length = type.getDimSize(0);
  return type.isDynamicDim(0) || length > kMostDimensions
             ? std::nullopt
             : std::optional(length);
}

/// The rank of the first operand, and how many axes the second one names.
static std::optional<std::pair<int64_t, int64_t>> getAxes(Operation *op) {
  std::optional<int64_t> rank = getRank(op, 0), length = getLength(op, 1);
  if (!rank || !length)
    return std::nullopt;
  return std::pair(*rank, *length);
}

static std::optional<int64_t> inferExpand(Operation *op) {
  auto axes = getAxes(op);
  return axes ? std::optional(std::max(axes->first, axes->second))
              : std::nullopt;
}

static std::optional<int64_t> inferUnsqueeze(Operation *op) {
  auto axes = getAxes(op);
  return axes ? std::optional(axes->first + axes->second) : std::nullopt;
}

static std::optional<int64_t> inferSqueeze(Operation *op) {
  auto axes = getAxes(op);
  return axes && axes->second <= axes->first
             ? std::optional(axes->first - axes->second)
             : std::nullopt;
}

/// No axes are all, or none.
static std::optional<int64_t> inferReduction(Operation *op) {
  if (getInt(op, "keepdims", 1) != 0)
    return getRank(op, 0);
  return getLength(op, 1) == 0 ? std::nullopt : inferSqueeze(op);
}

std::optional<int64_t> inferRank(Operation *op) {
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info || !info->domain.empty())
    return std::nullopt;
  StringRef name = info->name;
  if (name.starts_with("Reduce"))
    return inferReduction(op);
  if (name == "Reshape" || name == "AffineGrid")
    return getLength(op, 1);
  if (name == "ConstantOfShape")
    return getLength(op, 0);
  if (name == "Expand")
    return inferExpand(op);
  if (name == "Unsqueeze")
    return inferUnsqueeze(op);
  if (name == "Squeeze")
    return inferSqueeze(op);
  if (name == "Col2Im")
    if (std::optional<int64_t> sizes = getLength(op, 1))
      return *sizes + 2;
  return std::nullopt;
}

} // namespace amp::onnx
