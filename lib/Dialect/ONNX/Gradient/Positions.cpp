//===- Positions.cpp - elements by their position -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Positions.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace amp::onnx {

Expr zeros(Expr shape, Type elementType) {
  NodeBuilder &b = shape.getBuilder();
  return b.apply("Expand", {b.number(0.0, elementType), shape});
}

/// The sizes of the dimensions from `start` to `end` if all are known.
static std::optional<SmallVector<int64_t>>
knownSizes(Expr value, int64_t start, std::optional<int64_t> end) {
  std::optional<int64_t> rank = value.getRank();
  if (!rank)
    return std::nullopt;
  auto place = [&](int64_t dimension) {
    return std::clamp<int64_t>(dimension < 0 ? dimension + *rank : dimension, 0,
                               *rank);
  };
  SmallVector<int64_t> sizes;
  for (int64_t i = place(start); i < place(end.value_or(*rank)); ++i)
    if (std::optional<int64_t> size = value.getSize(i))
      sizes.push_back(*size);
    else
      return std::nullopt;
  return sizes;
}

Expr sizesOf(Expr value, int64_t start, std::optional<int64_t> end) {
  NodeBuilder &b = value.getBuilder();
  if (std::optional<SmallVector<int64_t>> known = knownSizes(value, start, end))
    return b.ints(*known);
  if (!end)
    return b.apply("Shape", {value}, b.attr("start", start));
  return b.apply("Shape", {value},
                 {b.attr("start", start), b.attr("end", *end)});
}

Expr countOf(Expr value) {
  NodeBuilder &b = value.getBuilder();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? b.integer(type.getNumElements())
                                       : b.apply("Size", {value});
}

Expr countOf(Expr value, int64_t start, std::optional<int64_t> end) {
  NodeBuilder &b = value.getBuilder();
  std::optional<SmallVector<int64_t>> known = knownSizes(value, start, end);
  if (!known)
    return b.apply("ReduceProd", {sizesOf(value, start, end)},
                   b.attr("keepdims", 0));
  int64_t count = 1;
  for (int64_t size : *known)
    count *= size;
  return b.integer(count);
}

Expr rangeTo(Expr count) {
  NodeBuilder &b = count.getBuilder();
  return b.apply("Range", {b.integer(0), count, b.integer(1)});
}

Expr positionsOf(Expr value) {
  return value.getBuilder().reshapeLike(rangeTo(countOf(value)), value);
}

Expr sumAtPositions(Expr like, Expr positions, Expr updates) {
  NodeBuilder &b = like.getBuilder();
  updates = b.widen(updates);
  Expr count = b.unsqueeze(countOf(like), {0});
  Expr sum = b.apply("ScatterElements",
                     {zeros(count, updates.getElementType()),
                      b.reshape(positions, -1), b.reshape(updates, -1)},
                     b.attr("reduction", "add"));
  return b.reshapeLike(sum, like);
}

Expr sumRows(Expr like, Expr rows, Expr size, Expr updates) {
  NodeBuilder &b = like.getBuilder();
  Expr first = b.reshape(b.cast(rows, b.getBuilder().getI64Type()), {-1, 1});
  return sumAtPositions(like, first * size + rangeTo(size), updates);
}

} // namespace amp::onnx
