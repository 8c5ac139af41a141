//===- MemoryModel.cpp - the memory of a graph with gradients -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryModel.h"

#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OperatorWork.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

llvm::SetVector<Value> MemoryModel::getReads(Operation *op) {
  llvm::SetVector<Value> reads;
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (inner == op || !op->isAncestor(value.getParentBlock()->getParentOp()))
        reads.insert(value);
  });
  return reads;
}

//===----------------------------------------------------------------------===//
// The two parts
//===----------------------------------------------------------------------===//

LogicalResult MemoryModel::findForward(func::FuncOp main,
                                       ArrayRef<std::string> losses) {
  NamedValues named(main);
  SmallVector<Value> ends;
  for (StringRef name : losses) {
    Value value = named.lookup(name);
    if (!value) {
      InFlightDiagnostic error = main.emitError()
                                 << "loss: no value is named " << quoted(name);
      if (StringRef nearest = named.nearest(name); !nearest.empty())
        error << "; did you mean " << quoted(nearest) << "?";
      return error;
    }
    ends.push_back(value);
  }
  Operation *end = main.getBody().front().getTerminator();
  auto fields = main->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto outputs = fields ? fields.getAs<ArrayAttr>("output") : ArrayAttr();
  bool hasGradients = false;
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto entry = outputs && i < outputs.size()
                     ? dyn_cast<DictionaryAttr>(outputs[i])
                     : DictionaryAttr();
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    StringRef of = name ? name.getValue() : StringRef();
    if (of.consume_back(kGradientSuffix) && named.lookup(of))
      hasGradients = true;
    else
      ends.push_back(value);
  }
  if (!hasGradients)
    return main.emitError("has no gradients among its outputs: "
                          "amp-differentiate goes before");

  SmallVector<Value> open = ends;
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp();
        op && forward.insert(op).second)
      open.append(getReads(op).takeVector());
  for (Value value : ends)
    if (value.getDefiningOp() && isa<TensorType>(value.getType()) &&
        !llvm::is_contained(forwardEnds, value))
      forwardEnds.push_back(value);
  return success();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static Shape getShape(Type type, const CostOptions &sizes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {sizes.elements};
  Shape shape;
  for (unsigned i = 0, e = tensor.getRank(); i < e; ++i)
    shape.push_back(sizes.getSize(tensor, i));
  return shape;
}

static int64_t getBytes(Type type, const CostOptions &sizes) {
  Type element = getElementTypeOrSelf(type);
  double bits = element.isIntOrFloat()
                    ? std::max(element.getIntOrFloatBitWidth(), 8u)
                    : 64;
  double bytes = bits / 8;
  for (int64_t size : getShape(type, sizes))
    bytes *= double(size);
  return int64_t(std::min(bytes, 1e15));
}

static double getWork(Operation *op, const CostOptions &sizes) {
  double work = 0;
  for (Region &region : op->getRegions()) {
    auto branch = dyn_cast<RegionBranchOpInterface>(op);
    double runs = branch && branch.isRepetitiveRegion(region.getRegionNumber())
                      ? double(sizes.iterations)
                      : 1;
    for (Block &block : region)
      for (Operation &inner : block)
        work += runs * getWork(&inner, sizes);
  }
  const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
  if (op->getNumRegions() > 0 || !info)
    return work;
  std::optional<OperatorWork> own =
      getWork(op, info->domain.empty() ? StringRef(info->name) : StringRef(),
              [&](Value value) -> std::optional<Shape> {
                return getShape(value.getType(), sizes);
              });
  return own ? own->flops : 0;
}

