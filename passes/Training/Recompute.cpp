//===- Recompute.cpp - amp-recompute --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainPlan.h"
#include "DeadNodes.h"
#include "Gates.h"
#include "GraphStages.h"
#include "MemoryModel.h"
#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <set>

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_RECOMPUTE
#include "amp/Passes/Training.h.inc"

using onnx::ONNXDialect;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

llvm::Expected<RecomputeOptions> parseRecompute(StringRef text) {
  RecomputeOptions options;
  auto [kind, value] = text.split('=');
  if (text == "auto") {
    options.isAutomatic = true;
    return options;
  }
  if (kind == "budget") {
    llvm::Expected<int64_t> bytes = parseBytes(value);
    if (!bytes)
      return bytes.takeError();
    options.budget = value.str();
    return options;
  }
  if (kind == "nodes" && !value.empty()) {
    std::string problem;
    if (!llvm::Regex(value).isValid(problem))
      return llvm::createStringError("expects a regular expression, but got " +
                                     quoted(value) + ": " + problem);
    options.nodes = value.str();
    return options;
  }
  return llvm::createStringError(
      "expects 'auto', 'budget=BYTES' or 'nodes=REGEX', but got " +
      quoted(text));
}

//===----------------------------------------------------------------------===//
// The graph with repetitions
//===----------------------------------------------------------------------===//

namespace {

/// Builds nodes in the order of a plan. Backward nodes stay where they are, and
/// read what was made last; repetitions come in between.
class RepetitionBuilder {
public:
  RepetitionBuilder(func::FuncOp main, const MemoryModel &model)
      : main(main), model(model), builder(main.getBody()), nodes(builder, main),
        gates(nodes) {
    NamedValues named(main);
    for (StringRef name : named.getNames())
      valueNames.taken.insert(name);
    for (Operation &op : main.getBody().front())
      if (auto name = op.getAttrOfType<StringAttr>(ONNXDialect::kName))
        nodeNames.taken.insert(name.getValue());
  }

  void build(ArrayRef<unsigned> order, const OrderCosts &costs);

private:
  void moveBehindForward();
  void openGate(size_t at);
  void readLatest(Operation *op, bool isRepetition, IRMapping &latest);
  void protectStatistics(Operation *op, IRMapping &latest);
  void repeat(unsigned node);
  bool isList(Value value);
  struct Names {
    llvm::StringSet<> taken;
    /// How many copies have been named after each.
    llvm::StringMap<unsigned> copies;
  };
  StringAttr makeName(Names &names, StringRef name);

