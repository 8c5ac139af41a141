//===- Plan.cpp - how a kernel runs ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "Body.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace amp::codegen;

/// More than this of a row is not kept but computed again: it has to stay in
/// the second-level cache.
static constexpr int64_t kMostScratch = 512 << 10;
/// What is cheaper is computed again.
static constexpr unsigned kCostOfKeeping = 6;
/// A piece of work for a thread, in operations of a lane: some ten
/// microseconds.
static constexpr int64_t kWorth = 1 << 16;

namespace {
class Planner {
public:
  Planner(Kernel &kernel, Plan &plan) : kernel(kernel), plan(plan) {}

  void chooseLanes();
  void makeStages();
  void keepValues();
  void listSizes();
  SmallVector<DenseSet<unsigned>> listReads(unsigned stage);
  void findAliases();
  void estimate();

private:
  /// The first stage in which a node can be computed.
  unsigned getLevel(Node &node);
  unsigned costOf(Node &node, unsigned stage);
  void demand(unsigned stage, Node &node, bool isRoot);
  bool isStored(Node &node) {
    return llvm::any_of(kernel.stores, [&](Store &store) {
      return store.value.getOwner() == node.op;
    });
  }
  bool isLeaf(OpResult value, unsigned stage) {
    if (kernel.getNode(value).reduced[value.getResultNumber()])
      return true;
    if (auto it = plan.kept.find(value); it != plan.kept.end())
      return it->second.stage < stage;
    auto it = plan.storedIn.find(value);
    return it != plan.storedIn.end() && it->second < stage;
  }
  int64_t keptBytes(OpResult value);

  Kernel &kernel;
  Plan &plan;
  DenseMap<unsigned, unsigned> stageOf, levels;
  // Stages that need a node's value, in order.
  DenseMap<unsigned, llvm::SetVector<unsigned>> demands;
};
} // namespace

/// Lanes go along the dimension in which most elements lie side by side.
void Planner::chooseLanes() {
  SmallVector<double> score(kernel.dims.size(), 0.0);
  auto count = [&](const Access &access) {
    double elements = 1;
    for (const Access::Term &term : access.terms)
      elements *= kernel.dims[term.dim].size.estimate();
    for (const Access::Term &term : access.terms)
      if (term.stride.isOne())
        score[term.dim] += elements;
  };
  for (Node &node : kernel.nodes)
    for (Source &source : node.sources)
      if (source.kind == Source::Argument)
        count(source.access);
  for (Store &store : kernel.stores)
    count(store.access);
  for (auto [dim, value] : llvm::enumerate(score))
    if (value > 0 && (!plan.lanes || value > score[*plan.lanes]))
      plan.lanes = dim;
  if (!plan.lanes)
    return;
  // Accumulators that only make sense one after the other.
  for (Node &node : kernel.nodes)
    for (auto [reduced, combiner] : llvm::zip(node.reduced, node.combiners))
      if (reduced && !combiner && llvm::is_contained(node.space, *plan.lanes)) {
        plan.lanes.reset();
        return;
      }
}

unsigned Planner::getLevel(Node &node) {
  unsigned index = &node - &kernel.nodes[0];
  if (auto it = levels.find(index); it != levels.end())
    return it->second;
  unsigned level = 0;
  for (Source &source : node.sources) {
    if (source.kind != Source::Node)
      continue;
    Node &producer = kernel.getNode(source.result);
    unsigned after = producer.isReduction()
                         ? stageOf.lookup(kernel.nodeOf.lookup(producer.op)) + 1
                         : getLevel(producer);
    level = std::max(level, after);
  }
  levels[index] = level;
  return level;
}

void Planner::makeStages() {
  for (auto [index, node] : llvm::enumerate(kernel.nodes)) {
    if (!node.isReduction() && !isStored(node))
      continue;
    unsigned stage = getLevel(node);
    while (stage < plan.stages.size() && plan.stages[stage].space != node.space)
      ++stage;
    if (stage >= plan.stages.size()) {
      stage = plan.stages.size();
      plan.stages.push_back({node.space, {}});
    }
    plan.stages[stage].roots.push_back(index);
    stageOf[index] = stage;
    for (Store &store : kernel.stores)
      if (store.value.getOwner() == node.op)
        plan.storedIn[store.value] = stage;
  }
}

unsigned Planner::costOf(Node &node, unsigned stage) {
  unsigned cost = 0;
  for (Operation &op : *node.op.getBody())
    cost += getCost(&op);
  for (Source &source : node.sources)
    if (source.kind == Source::Node && !isLeaf(source.result, stage) &&
        !kernel.getNode(source.result).space.empty())
      cost += costOf(kernel.getNode(source.result), stage);
  return cost;
}

