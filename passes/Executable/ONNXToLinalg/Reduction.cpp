//===- Reduction.cpp - reductions over axes -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are joined in float32 or wider; what is made of the sum, and the one
// rounding, is a loop over the results.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

namespace {

Scalar element(Body &b) { return b.x(); }
Scalar squared(Body &b) { return b.x() * b.x(); }
Scalar magnitude(Body &b) { return abs(b.x()); }

bool isFloat(const Node &n) { return isa<FloatType>(n.getElementType()); }

/// The axes that are reduced; none if they are not known.
std::optional<SmallVector<int64_t>> getAxes(const Node &n) {
  int64_t rank = cast<RankedTensorType>(n.x().getType()).getRank();
  std::optional<SmallVector<int64_t>> axes;
  if (!n.x(1))
    axes.emplace();
  else
    axes = n.getConstantInts(1);
  if (!axes)
    return std::nullopt;
  if (axes->empty() && !n.getInt("noop_with_empty_axes", 0))
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t &axis : *axes) {
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank)
      return std::nullopt;
  }
  return axes;
}

/// Gives the node the value of its result, of what was reduced.
void finish(Node &n, const Space &space, Value reduced,
            Node::Formula formula = element) {
  Type type = n.getResultElementType();
  bool keeps = n.getInt("keepdims", 1) && space.isAnyReduced();
  n.set(0, keeps ? n.keepDims(space, reduced, type, formula)
                 : n.mapKept(space, {reduced}, type, formula));
}

/// The space of a node that a rule takes.
std::optional<Space> getReduction(Node &n) {
  if (!n.x() || !n.isPlain())
    return std::nullopt;
  std::optional<SmallVector<int64_t>> axes = getAxes(n);
  return axes ? std::optional(n.getSpace(n.x(), *axes)) : std::nullopt;
}

template <Fold fold>
LogicalResult reduce(Node &n, Node::Formula before,
                     Node::Formula after = nullptr) {
  std::optional<Space> space = getReduction(n);
  if (!space)
    return failure();
  Value reduced = n.reduce(*space, fold, {n.x()}, before);
  // Nothing else may be left to do.
  if (!after && !n.getInt("keepdims", 1) &&
      getElementTypeOrSelf(reduced.getType()) == n.getResultElementType())
    n.set(0, reduced);
  else
    finish(n, *space, reduced, after ? after : element);
  return success();
}

LogicalResult reduceMean(Node &n) {
  std::optional<Space> space = getReduction(n);
  if (!space || !isFloat(n))
    return failure();
  Value sum = n.reduce(*space, Fold::Sum, {n.x()}, element);
  std::optional<int64_t> count = space->countReduced();
  Value index = count ? Value() : n.countReduced(*space);
  finish(n, *space, sum, [&](Body &b) {
    return count ? b.x() / double(*count)
                 : b.x() / b.outer(index, b.x().getType());
  });
  return success();
}

/// log(sum(exp(x - m))) + m, where m is the largest element.
LogicalResult reduceLogSumExp(Node &n) {
  std::optional<Space> space = getReduction(n);
  if (!space || !isFloat(n))
    return failure();
  Value most = n.reduce(*space, Fold::Max, {n.x()}, element);
  // Infinities are not subtracted from each other.
  Type type = getElementTypeOrSelf(most.getType());
  Value shift = n.mapKept(*space, {most}, type, [](Body &b) {
    return select(abs(b.x()) == std::numeric_limits<double>::infinity(), 0.0,
                  b.x());
  });
  Value sum = n.reduce(*space, Fold::Sum, {n.x(), n.perRow(*space, shift)},
                       [](Body &b) { return exp(b.x(0) - b.x(1)); });
  Value result = n.mapKept(*space, {sum, shift}, type,
                           [](Body &b) { return log(b.x(0)) + b.x(1); });
  finish(n, *space, result);
  return success();
}

constexpr LinalgRule rules[] = {
    {"ReduceL1", [](Node &n) { return reduce<Fold::Sum>(n, magnitude); }},
    {"ReduceL2",
     [](Node &n) {
       if (!isFloat(n))
         return failure();
       return reduce<Fold::Sum>(n, squared,
                                [](Body &b) { return sqrt(b.x()); });
     }},
    {"ReduceLogSum",
     [](Node &n) {
       if (!isFloat(n))
         return failure();
       return reduce<Fold::Sum>(n, element, [](Body &b) { return log(b.x()); });
     }},
    {"ReduceLogSumExp", reduceLogSumExp},
    {"ReduceMax", [](Node &n) { return reduce<Fold::Max>(n, element); }},
    {"ReduceMean", reduceMean},
    {"ReduceMin", [](Node &n) { return reduce<Fold::Min>(n, element); }},
    {"ReduceProd", [](Node &n) { return reduce<Fold::Product>(n, element); }},
    {"ReduceSum", [](Node &n) { return reduce<Fold::Sum>(n, element); }},
    {"ReduceSumSquare", [](Node &n) { return reduce<Fold::Sum>(n, squared); }},
};

} // namespace

ArrayRef<LinalgRule> getReductionRules() { return rules; }

} // namespace amp
