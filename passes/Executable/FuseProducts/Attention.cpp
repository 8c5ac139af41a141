//===- Attention.cpp - attention as models have it ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ConstantInts.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;

namespace amp {

namespace {

/// softmax(scale * Q K + masks) V, where keys are [size, positions].
class Attention {
public:
  Attention(Nodes &nodes, Operation *softmax)
      : nodes(nodes), softmax(softmax) {}

  bool match() {
    return isLastAxis() && matchResult() && matchScores() && matchOperands() &&
           matchMasks();
  }
  void build();

private:
  bool isLastAxis() const {
    Value scores = softmax->getOperand(0);
    int64_t rank = Nodes::getRank(scores);
    int64_t axis = onnx::getInt(softmax, "axis", -1);
    return Nodes::isFloat(scores) && (rank == 4 || rank == 3) &&
           (axis == -1 || axis == rank - 1);
  }
  bool matchResult();
  bool matchScores();
  bool matchOperands();
  bool matchMasks();
  bool takeFactor(Value &value);
  Value skipCast(Value value) const;
  void skipRepeats();
  Value getRepeated(Value value) const;
  bool buildRows(onnx::NodeBuilder &formula);
  rt::CallOp buildCall(onnx::NodeBuilder &formula, Type type);

  Nodes &nodes;
  Operation *softmax;
  Operation *scoresProduct = nullptr, *product = nullptr;
  Value q, k, v;
  /// K has its last two dimensions exchanged yet.
  bool isKeyExchanged = false;
  SmallVector<Value, 2> masks;
  double scale = 1.0;
};

/// A Cast from 16 bits or to the type that a value has: it loses nothing.
Value Attention::skipCast(Value value) const {
  Operation *cast = value.getDefiningOp();
  if (!isa_and_present<onnx::CastOp>(cast) || !value.hasOneUse())
    return value;
  Value source = cast->getOperand(0);
  if (!Nodes::isFloat(source))
    return value;
  Type from = getElementTypeOrSelf(source.getType()),
       to = getElementTypeOrSelf(value.getType());
  return from == to || to.isF32() ? source : value;
}

/// Weights go to a MatMul, rounded to its type or not. Where(IsNaN(p), 0, p) is
/// what exporters write for rows where everything is masked.
bool Attention::matchResult() {
  Value weights = softmax->getResult(0);
  while (true) {
    if (llvm::hasNItems(weights.getUsers(), 2)) {
      Operation *isNaN = *weights.user_begin(),
                *where = *std::next(weights.user_begin());
      if (isa<onnx::WhereOp>(isNaN))
        std::swap(isNaN, where);
      if (!isa<onnx::IsNaNOp>(isNaN) || !isa<onnx::WhereOp>(where) ||
          !isNaN->hasOneUse() || where->getBlock() != softmax->getBlock() ||
          where->getOperand(0) != isNaN->getResult(0) ||
          where->getOperand(2) != weights ||
          nodes.getNumberFor(where->getOperand(1), weights) != 0.0)
        return false;
      weights = where->getResult(0);
      continue;
    }
    Operation *user = Nodes::getOnlyUser(weights);
    if (isa_and_present<onnx::CastOp>(user) &&
        Nodes::isFloat(user->getResult(0))) {
      weights = user->getResult(0);
      continue;
    }
    if (isa_and_present<onnx::IdentityOp>(user)) {
      weights = user->getResult(0);
      continue;
    }
    if (!isa_and_present<onnx::MatMulOp>(user) ||
        user->getOperand(0) != weights)
      return false;
    product = user;
    v = user->getOperand(1);
    return nodes.mayJoin(user->getResult(0)) && nodes.mayJoin(weights);
  }
}

/// From the Softmax to the product of Q and K, over masks and a factor.
bool Attention::matchScores() {
  Value scores = softmax->getOperand(0);
  while (scores.hasOneUse()) {
    Operation *op = scores.getDefiningOp();
    if (!op || op->getBlock() != softmax->getBlock() || !nodes.mayJoin(scores))
      return false;
    if (isa<onnx::MatMulOp>(op)) {
      scoresProduct = op;
      q = op->getOperand(0);
      k = op->getOperand(1);
      return true;
    }
    if (Value source = skipCast(scores); source != scores) {
      scores = source;
      continue;
    }
    // Masks are added to what has been scaled.
    if (takeFactor(scores))
      continue;
    if (!isa<onnx::AddOp>(op) || scale != 1.0)
      return false;
    // The side that leads to a product.
    unsigned side = 2;
    for (unsigned i : {0, 1}) {
      Value value = op->getOperand(i);
      for (unsigned steps = 0; steps < 4 && side == 2; ++steps) {
        Operation *before = value.getDefiningOp();
        if (!before || !value.hasOneUse() || before->getNumOperands() == 0)
          break;
        if (isa<onnx::MatMulOp>(before))
          side = i;
        if (!isa<onnx::AddOp, onnx::CastOp, onnx::DivOp, onnx::MulOp>(before))
          break;
        value = before->getOperand(0);
      }
    }
    if (side == 2 || !Nodes::isFloat(op->getOperand(1 - side)))
      return false;
    masks.push_back(op->getOperand(1 - side));
    scores = op->getOperand(side);
  }
  return false;
}

/// A number that multiplies or divides a value: takes it into the scale.
bool Attention::takeFactor(Value &value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<onnx::MulOp, onnx::DivOp>(op) || !value.hasOneUse() ||
      !nodes.mayJoin(value))
    return false;
  bool isDiv = isa<onnx::DivOp>(op);
  for (unsigned i : {1, 0}) {
    if (isDiv && i == 0)
      break;
    Value source = op->getOperand(1 - i);
    std::optional<double> number =
        nodes.getNumberFor(op->getOperand(i), source);
    if (!number || *number == 0.0 || !std::isfinite(*number))
      continue;
    scale = isDiv ? scale / *number : scale * *number;
    value = source;
    return true;
  }
  return false;
}

bool Attention::matchOperands() {
  takeFactor(q);
  isKeyExchanged = true;
  for (bool goesOn = true; goesOn;) {
    goesOn = takeFactor(k);
    if (!isKeyExchanged)
      continue;
    if (Value source = nodes.getExchanged(k)) {
      k = source;
      isKeyExchanged = false;
      goesOn = true;
    }
  }
  // Products broadcast their batches, attention does not.
  Dimensions &d = nodes.getDimensions();
  int64_t rank = Nodes::getRank(q);
  if (rank != Nodes::getRank(softmax->getOperand(0)))
    return false;
  for (Value value : {q, k, v})
    if (!Nodes::isFloat(value) || Nodes::getRank(value) != rank)
      return false;
  for (int64_t i = 0; i < rank - 2; ++i)
    if (d.get(q, i) != d.get(k, i) || d.get(q, i) != d.get(v, i))
      return false;
  if (rank == 4 && !isKeyExchanged)
    skipRepeats();
  // Three dimensions are a batch without heads.
  return rank == 4 || masks.empty();
}

/// The value whose heads are repeated here, each for a group of queries; null
/// if there is none.
Value Attention::getRepeated(Value value) const {
  Operation *reshape = value.getDefiningOp();
  Operation *expand = isa_and_present<onnx::ReshapeOp>(reshape)
                          ? reshape->getOperand(0).getDefiningOp()
                          : nullptr;
  Operation *unsqueeze = isa_and_present<onnx::ExpandOp>(expand)
                             ? expand->getOperand(0).getDefiningOp()
                             : nullptr;
  if (!isa_and_present<onnx::UnsqueezeOp>(unsqueeze))
    return {};
  auto axes = onnx::getConstantInts(unsqueeze->getOperand(1));
  Value source = unsqueeze->getOperand(0), wide = expand->getResult(0);
  if (!axes || axes->size() != 1 || axes->front() != 2 ||
      Nodes::getRank(source) != 4 || Nodes::getRank(wide) != 5)
    return {};
  Dimensions &d = nodes.getDimensions();
  constexpr int64_t outer[] = {0, 1, 3, 4};
  for (int64_t i = 0; i < 4; ++i)
    if (d.get(source, i) != d.get(wide, outer[i]))
      return {};
  for (int64_t i : {0, 2, 3})
    if (d.get(source, i) != d.get(value, i))
      return {};
  return source;
}

void Attention::skipRepeats() {
  Value fewK = getRepeated(k), fewV = getRepeated(v);
  if (!fewK || !fewV ||
      nodes.getDimensions().get(fewK, 1) != nodes.getDimensions().get(fewV, 1))
    return;
  k = fewK;
  v = fewV;
}

bool Attention::matchMasks() {
  SmallVector<Size> sizes =
      nodes.getDimensions().get(scoresProduct->getResult(0));
  return llvm::all_of(masks, [&](Value mask) {
    return nodes.isBroadcastTo(mask, sizes) && Nodes::getRank(mask) >= 1;
  });
}

/// The value of four dimensions whose second and third one are exchanged here,
/// as positions and heads are; null if there is none.
static Value getRows(Value value) {
  Operation *op = value.getDefiningOp();
  auto order = isa_and_present<onnx::TransposeOp>(op)
                   ? op->getAttrOfType<DenseI64ArrayAttr>("perm")
                   : DenseI64ArrayAttr();
  bool isRows = order && order.asArrayRef() == ArrayRef<int64_t>{0, 2, 1, 3};
  return isRows ? op->getOperand(0) : Value();
}

rt::CallOp Attention::buildCall(onnx::NodeBuilder &formula, Type type) {
  OpBuilder &builder = formula.getBuilder();
  Value mask;
  for (Value next : llvm::reverse(masks))
    mask = mask ? Value(formula.expr(mask) + formula.expr(next)) : next;
  SmallVector<Value> operands = {q, k, v};
  if (mask)
    operands.push_back(mask);
  auto call = rt::CallOp::create(
      builder, product->getLoc(), TypeRange(type), "attention", operands,
      DenseI32ArrayAttr(), /*view=*/false,
      builder.getDictionaryAttr(builder.getNamedAttr(
          "scale", builder.getF32FloatAttr(float(scale)))));
  nameCall(call, scoresProduct, product->getResult(0));
  return call;
}

/// Where all heads come from rows and go to rows, these are not moved.
bool Attention::buildRows(onnx::NodeBuilder &formula) {
  Operation *user = Nodes::getOnlyUser(product->getResult(0));
  Value *const heads[] = {&q, &k, &v};
  SmallVector<Value, 3> rows;
  Dimensions &d = nodes.getDimensions();
  for (Value *value : heads) {
    rows.push_back(getRows(*value));
    if (!rows.back() || !d.get(*value, 1).isStatic() ||
        !d.get(*value, 3).isStatic())
      return false;
  }
  if (!user || getRows(user->getResult(0)) != product->getResult(0))
    return false;
  int64_t queryHeads = d.get(q, 1).number, keyHeads = d.get(k, 1).number;
  int64_t size = d.get(v, 3).number;
  for (auto [value, from] : llvm::zip_equal(heads, rows)) {
    int64_t width = d.get(*value, 1).number * d.get(*value, 3).number;
    Operation *transpose = value->getDefiningOp();
    *value = formula.apply("Reshape", {from, formula.ints({0, 0, width})});
    nodes.drop(transpose);
  }
  auto shape = cast<RankedTensorType>(user->getResult(0).getType());
  rt::CallOp call = buildCall(
      formula, RankedTensorType::get({shape.getDimSize(0), shape.getDimSize(1),
                                      queryHeads * size},
                                     shape.getElementType()));
  NamedAttrList settings(call.getSettings());
  Builder &builder = formula.getBuilder();
  settings.set("q_num_heads", builder.getI64IntegerAttr(queryHeads));
  settings.set("kv_num_heads", builder.getI64IntegerAttr(keyHeads));
  call.setSettingsAttr(settings.getDictionary(call.getContext()));
  call->removeAttr(rt::AMPRTDialect::kNames);
  Value made = formula.apply(
      "Reshape", {call.getResult(0), formula.ints({0, 0, queryHeads, size})});
  made.setType(user->getResult(0).getType());
  nodes.replace(user->getResult(0), made);
  return true;
}

void Attention::build() {
  OpBuilder builder(product);
  onnx::NodeBuilder formula(builder, product);
  formula.setLocation(product->getLoc());
  int64_t rank = Nodes::getRank(q);
  auto expr = [&](Value value) { return formula.expr(value); };
  if (isKeyExchanged) {
    // What is transposed already is transposed otherwise.
    Operation *transpose = k.getDefiningOp();
    auto order = isa_and_present<onnx::TransposeOp>(transpose)
                     ? transpose->getAttrOfType<DenseI64ArrayAttr>("perm")
                     : DenseI64ArrayAttr();
    if (order && order.size() == rank) {
      SmallVector<int64_t> other(order.asArrayRef());
      std::swap(other[rank - 1], other[rank - 2]);
      k = formula.transpose(expr(transpose->getOperand(0)), other);
    } else {
      k = formula.transposeMatrix(expr(k), rank);
    }
  }
  Type resultType = product->getResult(0).getType();
  if (rank == 4) {
    if (!buildRows(formula))
      nodes.replace(product->getResult(0),
                    buildCall(formula, resultType).getResult(0));
    return;
  }
  // A batch without heads has one.
  for (Value *value : {&q, &k, &v})
    *value = formula.unsqueeze(expr(*value), {1});
  auto tensor = cast<RankedTensorType>(resultType);
  SmallVector<int64_t> shape(tensor.getShape());
  shape.insert(shape.begin() + 1, 1);
  rt::CallOp call =
      buildCall(formula, RankedTensorType::get(shape, tensor.getElementType()));
  call->removeAttr(rt::AMPRTDialect::kNames);
  Value made = formula.squeeze(expr(call.getResult(0)), {1});
  made.setType(resultType);
  nodes.replace(product->getResult(0), made);
}

} // namespace

bool fuseAttention(Nodes &nodes, Operation *softmax) {
  Attention attention(nodes, softmax);
  if (!attention.match())
    return false;
  attention.build();
  return true;
}

} // namespace amp
