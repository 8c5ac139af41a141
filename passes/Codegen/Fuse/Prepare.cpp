//===- Prepare.cpp - before operations are grouped ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"

#include "KernelShape.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace amp::codegen {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A view as a reshape that joins or splits dimensions, if it is one.
static void makeReshape(rt::ViewOp view) {
  auto from = dyn_cast<RankedTensorType>(view.getInput().getType());
  auto to = dyn_cast<RankedTensorType>(view.getResult().getType());
  if (!from || !to || from.getRank() == to.getRank())
    return;
  bool isSplit = from.getRank() < to.getRank();
  if (isSplit && !to.hasStaticShape())
    return;
  std::optional<SmallVector<ReassociationIndices>> groups =
      getReassociationIndicesForReshape(from, to);
  if (!groups)
    return;
  OpBuilder builder(view);
  Value reshape;
  if (isSplit)
    reshape = tensor::ExpandShapeOp::create(builder, view.getLoc(), to,
                                            view.getInput(), *groups);
  else
    reshape = tensor::CollapseShapeOp::create(builder, view.getLoc(), to,
                                              view.getInput(), *groups);
  view.getResult().replaceAllUsesWith(reshape);
  view.erase();
}

static bool isLoops(Operation *op) {
  return isa_and_present<linalg::GenericOp>(op);
}

void foldViews(Operation *function) {
  SmallVector<rt::ViewOp> views;
  function->walk([&](rt::ViewOp view) {
    // Only what is between loops stands in the way.
    Operation *source = view.getInput().getDefiningOp();
    while (isa_and_present<rt::ViewOp>(source))
      source = source->getOperand(0).getDefiningOp();
    if (isLoops(source))
      views.push_back(view);
  });
  for (rt::ViewOp view : views)
    makeReshape(view);
  MLIRContext *context = function->getContext();
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        Operation *producer = operand->get().getDefiningOp();
        Operation *consumer = operand->getOwner();
        // Loops that read what joins the dimensions of others' results.
        if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(producer))
          return isLoops(collapse.getSrc().getDefiningOp());
        // Loops whose result is split, for loops.
        return isa<tensor::ExpandShapeOp>(consumer) &&
               operand->get().hasOneUse() &&
               llvm::any_of(consumer->getUsers(), isLoops);
      });
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  (void)applyPatternsGreedily(function, std::move(patterns));
  // What loops write has no elements to keep.
  SmallVector<tensor::ExpandShapeOp> splits;
  function->walk([&](tensor::ExpandShapeOp split) {
    if (split.getSrc().getDefiningOp<tensor::EmptyOp>())
      splits.push_back(split);
  });
  for (tensor::ExpandShapeOp split : splits) {
    OpBuilder builder(split);
    Value empty = tensor::EmptyOp::create(
        builder, split.getLoc(), split.getMixedOutputShape(),
        split.getResultType().getElementType());
    split.getResult().replaceAllUsesWith(empty);
    split.erase();
  }
}

void restoreViews(Operation *function) {
  SmallVector<Operation *> reshapes;
  function->walk([&](Operation *op) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      reshapes.push_back(op);
  });
  for (Operation *op : reshapes) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    // What needs more than one size is not made by this pass.
    if (type.getNumDynamicDims() > 1)
      continue;
    OpBuilder builder(op);
    Value view =
        rt::ViewOp::create(builder, op->getLoc(), type, op->getOperand(0));
    op->getResult(0).replaceAllUsesWith(view);
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

