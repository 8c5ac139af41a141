//===- OperatorWork.cpp - how much an operator computes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/OperatorWork.h"

#include "amp/Interfaces/AutocastOpInterface.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace amp;
using namespace mlir;

int64_t amp::countElements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::optional<Shape> amp::getStaticShape(Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || !ranked.hasStaticShape())
    return std::nullopt;
  return Shape(ranked.getShape());
}

namespace {
/// How the work of an operator follows from its shapes.
enum class Kind {
  Elementwise,
  MatMul,
  Gemm,
  Conv,
  ConvTranspose,
  Recurrent,
  Einsum,
  Attention,
  ProjectedAttention, ///< with the weights of query, key and value
  Reduction,          ///< of all that the result does not have
  LastAxis, ///< of one axis, mostly the last, which the result still has
};
} // namespace

static Kind getKind(StringRef name) {
  Kind kind = llvm::StringSwitch<Kind>(name)
                  .Case("MatMul", Kind::MatMul)
                  .Case("Gemm", Kind::Gemm)
                  .Case("Conv", Kind::Conv)
                  .Case("ConvTranspose", Kind::ConvTranspose)
                  .Cases({"RNN", "GRU", "LSTM"}, Kind::Recurrent)
                  .Case("Einsum", Kind::Einsum)
                  .Cases({"Attention", "com.microsoft:MultiHeadAttention",
                          "com.microsoft:GroupQueryAttention"},
                         Kind::Attention)
                  .Case("com.microsoft:Attention", Kind::ProjectedAttention)
                  .Cases({"GlobalAveragePool", "GlobalLpPool"}, Kind::Reduction)
                  .Cases({"Softmax", "LogSoftmax", "LayerNormalization",
                          "RMSNormalization", "CumSum"},
                         Kind::LastAxis)
                  .Default(Kind::Elementwise);
  return name.starts_with("Reduce") ? Kind::Reduction : kind;
}

/// The product of all dimensions of an Einsum; none for an ellipsis.
static std::optional<double> getEinsumProduct(Operation *op, ShapeOf shapeOf) {
  auto equation = op->getAttrOfType<StringAttr>("equation");
  if (!equation || equation.getValue().contains('.'))
    return std::nullopt;
  SmallVector<StringRef> terms;
  equation.getValue().split("->").first.split(terms, ',');
  std::map<char, int64_t> sizes;
  for (auto [term, operand] : llvm::zip(terms, op->getOperands())) {
    std::optional<Shape> shape = shapeOf(operand);
    if (!shape)
      return std::nullopt;
    size_t axis = 0;
    for (char label : term)
      if (label != ' ' && axis < shape->size())
        sizes[label] = std::max(sizes[label], (*shape)[axis++]);
  }
  double product = 1;
  for (auto [label, size] : sizes)
    product *= double(size);
  return product;
}

/// The shape of the input at this position of the operator's definition.
static std::optional<Shape> getInputShape(Operation *op, unsigned position,
                                          ShapeOf shapeOf) {
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  for (unsigned i = 0; autocast && i < op->getNumOperands(); ++i)
    if (autocast.getOperandPosition(i) == position)
      return shapeOf(op->getOperand(i));
  return std::nullopt;
}

/// Of every query with every key, and of what comes out with every value; how
/// many a mask leaves out is not known. Keys are B x T x ... or B x H x T x D,
/// and may come with the query.
static std::optional<OperatorWork> getAttentionWork(Operation *op,
                                                    StringRef name,
                                                    double elements,
                                                    ShapeOf shapeOf) {
  std::optional<Shape> query = getInputShape(op, 0, shapeOf);
  if (!query || query->size() < 3)
    return std::nullopt;
  // Several of query, key and value in one tensor.
  std::optional<Shape> key = getInputShape(op, 1, shapeOf);
  bool isPacked = query->size() == 5 || !key;
  const Shape &keys = isPacked ? *query : *key;
  if (keys.size() < 3)
    return std::nullopt;
  double length = double(keys[keys.size() == 4 ? 2 : 1]);
  unsigned pastPosition = llvm::StringSwitch<unsigned>(name)
                              .Case("Attention", 4)
                              .Case("com.microsoft:MultiHeadAttention", 6)
                              .Default(3);
  std::optional<Shape> past = getInputShape(op, pastPosition, shapeOf);
  if (past && past->size() == 4)
    length += double((*past)[2]);
  double queries = isPacked ? elements : double(countElements(*query));
  return OperatorWork{2 * (queries + elements) * length,
                      std::max<int64_t>(int64_t(length), 1), true};
}

