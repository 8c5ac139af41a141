//===- Indexing.cpp - gradients of gathers and scatters -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"
#include "Positions.h"

using namespace mlir;

namespace amp::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult gather(Gradient &g) {
  NodeBuilder &b = g.b;
  int64_t axis = g.getInt("axis", 0);
  if (axis < 0) {
    FailureOr<int64_t> rank = g.getRank();
    if (failed(rank))
      return failure();
    axis += *rank;
  }
  Expr rows = b.cast(g.x(1), b.getBuilder().getI64Type());
  if (axis > 0) {
    // The table is there once for each index of the dimensions before.
    Expr height = countOf(g.x(), axis, axis + 1);
    rows = b.reshape(rows, {1, -1});
    rows = b.where(rows < 0.0, rows + height, rows);
    Expr tables = b.unsqueeze(rangeTo(countOf(g.x(), 0, axis)), 1);
    rows = tables * height + rows;
  }
  g.setAlike(0, sumRows(g.x(), rows, countOf(g.x(), axis + 1), g.dy()));
  return success();
}

LogicalResult gatherElements(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr updates = b.widen(g.dy());
  Expr sum = b.apply(
      "ScatterElements",
      {b.castLike(b.filledLike(g.x(), 0.0), updates), g.x(1), updates},
      {b.attr("axis", g.getInt("axis", 0)), b.attr("reduction", "add")});
  g.setAlike(0, sum);
  return success();
}

