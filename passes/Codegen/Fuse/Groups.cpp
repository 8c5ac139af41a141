//===- Groups.cpp - which operations become one kernel --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "mlir/IR/IRMapping.h"

#include <map>
#include <queue>

using namespace mlir;

namespace amp::codegen {

/// More operands than this make a kernel slow to compile, and to start.
static constexpr size_t kMostOperands = 96;
/// Launches are saved of what moves fewer bytes than this; and readers of one
/// value are joined that save this part of what they move.
static constexpr int64_t kSmallBytes = 4 * kLaunchBytes;
static constexpr int64_t kWorthPart = 10;
/// What is computed again costs no more additions than this.
static constexpr int64_t kCheapChain = 12;

Groups::Groups(Block &block, const Sizes &sizes) : block(block), sizes(sizes) {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
  users.resize(ops.size());
  groups.resize(ops.size());
  for (auto [i, op] : llvm::enumerate(ops)) {
    llvm::SmallSetVector<unsigned, 8> all;
    for (Operation *user : op->getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user))
        all.insert(numbers.lookup(here));
    users[i] = all.takeVector();
    leader.push_back(i);
  }
  for (unsigned i = 0; i < ops.size(); ++i)
    groups[i] = makeGroup({i});
}

Groups::Group Groups::makeGroup(ArrayRef<unsigned> members) const {
  Group group;
  group.members.assign(members.begin(), members.end());
  if (!llvm::all_of(members, [&](unsigned op) { return isFusible(ops[op]); }))
    return group;
  llvm::SmallDenseSet<Operation *> inside;
  SmallVector<linalg::GenericOp> generics;
  for (unsigned op : members) {
    inside.insert(ops[op]);
    generics.push_back(cast<linalg::GenericOp>(ops[op]));
  }
  auto isStored = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !inside.contains(user);
    });
  };
  for (linalg::GenericOp op : generics) {
    for (Value input : op.getDpsInputs())
      if (isa<RankedTensorType>(input.getType()) &&
          !inside.contains(input.getDefiningOp()))
        group.inputs.insert(input);
    for (Value result : op->getResults())
      if (isStored(result))
        group.outputs.insert(result);
  }
  for (Value value : group.inputs)
    group.bytes += sizes.countBytes(value);
  for (Value value : group.outputs)
    group.bytes += sizes.countBytes(value);
  group.shape = getKernelShape(generics, sizes, isStored);
  // Alone it is a kernel in any case.
  if (!group.shape && members.size() == 1)
    group.shape = KernelShape();
  return group;
}

/// True if a way leads from one group to another through a third. Members of a
/// group on it may be anywhere: it need not go forward in the block.
bool Groups::hasPath(unsigned from, unsigned to) const {
  llvm::SmallDenseSet<unsigned, 32> seen{from, to};
  SmallVector<unsigned> stack;
  auto visit = [&](const Group &group, bool isFirst) {
    for (unsigned op : group.members)
      for (unsigned user : users[op]) {
        unsigned next = leader[user];
        if (next == to && !isFirst)
          return true;
        if (seen.insert(next).second)
          stack.push_back(next);
      }
    return false;
  };
  if (visit(groups[from], true))
    return true;
  while (!stack.empty())
    if (visit(groups[stack.pop_back_val()], false))
      return true;
  return false;
}

/// Joins the groups of two operations if that makes a kernel. What is not
/// needed for it to be one program is joined only where much is saved.
bool Groups::join(unsigned a, unsigned b, bool isNeeded) {
  a = leader[a];
  b = leader[b];
  if (a == b || !groups[a].isFusible() || !groups[b].isFusible())
    return false;
  SmallVector<unsigned> members(groups[a].members);
  llvm::append_range(members, groups[b].members);
  llvm::sort(members);
  Group whole = makeGroup(members);
  if (!whole.isFusible() ||
      whole.inputs.size() + whole.outputs.size() > kMostOperands ||
      !isWorthJoining(*whole.shape, *groups[a].shape, *groups[b].shape))
    return false;
  int64_t less = std::min(groups[a].bytes, groups[b].bytes);
  int64_t saved = groups[a].bytes + groups[b].bytes - whole.bytes;
  if (!isNeeded && less > kSmallBytes && saved * kWorthPart < less)
    return false;
  if (saved + kLaunchBytes <= 0 || hasPath(a, b) || hasPath(b, a))
    return false;
  for (unsigned op : groups[b].members)
    leader[op] = a;
  groups[a] = std::move(whole);
  groups[b] = Group();
  return true;
}