void rootDimensions(Block &block) {
  Sizes sizes(block);
  auto positionOf = [&](Value value) -> Operation * {
    return value.getDefiningOp();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto dim = dyn_cast<tensor::DimOp>(op);
    std::optional<int64_t> axis = dim ? dim.getConstantIndex() : std::nullopt;
    if (!axis || !isa<RankedTensorType>(dim.getSource().getType()))
      continue;
    LoopSize size = sizes.get(dim.getSource(), *axis);
    OpBuilder builder(dim);
    if (size.isStatic()) {
      dim.getResult().replaceAllUsesWith(
          arith::ConstantIndexOp::create(builder, dim.getLoc(), size.number));
      dim.erase();
      continue;
    }
    if (size.unknown == LoopSize::kOther)
      continue;
    std::pair<Value, unsigned> root(dim.getSource(), *axis);
    for (auto other : sizes.getAxes(size)) {
      Operation *now = positionOf(root.first), *then = positionOf(other.first);
      if (now && (!then || (then->getBlock() == now->getBlock() &&
                            then->isBeforeInBlock(now))))
        root = other;
    }
    if (root.first == dim.getSource())
      continue;
    dim.getResult().replaceAllUsesWith(
        tensor::DimOp::create(builder, dim.getLoc(), root.first, root.second));
    dim.erase();
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The operation that joins elements, which has their type; null if it is
/// unknown.
static Operation *getCombiner(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  BlockArgument accumulator = op.getRegionOutputArgs().front();
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != combiner || combiner->getNumOperands() != 2)
    return nullptr;
  return combiner;
}

/// Makes the outermost reduced loop parallel, in what is returned; a second
/// reduction joins its results.
static void splitOutermost(linalg::GenericOp op, Operation *combiner,
                           linalg::FillOp fill) {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  unsigned loop =
      llvm::find(kinds, utils::IteratorType::reduction) - kinds.begin();
  OpBuilder builder(op);
  AffineMap map = op.getIndexingMapsArray().back();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  // Parts come first.
  SmallVector<AffineExpr> results = {builder.getAffineDimExpr(loop)};
  llvm::append_range(results, map.getResults());
  kinds[loop] = utils::IteratorType::parallel;
  int64_t parts = op.getStaticLoopRanges()[loop];
  SmallVector<int64_t> shape = {parts};
  llvm::append_range(shape, type.getShape());
  SmallVector<OpFoldResult> extents;
  if (ShapedType::isDynamic(parts)) {
    for (OpOperand *operand : op.getDpsInputOperands())
      for (auto [axis, expr] :
           llvm::enumerate(op.getMatchingIndexingMap(operand).getResults()))
        if (auto dimension = dyn_cast<AffineDimExpr>(expr);
            dimension && dimension.getPosition() == loop && extents.empty())
          extents.push_back(
              tensor::DimOp::create(builder, op.getLoc(), operand->get(), axis)
                  .getResult());
  } else {
    extents.push_back(builder.getIndexAttr(parts));
  }
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    extents.push_back(
        type.isDynamicDim(axis)
            ? OpFoldResult(tensor::DimOp::create(builder, op.getLoc(),
                                                 fill.getOutputs()[0], axis)
                               .getResult())
            : OpFoldResult(builder.getIndexAttr(type.getDimSize(axis))));
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), extents,
                                        type.getElementType());
  Value init =
      linalg::FillOp::create(builder, op.getLoc(), fill.getInputs()[0], empty)
          .getResult(0);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = AffineMap::get(op.getNumLoops(), 0, results, op.getContext());
  auto partial = cast<linalg::GenericOp>(builder.clone(*op));
  partial.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  SmallVector<Attribute> names;
  for (utils::IteratorType kind : kinds)
    names.push_back(linalg::IteratorTypeAttr::get(op.getContext(), kind));
  partial.setIteratorTypesAttr(builder.getArrayAttr(names));
  partial.getOutputsMutable().assign(init);
  partial->getResult(0).setType(cast<RankedTensorType>(empty.getType()));

  unsigned rank = type.getRank() + 1;
  SmallVector<AffineExpr> rest;
  SmallVector<utils::IteratorType> joining = {utils::IteratorType::reduction};
  for (unsigned axis = 1; axis < rank; ++axis) {
    rest.push_back(builder.getAffineDimExpr(axis));
    joining.push_back(utils::IteratorType::parallel);
  }
  auto whole = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(type), partial->getResult(0),
      fill.getResult(0),
      {builder.getMultiDimIdentityMap(rank),
       AffineMap::get(rank, 0, rest, op.getContext())},
      joining, [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        Operation *join = nested.clone(*combiner);
        join->setOperands(arguments);
        linalg::YieldOp::create(nested, loc, join->getResult(0));
      });
  if (Attribute node = op->getAttr(rt::AMPRTDialect::kNode))
    whole->setAttr(rt::AMPRTDialect::kNode, node);
  op.replaceAllUsesWith(whole.getResults());
  op.erase();
}

