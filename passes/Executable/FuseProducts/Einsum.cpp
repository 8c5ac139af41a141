//===- Einsum.cpp - Einsum as a product of matrices -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace amp {

namespace {

/// A label for each dimension of two operands and of the result.
struct Equation {
  std::string a, b, result;

  /// None for those of other forms: an ellipsis, a diagonal, a sum over one
  /// operand alone.
  static std::optional<Equation> parse(StringRef text);

  /// Labels in the order of `order`, which others have or don't.
  static std::string pick(StringRef order, StringRef with, StringRef without) {
    std::string picked;
    for (char label : order)
      if (with.contains(label) && !without.contains(label))
        picked += label;
    return picked;
  }
};

bool hasEachOnce(StringRef labels) {
  return llvm::all_of(labels, llvm::isAlpha) &&
         llvm::all_of(labels,
                      [&](char label) { return labels.count(label) == 1; });
}

std::optional<Equation> Equation::parse(StringRef text) {
  std::string plain;
  for (char c : text)
    if (c != ' ')
      plain += c;
  auto [operands, result] = StringRef(plain).split("->");
  auto [a, b] = operands.split(',');
  if (!StringRef(plain).contains("->") || !hasEachOnce(a) || !hasEachOnce(b) ||
      !hasEachOnce(result))
    return std::nullopt;
  for (char label : (a + b).str())
    if (!result.contains(label) && !(a.contains(label) && b.contains(label)))
      return std::nullopt;
  for (char label : result)
    if (!a.contains(label) && !b.contains(label))
      return std::nullopt;
  return Equation{a.str(), b.str(), result.str()};
}

/// The positions of labels in an operand.
SmallVector<int64_t> getOrder(StringRef labels, StringRef operand) {
  SmallVector<int64_t> order;
  for (char label : labels)
    order.push_back(operand.find(label));
  return order;
}

class Contraction {
public:
  Contraction(Nodes &nodes, Operation *op, const Equation &equation)
      : nodes(nodes), op(op), a(op->getOperand(0)), b(op->getOperand(1)),
        equation(equation),
        batch(Equation::pick(equation.result,
                             Equation::pick(equation.a, equation.b, ""), "")),
        rows(Equation::pick(equation.result, equation.a, equation.b)),
        columns(Equation::pick(equation.result, equation.b, equation.a)),
        depth(Equation::pick(equation.a, equation.b, equation.result)) {}

  bool match();
  void build();

private:
  Size getSize(char label) const {
    size_t at = equation.a.find(label);
    return at != std::string::npos
               ? nodes.getDimensions().get(a, at)
               : nodes.getDimensions().get(b, equation.b.find(label));
  }
  /// The elements of several dimensions, -1 if one is not known.
  int64_t count(StringRef labels) const {
    int64_t product = 1;
    for (char label : labels) {
      if (!getSize(label).isStatic())
        return -1;
      product *= getSize(label).number;
    }
    return product;
  }
  unsigned countUnknown(StringRef labels) const {
    return llvm::count_if(
        labels, [&](char label) { return !getSize(label).isStatic(); });
  }

  Nodes &nodes;
  Operation *op;
  Value a, b;
  Equation equation;
  std::string batch, rows, columns, depth;
};

bool Contraction::match() {
  if (!Nodes::isFloat(a) || !Nodes::isFloat(b) ||
      Nodes::getRank(a) != int64_t(equation.a.size()) ||
      Nodes::getRank(b) != int64_t(equation.b.size()) || rows.empty() ||
      columns.empty() || depth.empty())
    return false;
  // A dimension of 1 would be broadcast.
  Dimensions &d = nodes.getDimensions();
  for (char label : batch + depth)
    if (d.get(a, equation.a.find(label)) != d.get(b, equation.b.find(label)))
      return false;
  // A Reshape takes 0 for a dimension to copy.
  if (llvm::any_of(batch + rows + columns + depth, [&](char label) {
        return getSize(label) == Size{0, Value(), 0};
      }))
    return false;
  // Reshapes find out one dimension, and copy those in front.
  bool areRowsBatches = batch.empty();
  return countUnknown(depth) == 0 && countUnknown(columns) == 0 &&
         (areRowsBatches || countUnknown(rows) <= 1);
}

void Contraction::build() {
  OpBuilder builder(op);
  onnx::NodeBuilder formula(builder, op);
  formula.setLocation(op->getLoc());
  auto reshape = [&](onnx::Expr value, ArrayRef<int64_t> shape) {
    return formula.apply("Reshape", {value, formula.ints(shape)});
  };
  auto copies = [](size_t dimensions) {
    return SmallVector<int64_t>(dimensions, 0);
  };
  onnx::Expr left = formula.transpose(
      formula.expr(a), getOrder(batch + rows + depth, equation.a));
  onnx::Expr right = formula.transpose(
      formula.expr(b), getOrder(batch + depth + columns, equation.b));
  bool areRowsBatches = batch.empty();
  if (!areRowsBatches ? rows.size() > 1 || depth.size() > 1
                      : depth.size() > 1) {
    SmallVector<int64_t> shape =
        copies(areRowsBatches ? rows.size() : batch.size());
    if (!areRowsBatches)
      shape.push_back(rows.size() == 1 ? 0 : -1);
    shape.push_back(count(depth));
    left = reshape(left, shape);
  }
  if (depth.size() > 1 || columns.size() > 1) {
    SmallVector<int64_t> shape = copies(batch.size());
    shape.push_back(count(depth));
    shape.push_back(count(columns));
    right = reshape(right, shape);
  }
  onnx::Expr product = formula.apply("MatMul", {left, right});
  if (Attribute name = op->getAttr(onnx::ONNXDialect::kName))
    Value(product).getDefiningOp()->setAttr(onnx::ONNXDialect::kName, name);
  if (columns.size() > 1 || (!areRowsBatches && rows.size() > 1)) {
    SmallVector<int64_t> shape =
        copies(areRowsBatches ? rows.size() : batch.size());
    for (char label : areRowsBatches ? columns : rows + columns)
      shape.push_back(getSize(label).isStatic() ? getSize(label).number : -1);
    product = reshape(product, shape);
  }
  product = formula.transpose(
      product, getOrder(equation.result, batch + rows + columns));
  Value made = product;
  made.setType(op->getResult(0).getType());
  nodes.replace(op->getResult(0), made);
}

} // namespace

bool expandEinsum(Nodes &nodes, Operation *op) {
  auto text = op->getAttrOfType<StringAttr>("equation");
  std::optional<Equation> equation = text && op->getNumOperands() == 2
                                         ? Equation::parse(text.getValue())
                                         : std::nullopt;
  if (!equation)
    return false;
  Contraction contraction(nodes, op, *equation);
  if (!contraction.match())
    return false;
  contraction.build();
  return true;
}

} // namespace amp
