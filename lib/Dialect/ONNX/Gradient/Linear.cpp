//===- Linear.cpp - gradients of matrix products --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every gradient of a product is one product of as many multiplications. What
// broadcasts is not repeated and summed, but flattened: the rows of all batches
// are one matrix. Gemm transposes without a copy.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

#include <numeric>

using namespace mlir;

namespace amp::onnx {

namespace {

//===----------------------------------------------------------------------===//
// MatMul and Gemm
//===----------------------------------------------------------------------===//

/// alpha * a' @ b', of matrices, transposed as asked for.
Expr gemm(Expr a, bool transA, Expr b, bool transB, double alpha = 1.0) {
  NodeBuilder &nodes = a.getBuilder();
  SmallVector<NamedAttribute, 3> attributes;
  if (alpha != 1.0)
    attributes.push_back(nodes.attr("alpha", alpha));
  if (transA)
    attributes.push_back(nodes.attr("transA", 1));
  if (transB)
    attributes.push_back(nodes.attr("transB", 1));
  return nodes.apply("Gemm", {a, b}, attributes);
}

/// All rows as one matrix; a vector is a row.
Expr asMatrix(Expr value) {
  NodeBuilder &b = value.getBuilder();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getRank() == 2)
    return value;
  std::optional<int64_t> columns = value.getSize(-1);
  if (type && type.hasStaticShape() && columns)
    return b.reshape(
        value,
        {ShapedType::getNumElements(type.getShape().drop_back()), *columns});
  if (columns)
    return b.reshape(value, {-1, *columns});
  return b.reshape(value, b.concat({b.ints(-1), b.sizeOf(value, -1)}, 0));
}

/// True for what is multiplied with every batch of the other side.
bool isOneMatrix(Expr value) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape.size() <= 2 ||
         llvm::all_of(shape.drop_back(2), [](int64_t n) { return n == 1; });
}

/// [batches..., m, n] as a matrix [m, batches * n].
Expr joinBatches(Expr value, int64_t rank) {
  NodeBuilder &b = value.getBuilder();
  SmallVector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), -1);
  order[0] = rank - 2;
  order[rank - 1] = rank - 1;
  Expr rowsFirst = b.transpose(value, order);
  if (std::optional<int64_t> rows = value.getSize(-2))
    return b.reshape(rowsFirst, {*rows, -1});
  return b.reshape(rowsFirst, b.concat({b.sizeOf(value, -2), b.ints(-1)}, 0));
}

/// Sets the gradient of a of y = a @ b.
void setLeft(Gradient &g, int64_t rankA, int64_t rankB) {
  NodeBuilder &b = g.b;
  Expr left = g.x(0), right = g.x(1), dy = g.dy();
  if (rankB == 1)
    return g.setAlike(0, (rankA == 1 ? dy : b.unsqueeze(dy, {-1})) * right);
  if (rankA == 1 && rankB == 2)
    return g.setAlike(0, matmul(right, dy));
  if (isOneMatrix(right))
    return g.setAlike(0,
                      b.reshapeLike(gemm(asMatrix(dy), false, asMatrix(right),
                                         /*transB=*/true),
                                    left));
  if (isOneMatrix(left)) {
    Expr rows = rankA == 1 ? b.reshape(dy, {1, -1})
                           : joinBatches(dy, std::max(rankA, rankB));
    return g.setAlike(0,
                      b.reshapeLike(gemm(rows, false, joinBatches(right, rankB),
                                         /*transB=*/true),
                                    left));
  }
  g.set(0, matmul(dy, b.transposeMatrix(right, rankB)));
}

/// Sets the gradient of b of y = a @ b.
void setRight(Gradient &g, int64_t rankA, int64_t rankB) {
  NodeBuilder &b = g.b;
  Expr left = g.x(0), right = g.x(1), dy = g.dy();
  if (rankB == 1)
    return g.setAlike(1, rankA == 1
                             ? left * dy
                             : matmul(b.reshape(dy, {-1}), asMatrix(left)));
  if (rankA == 1)
    return g.setAlike(1, b.unsqueeze(left, {1}) * b.unsqueeze(dy, {-2}));
  if (isOneMatrix(right))
    return g.setAlike(1, b.reshapeLike(gemm(asMatrix(left), /*transA=*/true,
                                            asMatrix(dy), false),
                                       right));
  g.set(1, matmul(b.transposeMatrix(left, rankA), dy));
}

