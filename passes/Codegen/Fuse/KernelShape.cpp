//===- KernelShape.cpp - what may be in one kernel ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace amp::codegen {

/// What is computed again for other iterations costs no more than this, or less
/// than kLittleWork in all.
static constexpr int64_t kCheap = 4;

/// Columns that stay in the cache while they are gone through several times,
/// and as many of them as make all threads busy.
static constexpr int64_t kCachedColumn = 1024, kManyColumns = 4096;

bool isFusible(Operation *op) {
  auto loops = dyn_cast<linalg::GenericOp>(op);
  return loops && loops.hasPureTensorSemantics() &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.getElementType().isIntOrFloat();
         });
}

int64_t getBodyCost(linalg::GenericOp op) {
  int64_t cost = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, math::SqrtOp>(inner))
      cost += 8;
    else if (isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundEvenOp>(
                 inner))
      cost += 1;
    else if (isa<math::MathDialect>(inner.getDialect()))
      cost += 25;
    else
      cost += !isa<arith::ConstantOp, linalg::IndexOp>(inner);
  }
  return cost;
}

bool isWorthJoining(const KernelShape &whole, const KernelShape &a,
                    const KernelShape &b) {
  if (whole.work <= kLittleWork)
    return true;
  for (const KernelShape &part : {a, b})
    if (part.work > kLittleWork / 2 &&
        whole.iterations < std::min(part.iterations, kEnoughIterations))
      return false;
  return true;
}

namespace {

class Analysis {
public:
  Analysis(ArrayRef<linalg::GenericOp> members, const Sizes &sizes,
           function_ref<bool(Value)> isStored)
      : members(members.begin(), members.end()), sizes(sizes),
        isStored(isStored) {}

  std::optional<KernelShape> run();

private:
  unsigned loopOf(unsigned member, unsigned loop) {
    return classes.findLeader(first[member] + loop);
  }
  bool joinLoops();
  void alignParts();
  void classify();
  bool isColumnKernel(unsigned member);
  bool checkReductions();
  bool checkColumns();
  bool checkRepeated();

  SmallVector<linalg::GenericOp> members;
  const Sizes &sizes;
  function_ref<bool(Value)> isStored;
  DenseMap<Operation *, unsigned> numbers;
  SmallVector<unsigned> first;
  llvm::IntEqClasses classes, parts;
  unsigned count = 0;
  SmallVector<LoopSize> sizeOf; // of leaders
  llvm::SmallBitVector isReduced, isOuter;
  SmallVector<std::pair<unsigned, Value>> stores;
  KernelShape shape;
};

bool isReduction(linalg::GenericOp op) {
  return op.getNumReductionLoops() != 0;
}

} // namespace

/// Loops at the same place of what one operation makes and another reads.
bool Analysis::joinLoops() {
  for (auto [i, member] : llvm::enumerate(members)) {
    numbers[member] = i;
    first.push_back(count);
    count += member.getNumLoops();
  }
  classes.grow(count);
  parts.grow(members.size());
  for (auto [i, member] : llvm::enumerate(members))
    for (OpOperand &operand : member->getOpOperands()) {
      auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
      auto found = producer ? numbers.find(producer) : numbers.end();
      if (found == numbers.end())
        continue;
      // What is reduced further has no kernel.
      if (member.isDpsInit(&operand))
        return false;
      parts.join(i, found->second);
      AffineMap write =
          producer.getIndexingMapMatchingResult(cast<OpResult>(operand.get()));
      AffineMap read = member.getMatchingIndexingMap(&operand);
      for (auto [axis, from, to] :
           llvm::enumerate(write.getResults(), read.getResults())) {
        auto source = dyn_cast<AffineDimExpr>(from);
        auto target = dyn_cast<AffineDimExpr>(to);
        if (source && target)
          classes.join(first[found->second] + source.getPosition(),
                       first[i] + target.getPosition());
        else if (!sizes.get(operand.get(), axis).isOne())
          return false;
      }
    }
  sizeOf.resize(count);
  for (auto [i, member] : llvm::enumerate(members)) {
    llvm::SmallDenseSet<unsigned> seen;
    for (unsigned loop = 0; loop < member.getNumLoops(); ++loop) {
      unsigned leader = loopOf(i, loop);
      LoopSize size = sizes.get(member, loop);
      if (!seen.insert(leader).second && !size.isOne())
        return false;
      if (!sizeOf[leader].isStatic())
        sizeOf[leader] = size;
    }
  }
  return true;
}

/// Parts that share no value share loops by their order in results.
void Analysis::alignParts() {
  auto getLoops = [&](std::pair<unsigned, Value> store) {
    SmallVector<unsigned> loops;
    AffineMap map = members[store.first].getIndexingMapMatchingResult(
        cast<OpResult>(store.second));
    for (AffineExpr expr : map.getResults())
      if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
        unsigned leader = loopOf(store.first, loop.getPosition());
        if (!sizeOf[leader].isOne())
          loops.push_back(leader);
      }
    return loops;
  };
  llvm::SmallDenseSet<unsigned> seen;
  for (auto store : stores) {
    if (!seen.insert(parts.findLeader(store.first)).second || seen.size() == 1)
      continue;
    for (auto [ours, theirs] :
         llvm::zip(getLoops(stores.front()), getLoops(store))) {
      if (sizeOf[ours] != sizeOf[theirs])
        break;
      LoopSize size = sizeOf[ours];
      sizeOf[classes.join(ours, theirs)] = size;
    }
  }
}