bool Groups::joinAll(std::vector<Candidate> &candidates, bool isNeeded) {
  llvm::sort(candidates);
  bool changed = false;
  for (const Candidate &candidate : candidates)
    changed |= join(candidate.a, candidate.b, isNeeded);
  return changed;
}

/// What makes a value and what reads it.
bool Groups::joinProducers() {
  std::vector<Candidate> candidates;
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (!isFusible(ops[i]))
      continue;
    for (Value result : ops[i]->getResults()) {
      llvm::SmallSetVector<unsigned, 4> readers;
      bool isKept = false;
      for (Operation *user : result.getUsers()) {
        auto found = numbers.find(user);
        if (found == numbers.end() || !isFusible(user))
          isKept = true;
        else if (leader[found->second] != leader[i])
          readers.insert(found->second);
      }
      int64_t bytes = sizes.countBytes(result);
      for (unsigned reader : readers)
        candidates.push_back(
            {!isKept && readers.size() == 1 ? 2 * bytes : bytes, i, reader});
    }
  }
  return joinAll(candidates, /*isNeeded=*/true);
}

/// What reads one value.
bool Groups::joinReaders() {
  std::vector<Candidate> candidates;
  llvm::MapVector<Value, SmallVector<unsigned>> readers;
  for (unsigned i = 0; i < ops.size(); ++i)
    if (isFusible(ops[i]))
      for (Value input : cast<linalg::GenericOp>(ops[i]).getDpsInputs())
        if (isa<RankedTensorType>(input.getType()))
          readers[input].push_back(i);
  for (auto &[value, all] : readers)
    for (unsigned i = 0; i + 1 < all.size(); ++i)
      if (leader[all[i]] != leader[all[i + 1]])
        candidates.push_back({sizes.countBytes(value), all[i], all[i + 1]});
  return joinAll(candidates, /*isNeeded=*/false);
}

/// What is so small that it is mostly a launch, with others of its sizes.
bool Groups::joinSmall() {
  using Key = std::vector<int64_t>;
  std::map<Key, SmallVector<unsigned>> alike;
  for (unsigned i = 0; i < ops.size(); ++i) {
    const Group &group = groups[leader[i]];
    if (group.members.front() != i || !group.isFusible() ||
        group.outputs.empty() || group.bytes > kSmallBytes)
      continue;
    Key key = {group.shape->iterations};
    Value first = group.outputs.front();
    for (int64_t axis = 0,
                 e = cast<RankedTensorType>(first.getType()).getRank();
         axis < e; ++axis)
      if (LoopSize size = sizes.get(first, axis); !size.isOne())
        key.push_back(size.isStatic() ? size.number
                                      : -1 - int64_t(size.unknown));
    alike[key].push_back(group.members.front());
  }
  bool changed = false;
  for (auto &[key, all] : alike) {
    unsigned open = all.front();
    for (unsigned next : llvm::drop_begin(all)) {
      if (join(open, next, /*isNeeded=*/false))
        changed = true;
      else
        open = next;
    }
  }
  return changed;
}

void Groups::fuse() {
  do {
    while (joinProducers())
      ;
  } while (joinReaders());
  while (joinSmall())
    ;
}

/// What makes an operation's result again of what other kernels leave in
/// memory; false if that is not cheap.
bool Groups::collectChain(unsigned op, Chain &chain) const {
  auto loops = cast<linalg::GenericOp>(ops[op]);
  if (llvm::is_contained(chain.ops, op))
    return true;
  chain.cost += getBodyCost(loops);
  if (loops.getNumReductionLoops() != 0 || loops.getNumResults() != 1 ||
      chain.cost > kCheapChain)
    return false;
  const Group &group = groups[leader[op]];
  for (Value input : loops.getDpsInputs()) {
    auto found = numbers.find(input.getDefiningOp());
    bool isInside = found != numbers.end() &&
                    leader[found->second] == leader[op] &&
                    !group.outputs.contains(input);
    if (isInside && !collectChain(found->second, chain))
      return false;
    if (!isInside && isa<RankedTensorType>(input.getType()))
      chain.inputs.insert(input);
  }
  chain.ops.push_back(op);
  return true;
}