LogicalResult matMul(Gradient &g) {
  FailureOr<int64_t> rankA = g.getRank(0), rankB = g.getRank(1);
  if (failed(rankA) || failed(rankB))
    return failure();
  if (*rankA == 0 || *rankB == 0)
    return g.fail("with a scalar");
  if (g.isNeeded(0))
    setLeft(g, *rankA, *rankB);
  if (g.isNeeded(1))
    setRight(g, *rankA, *rankB);
  return success();
}

LogicalResult gemmRule(Gradient &g) {
  Expr a = g.x(0), b = g.x(1), dy = g.dy();
  double alpha = g.getFloat("alpha", 1.0), beta = g.getFloat("beta", 1.0);
  bool transA = g.getInt("transA", 0), transB = g.getInt("transB", 0);
  if (g.isNeeded(0))
    g.setAlike(0, transA ? gemm(b, transB, dy, true, alpha)
                         : gemm(dy, false, b, !transB, alpha));
  if (g.isNeeded(1))
    g.setAlike(1, transB ? gemm(dy, true, a, transA, alpha)
                         : gemm(a, !transA, dy, false, alpha));
  if (g.isNeeded(2) && beta != 0.0) {
    Expr sum = g.b.sumTo(dy, g.x(2));
    g.setAlike(2, beta == 1.0 ? sum : sum * beta);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// A value with a label, a letter, for each dimension.
struct Term {
  Expr value;
  std::string labels;
};

bool has(StringRef labels, char label) { return labels.contains(label); }

/// The labels, each once.
std::string unique(StringRef labels) {
  std::string once;
  for (char label : labels)
    if (!has(once, label))
      once += label;
  return once;
}

/// Those labels of `labels` that `others` has too.
std::string common(StringRef labels, StringRef others) {
  std::string both;
  llvm::copy_if(labels, std::back_inserter(both),
                [&](char label) { return has(others, label); });
  return both;
}

/// The sum over labels that are not among the result's.
Term contract(ArrayRef<Term> terms, StringRef labels) {
  if (terms.size() == 1 && terms[0].labels == labels)
    return terms[0];
  NodeBuilder &b = terms[0].value.getBuilder();
  std::string equation;
  SmallVector<Value> values;
  for (const Term &term : terms) {
    equation += (values.empty() ? "" : ",") + term.labels;
    values.push_back(term.value);
  }
  equation += "->" + labels.str();
  return {b.apply("Einsum", values, b.attr("equation", StringRef(equation))),
          labels.str()};
}

/// A node's equation, with letters for what an ellipsis stands for.
class Equation {
public:
  static FailureOr<Equation> parse(Gradient &g);

  /// True if the types say that nothing that has the labels of an input is
  /// broadcast.
  bool hasSizesOf(const Term &input, Value outputValue) const;

  SmallVector<Term> inputs;
  std::string output;

private:
  static constexpr StringLiteral kEllipsis = "...";
  static std::string expand(StringRef subscripts, StringRef ellipsis);
};

std::string Equation::expand(StringRef subscripts, StringRef ellipsis) {
  auto [front, back] = subscripts.split(kEllipsis);
  return (subscripts.contains(kEllipsis) ? front + ellipsis + back
                                         : Twine(subscripts))
      .str();
}

FailureOr<Equation> Equation::parse(Gradient &g) {
  std::string text = g.getString("equation", "").str();
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> subscripts;
  left.split(subscripts, ',');
  if (subscripts.size() != g.getNumInputs())
    return g.fail("of the equation '" + text + "' of " +
                  Twine(subscripts.size()) + " inputs for " +
                  Twine(g.getNumInputs()));

  // How many dimensions an ellipsis stands for differs, counted from the right.
  SmallVector<int64_t> hidden(subscripts.size(), 0);
  for (auto [i, labels] : llvm::enumerate(subscripts))
    if (labels.contains(kEllipsis)) {
      FailureOr<int64_t> rank = g.getRank(i);
      if (failed(rank))
        return failure();
      hidden[i] = std::max<int64_t>(
          *rank - int64_t(labels.size() - kEllipsis.size()), 0);
    }
  size_t longest = *llvm::max_element(hidden);
  std::string free;
  for (char label = 'A'; label <= 'z' && free.size() < longest; ++label)
    if (isalpha(label) && !has(text, label))
      free += label;
  if (free.size() < longest)
    return g.fail("of the equation '" + text +
                  "', which leaves no letters for the dimensions of '...'");

  Equation equation;
  std::string all;
  for (auto [i, labels] : llvm::enumerate(subscripts)) {
    std::string expanded = expand(labels, StringRef(free).take_back(hidden[i]));
    equation.inputs.push_back({g.x(i), expanded});
    all += expanded;
  }
  if (StringRef(text).contains("->")) {
    equation.output = expand(right, free);
    return equation;
  }
  // Implicit: what an ellipsis stands for, then the labels that are there once.
  std::string once = common(unique(all), left);
  llvm::erase_if(once, [&](char label) { return llvm::count(all, label) > 1; });
  llvm::sort(once);
  equation.output = free + once;
  return equation;
}

bool Equation::hasSizesOf(const Term &input, Value outputValue) const {
  auto fits = [&](Value value, StringRef labels) {
    return llvm::all_of(llvm::enumerate(labels), [&](auto label) {
      size_t i = input.labels.find(label.value());
      return i == std::string::npos ||
             haveSameSize(input.value, i, value, label.index());
    });
  };
  return fits(outputValue, output) &&
         llvm::all_of(inputs, [&](const Term &other) {
           return fits(other.value, other.labels);
         });
}

/// The gradient of an operand from one with some of its labels, each once: what
/// was summed alone is repeated, and a diagonal is zero elsewhere. `isExact`:
/// labels have the operand's sizes.
Expr placeInOperand(const Term &gradient, const Term &operand, bool isExact) {
  NodeBuilder &b = operand.value.getBuilder();
  int64_t rank = operand.labels.size();
  SmallVector<int64_t> added;
  for (int64_t i = 0; i < rank; ++i)
    if (!has(gradient.labels, operand.labels[i]) ||
        operand.labels.find(operand.labels[i]) != size_t(i))
      added.push_back(i);
  Expr placed = b.unsqueeze(gradient.value, added);
  if (!isExact || !added.empty())
    placed = b.expandLike(placed, operand.value);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t first = operand.labels.find(operand.labels[i]);
    if (first == i)
      continue;
    Expr size = b.squeeze(b.sizeOf(operand.value, i), {0});
    Expr range = b.apply("Range", {b.integer(0), size, b.integer(1)});
    auto along = [&](int64_t dimension) {
      SmallVector<int64_t> behind(rank - 1 - dimension);
      std::iota(behind.begin(), behind.end(), 1);
      return b.unsqueeze(range, behind);
    };
    placed = b.where(along(first) == along(i), placed, 0.0);
  }
  return placed;
}

/// Two inputs at a time, from left to right, as the node itself is computed:
/// all at once could take more multiplications. The products of the first ones
/// of three inputs or more are computed once more.
LogicalResult einsum(Gradient &g) {
  FailureOr<Equation> equation = Equation::parse(g);
  if (failed(equation))
    return failure();
  ArrayRef<Term> inputs = equation->inputs;
  unsigned count = inputs.size();
  // partial[k]: the product of the inputs up to k.
  SmallVector<Term> partial = {inputs[0]};
  auto isNeededFrom = [&](unsigned first) {
    return llvm::any_of(llvm::seq(first, count),
                        [&](unsigned i) { return g.isNeeded(i); });
  };
  for (unsigned k = 1; k + 1 < count && isNeededFrom(k + 1); ++k) {
    std::string later = equation->output;
    for (const Term &input : inputs.drop_front(k + 1))
      later += input.labels;
    partial.push_back(contract(
        {partial[k - 1], inputs[k]},
        common(unique(partial[k - 1].labels + inputs[k].labels), later)));
  }
  Term gradient = {g.dy(), equation->output};
  for (unsigned k = count; k-- > 0;) {
    if (g.isNeeded(k)) {
      SmallVector<Term> factors = {gradient};
      std::string labels = gradient.labels;
      if (k > 0) {
        factors.push_back(partial[k - 1]);
        labels += partial[k - 1].labels;
      }
      Term product =
          contract(factors, common(unique(inputs[k].labels), labels));
      bool isExact = equation->hasSizesOf(inputs[k], g.y());
      Expr placed = placeInOperand(product, inputs[k], isExact);
      isExact ? g.setAlike(k, placed) : g.set(k, placed);
    }
    bool isMore = llvm::any_of(llvm::seq(0u, k),
                               [&](unsigned i) { return g.isNeeded(i); });
    if (!isMore)
      break;
    // That of the product of the inputs before this one.
    std::string before;
    for (const Term &input : inputs.take_front(k))
      before += input.labels;
    gradient =
        contract({gradient, inputs[k]},
                 common(unique(before), gradient.labels + inputs[k].labels));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// DFT
//===----------------------------------------------------------------------===//

/// The transpose of a transform is the other one, but for the factor 1/n that
/// the inverse has. Zeros stand for the bins that one side leaves out.
LogicalResult dft(Gradient &g) {
  NodeBuilder &b = g.b;
  bool isInverse = g.getInt("inverse", 0);
  if (isInverse && g.getInt("onesided", 0))
    return g.fail("of an inverse with one side");
  FailureOr<int64_t> rank = g.getRank();
  if (failed(rank))
    return failure();
  // Until opset 19 the axis is an attribute.
  bool isAttribute = b.getOpset() < 20;
  std::optional<int64_t> axis = g.getInt("axis", isAttribute ? 1 : -2);
  if (!isAttribute && g.x(2)) {
    std::optional<SmallVector<int64_t>> given = g.getConstantInts(2);
    axis = given && given->size() == 1 ? std::optional(given->front())
                                       : std::nullopt;
  }
  if (!axis)
    return g.fail("where the axis is no constant");
  *axis += *axis < 0 ? *rank : 0;

  Expr size = b.sizeOf(g.x(), *axis);
  Expr length =
      g.x(1) ? b.reshape(g.x(1), ArrayRef<int64_t>()) : b.squeeze(size, {0});
  SmallVector<NamedAttribute> attributes = {
      b.attr("inverse", int64_t(!isInverse))};
  SmallVector<Value> inputs = {g.dy(), length};
  if (isAttribute)
    attributes.push_back(b.attr("axis", *axis));
  else
    inputs.push_back(b.integer(*axis));
  Expr other = b.apply("DFT", inputs, attributes);
  Expr count = b.castLike(length, other);
  other = isInverse ? other / count : other * count;
  // What was padded or cut off.
  if (g.x(1)) {
    Expr missing = size - b.castLike(b.reshape(length, {1}), size);
    other = b.pad(other, b.concat({b.ints(0), missing}, 0), b.ints(*axis));
  }
  if (g.x().getSize(-1) == 1) // real
    other = b.slice(other, {0}, {1}, {-1});
  else if (!g.x().getSize(-1))
    return g.fail("where it is not known if the input is real: declare its "
                  "shape");
  g.setAlike(0, other);
  return success();
}

constexpr GradientRule rules[] = {
    {"DFT", dft},
    {"Einsum", einsum},
    {"Gemm", gemmRule},
    {"MatMul", matMul},
};

} // namespace

ArrayRef<GradientRule> getLinearRules() { return rules; }

} // namespace amp::onnx