int64_t Planner::keptBytes(OpResult value) {
  Size count;
  for (unsigned dim : kernel.getExtent(value))
    count = count * kernel.dims[dim].size;
  if (!count.isStatic() || count.getFactor() > kMostScratch)
    return -1;
  int64_t bytes = count.getFactor();
  if (plan.lanes && kernel.dims[*plan.lanes].outer)
    bytes *= kLanes * plan.vectors;
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  // Stores of whole vectors go beyond the end of a row.
  bytes += kLanes;
  bytes *= (Arithmetic::inMemory(type).getIntOrFloatBitWidth() + 7) / 8;
  return llvm::alignTo(bytes, 64);
}

/// Notes which nodes a stage computes; decides to keep what would be computed
/// again.
void Planner::demand(unsigned stage, Node &node, bool isRoot) {
  unsigned index = &node - &kernel.nodes[0];
  if (!isRoot) {
    auto &stages = demands[index];
    // Where it is computed first, it can be kept.
    if (!stages.empty() && stages[0] != stage && !node.isReduction() &&
        !node.space.empty() && plan.stages[stages[0]].space == node.space &&
        costOf(node, stages[0]) >= kCostOfKeeping) {
      bool keep = true;
      int64_t bytes = plan.scratch;
      SmallVector<int64_t> offsets;
      for (OpResult result : node.op->getResults()) {
        int64_t size = keptBytes(result);
        keep &= size >= 0;
        offsets.push_back(bytes);
        bytes += size;
      }
      if (keep && bytes <= kMostScratch) {
        plan.scratch = bytes;
        for (auto [result, offset] : llvm::zip(node.op->getResults(), offsets))
          plan.kept[result] = {stages[0], offset};
        if (!llvm::is_contained(plan.stages[stages[0]].roots, index)) {
          plan.stages[stages[0]].roots.push_back(index);
          llvm::sort(plan.stages[stages[0]].roots);
        }
        return;
      }
    }
    if (!stages.insert(stage))
      return;
  }
  for (Source &source : node.sources)
    if (source.kind == Source::Node && !isLeaf(source.result, stage))
      demand(stage, kernel.getNode(source.result), false);
}

void Planner::keepValues() {
  for (unsigned stage = 0; stage < plan.stages.size(); ++stage)
    for (unsigned root : SmallVector<unsigned>(plan.stages[stage].roots)) {
      if (!kernel.nodes[root].isReduction())
        demands[root].insert(stage);
      demand(stage, kernel.nodes[root], true);
    }
}

void Planner::listSizes() {
  llvm::SetVector<std::pair<unsigned, unsigned>> axes;
  auto add = [&](const Size &size) {
    for (Axis axis : size.getAxes())
      axes.insert({axis.argument, axis.axis});
  };
  for (Dim &dim : kernel.dims)
    add(dim.size);
  for (Node &node : kernel.nodes)
    for (Source &source : node.sources)
      for (Access::Term &term : source.access.terms)
        add(term.stride);
  for (Store &store : kernel.stores)
    for (Access::Term &term : store.access.terms)
      add(term.stride);
  kernel.func.walk([&](tensor::DimOp dim) {
    if (std::optional<Size> size = getSize(dim.getResult()))
      add(*size);
  });
  for (auto [argument, axis] : axes)
    plan.sizes.push_back({argument, axis});
  llvm::sort(plan.sizes);
}

/// The arguments that a stage reads for each of its roots, in their order, and
/// not for one before: what is computed for one is there for all.
SmallVector<DenseSet<unsigned>> Planner::listReads(unsigned stage) {
  SmallVector<DenseSet<unsigned>> reads;
  DenseSet<unsigned> computed;
  for (unsigned root : plan.stages[stage].roots) {
    DenseSet<unsigned> &own = reads.emplace_back();
    SmallVector<unsigned> pending{root};
    while (!pending.empty()) {
      unsigned index = pending.pop_back_val();
      if (!computed.insert(index).second && index != root)
        continue;
      for (Source &source : kernel.nodes[index].sources)
        if (source.kind == Source::Argument)
          own.insert(source.argument);
        else if (source.kind == Source::Node && !isLeaf(source.result, stage))
          pending.push_back(kernel.nodeOf.lookup(source.result.getOwner()));
    }
  }
  return reads;
}