void Analysis::classify() {
  isReduced.resize(count);
  isOuter.resize(count);
  for (auto [i, member] : llvm::enumerate(members)) {
    int64_t iterations = 1;
    for (auto [loop, kind] : llvm::enumerate(member.getIteratorTypesArray())) {
      unsigned leader = loopOf(i, loop);
      iterations *= sizeOf[leader].estimate();
      isOuter.set(leader);
      if (kind != utils::IteratorType::parallel)
        isReduced.set(leader);
    }
    shape.work += iterations;
  }
  isOuter.reset(isReduced);
  SmallVector<std::pair<unsigned, Value>> ends(stores);
  for (auto [i, member] : llvm::enumerate(members))
    if (isReduction(member))
      for (Value result : member->getResults())
        ends.push_back({i, result});
  for (auto [member, value] : ends) {
    llvm::SmallBitVector there(count);
    AffineMap map =
        members[member].getIndexingMapMatchingResult(cast<OpResult>(value));
    for (AffineExpr expr : map.getResults())
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        there.set(loopOf(member, loop.getPosition()));
    isOuter &= there;
  }
  for (unsigned leader : isOuter.set_bits())
    shape.iterations *= sizeOf[leader].estimate();
}

/// A reduction keeps no inner loop: a kernel can't give the sum of all rows
/// along with what it makes of each.
bool Analysis::checkReductions() {
  for (auto [i, member] : llvm::enumerate(members)) {
    if (!isReduction(member))
      continue;
    for (auto [loop, kind] : llvm::enumerate(member.getIteratorTypesArray())) {
      unsigned leader = loopOf(i, loop);
      if (kind == utils::IteratorType::parallel && !isOuter[leader] &&
          !sizeOf[leader].isOne())
        return false;
    }
  }
  return true;
}

/// True for a reduction of loops that are not the innermost.
bool Analysis::isColumnKernel(unsigned member) {
  auto kinds = members[member].getIteratorTypesArray();
  for (unsigned loop = kinds.size(); loop-- > 0;)
    if (!sizeOf[loopOf(member, loop)].isOne())
      return isReduction(members[member]) &&
             kinds[loop] == utils::IteratorType::parallel;
  return false;
}

/// Columns are summed up with what they read, and nothing else: neither rows,
/// nor whole tensors besides.
bool Analysis::checkColumns() {
  bool any = false;
  for (unsigned i = 0; i < members.size(); ++i)
    any |= isColumnKernel(i);
  if (!any)
    return true;
  int64_t inner = 1;
  for (unsigned leader : isReduced.set_bits())
    inner = std::max(inner, sizeOf[leader].estimate());
  bool isCached = inner <= kCachedColumn && shape.iterations >= kManyColumns;
  auto isInner = [&](unsigned member) {
    for (unsigned loop = 0; loop < members[member].getNumLoops(); ++loop) {
      unsigned leader = loopOf(member, loop);
      if (!isOuter[leader] && !sizeOf[leader].isOne())
        return true;
    }
    return false;
  };
  for (auto [i, member] : llvm::enumerate(members)) {
    if (isReduction(member) && !isColumnKernel(i))
      return false;
    if (!isInner(i) || isCached)
      continue;
    // Nothing along rows comes after a reduction, or goes to memory.
    for (Value operand : member.getDpsInputs()) {
      auto producer = operand.getDefiningOp<linalg::GenericOp>();
      if (producer && numbers.contains(producer) && isReduction(producer))
        return false;
    }
    if (!isReduction(member) && llvm::any_of(stores, [&, i = i](auto store) {
          return store.first == i;
        }))
      return false;
  }
  return true;
}

/// What lacks outer loops is computed in each of their iterations.
bool Analysis::checkRepeated() {
  for (auto [i, member] : llvm::enumerate(members)) {
    llvm::SmallBitVector own(count);
    int64_t iterations = 1;
    for (unsigned loop = 0; loop < member.getNumLoops(); ++loop) {
      own.set(loopOf(i, loop));
      iterations *= sizeOf[loopOf(i, loop)].estimate();
    }
    int64_t times = 1;
    for (unsigned leader : isOuter.set_bits())
      if (!own[leader])
        times *= sizeOf[leader].estimate();
    int64_t cost = getBodyCost(member);
    if (times != 1 && cost > kCheap && times * iterations * cost > kLittleWork)
      return false;
  }
  return true;
}

std::optional<KernelShape> Analysis::run() {
  if (!joinLoops())
    return std::nullopt;
  for (auto [i, member] : llvm::enumerate(members))
    for (Value result : member->getResults())
      if (isStored(result))
        stores.push_back({i, result});
  alignParts();
  classify();
  if (!checkReductions() || !checkColumns() || !checkRepeated())
    return std::nullopt;
  return shape;
}

std::optional<KernelShape> getKernelShape(ArrayRef<linalg::GenericOp> members,
                                          const Sizes &sizes,
                                          function_ref<bool(Value)> isStored) {
  return Analysis(members, sizes, isStored).run();
}

} // namespace amp::codegen