  func::FuncOp main;
  const MemoryModel &model;
  OpBuilder builder;
  onnx::NodeBuilder nodes;
  Gates gates;
  Names valueNames, nodeNames;
  /// Where backward operations stand in the order.
  DenseMap<Operation *, size_t> runsAt;
  /// What was made last for a value, and behind how many gates that was.
  DenseMap<Value, Value> versions;
  DenseMap<Value, unsigned> made;
  unsigned numGates = 0;
  /// What the backward part made since the last gate.
  SmallVector<Value> fresh;
};

/// Nodes of the backward part may stand between those of the forward part if
/// another tool wrote the model.
void RepetitionBuilder::moveBehindForward() {
  Operation *end = main.getBody().front().getTerminator();
  unsigned numForward = model.graph.numForward;
  if (model.ops.size() == numForward || numForward == 0 ||
      model.ops[numForward - 1]->isBeforeInBlock(model.ops[numForward]))
    return;
  for (unsigned i = numForward; i < model.ops.size(); ++i)
    model.ops[i]->moveBefore(end);
}

void RepetitionBuilder::openGate(size_t at) {
  // What is done with is of no use to anybody: nothing waits for it.
  SmallVector<Value> late;
  Operation *end = main.getBody().front().getTerminator();
  for (Value value : fresh)
    if (llvm::any_of(value.getUsers(), [&](Operation *user) {
          Operation *op = main.getBody().front().findAncestorOpInBlock(*user);
          return op == end || runsAt.lookup(op) > at;
        }))
      late.push_back(value);
  fresh.clear();
  gates.wait(late);
  ++numGates;
}

/// Sizes and axes: nodes wait by another input if they have one.
bool RepetitionBuilder::isList(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() <= 1 && type.getElementType().isInteger();
}

/// Maps what an operation and its subgraphs read to what was made last, behind
/// the last gate.
void RepetitionBuilder::readLatest(Operation *op, bool isRepetition,
                                   IRMapping &latest) {
  SmallVector<Value> free, lists;
  bool waits = false;
  for (Value value : model.getReads(op)) {
    auto index = model.values.find(value);
    if (index == model.values.end()) {
      if (!model.isConstant(value))
        free.push_back(value);
      continue;
    }
    if (!model.isForward(value))
      continue;
    Value version = versions.lookup(value);
    if (!version)
      version = value;
    if (made.lookup(version) == numGates) {
      waits = true;
    } else if (isList(version)) {
      lists.push_back(version);
    } else if (isa<TensorType>(version.getType())) {
      version = gates.pass(version);
      waits = true;
    }
    if (version != value)
      latest.map(value, version);
  }
  if (waits || !isRepetition)
    return;
  for (Value value : llvm::concat<Value>(free, lists))
    if (isa<TensorType>(value.getType())) {
      latest.map(value, gates.pass(value));
      return;
    }
}

/// A name for a copy, which no other has.
StringAttr RepetitionBuilder::makeName(Names &names, StringRef name) {
  std::string again = (name + "_again").str(), unused = again;
  unsigned &count = names.copies.try_emplace(name, 1).first->second;
  while (!names.taken.insert(unused).second)
    unused = again + std::to_string(++count);
  return builder.getStringAttr(unused);
}

/// ONNX Runtime's BatchNormalization writes the next running statistics over
/// its operands, be they inputs or initializers, unless they are outputs of the
/// graph. A copy, whose statistics nobody reads, gets others.
void RepetitionBuilder::protectStatistics(Operation *op, IRMapping &latest) {
  if (op->getName().getStringRef() != "onnx.BatchNormalization" ||
      op->getNumResults() < 3)
    return;
  for (Value statistics : op->getOperands().drop_front(3))
    latest.map(
        statistics,
        nodes.apply("Abs", {gates.pass(latest.lookupOrDefault(statistics))}));
}

void RepetitionBuilder::repeat(unsigned node) {
  Operation *op = model.ops[node];
  IRMapping latest;
  nodes.setLocation(op->getLoc());
  readLatest(op, /*isRepetition=*/true, latest);
  protectStatistics(op, latest);
  Operation *copy = builder.clone(*op, latest);

  if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName))
    copy->setAttr(ONNXDialect::kName, makeName(nodeNames, name.getValue()));
  if (auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs)) {
    SmallVector<Attribute> again;
    for (Attribute name : names) {
      auto text = dyn_cast<StringAttr>(name);
      again.push_back(text && !text.empty() ? makeName(valueNames, text)
                                            : name);
    }
    copy->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr(again));
  }
  for (auto [old, result] :
       llvm::zip_equal(op->getResults(), copy->getResults())) {
    auto index = model.values.find(old);
    if (index == model.values.end() || model.graph.isKept(index->second))
      continue;
    versions[old] = result;
    made[result] = numGates;
  }
}

