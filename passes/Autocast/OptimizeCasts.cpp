//===- OptimizeCasts.cpp - fewer casts, and cheaper ones ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CastMotion.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Passes/Passes.h"

#include "llvm/ADT/DenseMap.h"

namespace amp {
#define GEN_PASS_DEF_OPTIMIZECASTS
#include "amp/Passes/Autocast.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {
/// Not a greedy pattern rewrite: that would fold and erase the program's own
/// operations along the way.
class OptimizeCastsPass final
    : public amp::impl::OptimizeCastsBase<OptimizeCastsPass> {
public:
  using Base::Base;

  void runOnOperation() final {
    CostOptions costs;
    for (const std::string &dimension : dimensions)
      if (llvm::Error error = costs.addDimension(dimension)) {
        getOperation().emitError() << llvm::toString(std::move(error));
        return signalPassFailure();
      }
    removeCasts();
    CastMotion motion(getOperation(), std::move(costs));
    while (unsigned moved = motion.run()) {
      numMoved += moved;
      removeCasts();
    }
    // Users first; each goes to the front of its block.
    SmallVector<CastOp> casts = collectCasts();
    for (CastOp cast : llvm::reverse(casts))
      numPlaced += moveIntoBranch(cast);
    removeAnnotations(getOperation(), {AMPDialect::kTransparent});
  }

private:
  /// In program order.
  SmallVector<CastOp> collectCasts() {
    SmallVector<CastOp> casts;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](CastOp cast) { casts.push_back(cast); });
    return casts;
  }

  /// Folds, merges, and erases what is dead then.
  void removeCasts() {
    firstCasts.clear();
    // Definitions come before their users, so that each cast is looked at once,
    // when its operand is final.
    SmallVector<CastOp> casts = collectCasts();
    for (CastOp &cast : casts)
      if (fold(cast) || merge(cast))
        cast = {};
    for (CastOp cast : llvm::reverse(casts)) {
      if (!cast || !cast->use_empty())
        continue;
      cast->erase();
      ++numDead;
    }
  }

  /// Folds a cast, and erases it if another value takes its place.
  bool fold(CastOp cast) {
    SmallVector<OpFoldResult, 1> results;
    while (succeeded(cast->fold(results))) {
      ++numFolded;
      if (results.empty())
        continue;
      cast->replaceAllUsesWith(ValueRange(mlir::cast<Value>(results.front())));
      cast->erase();
      return true;
    }
    return false;
  }

  /// Replaces a cast by an earlier one like it. The first of its kind moves
  /// out of regions to where its operand is defined, so that it reaches all.
  bool merge(CastOp cast) {
    auto [first, isNew] =
        firstCasts.insert({{cast.getInput(), cast.getType()}, cast});
    if (!isNew) {
      cast->replaceAllUsesWith(first->second);
      cast->erase();
      ++numMerged;
      return true;
    }
    Block *block = cast.getInput().getParentBlock();
    if (cast->getBlock() != block)
      moveHome(cast, block);
    return false;
  }

  /// Moves a cast to where its operand is defined, in the order of the values
  /// that are defined there.
  static void moveHome(CastOp cast, Block *block) {
    auto getNumber = [](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument ? argument.getArgNumber()
                      : mlir::cast<OpResult>(value).getResultNumber();
    };
    Operation *definition = cast.getInput().getDefiningOp();
    auto isBefore = [&](Operation &op) {
      auto other = dyn_cast<CastOp>(op);
      return other && other.getInput().getParentBlock() == block &&
             other.getInput().getDefiningOp() == definition &&
             getNumber(other.getInput()) <= getNumber(cast.getInput());
    };
    auto place =
        definition ? std::next(definition->getIterator()) : block->begin();
    while (isBefore(*place))
      ++place;
    cast->moveBefore(block, place);
  }

  DenseMap<std::pair<Value, Type>, CastOp> firstCasts;
};
} // namespace
