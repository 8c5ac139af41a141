//===- OperatorWork.cpp - how much an operator computes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperatorWork.h"

#include "ModelStatistics.h"

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
  Reduction, ///< of all that the result does not have
  LastAxis,  ///< of one axis, mostly the last, which the result still has
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

std::optional<OperatorWork> amp::getWork(Operation *op, ShapeOf shapeOf) {
  std::string name = getOperatorName(op);
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
