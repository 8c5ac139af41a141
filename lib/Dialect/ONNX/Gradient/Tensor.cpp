//===- Tensor.cpp - gradients of what moves data --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"
#include "Positions.h"
#include "Slicing.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

using namespace mlir;

namespace amp::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult reshape(Gradient &g) {
  g.setAlike(0, g.b.reshapeLike(g.dy(), g.x()));
  return success();
}

LogicalResult transpose(Gradient &g) {
  std::optional<SmallVector<int64_t>> forward = g.getInts("perm");
  if (!forward) { // reversed, and so is the way back
    g.setAlike(0, g.b.apply("Transpose", {g.dy()}));
    return success();
  }
  SmallVector<int64_t> back(forward->size());
  for (auto [to, from] : llvm::enumerate(*forward))
    back[from] = int64_t(to);
  g.setAlike(0, g.b.transpose(g.dy(), back));
  return success();
}

LogicalResult expand(Gradient &g) {
  g.set(0, g.dy());
  return success();
}

//===----------------------------------------------------------------------===//
// Concat and Split
//===----------------------------------------------------------------------===//

LogicalResult concat(Gradient &g) {
  NodeBuilder &b = g.b;
  int64_t axis = g.getInt("axis", 0);
  SmallVector<int64_t> sizes;
  SmallVector<Value> lists;
  SmallVector<unsigned> needed;
  for (unsigned i = 0; i < g.getNumInputs(); ++i) {
    sizes.push_back(g.x(i).getSize(axis).value_or(ShapedType::kDynamic));
    if (g.isNeeded(i))
      needed.push_back(i);
  }
  if (g.getNumInputs() == 1) {
    g.setAlike(0, g.dy());
    return success();
  }
  bool isKnown = !llvm::is_contained(sizes, ShapedType::kDynamic);
  if (isKnown && needed.size() == 1) {
    int64_t start = 0;
    for (unsigned i = 0; i < needed[0]; ++i)
      start += sizes[i];
    g.setAlike(needed[0],
               b.slice(g.dy(), start, start + sizes[needed[0]], axis));
    return success();
  }
  for (unsigned i = 0; !isKnown && i < g.getNumInputs(); ++i)
    lists.push_back(b.sizeOf(g.x(i), axis));
  Operation *split =
      b.node("Split", {g.dy(), isKnown ? b.ints(sizes) : b.concat(lists, 0)},
             b.attr("axis", axis), g.getNumInputs());
  for (unsigned i : needed)
    g.setAlike(i, b.expr(split->getResult(i)));
  return success();
}

LogicalResult split(Gradient &g) {
  NodeBuilder &b = g.b;
  Operation *op = g.getOperation();
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  unsigned count =
      std::max<unsigned>(names ? names.size() : 0, g.getNumOutputs());
  // An output without a name has a shape, too: it takes a node to tell it.
  Operation *again = nullptr;
  auto zeroPart = [&](unsigned i) {
    if (g.y(i))
      return b.filledLike(g.y(i), 0.0);
    if (!again) {
      SmallVector<NamedAttribute> attributes{
          b.attr("axis", g.getInt("axis", 0))};
      if (!bool(g.x(1)))
        attributes.push_back(b.attr("num_outputs", int64_t(count)));
      again = b.node("Split", {g.x(), g.x(1)}, attributes, count);
    }
    return b.filledLike(again->getResult(i), 0.0);
  };
  SmallVector<Value> parts;
  for (unsigned i = 0; i < count; ++i)
    parts.push_back(g.dy(i) ? g.dy(i) : zeroPart(i));
  g.setAlike(0, b.concat(parts, g.getInt("axis", 0)));
  return success();
}

//===----------------------------------------------------------------------===//
// Repeated data
//===----------------------------------------------------------------------===//