void RepetitionBuilder::build(ArrayRef<unsigned> order,
                              const OrderCosts &costs) {
  moveBehindForward();
  gates.wait(model.forwardEnds);
  for (auto [i, node] : llvm::enumerate(order))
    if (node != kGate && !model.graph.isForward(node))
      runsAt[model.ops[node]] = i;
  for (size_t i = model.graph.numForward; i < order.size(); ++i) {
    if (order[i] == kGate) {
      openGate(i);
      continue;
    }
    if (!costs.isUsed[i])
      continue;
    // Before the backward node that comes next.
    for (size_t next = i; next < order.size(); ++next)
      if (order[next] != kGate && !model.graph.isForward(order[next])) {
        builder.setInsertionPoint(model.ops[order[next]]);
        break;
      }
    if (model.graph.isForward(order[i])) {
      repeat(order[i]);
      continue;
    }
    Operation *op = model.ops[order[i]];
    nodes.setLocation(op->getLoc());
    IRMapping latest;
    readLatest(op, /*isRepetition=*/false, latest);
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (Value version = latest.lookupOrNull(operand.get()))
          operand.set(version);
    });
    for (Value result : op->getResults())
      if (isa<TensorType>(result.getType()))
        fresh.push_back(result);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

class RecomputePass : public impl::RecomputeBase<RecomputePass> {
public:
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation(), "recompute in");
    if (!main)
      return signalPassFailure();
    if (failed(recompute(main)))
      signalPassFailure();
  }

private:
  /// More stages than in most models, and few enough for plans in a second.
  static constexpr unsigned kMaxStages = 96;

  LogicalResult recompute(func::FuncOp main);
  FailureOr<CostOptions> readSizes(func::FuncOp main);
  FailureOr<RunOrder> choose(func::FuncOp main, const MemoryModel &model);
  FailureOr<RunOrder> chooseNodes(func::FuncOp main, const MemoryModel &model);
  FailureOr<RunOrder> chooseWithin(func::FuncOp main, const MemoryModel &model,
                                   int64_t bytes);
  RunOrder chooseLeast(const MemoryModel &model);
};

FailureOr<CostOptions> RecomputePass::readSizes(func::FuncOp main) {
  CostOptions sizes;
  for (const std::string &dimension : dimensions)
    if (llvm::Error error = sizes.addDimension(dimension))
      return main.emitError() << "dim: " << llvm::toString(std::move(error));
  return sizes;
}

/// What a node is asked for by: its name, or that of its first output.
StringRef getChosenName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
      name && !name.empty())
    return name;
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  auto first =
      names && !names.empty() ? dyn_cast<StringAttr>(names[0]) : StringAttr();
  return first ? first.getValue() : StringRef();
}

FailureOr<RunOrder> RecomputePass::chooseNodes(func::FuncOp main,
                                               const MemoryModel &model) {
  llvm::Regex regex("^(" + nodes + ")$");
  std::string problem;
  if (!llvm::Regex(nodes).isValid(problem))
    return main.emitError() << "nodes: expects a regular expression, but got "
                            << quoted(nodes) << ": " << problem;
  const MemoryGraph &graph = model.graph;
  std::vector<bool> isChosen(graph.nodes.size(), false);
  for (unsigned i = 0; i < graph.numForward; ++i) {
    if (!regex.match(getChosenName(model.ops[i])))
      continue;
    if (Operation *op = model.ops[i]; !graph.nodes[i].isRepeatable)
      return main.emitError()
             << "nodes: " << onnx::describeNode(op)
             << " can't be computed again: " << model.getReasonToKeep(op);
    isChosen[i] = true;
  }
  if (!llvm::is_contained(isChosen, true))
    return main.emitError() << "nodes: no node of the forward part has a name "
                               "that matches "
                            << quoted(nodes);

  // Each runs again before its first reader.
  std::vector<unsigned> maker(graph.values.size(), kGate);
  for (unsigned i = 0; i < graph.numForward; ++i)
    if (!graph.nodes[i].isView)
      for (unsigned value : graph.nodes[i].makes)
        maker[value] = i;
  RunOrder order;
  for (unsigned i = 0; i < graph.nodes.size(); ++i) {
    std::set<unsigned> again;
    SmallVector<unsigned> reading{i};
    while (!graph.isForward(i) && !reading.empty())
      for (unsigned value : graph.nodes[reading.pop_back_val()].reads) {
        unsigned node = maker[graph.values[value].storage];
        if (graph.isKept(value) || node == kGate || !isChosen[node])
          continue;
        isChosen[node] = false;
        again.insert(node);
        reading.push_back(node);
      }
    if (!again.empty()) {
      order.push_back(kGate);
      appendRepetition(graph, llvm::to_vector(again), order);
    }
    order.push_back(i);
  }
  return order;
}

