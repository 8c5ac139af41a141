//===- Loss.cpp - losses
//---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

namespace {

Scalar element(Body &b) { return b.x(); }

/// True where a dimension of the space is at a label.
Scalar isAt(Body &b, unsigned dimension, Scalar label) {
  Scalar index = b.index(dimension);
  return index == label.to(index.getType());
}

/// Scores of C classes along axis 1; a row's loss is picked from it by
/// comparing positions, so that scores are read as whole rows.
LogicalResult softmaxCrossEntropy(Node &n) {
  if (!n.isPlain())
    return failure();
  Space space = n.getSpace(n.x(), {1});
  Value x = n.x(), labels = n.x(1), weights = n.x(2);
  Type wide = widen(n.getElementType());
  auto ignored = n.getOperation()->getAttrOfType<IntegerAttr>("ignore_index");

  Value most = n.reduce(space, Fold::Max, {x}, element);
  Value sum = n.reduce(space, Fold::Sum, {x, n.perRow(space, most)},
                       [](Body &b) { return exp(b.x(0) - b.x(1)); });
  Value logarithm =
      n.mapKept(space, {sum}, wide, [](Body &b) { return log(b.x()); });
  if (n.isUsed(1))
    n.set(1,
          n.map(space, {x, n.perRow(space, most), n.perRow(space, logarithm)},
                n.getResultElementType(1),
                [](Body &b) { return (b.x(0) - b.x(1)) - b.x(2); }));
  if (!n.isUsed(0))
    return success();

  Value picked =
      n.reduce(space, Fold::Sum, {x, n.perRow(space, labels)},
               [](Body &b) { return select(isAt(b, 1, b.x(1)), b.x(0), 0.0); });
  Value weight;
  if (weights)
    weight = n.reduce(
        space, Fold::Sum, {Operand(weights, {1}), n.perRow(space, labels)},
        [](Body &b) { return select(isAt(b, 1, b.x(1)), b.x(0), 0.0); });
  /// What a row counts for.
  auto getWeight = [&](Body &b, unsigned position) {
    Scalar label = b.x(0);
    Scalar counts = weight ? b.x(position) : b.number(1.0, wide);
    return ignored ? select(label == double(ignored.getInt()), 0.0, counts)
                   : counts;
  };
  SmallVector<Value> terms = {labels, most, logarithm, picked};
  if (weight)
    terms.push_back(weight);
  StringRef reduction = n.getString("reduction", "mean");
  Type type = n.getResultElementType();
  bool isWhole = reduction == "none";
  Value losses = n.mapKept(space, terms, isWhole ? type : wide, [&](Body &b) {
    Scalar loss = (b.x(2) + b.x(1)) - b.x(3);
    // What is ignored may be infinite.
    if (!weight && !ignored)
      return loss;
    Scalar counts = getWeight(b, 4);
    return select(counts == 0.0, 0.0, loss * counts);
  });
  if (isWhole) {
    n.set(0, losses);
    return success();
  }
  Space rows = n.getSpace(
      losses, llvm::to_vector(llvm::seq<int64_t>(0, space.getRank() - 1)));
  Value total = n.reduce(rows, Fold::Sum, {losses}, element);
  if (reduction == "sum") {
    n.set(0, n.mapKept(rows, {total}, type, element));
    return success();
  }
  SmallVector<Operand> counted = {Operand(losses), Operand(labels)};
  if (weight)
    counted.push_back(weight);
  Value count = n.reduce(rows, Fold::Sum, counted, [&](Body &b) {
    SmallVector<Scalar> operands(b.getOperands().drop_front());
    Body inner(b.getBuilder(), operands);
    return getWeight(inner, 1);
  });
  n.set(0, n.mapKept(rows, {total, count}, type,
                     [](Body &b) { return b.x(0) / b.x(1); }));
  return success();
}

constexpr LinalgRule rules[] = {
    {"SoftmaxCrossEntropyLoss", softmaxCrossEntropy},
};

} // namespace

ArrayRef<LinalgRule> getLossRules() { return rules; }

} // namespace amp