/// The same, and the products that query, key and value come from.
static std::optional<OperatorWork>
getProjectedAttentionWork(Operation *op, const Shape &result, ShapeOf shapeOf) {
  std::optional<Shape> input = getInputShape(op, 0, shapeOf);
  std::optional<Shape> weights = getInputShape(op, 1, shapeOf);
  if (!input || input->size() != 3 || !weights || weights->size() != 2 ||
      result.size() != 3)
    return std::nullopt;
  double length = double((*input)[1]);
  std::optional<Shape> past = getInputShape(op, 4, shapeOf);
  if (past && past->size() == 5) // 2 x B x H x P x D
    length += double((*past)[3]);
  double rows = double((*input)[0]) * double((*input)[1]);
  double valueWidth = double(result[2]);
  double queryWidth = (double((*weights)[1]) - valueWidth) / 2;
  return OperatorWork{2 * rows *
                          (double(countElements(*weights)) +
                           (queryWidth + valueWidth) * length),
                      std::max((*weights)[0], int64_t(length)), true};
}

std::optional<OperatorWork> amp::getWork(Operation *op, StringRef name,
                                         ShapeOf shapeOf) {
  if (op->getNumResults() == 0)
    return std::nullopt;
  std::optional<Shape> result = shapeOf(op->getResult(0));
  std::optional<Shape> first, second;
  if (op->getNumOperands() > 0)
    first = shapeOf(op->getOperand(0));
  if (op->getNumOperands() > 1)
    second = shapeOf(op->getOperand(1));
  if (!result)
    return std::nullopt;
  double elements = double(countElements(*result));

  auto product = [&](double flops, double depth) -> OperatorWork {
    return {flops, std::max<int64_t>(int64_t(depth), 1), true};
  };
  switch (getKind(name)) {
  case Kind::Elementwise:
    return OperatorWork{elements, 1, false};
  case Kind::MatMul: {
    if (!first || first->empty())
      return std::nullopt;
    double depth = double(first->back());
    return product(2 * elements * depth, depth);
  }
  case Kind::Gemm: {
    if (!first || first->size() != 2)
      return std::nullopt;
    auto transposed = op->getAttrOfType<IntegerAttr>("transA");
    double depth =
        double((*first)[transposed && transposed.getInt() != 0 ? 0 : 1]);
    return product(2 * elements * depth, depth);
  }
  case Kind::Conv: {
    if (!second || second->empty() || second->front() == 0)
      return std::nullopt;
    double depth = double(countElements(*second)) / double(second->front());
    return product(2 * elements * depth, depth);
  }
  case Kind::ConvTranspose: {
    if (!first || !second || second->size() < 2 || countElements(*second) == 0)
      return std::nullopt;
    double perInput = double(countElements(*second)) / double(second->front());
    return product(2 * double(countElements(*first)) * perInput,
                   double(countElements(*second)) / double((*second)[1]));
  }
  case Kind::Recurrent: {
    std::optional<Shape> recurrence =
        op->getNumOperands() > 2 ? shapeOf(op->getOperand(2)) : std::nullopt;
    if (!first || first->size() != 3 || !second || second->size() != 3 ||
        !recurrence || recurrence->size() != 3)
      return std::nullopt;
    double weights =
        double(countElements(*second)) + double(countElements(*recurrence));
    return product(2 * double((*first)[0]) * double((*first)[1]) * weights,
                   double(second->back() + recurrence->back()));
  }
  case Kind::Einsum: {
    std::optional<double> all = getEinsumProduct(op, shapeOf);
    if (!all)
      return std::nullopt;
    return product(2 * *all, elements > 0 ? *all / elements : 1);
  }
  case Kind::Attention:
    return getAttentionWork(op, name, elements, shapeOf);
  case Kind::ProjectedAttention:
    return getProjectedAttentionWork(op, *result, shapeOf);
  case Kind::Reduction: {
    if (!first)
      return std::nullopt;
    double read = double(countElements(*first));
    return OperatorWork{
        read, std::max<int64_t>(elements > 0 ? int64_t(read / elements) : 1, 1),
        false};
  }
  case Kind::LastAxis:
    return OperatorWork{
        elements, result->empty() ? 1 : std::max<int64_t>(result->back(), 1),
        false};
  }
  llvm_unreachable("a kind");
}
