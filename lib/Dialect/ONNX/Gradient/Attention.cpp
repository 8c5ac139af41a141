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

using namespace mlir;

namespace amp::onnx {

namespace {

/// The gradient of a rotation is turned back.
LogicalResult rotaryEmbedding(Gradient &g) {
  NodeBuilder &b = g.b;
  for (unsigned i : {1, 2})
    if (g.isNeeded(i))
      return g.fail("for its " + Twine(i == 1 ? "cos_cache" : "sin_cache"));
  SmallVector<NamedAttribute> attributes;
  for (StringRef name : {"interleaved", "num_heads", "rotary_embedding_dim"})
    if (Attribute attribute = g.getOperation()->getAttr(name))
      attributes.push_back(b.getBuilder().getNamedAttr(name, attribute));
  g.setAlike(0, b.apply("RotaryEmbedding", {g.dy(), g.x(1), -g.x(2), g.x(3)},
                        attributes));
  return success();
}

constexpr GradientRule rules[] = {
    {"RotaryEmbedding", rotaryEmbedding},
};

} // namespace

ArrayRef<GradientRule> getAttentionRules() { return rules; }

} // namespace amp::onnx
