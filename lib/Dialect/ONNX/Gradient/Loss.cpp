//===- Loss.cpp - gradients of losses -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both losses take the logarithm of the probability of each label, which is an
// index along axis 1:
//
//   loss = reduction of -logp[label] * weight[label]
//
// The mean is over weights. A label that is ignored has no loss and no weight;
// where all are, the mean is not a number, and its gradient is zero.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"
#include "Positions.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// The loss of a node as a function of logarithms of probabilities.
class LabelLoss {
public:
  LabelLoss(Gradient &g, Expr logp);

  /// The gradient of each -logp[label]: with axis 1, or one number for all.
  Expr getSlope() const { return slope; }
  /// The gradient of each logp[label] added to what stands at the labels.
  Expr addAtLabels(Expr logarithms) const {
    return g.b.apply("ScatterElements",
                     {logarithms, places, g.b.expandLike(-slope, places)},
                     {g.b.attr("axis", 1), g.b.attr("reduction", "add")});
  }
  /// The gradient of the weights of the classes.
  Expr ofWeights() const;

private:
  Gradient &g;
  Expr logp;
  /// The labels, zero for those that are ignored, and with axis 1; which are
  /// not ignored: null if none is.
  Expr labels, places, isValid;
  /// Of each label, zero if it is ignored; null for ones.
  Expr weights;
  /// What the mean divides by; null for other reductions.
  Expr total;
  /// The gradient of the loss by each weighted loss of a label, and that times
  /// the weight.
  Expr factor, slope;
};

LabelLoss::LabelLoss(Gradient &g, Expr logp)
    : g(g), logp(logp), labels(g.x(1)) {
  NodeBuilder &b = g.b;
  if (g.getOperation()->hasAttr("ignore_index")) {
    Expr ignored =
        b.number(double(g.getInt("ignore_index", 0)), labels.getElementType());
    isValid = logicalNot(labels == ignored);
    labels = b.where(isValid, labels, 0.0);
  }
  if (g.x(2))
    weights = b.apply("Gather", {b.castLike(g.x(2), logp), labels});
  if (isValid)
    weights =
        weights ? b.where(isValid, weights, 0.0) : b.castLike(isValid, logp);
  factor = b.castLike(g.dy(), logp);
  StringRef reduction = g.getString("reduction", "mean");
  if (reduction == "mean") {
    total = weights ? b.reduceSum(weights, {}, /*keepDims=*/false)
                    : b.castLike(countOf(labels), logp);
    factor = factor / total;
  }
  places = b.unsqueeze(labels, 1);
  slope = weights ? factor * weights : factor;
  // Not zero times infinity where all are ignored.
  if (bool(total) && bool(isValid))
    slope = b.where(isValid, slope, 0.0);
  if (weights || reduction == "none")
    slope = b.unsqueeze(slope, 1);
}

/// Each loss counts, for the mean beside all others.
Expr LabelLoss::ofWeights() const {
  NodeBuilder &b = g.b;
  Expr taken = b.apply("GatherElements", {logp, places}, b.attr("axis", 1));
  Expr loss = -b.reshapeLike(taken, labels);
  if (total)
    loss = loss - b.castLike(g.y(), logp);
  Expr parts = loss * factor;
  if (isValid)
    parts = b.where(isValid, parts, 0.0);
  return sumAtPositions(g.x(2), labels, parts);
}

LogicalResult softmaxCrossEntropy(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr logp = b.widen(g.y(1));
  // The gradient of the second output, and how it and the loss sum up.
  Expr dlogp = g.dy(1) ? b.widen(g.dy(1)) : Expr();
  Expr sum = dlogp ? b.reduceSum(dlogp, 1, /*keepDims=*/true) : Expr();
  if (!bool(g.dy())) {
    g.setAlike(0, dlogp - exp(logp) * sum);
    return success();
  }
  LabelLoss loss(g, logp);
  if (g.isNeeded(0)) {
    Expr slope = loss.getSlope();
    Expr shared = exp(logp) * (sum ? slope - sum : slope);
    g.setAlike(0, loss.addAtLabels(dlogp ? dlogp + shared : shared));
  }
  if (g.isNeeded(2))
    g.setAlike(2, loss.ofWeights());
  return success();
}

LogicalResult negativeLogLikelihood(Gradient &g) {
  Expr logp = g.b.widen(g.x());
  LabelLoss loss(g, logp);
  if (g.isNeeded(0))
    g.setAlike(0, loss.addAtLabels(g.b.filledLike(logp, 0.0)));
  if (g.isNeeded(2))
    g.setAlike(2, loss.ofWeights());
  return success();
}

constexpr GradientRule rules[] = {
    {"NegativeLogLikelihoodLoss", negativeLogLikelihood},
    {"SoftmaxCrossEntropyLoss", softmaxCrossEntropy,
     [](Operation *) { return 2u; }},
};

} // namespace

ArrayRef<GradientRule> getLossRules() { return rules; }

} // namespace amp::onnx