/// A number of parts that a loop of this many iterations is divided into; 0 if
/// it has none that is near enough.
static int64_t chooseParts(int64_t size, int64_t needed) {
  for (int64_t parts = needed; parts <= 8 * needed && parts * 2 <= size;
       ++parts)
    if (size % parts == 0)
      return parts;
  return 0;
}

/// Makes two loops of one, the outer one of so many iterations, which divides
/// it; operands get views.
static linalg::GenericOp splitLoop(linalg::GenericOp op, unsigned loop,
                                   int64_t parts) {
  OpBuilder builder(op);
  auto shifted = [&](unsigned dimension) {
    return builder.getAffineDimExpr(dimension + (dimension > loop ? 1 : 0));
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<AffineExpr> results;
    SmallVector<ReassociationIndices> groups;
    SmallVector<int64_t> shape;
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      groups.push_back({int64_t(results.size())});
      auto dimension = dyn_cast<AffineDimExpr>(expr);
      results.push_back(dimension ? shifted(dimension.getPosition()) : expr);
      shape.push_back(type.getDimSize(axis));
      if (!dimension || dimension.getPosition() != loop)
        continue;
      groups.back().push_back(results.size());
      results.push_back(builder.getAffineDimExpr(loop + 1));
      shape.back() = parts;
      shape.push_back(type.getDimSize(axis) / parts);
    }
    maps.push_back(
        AffineMap::get(op.getNumLoops() + 1, 0, results, op.getContext()));
    if (op.isDpsInit(&operand))
      continue;
    inputs.push_back(operand.get());
    if (results.size() != map.getNumResults())
      inputs.back() = tensor::ExpandShapeOp::create(
          builder, op.getLoc(),
          RankedTensorType::get(shape, type.getElementType()), operand.get(),
          groups);
  }
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  kinds.insert(kinds.begin() + loop, kinds[loop]);
  auto split =
      linalg::GenericOp::create(builder, op.getLoc(), op->getResultTypes(),
                                inputs, op.getOutputs(), maps, kinds);
  split.getRegion().takeBody(op.getRegion());
  if (Attribute node = op->getAttr(rt::AMPRTDialect::kNode))
    split->setAttr(rt::AMPRTDialect::kNode, node);
  op.replaceAllUsesWith(split.getResults());
  op.erase();
  return split;
}

/// True if an operand has a static axis for a loop, and all that have one do.
static bool canSplit(linalg::GenericOp op, unsigned loop) {
  bool isThere = false;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dimension = dyn_cast<AffineDimExpr>(expr);
      if (!dimension || dimension.getPosition() != loop)
        continue;
      auto type = cast<RankedTensorType>(operand->get().getType());
      if (!type.hasStaticShape())
        return false;
      isThere = true;
    }
  }
  return isThere && op.getBody()->getOps<linalg::IndexOp>().empty();
}

void splitReductions(Block &block) {
  SmallVector<linalg::GenericOp> reductions;
  for (auto op : block.getOps<linalg::GenericOp>())
    if (isFusible(op) && op.getNumReductionLoops() != 0)
      reductions.push_back(op);
  for (linalg::GenericOp op : reductions) {
    Sizes sizes(block);
    Operation *combiner = getCombiner(op);
    auto fill = combiner ? op.getDpsInits()[0].getDefiningOp<linalg::FillOp>()
                         : linalg::FillOp();
    if (!fill)
      continue;
    int64_t iterations = 1, work = 1;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      int64_t size = sizes.get(op, loop).estimate();
      work *= size;
      if (kind == utils::IteratorType::parallel)
        iterations *= size;
    }
    if (iterations >= kEnoughIterations || work <= kLittleWork)
      continue;
    if (op.getNumReductionLoops() == 1) {
      auto kinds = op.getIteratorTypesArray();
      unsigned loop =
          llvm::find(kinds, utils::IteratorType::reduction) - kinds.begin();
      LoopSize size = sizes.get(op, loop);
      int64_t parts =
          size.isStatic()
              ? chooseParts(size.number, kEnoughIterations / iterations)
              : 0;
      if (parts == 0 || !canSplit(op, loop))
        continue;
      op = splitLoop(op, loop, parts);
    }
    splitOutermost(op, combiner, fill);
  }
}

} // namespace amp::codegen