RunOrder RecomputePass::chooseLeast(const MemoryModel &model) {
  RunOrder best = getPlainOrder(model.graph);
  GraphStages stages(model.graph, kMaxStages);
  if (stages.size() == 0)
    return best;
  int64_t least = getCosts(model.graph, best).peakBytes;
  ChainPlan plan(stages.getCosts(), /*repeatsOften=*/false);
  for (const ChainPoint &point : llvm::reverse(plan.getPlans())) {
    RunOrder order = stages.getOrder(plan.expand(point));
    int64_t bytes = getCosts(model.graph, order).peakBytes;
    if (bytes < least) {
      least = bytes;
      best = std::move(order);
    }
  }
  return best;
}

FailureOr<RunOrder> RecomputePass::chooseWithin(func::FuncOp main,
                                                const MemoryModel &model,
                                                int64_t bytes) {
  RunOrder order = getPlainOrder(model.graph);
  int64_t least = getCosts(model.graph, order).peakBytes;
  if (least <= bytes)
    return order;
  GraphStages stages(model.graph, kMaxStages);
  if (stages.size() > 0) {
    ChainPlan plan(stages.getCosts(), /*repeatsOften=*/true);
    for (const ChainPoint &point : llvm::reverse(plan.getPlans())) {
      order = stages.getOrder(plan.expand(point));
      int64_t found = getCosts(model.graph, order).peakBytes;
      if (found <= bytes)
        return order;
      least = std::min(least, found);
    }
  }
  return main.emitError() << "budget: at least " << formatBytes(least)
                          << " of activations are needed at a time, more than "
                          << formatBytes(bytes);
}

FailureOr<RunOrder> RecomputePass::choose(func::FuncOp main,
                                          const MemoryModel &model) {
  if (int(isAutomatic) + int(!budget.empty()) + int(!nodes.empty()) != 1)
    return main.emitError("expects one of 'auto', 'budget' and 'nodes'");
  if (isAutomatic)
    return chooseLeast(model);
  if (!nodes.empty())
    return chooseNodes(main, model);
  llvm::Expected<int64_t> bytes = parseBytes(budget);
  if (!bytes)
    return main.emitError() << "budget: " << llvm::toString(bytes.takeError());
  return chooseWithin(main, model, *bytes);
}

LogicalResult RecomputePass::recompute(func::FuncOp main) {
  FailureOr<CostOptions> sizes = readSizes(main);
  if (failed(sizes))
    return failure();
  FailureOr<MemoryModel> model = MemoryModel::build(main, losses, *sizes);
  if (failed(model))
    return failure();
  FailureOr<RunOrder> order = choose(main, *model);
  if (failed(order))
    return failure();

  OrderCosts before = getCosts(model->graph, getPlainOrder(model->graph));
  OrderCosts after = getCosts(model->graph, *order);
  if (after.numRepeated > 0) {
    RepetitionBuilder(main, *model).build(*order, after);
    eraseDeadNodes(main.getBody().front());
  }
  double work = 0;
  for (const MemoryGraph::Node &node : model->graph.nodes)
    work += node.work;
  emitRemark(main.getLoc())
      << llvm::formatv("peak of activations: {0}, {1} without "
                       "recomputation (predicted); {2}, {3:f1}% more flops",
                       formatBytes(after.peakBytes),
                       formatBytes(before.peakBytes),
                       formatPlural(after.numRepeated, "repeated node"),
                       work > 0 ? 100 * after.repeatedWork / work : 0)
             .str();
  return success();
}

} // namespace
} // namespace amp
