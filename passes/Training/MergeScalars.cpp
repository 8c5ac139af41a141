//===- MergeScalars.cpp - equal scalars become one ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeScalars.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace amp {

namespace {

/// Operations by what they compute.
struct ByMeaning : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    for (const Operation *each : {a, b})
      if (each == getEmptyKey() || each == getTombstoneKey())
        return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        OperationEquivalence::IgnoreLocations);
  }
};

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0;
}

} // namespace

void mergeScalars(Block &block, Operation *before, Block::iterator end,
                  MutableArrayRef<Value> kept) {
  llvm::DenseSet<Operation *, ByMeaning> known;
  auto begin = before ? std::next(before->getIterator()) : block.begin();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::make_range(begin, end))) {
    if (op.getNumRegions() != 0 || op.getNumResults() != 1 ||
        !isScalar(op.getResult(0).getType()))
      continue;
    auto [first, isNew] = known.insert(&op);
    if (isNew)
      continue;
    Value same = (*first)->getResult(0);
    for (Value &value : kept)
      if (value == op.getResult(0))
        value = same;
    op.getResult(0).replaceAllUsesWith(same);
    op.erase();
  }
}

} // namespace amp
