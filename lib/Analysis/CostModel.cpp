//===- CostModel.cpp - how many bytes a program moves ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/CostModel.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/DimensionNames.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp;

/// No estimate is larger, so that products of two and sums of many are none
/// that overflow.
static constexpr int64_t kMaxElements = int64_t(1) << 40;
static constexpr int64_t kMaxRuns = int64_t(1) << 20;
static constexpr int64_t kMaxBytes = int64_t(1) << 48;

/// More than any cast that there is, and little enough to add up.
static constexpr int64_t kNoTensorBytes = int64_t(1) << 34;

static int64_t multiply(int64_t a, int64_t b, int64_t largest) {
  return int64_t(std::min(llvm::SaturatingMultiply(uint64_t(a), uint64_t(b)),
                          uint64_t(largest)));
}

llvm::Error CostOptions::addDimension(StringRef text) {
  auto [name, number] = text.rsplit('=');
  int64_t size;
  if (name.empty() || number.getAsInteger(10, size) || size < 1)
    return llvm::createStringError(
        "expects a dimension as NAME=SIZE with a size of 1 or more, but got " +
        quoted(text));
  dimensions[name] = size;
  return llvm::Error::success();
}

int64_t CostOptions::getSize(RankedTensorType type, unsigned index) const {
  if (!type.isDynamicDim(index))
    return type.getDimSize(index);
  auto names = dyn_cast_or_null<DimensionNamesInterface>(type.getEncoding());
  auto named =
      names ? dimensions.find(names.getDimensionName(index)) : dimensions.end();
  return named == dimensions.end() ? dimension : named->second;
}