/// Repeats are dimensions in front of those that they repeat, and summed over.
LogicalResult tile(Gradient &g) {
  NodeBuilder &b = g.b;
  std::optional<SmallVector<int64_t>> repeats = g.getConstantInts(1);
  std::optional<int64_t> rank = g.x().getRank();
  if (!rank || !repeats) {
    Expr both = b.concat(
        {b.unsqueeze(g.x(1), {1}), b.unsqueeze(b.shape(g.x()), {1})}, 1);
    Expr shape = b.reshape(both, -1);
    Expr axes = b.apply("Range", {b.integer(0), countOf(shape), b.integer(2)});
    Expr sum =
        b.apply("ReduceSum", {b.widen(b.reshape(g.dy(), shape)), axes},
                {b.attr("keepdims", 0), b.attr("noop_with_empty_axes", 1)});
    g.setAlike(0, b.castLike(sum, g.x()));
    return success();
  }
  SmallVector<Value> sizes;
  SmallVector<int64_t> axes, known;
  for (int64_t i = 0; i < *rank; ++i) {
    if ((*repeats)[i] != 1) {
      axes.push_back(int64_t(sizes.size()));
      sizes.push_back(b.ints((*repeats)[i]));
      known.push_back((*repeats)[i]);
    }
    sizes.push_back(b.sizeOf(g.x(), i));
    known.push_back(g.x().getSize(i).value_or(ShapedType::kDynamic));
  }
  if (axes.empty()) {
    g.setAlike(0, g.dy());
    return success();
  }
  Expr parts = llvm::is_contained(known, ShapedType::kDynamic)
                   ? b.reshape(g.dy(), b.concat(sizes, 0))
                   : b.reshape(g.dy(), known);
  g.setAlike(0, b.reduceSum(parts, axes, /*keepDims=*/false));
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks of pixels
//===----------------------------------------------------------------------===//

LogicalResult depthToSpace(Gradient &g) {
  NodeBuilder &b = g.b;
  int64_t block = g.getInt("blocksize", 1);
  if (g.getString("mode", "DCR") == "DCR") {
    g.setAlike(0,
               b.apply("SpaceToDepth", {g.dy()}, b.attr("blocksize", block)));
    return success();
  }
  // [N, C, H, block, W, block] to [N, C, block, block, H, W]
  Expr blockSize = b.ints(block), one = b.ints(-1);
  Expr shape = b.concat({b.sizeOf(g.x(), 0), one, b.sizeOf(g.x(), 2), blockSize,
                         b.sizeOf(g.x(), 3), blockSize},
                        0);
  Expr blocks = b.reshape(g.dy(), shape);
  g.setAlike(0, b.reshapeLike(b.transpose(blocks, {0, 1, 3, 5, 2, 4}), g.x()));
  return success();
}

LogicalResult spaceToDepth(Gradient &g) {
  g.setAlike(0, g.b.apply("DepthToSpace", {g.dy()},
                          g.b.attr("blocksize", g.getInt("blocksize", 1))));
  return success();
}

//===----------------------------------------------------------------------===//
// Chosen and reordered data
//===----------------------------------------------------------------------===//

LogicalResult trilu(Gradient &g) {
  g.setAlike(0, g.b.apply("Trilu", {g.dy(), g.x(1)},
                          g.b.attr("upper", g.getInt("upper", 1))));
  return success();
}

/// What was cropped is padded, and what was padded is cropped: the centers are
/// the same.
LogicalResult centerCropPad(Gradient &g) {
  NodeBuilder &b = g.b;
  std::optional<SmallVector<int64_t>> axes = g.getInts("axes");
  Expr shape = b.shape(g.x());
  if (axes)
    shape = b.apply("Gather", {shape, b.ints(*axes)});
  SmallVector<NamedAttribute> attributes;
  if (axes)
    attributes.push_back(b.attr("axes", ArrayRef<int64_t>(*axes)));
  g.setAlike(0, b.apply("CenterCropPad", {g.dy(), shape}, attributes));
  return success();
}

/// Reversed twice is as before.
LogicalResult reverseSequence(Gradient &g) {
  g.setAlike(0, g.b.apply("ReverseSequence", {g.dy(), g.x(1)},
                          {g.b.attr("batch_axis", g.getInt("batch_axis", 1)),
                           g.b.attr("time_axis", g.getInt("time_axis", 0))}));
  return success();
}

LogicalResult compress(Gradient &g) {
  NodeBuilder &b = g.b;
  Expr positions = positionsOf(g.x());
  SmallVector<NamedAttribute> attributes;
  if (g.getOperation()->hasAttr("axis"))
    attributes.push_back(b.attr("axis", g.getInt("axis", 0)));
  Expr chosen = b.apply("Compress", {positions, g.x(1)}, attributes);
  g.setAlike(0, sumAtPositions(g.x(), chosen, g.dy()));
  return success();
}

constexpr GradientRule rules[] = {
    {"CenterCropPad", centerCropPad},
    {"Compress", compress},
    {"Concat", concat},
    {"DepthToSpace", depthToSpace},
    {"Expand", expand},
    {"Flatten", reshape},
    {"Pad", padGradient},
    {"Reshape", reshape},
    {"ReverseSequence", reverseSequence},
    {"Slice", sliceGradient},
    {"SpaceToDepth", spaceToDepth},
    {"Split", split},
    {"Squeeze", reshape},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Trilu", trilu},
    {"Unsqueeze", reshape},
};

} // namespace

ArrayRef<GradientRule> getTensorRules() { return rules; }

} // namespace amp::onnx
