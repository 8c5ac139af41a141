//===- OptimizeCasts.cpp - remove casts where no value changes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"
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
  void runOnOperation() final {
    firstCasts.clear(); // of an earlier module, perhaps
    // Definitions come before their users, so that each cast is looked at once,
    // when its operand is final.
    SmallVector<CastOp> casts;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](CastOp cast) { casts.push_back(cast); });
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

private:
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
    if (cast->getBlock() == block)
      return false;
    if (Operation *definition = cast.getInput().getDefiningOp())
      cast->moveAfter(definition);
    else
      cast->moveBefore(&block->front());
    return false;
  }

  DenseMap<std::pair<Value, Type>, CastOp> firstCasts;
};
} // namespace