void Groups::copyChain(const Chain &chain, Value value,
                       ArrayRef<unsigned> readers) {
  OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPointAfter(value.getDefiningOp());
  IRMapping mapping;
  for (unsigned op : chain.ops)
    builder.clone(*ops[op], mapping);
  for (unsigned reader : readers)
    ops[reader]->replaceUsesOfWith(value, mapping.lookup(value));
}

bool Groups::copyCheap() {
  llvm::SmallDenseSet<unsigned> changed;
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (!isFusible(ops[i]) || ops[i]->getNumResults() != 1)
      continue;
    Value value = ops[i]->getResult(0);
    llvm::MapVector<unsigned, SmallVector<unsigned>> readers; // by group
    bool isKept = false, isStale = changed.contains(i);
    for (Operation *user : value.getUsers()) {
      auto found = numbers.find(user);
      if (found == numbers.end() || !isFusible(user)) {
        isKept = true;
        continue;
      }
      isStale |= changed.contains(found->second);
      if (leader[found->second] != leader[i])
        readers[leader[found->second]].push_back(found->second);
    }
    Chain chain;
    if (readers.empty() || isStale || !collectChain(i, chain))
      continue;
    int64_t bytes = sizes.countBytes(value), total = isKept ? 0 : bytes;
    llvm::SmallDenseMap<unsigned, int64_t> saved;
    for (auto &[group, all] : readers) {
      saved[group] = bytes;
      for (Value input : chain.inputs)
        if (!groups[group].inputs.contains(input))
          saved[group] -= sizes.countBytes(input);
      total += saved[group];
    }
    // If all do it, nobody writes the value.
    bool copyAll = !isKept && total > kLaunchBytes;
    for (auto &[group, all] : readers) {
      if (!copyAll && saved[group] <= kLaunchBytes)
        continue;
      copyChain(chain, value, all);
      changed.insert(all.begin(), all.end());
      changed.insert(chain.ops.begin(), chain.ops.end());
    }
  }
  return !changed.empty();
}

SmallVector<SmallVector<linalg::GenericOp>> Groups::get() const {
  SmallVector<SmallVector<linalg::GenericOp>> all;
  for (const Group &group : groups) {
    if (!group.isFusible())
      continue;
    SmallVector<linalg::GenericOp> members;
    for (unsigned op : group.members)
      members.push_back(cast<linalg::GenericOp>(ops[op]));
    all.push_back(std::move(members));
  }
  return all;
}

void Groups::sortBlock() {
  // A group waits for all that its members need, and comes where its last one
  // was.
  SmallVector<unsigned> waits(groups.size(), 0);
  SmallVector<llvm::SmallSetVector<unsigned, 8>> next(groups.size());
  for (unsigned i = 0; i < ops.size(); ++i)
    for (unsigned user : users[i])
      if (leader[user] != leader[i] && next[leader[i]].insert(leader[user]))
        ++waits[leader[user]];
  using Entry = std::pair<unsigned, unsigned>; // last member, group
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (unsigned i = 0; i < groups.size(); ++i)
    if (!groups[i].members.empty() && waits[i] == 0)
      ready.push({groups[i].members.back(), i});
  while (!ready.empty()) {
    unsigned group = ready.top().second;
    ready.pop();
    for (unsigned op : groups[group].members)
      ops[op]->moveBefore(&block, block.end());
    for (unsigned user : next[group])
      if (--waits[user] == 0)
        ready.push({groups[user].members.back(), user});
  }
}

int64_t Groups::countBytes() const {
  int64_t bytes = 0;
  for (const Group &group : groups)
    bytes += group.bytes;
  return bytes;
}

} // namespace amp::codegen