/// Tuples of indices are the numbers of rows.
LogicalResult gatherND(Gradient &g) {
  NodeBuilder &b = g.b;
  int64_t batch = g.getInt("batch_dims", 0);
  std::optional<int64_t> length = g.x(1).getSize(-1);
  if (!length)
    return g.fail("where the last size of indices is not known");
  int64_t end = batch + *length;
  // Row-major strides of the dimensions that are indexed, in rows.
  SmallVector<Value> strides;
  for (int64_t i = batch; i < end; ++i)
    strides.push_back(b.unsqueeze(countOf(g.x(), i + 1, end), 0));
  Expr sizes = sizesOf(g.x(), batch, end);
  Expr tuple = b.where(g.x(1) < 0.0, g.x(1) + sizes, g.x(1));
  Expr rows = b.reduceSum(tuple * b.concat(strides, 0), -1, /*keepDims=*/false);
  if (batch > 0) {
    Expr batches = b.unsqueeze(rangeTo(countOf(g.x(), 0, batch)), 1);
    Expr shape =
        b.concat({b.unsqueeze(countOf(g.x(), 0, batch), 0), b.ints(-1)}, 0);
    rows = batches * countOf(g.x(), batch, end) + b.reshape(rows, shape);
  }
  g.setAlike(0, sumRows(g.x(), rows, countOf(g.x(), end), g.dy()));
  return success();
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// ScatterElements or ScatterND, with the indices of a node.
class Scatter {
public:
  Scatter(Gradient &g, bool isND) : g(g), isND(isND) {
    if (!isND)
      axis.push_back(g.b.attr("axis", g.getInt("axis", 0)));
  }

  Expr gather(Expr data) const {
    return g.b.apply(isND ? "GatherND" : "GatherElements", {data, g.x(1)},
                     axis);
  }
  Expr scatter(Expr data, Expr updates, StringRef reduction) const {
    SmallVector<NamedAttribute> attributes(axis);
    attributes.push_back(g.b.attr("reduction", reduction));
    return g.b.apply(isND ? "ScatterND" : "ScatterElements",
                     {data, g.x(1), updates}, attributes);
  }

  LogicalResult build() const;

private:
  void buildProduct() const;
  void buildExtremum() const;

  Gradient &g;
  bool isND;
  SmallVector<NamedAttribute> axis;
};

/// Each factor's gradient has all others.
void Scatter::buildProduct() const {
  NodeBuilder &b = g.b;
  Expr data = g.x(0), updates = g.x(2), dy = g.dy();
  if (g.isNeeded(0))
    g.setAlike(0, scatter(dy, updates, "mul"));
  if (!g.isNeeded(2))
    return;
  // A zero is no factor of the others' product, which is zero for two of them.
  Expr isZero = updates == 0.0;
  Expr divisor = b.where(isZero, 1.0, updates);
  Expr zeroCount =
      scatter(b.filledLike(data, 0.0), b.castLike(isZero, data), "add");
  Expr others = gather(dy * scatter(data, divisor, "mul"));
  Expr zerosThere = gather(zeroCount) - b.castLike(isZero, data);
  g.setAlike(2, b.where(zerosThere == 0.0, others / divisor, 0.0));
}

/// What is equal to the result shares the gradient.
void Scatter::buildExtremum() const {
  NodeBuilder &b = g.b;
  Expr isData = b.castLike(g.x(0) == g.y(), g.dy());
  Expr isUpdate = b.castLike(g.x(2) == gather(g.y()), g.dy());
  Expr share = g.dy() / scatter(isData, isUpdate, "add");
  if (g.isNeeded(0))
    g.setAlike(0, b.where(g.x(0) == g.y(), share, 0.0));
  if (g.isNeeded(2))
    g.setAlike(2, gather(share) * isUpdate);
}

LogicalResult Scatter::build() const {
  StringRef reduction = g.getString("reduction", "none");
  if (reduction == "mul") {
    buildProduct();
    return success();
  }
  if (reduction != "none" && reduction != "add") {
    buildExtremum();
    return success();
  }
  if (g.isNeeded(0))
    g.setAlike(0, reduction == "add"
                      ? g.dy()
                      : scatter(g.dy(), g.b.filledLike(g.x(2), 0.0), "none"));
  if (g.isNeeded(2))
    g.setAlike(2, gather(g.dy()));
  return success();
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult topK(Gradient &g) {
  NodeBuilder &b = g.b;
  g.setAlike(0, b.apply("ScatterElements",
                        {b.filledLike(g.x(), 0.0), g.y(1), g.dy()},
                        b.attr("axis", g.getInt("axis", -1))));
  return success();
}

/// The gradients of the value that is off and the one that is on.
LogicalResult oneHot(Gradient &g) {
  NodeBuilder &b = g.b;
  Type element = g.dy().getElementType();
  auto number = [&](double value) {
    return b.unsqueeze(b.number(value, element), 0);
  };
  Expr isOn = b.apply("OneHot",
                      {g.x(0), g.x(1), b.concat({number(0.0), number(1.0)}, 0)},
                      b.attr("axis", g.getInt("axis", -1))) > 0.0;
  Expr off = b.reduceSum(b.where(isOn, 0.0, g.dy()), {}, /*keepDims=*/false);
  Expr on = b.reduceSum(b.where(isOn, g.dy(), 0.0), {}, /*keepDims=*/false);
  g.setAlike(2, b.concat({b.unsqueeze(off, 0), b.unsqueeze(on, 0)}, 0));
  return success();
}

/// Updates took the place of what was in the cache.
LogicalResult tensorScatter(Gradient &g) {
  NodeBuilder &b = g.b;
  int64_t axis = g.getInt("axis", -2);
  StringRef mode = g.getString("mode", "linear");
  if (g.isNeeded(0))
    g.setAlike(0, b.apply("TensorScatter",
                          {g.dy(), b.filledLike(g.x(1), 0.0), g.x(2)},
                          {b.attr("axis", axis), b.attr("mode", mode)}));
  if (!g.isNeeded(1))
    return success();
  FailureOr<int64_t> rank = g.getRank(1);
  if (failed(rank))
    return failure();
  axis = axis < 0 ? axis + *rank : axis;
  SmallVector<int64_t> batchShape(*rank, 1), timeShape(*rank, 1);
  batchShape[0] = timeShape[axis] = -1;
  Expr places = b.reshape(rangeTo(countOf(g.x(1), axis, axis + 1)), timeShape);
  if (g.x(2)) {
    places = places + b.reshape(g.x(2), batchShape);
    if (mode == "circular")
      places = b.apply("Mod", {places, countOf(g.x(0), axis, axis + 1)});
  }
  g.setAlike(1,
             b.apply("GatherElements", {g.dy(), b.expandLike(places, g.x(1))},
                     b.attr("axis", axis)));
  return success();
}

constexpr GradientRule rules[] = {
    {"Gather", gather},
    {"GatherElements", gatherElements},
    {"GatherND", gatherND},
    {"OneHot", oneHot},
    {"ScatterElements",
     [](Gradient &g) { return Scatter(g, /*isND=*/false).build(); }},
    {"ScatterND",
     [](Gradient &g) { return Scatter(g, /*isND=*/true).build(); }},
    {"TensorScatter", tensorScatter},
    {"TopK", topK},
};

} // namespace

ArrayRef<GradientRule> getIndexingRules() { return rules; }

} // namespace amp::onnx
