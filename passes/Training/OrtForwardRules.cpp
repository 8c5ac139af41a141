//===- OrtForwardRules.cpp - forward operators of ONNX Runtime ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrtNode.h"

#include "amp/Dialect/ONNX/OperatorTable.h"

#include <cmath>

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Swaps the last two dimensions if the attribute says so.
FailureOr<Expr> transposed(OrtNode &n, Expr value, StringRef attribute) {
  if (n.getInt(attribute, 0) == 0)
    return value;
  std::optional<int64_t> rank = value.getRank();
  if (!rank)
    return n.fail("the rank of an operand that it transposes is not known");
  return *rank < 2 ? value : n.b.transposeMatrix(value, *rank);
}

/// alpha op(A) op(B).
LogicalResult fusedMatMul(OrtNode &n) {
  if (n.getInt("transBatchA", 0) || n.getInt("transBatchB", 0))
    return n.fail("it transposes batches");
  FailureOr<Expr> a = transposed(n, n.x(0), "transA"),
                  b = transposed(n, n.x(1), "transB");
  if (failed(a) || failed(b))
    return failure();
  Expr product = matmul(*a, *b);
  double alpha = n.getFloat("alpha", 1);
  n.set(0, alpha == 1 ? product : product * alpha);
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Expr gelu(Expr x) { return x * 0.5 * (erf(x * std::sqrt(0.5)) + 1.0); }

template <typename Formula>
LogicalResult elementwise(OrtNode &n, Formula formula) {
  Expr x = n.b.widen(n.x(0));
  if (n.x(1))
    x = x + n.b.widen(n.x(1)); // the bias
  n.set(0, formula(x));
  return success();
}

Expr fastGelu(Expr x) {
  double c = std::sqrt(2 / M_PI);
  return x * 0.5 * (tanh(x * (x * x * (c * 0.044715) + c)) + 1.0);
}

/// Times the scale, or one over it.
LogicalResult scale(OrtNode &n) {
  Expr x = n.b.widen(n.x(0)), factor = n.b.castLike(n.x(1), x);
  n.set(0, x * (n.getInt("scale_down", 0) ? 1.0 / factor : factor));
  return success();
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

/// Takes the place of the node with another one of ONNX's that has the same
/// first outputs.
LogicalResult become(OrtNode &n, StringRef op, ArrayRef<Value> inputs,
                     ArrayRef<NamedAttribute> attributes) {
  unsigned count = 0;
  for (unsigned i = 0; i < 5; ++i)
    if (n.getOutput(i))
      count = i + 1;
  Operation *node = n.b.node(op, inputs, attributes, count);
  for (unsigned i = 0; i < count; ++i)
    if (n.getOutput(i))
      n.set(i, n.b.expr(node->getResult(i)));
  return success();
}

/// What ONNX has since opset 17, which ONNX Runtime knows at every one.
LogicalResult layerNormalization(OrtNode &n) {
  return become(n, "LayerNormalization", {n.x(0), n.x(1), n.x(2)},
                n.getAttributes({"axis", "epsilon", "stash_type"}));
}

/// BatchNormalization, and with it the mean and one over the deviation.
LogicalResult batchNormInternal(OrtNode &n) {
  NodeBuilder &b = n.b;
  bool isTraining = n.getInt("training_mode", 1) != 0;
  std::optional<int64_t> rank = n.x(0).getRank();
  if (!rank)
    return n.fail("the rank of its input is not known");
  SmallVector<NamedAttribute> attributes =
      n.getAttributes({"epsilon", "momentum"});
  attributes.push_back(b.attr("training_mode", isTraining));
  Operation *node =
      b.node("BatchNormalization", {n.x(0), n.x(1), n.x(2), n.x(3), n.x(4)},
             attributes, isTraining ? 3 : 1);
  for (unsigned i = 0; i < node->getNumResults(); ++i)
    n.set(i, b.expr(node->getResult(i)));
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < *rank; ++i)
    if (i != 1)
      axes.push_back(i);
  Expr mean = b.widen(n.x(3)), variance = b.widen(n.x(4));
  if (isTraining) {
    Expr x = b.widen(n.x(0));
    Expr centered = x - b.reduceMean(x, axes, /*keepDims=*/true);
    mean = b.reduceMean(x, axes, /*keepDims=*/false);
    variance = b.reduceMean(centered * centered, axes, /*keepDims=*/false);
  }
  n.set(3, mean);
  n.set(4, reciprocal(sqrt(variance + n.getFloat("epsilon", 1e-5f))));
  return success();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The loss, with the label that is ignored as an input.
LogicalResult lossInternal(OrtNode &n) {
  SmallVector<NamedAttribute> attributes =
      n.getAttributes({"reduction", "ignore_index"});
  if (Value ignored = n.x(3)) {
    auto tensor =
        ignored.getDefiningOp()
            ? ignored.getDefiningOp()->getAttrOfType<onnx::TensorAttr>("value")
            : onnx::TensorAttr();
    auto elements =
        tensor ? dyn_cast<DenseIntElementsAttr>(Attribute(tensor.getValue()))
               : DenseIntElementsAttr();
    if (!elements || elements.getNumElements() != 1)
      return n.fail("the label that it ignores is no constant");
    attributes.push_back(
        n.b.attr("ignore_index", (*elements.begin()).getSExtValue()));
  }
  return become(n, "SoftmaxCrossEntropyLoss", {n.x(0), n.x(1), n.x(2)},
                attributes);
}

constexpr OrtRule rules[] = {
    {"BatchNormInternal", batchNormInternal},
    {"BiasGelu", [](OrtNode &n) { return elementwise(n, gelu); }},
    {"FastGelu", [](OrtNode &n) { return elementwise(n, fastGelu); }},
    {"FusedMatMul", fusedMatMul},
    {"Gelu", [](OrtNode &n) { return elementwise(n, gelu); }},
    {"LayerNormalization", layerNormalization},
    {"QuickGelu",
     [](OrtNode &n) {
       double alpha = n.getFloat("alpha", 1.702f);
       return elementwise(n, [&](Expr x) { return x * sigmoid(x * alpha); });
     }},
    {"Scale", scale},
    {"SoftmaxCrossEntropyLossInternal", lossInternal},
};

} // namespace

ArrayRef<OrtRule> getOrtForwardRules() { return rules; }

} // namespace amp
