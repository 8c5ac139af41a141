//===- Indexing.cpp - what depends on positions ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

namespace {

/// Rows that get one element each, as in the gradients of losses: every element
/// asks whether it is the one.
LogicalResult scatterElements(Node &n) {
  if (!n.isPlain())
    return failure();
  StringRef reduction = n.getString("reduction", "none");
  if (reduction != "none" && reduction != "add")
    return failure();
  Space space = n.getSpace(n.x());
  int64_t axis = n.getInt("axis", 0);
  axis = axis < 0 ? axis + space.getRank() : axis;
  if (axis < 0 || axis >= space.getRank() || !space.sizes[axis].isStatic())
    return failure();
  Space rows = space;
  rows.sizes[axis] = Size{1, Value(), 0};
  if (n.getSpace(n.x(1)).sizes != rows.sizes ||
      n.getSpace(n.x(2)).sizes != rows.sizes)
    return failure();
  SmallVector<int64_t> dimensions =
      llvm::to_vector(llvm::seq<int64_t>(0, space.getRank()));
  dimensions[axis] = Operand::kOnce;
  double size = space.sizes[axis].number;
  bool adds = reduction == "add";
  n.set(0,
        n.map(space,
              {n.x(), Operand(n.x(1), dimensions), Operand(n.x(2), dimensions)},
              n.getResultElementType(), [&](Body &b) {
                Scalar at = b.index(axis);
                Scalar index = b.x(1).to(at.getType());
                index = select(index < 0.0, index + size, index);
                Scalar element = adds ? b.x(0) + b.x(2) : b.x(2);
                return select(at == index, element, b.x(0));
              }));
  return success();
}

/// The upper or lower triangle of matrices.
LogicalResult triangle(Node &n) {
  if (!n.isPlain())
    return failure();
  std::optional<SmallVector<int64_t>> diagonal;
  if (n.x(1))
    diagonal = n.getConstantInts(1);
  else
    diagonal.emplace(1, 0);
  Space space = n.getSpace(n.x());
  if (!diagonal || diagonal->size() != 1 || space.getRank() < 2)
    return failure();
  double k = diagonal->front();
  bool isUpper = n.getInt("upper", 1) != 0;
  n.set(0, n.map(
               space, {n.x()}, n.getResultElementType(),
               [&](Body &b) {
                 Scalar distance = b.index(space.getRank() - 1) -
                                   b.index(space.getRank() - 2);
                 return select(isUpper ? distance >= k : distance <= k, b.x(),
                               0.0);
               },
               /*widen=*/false));
  return success();
}

constexpr LinalgRule rules[] = {
    {"ScatterElements", scatterElements},
    {"Trilu", triangle},
};

} // namespace

ArrayRef<LinalgRule> getIndexingRules() { return rules; }

} // namespace amp
