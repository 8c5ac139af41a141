//===- SelectFlexAttention.cpp - FlexAttention, by other nodes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace amp;
using onnx::Expr;
using onnx::NodeBuilder;

namespace {

/// As ONNX defines it: scores and probabilities go through subgraphs.
class FlexAttentionSelection {
public:
  FlexAttentionSelection(Operation *op, OpBuilder &builder)
      : op(op), builder(builder), b(builder, op), query(at(0)), key(at(1)),
        value(at(2)) {}

  FailureOr<SmallVector<Value>> select(std::string &why);

private:
  Expr at(unsigned i) { return b.expr(op->getOperand(i)); }
  /// Each head of keys for as many heads of queries as share it.
  Expr repeat(Expr tensor, int64_t heads);
  /// What a subgraph makes of a value; the value without a subgraph.
  Expr modify(Region &region, Expr value);

  Operation *op;
  OpBuilder &builder;
  NodeBuilder b;
  Expr query, key, value;
};

} // namespace

Expr FlexAttentionSelection::repeat(Expr tensor, int64_t heads) {
  int64_t each = heads / *tensor.getSize(1);
  if (each == 1)
    return tensor;
  Expr spread =
      b.apply("Expand", {b.unsqueeze(tensor, {2}), b.ints({1, 1, each, 1, 1})});
  return b.apply("Reshape",
                 {spread, b.ints({0, heads, -1, *tensor.getSize(3)})});
}

Expr FlexAttentionSelection::modify(Region &region, Expr value) {
  if (region.empty())
    return value;
  Block &body = region.front();
  BlockArgument argument = body.getArgument(0);
  Value given = value;
  if (given.getType() != argument.getType() &&
      tensor::CastOp::areCastCompatible(given.getType(), argument.getType()))
    given = tensor::CastOp::create(builder, op->getLoc(), argument.getType(),
                                   given);
  argument.replaceAllUsesWith(given);
  Operation *yield = body.getTerminator();
  Value result = yield->getOperand(0);
  // Nobody inferred types there: the subgraph's inputs may have none.
  for (Operation &node :
       llvm::make_early_inc_range(body.without_terminator())) {
    node.moveBefore(op);
    if (onnx::lookupOperator(node.getName()))
      b.infer(&node);
  }
  return b.cast(b.expr(result), value.getElementType());
}

FailureOr<SmallVector<Value>> FlexAttentionSelection::select(std::string &why) {
  std::optional<int64_t> heads = query.getSize(1), keyHeads = key.getSize(1),
                         size = query.getSize(3);
  if (!heads || !keyHeads || !size || !value.getSize(1) || !value.getSize(3) ||
      !key.getSize(3)) {
    why = "its numbers of heads and their sizes are not known";
    return failure();
  }
  if (*keyHeads < 1 || *heads % *keyHeads != 0 ||
      *value.getSize(1) != *keyHeads) {
    why = std::to_string(*heads) + " heads of queries don't share " +
          std::to_string(*keyHeads) + " of keys and " +
          std::to_string(*value.getSize(1)) + " of values";
    return failure();
  }
  Type type = query.getElementType(), precise = type;
  if (!type.isF64())
    precise = builder.getF32Type();
  if (int64_t number = onnx::getInt(op, "softmax_precision", 0))
    if (std::optional<onnx::ElementType> element =
            onnx::parseElementType(number))
      precise = onnx::toType(op->getContext(), *element);
  double scale = 1.0 / std::sqrt(static_cast<double>(*size));
  if (auto number = op->getAttrOfType<FloatAttr>("scale"))
    scale = number.getValueAsDouble();

  double root = std::sqrt(scale);
  Expr scores =
      matmul(query * root, b.transposeMatrix(repeat(key, *heads) * root, 4));
  Region &probMod = op->getRegion(0), &scoreMod = op->getRegion(1);
  scores = modify(scoreMod, b.cast(scores, precise));
  Expr probabilities = modify(
      probMod, b.apply("Softmax", {scores}, b.attr("axis", int64_t(-1))));
  Expr result = matmul(probabilities, b.cast(repeat(value, *heads), precise));
  return SmallVector<Value>{b.cast(result, value.getElementType())};
}

FailureOr<SmallVector<Value>>
amp::selectFlexAttention(Operation *op, OpBuilder &builder, std::string &why) {
  return FlexAttentionSelection(op, builder).select(why);
}