/// The most that is alive at a time in the subgraphs of a node.
static int64_t getScratch(Operation *op, const CostOptions &sizes) {
  int64_t most = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      int64_t bytes = 0, peak = 0;
      DenseMap<Operation *, int64_t> freed;
      for (Operation &inner : block) {
        int64_t made = 0;
        for (Value result : inner.getResults()) {
          int64_t size = getBytes(result.getType(), sizes);
          made += size;
          Operation *last = &inner;
          for (Operation *user : result.getUsers())
            if (Operation *reader = block.findAncestorOpInBlock(*user);
                reader && last->isBeforeInBlock(reader))
              last = reader;
          freed[last] += size;
        }
        bytes += made;
        peak = std::max(peak, bytes + getScratch(&inner, sizes));
        bytes -= freed.lookup(&inner);
      }
      most = std::max(most, peak);
    }
  return most;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Operators whose result runtimes give without a copy.
static bool isView(Operation *op) {
  return llvm::StringSwitch<bool>(op->getName().getStringRef())
      .Cases({"onnx.Reshape", "onnx.Flatten", "onnx.Squeeze", "onnx.Unsqueeze",
              "onnx.Identity"},
             true)
      .Default(false);
}

StringRef MemoryModel::getReasonToKeep(Operation *op) const {
  if (!isMemoryEffectFree(op))
    return "it may give something else then";
  if (!llvm::all_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
      !llvm::all_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return "its values are not all tensors";
  // Shapes: small, and runtimes compute them ahead where they can.
  if (llvm::all_of(op->getResultTypes(), [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && tensor.getRank() <= 1 &&
               tensor.getElementType().isInteger();
      }))
    return "shapes are kept";
  return {};
}

void MemoryModel::addNode(Operation *op, const CostOptions &sizes) {
  MemoryGraph::Node node;
  unsigned index = graph.nodes.size();
  for (Value value : getReads(op))
    if (auto known = values.find(value); known != values.end())
      node.reads.push_back(known->second);
  node.isRepeatable = getReasonToKeep(op).empty();
  node.scratch = getScratch(op, sizes);
  bool sees = isView(op), seesNode = sees && values.count(op->getOperand(0));
  node.isView = seesNode &&
                llvm::all_of(op->getOperands().drop_front(), [&](Value value) {
                  Operation *maker = value.getDefiningOp();
                  return !maker || !getReasonToKeep(maker).empty();
                });
  // What it sees may be an input, or a constant: that is theirs.
  if (sees && !seesNode)
    node.isRepeatable = false;
  if (!sees)
    node.work = getWork(op, sizes);
  for (Value result : op->getResults()) {
    unsigned id = graph.values.size();
    values[result] = id;
    node.makes.push_back(id);
    MemoryGraph::Value &value = graph.values.emplace_back();
    value.storage = id;
    if (node.isView) {
      value.storage = graph.values[node.reads.front()].storage;
      if (graph.numForward == 0)
        graph.values[node.reads.front()].views.push_back(index);
    } else if (!sees || seesNode) {
      value.bytes = getBytes(result.getType(), sizes);
    }
  }
  graph.nodes.push_back(std::move(node));
  ops.push_back(op);
}

FailureOr<MemoryModel> MemoryModel::build(func::FuncOp main,
                                          ArrayRef<std::string> losses,
                                          const CostOptions &sizes) {
  MemoryModel model;
  if (failed(model.findForward(main, losses)))
    return failure();
  Block &block = main.getBody().front();
  SmallVector<Operation *> backward;
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() == 0)
      continue;
    if (isMemoryEffectFree(&op) &&
        llvm::all_of(getReads(&op),
                     [&](Value value) { return model.isConstant(value); }))
      model.constants.insert(&op);
    else if (model.forward.contains(&op))
      model.addNode(&op, sizes);
    else
      backward.push_back(&op);
  }
  model.graph.numForward = model.graph.nodes.size();
  for (Operation *op : backward)
    model.addNode(op, sizes);
  for (Value output : block.getTerminator()->getOperands())
    if (auto found = model.values.find(output); found != model.values.end()) {
      MemoryGraph &graph = model.graph;
      MemoryGraph::Value &memory =
          graph.values[graph.values[found->second].storage];
      memory.isKept = true;
      memory.bytes = 0;
    }
  return model;
}

} // namespace amp