/// A result may take an argument's memory if the argument is read only where
/// the result is written afterwards.
void Planner::findAliases() {
  auto typeOf = [](Value value) {
    return Arithmetic::inMemory(getElementTypeOrSelf(value.getType()));
  };
  auto same = [](const Access &a, const Access &b) {
    if (a.terms.size() != b.terms.size())
      return false;
    for (auto [x, y] : llvm::zip(a.terms, b.terms))
      if (x.dim != y.dim || x.stride != y.stride)
        return false;
    return true;
  };
  SmallVector<SmallVector<DenseSet<unsigned>>> reads;
  for (unsigned stage = 0; stage < plan.stages.size(); ++stage)
    reads.push_back(listReads(stage));
  for (Store &store : kernel.stores) {
    unsigned width = typeOf(store.value).getIntOrFloatBitWidth();
    SmallVector<int64_t, 2> &found = plan.aliases.emplace_back();
    unsigned stage = plan.storedIn[store.value];
    ArrayRef<unsigned> roots = plan.stages[stage].roots;
    ArrayRef<DenseSet<unsigned>> later = reads[stage];
    later = later.drop_front(
        llvm::find(roots, kernel.nodeOf.lookup(store.value.getOwner())) -
        roots.begin() + 1);
    for (BlockArgument argument : kernel.func.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (typeOf(argument).getIntOrFloatBitWidth() != width)
        continue;
      bool there = false, right = true;
      for (auto [index, node] : llvm::enumerate(kernel.nodes))
        for (Source &source : node.sources) {
          if (source.kind != Source::Argument || source.argument != number)
            continue;
          there = true;
          right &= same(source.access, store.access);
          // The last stage that computes the node.
          unsigned last = 0;
          if (auto it = stageOf.find(index); it != stageOf.end())
            last = it->second;
          if (auto it = demands.find(index); it != demands.end())
            for (unsigned stage : it->second)
              last = std::max(last, stage);
          right &= last <= stage;
        }
      right &= llvm::none_of(later, [&](const DenseSet<unsigned> &own) {
        return own.contains(number);
      });
      if (there && right)
        found.push_back(number);
    }
  }
}

void Planner::estimate() {
  bool known = llvm::all_of(
      kernel.dims, [](Dim &dim) { return dim.outer || dim.size.isStatic(); });
  // Inner iterations, as elements that an access or a node has in each outer
  // one.
  auto innerOf = [&](auto dims) {
    double count = 1;
    for (unsigned dim : dims)
      if (!kernel.dims[dim].outer)
        count *= kernel.dims[dim].size.estimate();
    return count;
  };
  double outer = 1;
  bool outerKnown = true;
  for (unsigned dim : kernel.getOuter()) {
    outer *= std::max<int64_t>(kernel.dims[dim].size.estimate(), 1);
    outerKnown &= kernel.dims[dim].size.isStatic();
  }
  double bytes = 0, operations = 0, cost = 0;
  auto addAccess = [&](const Access &access, Type type) {
    SmallVector<unsigned> dims;
    double elements = 1;
    for (const Access::Term &term : access.terms) {
      dims.push_back(term.dim);
      elements *= kernel.dims[term.dim].size.estimate();
    }
    double width = (Arithmetic::inMemory(getElementTypeOrSelf(type))
                        .getIntOrFloatBitWidth() +
                    7) /
                   8;
    // What several iterations share is counted once.
    bytes += outerKnown ? elements / outer * width : innerOf(dims) * width;
    cost += innerOf(dims);
  };
  DenseSet<std::pair<unsigned, void *>> seen;
  for (Node &node : kernel.nodes) {
    for (auto [operand, source] :
         llvm::zip(node.op->getOperands(), node.sources))
      if (source.kind == Source::Argument &&
          seen.insert({source.argument, operand.getAsOpaquePointer()}).second)
        addAccess(source.access, operand.getType());
    unsigned own = 0, expensive = 0;
    for (Operation &op : *node.op.getBody()) {
      expensive += getCost(&op);
      own += getCost(&op) != 0;
    }
    operations += own * innerOf(node.space);
    cost += expensive * innerOf(node.space);
  }
  for (Store &store : kernel.stores)
    addAccess(store.access, store.value.getType());
  plan.grain = std::clamp<int64_t>(kWorth / std::max(cost, 1.0), 1, kWorth);
  if (plan.lanes && kernel.dims[*plan.lanes].outer)
    plan.grain = llvm::alignTo(plan.grain, kLanes * kVectors);
  if (known) {
    plan.bytes = std::llround(bytes);
    plan.operations = std::llround(operations);
  }
}

std::optional<Refusal> amp::codegen::planKernel(Kernel &kernel, Plan &plan) {
  // The runtime multiplies; it does not divide.
  Size extent;
  for (unsigned dim : kernel.getOuter())
    extent = extent * kernel.dims[dim].size;
  if (extent.getDivisor() != 1)
    return Refusal{kernel.func, "the number of iterations is no product of the "
                                "arguments' dimensions"};
  Planner planner(kernel, plan);
  planner.chooseLanes();
  planner.makeStages();
  bool reduces =
      llvm::any_of(kernel.nodes, [](Node &node) { return node.isReduction(); });
  if (plan.lanes && kernel.dims[*plan.lanes].outer && reduces &&
      plan.stages.size() == 1)
    plan.vectors = kVectors;
  planner.keepValues();
  planner.listSizes();
  planner.findAliases();
  planner.estimate();
  return std::nullopt;
}
