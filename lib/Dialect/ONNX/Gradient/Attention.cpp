//===- Attention.cpp - gradients of attention -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention itself is differentiated as the function of operators that ONNX
// defines: what it keeps of the forward pass, the probabilities, is all that
// its gradient takes.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

#include <limits>

using namespace mlir;

namespace amp::onnx {

namespace {

/// What is turned, as [N, S, heads, size]: inputs have three dimensions, or the
/// heads before the sequence.
FailureOr<Expr> splitHeads(Gradient &g, Expr value) {
  FailureOr<int64_t> rank = g.getRank();
  if (failed(rank))
    return failure();
  NodeBuilder &b = g.b;
  value = b.widen(value);
  if (*rank == 4)
    return b.transpose(value, {0, 2, 1, 3});
  int64_t heads = g.getInt("num_heads", 0);
  std::optional<int64_t> batch = value.getSize(0), length = value.getSize(1),
                         size = value.getSize(2);
  if (batch && length && size && heads > 0)
    return b.reshape(value, {*batch, *length, heads, *size / heads});
  Expr leading = b.apply("Shape", {value}, b.attr("end", 2));
  return b.reshape(value, b.concat({leading, b.ints({heads, -1})}, 0));
}

/// The two halves that are turned, of each head.
std::pair<Expr, Expr> splitPairs(Gradient &g, Expr heads) {
  NodeBuilder &b = g.b;
  if (int64_t size = g.getInt("rotary_embedding_dim", 0))
    heads = b.slice(heads, {0}, {size}, {3});
  if (g.getInt("interleaved", 0)) {
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
    return {b.slice(heads, {0}, {kEnd}, {3}, {2}),
            b.slice(heads, {1}, {kEnd}, {3}, {2})};
  }
  Operation *halves = b.node("Split", {heads},
                             {b.attr("axis", 3), b.attr("num_outputs", 2)}, 2);
  return {b.expr(halves->getResult(0)), b.expr(halves->getResult(1))};
}

/// y1 = cos x1 - sin x2, y2 = sin x1 + cos x2, for all heads alike, at the rows
/// of the tables that the positions say.
LogicalResult rotationTables(Gradient &g) {
  NodeBuilder &b = g.b;
  FailureOr<Expr> x = splitHeads(g, g.x()), dy = splitHeads(g, g.dy());
  if (failed(x) || failed(dy))
    return failure();
  auto [x1, x2] = splitPairs(g, *x);
  auto [dy1, dy2] = splitPairs(g, *dy);
  auto finish = [&](unsigned position, Expr gradient) {
    gradient = b.reduceSum(gradient, {2}, /*keepDims=*/false);
    if (!g.x(3))
      return g.set(position, gradient);
    Expr zeros = b.widen(b.filledLike(g.x(position), 0.0));
    g.setAlike(position, b.apply("ScatterND",
                                 {zeros, b.unsqueeze(g.x(3), {-1}), gradient},
                                 b.attr("reduction", "add")));
  };
  if (g.isNeeded(1))
    finish(1, dy1 * x1 + dy2 * x2);
  if (g.isNeeded(2))
    finish(2, dy2 * x1 - dy1 * x2);
  return success();
}

/// The gradient of a rotation is turned back.
LogicalResult rotaryEmbedding(Gradient &g) {
  NodeBuilder &b = g.b;
  if (g.isNeeded(0)) {
    SmallVector<NamedAttribute> attributes;
    for (StringRef name : {"interleaved", "num_heads", "rotary_embedding_dim"})
      if (Attribute attribute = g.getOperation()->getAttr(name))
        attributes.push_back(b.getBuilder().getNamedAttr(name, attribute));
    g.setAlike(0, b.apply("RotaryEmbedding", {g.dy(), g.x(1), -g.x(2), g.x(3)},
                          attributes));
  }
  return g.isNeeded(1) || g.isNeeded(2) ? rotationTables(g) : success();
}

constexpr GradientRule rules[] = {
    {"RotaryEmbedding", rotaryEmbedding},
};

} // namespace

ArrayRef<GradientRule> getAttentionRules() { return rules; }

} // namespace amp::onnx