CostModel::CostModel(const FunctionFlow &functions, CostOptions options)
    : options(std::move(options)) {
  countCalls(functions);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

int64_t CostModel::getSaving(Type type, Block *block) {
  int64_t moved =
      multiply(getElements(type), getRuns(block->getParent()), kMaxBytes);
  return multiply(moved, 4 - 2, kMaxBytes);
}

int64_t CostModel::getMoved(Type type, Block *block) {
  FloatType element = getFloatElementType(type);
  if (!element)
    return 0;
  int64_t moved =
      multiply(getElements(type), getRuns(block->getParent()), kMaxBytes);
  return multiply(moved, (element.getWidth() + 7) / 8, kMaxBytes);
}

int64_t CostModel::getCastCost(Value value) {
  if (!isa<TensorType>(value.getType()))
    return kNoTensorBytes;
  int64_t moved = multiply(getElements(value.getType()),
                           getRuns(value.getParentRegion()), kMaxBytes);
  return multiply(moved, 4 + 2, kMaxBytes);
}

MovedBytes
amp::countMovedBytes(ModuleOp module, CostOptions options,
                     llvm::function_ref<Movement(Operation *)> classify) {
  FunctionFlow functions(module);
  CostModel model(functions, std::move(options));
  MovedBytes moved;
  auto add = [&](int64_t &sum, Type type, Block *block) {
    constexpr int64_t kMaxSum = int64_t(1) << 61;
    sum = std::min(sum + model.getMoved(type, block), kMaxSum);
  };
  module.walk([&](Operation *op) {
    auto autocast = dyn_cast<AutocastOpInterface>(op);
    Block *block = op->getBlock();
    Movement movement = isa<CastOp>(op) ? Movement::Casts
                        : autocast      ? classify(op)
                                        : Movement::None;
    if (movement == Movement::Casts) {
      auto constant = op->getOperand(0).getDefiningOp<AutocastOpInterface>();
      if (constant && constant.isAutocastConstant())
        return;
      // One of the two may say its size.
      Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
      Type sized = model.getElements(from) < model.getElements(to) ? from : to;
      for (Type type : {from, to})
        add(moved.casts, withFloatElementType(sized, getFloatElementType(type)),
            block);
      return;
    }
    // What control flow moves, its regions' operations read and write.
    if (movement == Movement::None || autocast.isAutocastConstant() ||
        isa<RegionBranchOpInterface>(op))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (autocast.getOperandTypeVariable(operand.getOperandNumber()) >= 0)
        add(moved.operations, operand.get().getType(), block);
    for (OpResult result : op->getResults())
      if (autocast.getResultTypeVariable(result.getResultNumber()) >= 0)
        add(moved.operations, result.getType(), block);
  });
  return moved;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

int64_t CostModel::getElements(Type type) {
  auto [entry, isNew] = elements.try_emplace(type, 0);
  if (isNew)
    entry->second = countElements(type);
  return entry->second;
}

/// One at least: a cast of nothing is no gift either.
int64_t CostModel::countElements(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return options.elements;
  int64_t count = 1;
  for (unsigned i = 0, e = tensor.getRank(); i < e; ++i)
    count = multiply(count, options.getSize(tensor, i), kMaxElements);
  return std::max<int64_t>(count, 1);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// How often a region runs for each run of the operation around it. Every
/// branch counts as taken.
int64_t CostModel::getIterations(Region &region) const {
  auto branch = dyn_cast<RegionBranchOpInterface>(region.getParentOp());
  if (auto loop = dyn_cast<LoopLikeOpInterface>(region.getParentOp());
      loop && !branch)
    return options.iterations;
  if (!branch || !branch.isRepetitiveRegion(region.getRegionNumber()))
    return 1;
  SmallVector<InvocationBounds> bounds;
  branch.getRegionInvocationBounds(
      SmallVector<Attribute>(branch->getNumOperands()), bounds);
  if (region.getRegionNumber() < bounds.size()) {
    InvocationBounds bound = bounds[region.getRegionNumber()];
    if (bound.getUpperBound() == bound.getLowerBound())
      return std::max(bound.getLowerBound(), 1u);
  }
  if (auto autocast = dyn_cast<AutocastOpInterface>(branch.getOperation()))
    if (int64_t slices = countSlices(autocast))
      return slices;
  return options.iterations;
}

/// In how many slices a loop takes its inputs, or gives its results; 0 if it
/// does neither.
int64_t CostModel::countSlices(AutocastOpInterface op) const {
  SmallVector<ElementTypeEdge> edges;
  op.getElementTypeFlow(edges);
  for (const ElementTypeEdge &edge : edges) {
    auto a = dyn_cast<RankedTensorType>(edge.source->get().getType());
    auto b = dyn_cast<RankedTensorType>(edge.target.getType());
    if (!a || !b || a.getRank() == b.getRank())
      continue;
    int64_t whole = countElements(a.getRank() > b.getRank() ? a : b);
    int64_t slice = countElements(a.getRank() > b.getRank() ? b : a);
    return std::max<int64_t>(whole / slice, 1);
  }
  return 0;
}

int64_t CostModel::getRuns(Region *region) {
  if (!region)
    return 1;
  auto [entry, isNew] = runs.try_emplace(region, 1);
  if (!isNew)
    return entry->second;
  // Functions are known by now: what is around this is a loop, or nothing.
  int64_t count = multiply(getRuns(region->getParentOp()->getParentRegion()),
                           getIterations(*region), kMaxRuns);
  return runs[region] = count;
}

/// A function runs as often as it is called, callers first; one that others may
/// call, once more. Of recursion only the entry counts.
void CostModel::countCalls(const FunctionFlow &functions) {
  struct Node {
    Operation *function;
    int64_t runs;
    /// Calls of this function whose own runs are not known yet.
    size_t openCalls;
    /// Calls in this function, and the nodes of whom they call.
    SmallVector<std::pair<Operation *, size_t>, 2> calls;
  };
  SmallVector<Node, 0> nodes;
  DenseMap<Operation *, size_t> indices;
  for (const auto &[op, function] : functions.getFunctions()) {
    indices.insert({op, nodes.size()});
    nodes.push_back({op, function.isInterface, 0, {}});
  }
  for (const auto &[op, function] : functions.getFunctions()) {
    size_t index = indices.lookup(op);
    for (CallOpInterface call : function.calls) {
      auto caller = call->getParentOfType<FunctionOpInterface>();
      auto found = caller ? indices.find(caller) : indices.end();
      if (found == indices.end())
        continue;
      nodes[found->second].calls.push_back({call, index});
      ++nodes[index].openCalls;
    }
  }

  auto setRuns = [&](const Node &node) {
    for (Region &region : node.function->getRegions())
      runs[&region] = std::max<int64_t>(node.runs, 1);
  };
  SmallVector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].openCalls == 0)
      ready.push_back(i);
  while (!ready.empty()) {
    const Node &caller = nodes[ready.pop_back_val()];
    setRuns(caller);
    for (auto [call, index] : caller.calls) {
      Node &callee = nodes[index];
      callee.runs =
          std::min(callee.runs + getRuns(call->getParentRegion()), kMaxRuns);
      if (--callee.openCalls == 0)
        ready.push_back(index);
    }
  }
  for (const Node &node : nodes)
    if (node.openCalls > 0)
      setRuns(node);
}
