//===- Kernel.cpp - the loops of a kernel's body --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::codegen;

const Size *Access::getStride(unsigned dim) const {
  for (const Term &term : terms)
    if (term.dim == dim)
      return &term.stride;
  return nullptr;
}

SmallVector<unsigned> Kernel::getOuter() const {
  SmallVector<unsigned> outer;
  for (auto [index, dim] : llvm::enumerate(dims))
    if (dim.outer)
      outer.push_back(index);
  return outer;
}

SmallVector<unsigned> Kernel::getExtent(OpResult value) {
  Node &node = getNode(value);
  if (!node.reduced[value.getResultNumber()])
    return node.space;
  SmallVector<unsigned> extent;
  auto types = node.op.getIteratorTypesArray();
  for (auto [dim, type] : llvm::zip(node.dims, types))
    if (dim >= 0 && !dims[dim].outer && type == utils::IteratorType::parallel)
      extent.push_back(dim);
  llvm::sort(extent);
  return extent;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The dimensions of an argument or of what a generic gives, through reshapes.
static std::optional<SmallVector<Size>> getViewSizes(Value view) {
  auto type = cast<RankedTensorType>(view.getType());
  SmallVector<Size> sizes;
  if (auto argument = dyn_cast<BlockArgument>(view)) {
    for (auto [axis, size] : llvm::enumerate(type.getShape()))
      sizes.push_back(ShapedType::isDynamic(size)
                          ? Size(Axis{argument.getArgNumber(), unsigned(axis)})
                          : Size(size));
    return sizes;
  }
  if (auto loops = view.getDefiningOp<DestinationStyleOpInterface>())
    return getViewSizes(loops.getTiedOpOperand(cast<OpResult>(view))->get());
  if (auto empty = view.getDefiningOp<tensor::EmptyOp>()) {
    for (OpFoldResult extent : empty.getMixedSizes()) {
      auto value = dyn_cast<Value>(extent);
      std::optional<Size> size =
          value ? getSize(value) : Size(*getConstantIntValue(extent));
      if (!size)
        return std::nullopt;
      sizes.push_back(*size);
    }
    return sizes;
  }
  if (auto collapse = view.getDefiningOp<tensor::CollapseShapeOp>()) {
    auto source = getViewSizes(collapse.getSrc());
    if (!source)
      return std::nullopt;
    for (auto &group : collapse.getReassociationIndices()) {
      Size size;
      for (int64_t axis : group)
        size = size * (*source)[axis];
      sizes.push_back(size);
    }
    return sizes;
  }
  auto expand = view.getDefiningOp<tensor::ExpandShapeOp>();
  auto source = expand ? getViewSizes(expand.getSrc()) : std::nullopt;
  if (!source)
    return std::nullopt;
  sizes.resize(type.getRank());
  SmallVector<OpFoldResult> shape = expand.getMixedOutputShape();
  for (auto [from, group] :
       llvm::zip(*source, expand.getReassociationIndices())) {
    int64_t known = 1, unknown = 0;
    for (int64_t axis : group)
      if (type.isDynamicDim(axis))
        ++unknown;
      else
        known *= type.getDimSize(axis);
    for (int64_t axis : group) {
      if (!type.isDynamicDim(axis)) {
        sizes[axis] = Size(type.getDimSize(axis));
        continue;
      }
      if (unknown == 1 && known != 0) {
        sizes[axis] = from / known;
        continue;
      }
      auto value = dyn_cast<Value>(shape[axis]);
      std::optional<Size> size = value ? getSize(value) : std::nullopt;
      if (!size)
        return std::nullopt;
      sizes[axis] = *size;
    }
  }
  return sizes;
}

std::optional<SmallVector<Size>> amp::codegen::getSizes(Value result) {
  return getViewSizes(result);
}

std::optional<Size> amp::codegen::getSize(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return Size(*constant);
  auto dim = value.getDefiningOp<tensor::DimOp>();
  std::optional<int64_t> axis = dim ? dim.getConstantIndex() : std::nullopt;
  if (!axis)
    return std::nullopt;
  auto sizes = getViewSizes(dim.getSource());
  if (!sizes || *axis < 0 || *axis >= int64_t(sizes->size()))
    return std::nullopt;
  return (*sizes)[*axis];
}

/// The argument that a value is, through reshapes.
static std::optional<unsigned> getArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value).getArgNumber();
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {
class Analysis {
public:
  Analysis(func::FuncOp func, Kernel &kernel) : kernel(kernel) {
    kernel.func = func;
  }

  std::optional<Refusal> run();

private:
  bool refuse(Operation *op, const Twine &reason) {
    refusal = Refusal{op, reason.str()};
    return false;
  }

  bool collect();
  bool checkBody(linalg::GenericOp op);
  bool checkMaps(linalg::GenericOp op);
  bool findSources(Node &node);
  bool classifyResults(Node &node);
  Operation *findCombiner(linalg::GenericOp op, unsigned result);
  bool checkReductions(Node &node);
  bool hasEqualLoops(Node &node);
  bool joinLoops();
  void shareArguments();
  bool alignComponents();
  bool nameDims();
  void chooseOuter();
  bool makeAccesses();
  void mergeDims();
  void orderDims();

  std::optional<Access> makeAccess(AffineMap map, ArrayRef<Size> sizes,
                                   ArrayRef<int> dims);
  SmallVector<Size> getResultSizes(Node &node, unsigned result);
  unsigned firstLoop(Node &node) { return offsets[&node - &kernel.nodes[0]]; }
  Node *getProducer(Value value) {
    auto it = kernel.nodeOf.find(value.getDefiningOp());
    return it == kernel.nodeOf.end() ? nullptr : &kernel.nodes[it->second];
  }
  bool isUsed(Node &node, OpOperand &operand) {
    return !node.op.getMatchingBlockArgument(&operand).use_empty();
  }

  Kernel &kernel;
  std::optional<Refusal> refusal;
  func::ReturnOp returnOp;
  // The loops of all generics, numbered; which are one, and how long.
  SmallVector<unsigned> offsets;
  llvm::IntEqClasses classes;
  SmallVector<std::optional<Size>> sizes; // of classes
  // Axes of arguments that are equal.
  llvm::EquivalenceClasses<std::pair<unsigned, unsigned>> equalAxes;
};
} // namespace

/// What has elements that machine code knows, a byte each at least.
static bool isElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

bool Analysis::checkBody(linalg::GenericOp op) {
  for (Operation &inner : op.getBody()->without_terminator())
    if (std::string reason = whyNotScalar(&inner); !reason.empty())
      return refuse(&inner, reason);
  return true;
}

bool Analysis::checkMaps(linalg::GenericOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    if (!isElement(type.getElementType()))
      return refuse(op, llvm::formatv("elements of type {0} are not supported",
                                      type.getElementType()));
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (AffineExpr expr : map.getResults()) {
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      if (!isa<AffineDimExpr>(expr) && !(constant && constant.getValue() == 0))
        return refuse(op,
                      llvm::formatv("index {0} is neither a loop nor 0", expr));
    }
  }
  return true;
}

bool Analysis::collect() {
  if (!kernel.func.getBody().hasOneBlock())
    return refuse(kernel.func, "a kernel has one block");
  for (Type type : kernel.func.getArgumentTypes())
    if (!isa<RankedTensorType>(type))
      return refuse(kernel.func, "arguments are ranked tensors");
  for (Operation &op : kernel.func.getBody().front()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!checkMaps(generic) || !checkBody(generic))
        return false;
      kernel.nodeOf[&op] = kernel.nodes.size();
      kernel.nodes.emplace_back().op = generic;
    } else if (auto end = dyn_cast<func::ReturnOp>(op)) {
      returnOp = end;
    } else if (isa<tensor::EmptyOp, tensor::DimOp>(op) ||
               (isa<arith::ConstantOp>(op) &&
                isa<RankedTensorType>(op.getResult(0).getType()))) {
      continue;
    } else if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      bool returned = llvm::all_of(op.getUsers(), [](Operation *user) {
        return isa<func::ReturnOp, tensor::DimOp>(user);
      });
      if (!getArgument(op.getResult(0)) && !returned)
        return refuse(&op, "a reshape between operations cannot be removed");
    } else if (op.getNumResults() == 1 &&
               op.getResult(0).getType().isIntOrIndexOrFloat()) {
      if (std::string reason = whyNotScalar(&op); !reason.empty())
        return refuse(&op, reason);
    } else {
      return refuse(&op, llvm::formatv("{0} is not supported", op.getName()));
    }
  }
  if (kernel.nodes.empty())
    return refuse(kernel.func, "there is nothing to compute");
  for (OpOperand &operand : returnOp->getOpOperands()) {
    Value value = operand.get();
    while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
        value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    if (!getProducer(value))
      return refuse(returnOp, llvm::formatv("result {0} is not computed",
                                            operand.getOperandNumber()));
    kernel.stores.push_back({cast<OpResult>(value), {}});
  }
  return true;
}

Operation *Analysis::findCombiner(linalg::GenericOp op, unsigned result) {
  BlockArgument out = op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  Value yielded = op.getBody()->getTerminator()->getOperand(result);
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || !out.hasOneUse() || *out.user_begin() != combiner ||
      !yielded.hasOneUse())
    return nullptr;
  return isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp,
             arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
             combiner)
             ? combiner
             : nullptr;
}

bool Analysis::classifyResults(Node &node) {
  auto types = node.op.getIteratorTypesArray();
  for (unsigned result = 0; result < node.op.getNumResults(); ++result) {
    AffineMap map =
        node.op.getMatchingIndexingMap(node.op.getDpsInitOperand(result));
    bool all = true, none = true;
    for (auto [loop, type] : llvm::enumerate(types)) {
      bool there = map.isFunctionOfDim(loop);
      int64_t size = node.op.getStaticLoopRanges()[loop];
      if (type == utils::IteratorType::parallel) {
        if (!there && size != 1)
          return refuse(
              node.op,
              llvm::formatv("result {0} lacks a parallel loop", result));
      } else {
        (there ? none : all) = false;
      }
    }
    if (!all && !none)
      return refuse(node.op, llvm::formatv("result {0} is along some of the "
                                           "reduction's loops, not all",
                                           result));
    node.reduced.push_back(!all);
    node.combiners.push_back(all ? nullptr : findCombiner(node.op, result));
  }
  // A body that mixes its accumulators is one that lanes cannot share.
  bool mixed = false;
  for (auto [reduced, combiner] : llvm::zip(node.reduced, node.combiners))
    mixed |= reduced && !combiner;
  if (mixed)
    for (Operation *&combiner : node.combiners)
      combiner = nullptr;
  return true;
}

bool Analysis::checkReductions(Node &node) {
  for (OpResult result : node.op->getResults()) {
    if (!node.reduced[result.getResultNumber()])
      continue;
    if (!kernel.getExtent(result).empty())
      return refuse(node.op,
                    "keeps a dimension that other operations reduce or "
                    "that not all results have");
    if (!node.combiners[result.getResultNumber()] &&
        llvm::is_contained(node.reduced, false))
      return refuse(node.op, "has results beside a reduction that is more than "
                             "one operation");
  }
  return true;
}

bool Analysis::findSources(Node &node) {
  for (OpOperand &operand : node.op->getOpOperands()) {
    Source source;
    Value value = operand.get();
    DenseElementsAttr dense;
    if (getProducer(value)) {
      source.kind = Source::Node;
      source.result = cast<OpResult>(value);
    } else if (matchPattern(value, m_Constant(&dense))) {
      if (!dense.isSplat())
        return refuse(node.op, "constants are numbers or have equal elements");
      source.kind = Source::Splat;
      source.splat = dense.getSplatValue<TypedAttr>();
    } else if (!isa<RankedTensorType>(value.getType())) {
      source.kind = Source::Undefined; // A number; the emitter takes it itself.
    } else if (std::optional<unsigned> argument = getArgument(value)) {
      source.kind = Source::Argument;
      source.argument = *argument;
    } else if (value.getDefiningOp<tensor::EmptyOp>()) {
      if (isUsed(node, operand))
        return refuse(node.op, "reads a tensor without elements: tensor.empty");
    }
    node.sources.push_back(std::move(source));
  }
  return true;
}

bool Analysis::hasEqualLoops(Node &node) {
  DenseSet<unsigned> seen;
  SmallVector<int64_t> ranges = node.op.getStaticLoopRanges();
  for (auto [loop, range] : llvm::enumerate(ranges))
    if (range != 1 &&
        !seen.insert(classes.findLeader(firstLoop(node) + loop)).second)
      return true;
  return false;
}

bool Analysis::joinLoops() {
  unsigned count = 0;
  for (Node &node : kernel.nodes) {
    offsets.push_back(count);
    count += node.op.getNumLoops();
  }
  classes.grow(count);
  for (Node &node : kernel.nodes) {
    for (auto [operand, source] :
         llvm::zip(node.op->getOpOperands(), node.sources)) {
      if (source.kind != Source::Node)
        continue;
      Node &producer = kernel.getNode(source.result);
      AffineMap theirs =
          producer.op.getIndexingMapMatchingResult(source.result);
      AffineMap ours = node.op.getMatchingIndexingMap(&operand);
      auto type = cast<RankedTensorType>(operand.get().getType());
      for (auto [axis, write, read] :
           llvm::enumerate(theirs.getResults(), ours.getResults())) {
        auto from = dyn_cast<AffineDimExpr>(write);
        auto to = dyn_cast<AffineDimExpr>(read);
        if (from && to)
          classes.join(firstLoop(producer) + from.getPosition(),
                       firstLoop(node) + to.getPosition());
        else if (type.getDimSize(axis) != 1)
          return refuse(node.op, "reads one place of an intermediate axis");
      }
    }
    if (llvm::any_of(kernel.nodes,
                     [&](Node &other) { return hasEqualLoops(other); }))
      return refuse(node.op, "reads an intermediate at two places");
  }
  shareArguments();
  return true;
}

/// Two loops that read the same places of an argument are one, if that is
/// possible: then it is read once.
void Analysis::shareArguments() {
  auto apart = [&](unsigned a, unsigned b) {
    a = classes.findLeader(a);
    b = classes.findLeader(b);
    return llvm::any_of(kernel.nodes, [&](Node &node) {
      bool hasA = false, hasB = false;
      for (unsigned loop = 0; loop < node.op.getNumLoops(); ++loop) {
        unsigned leader = classes.findLeader(firstLoop(node) + loop);
        hasA |= leader == a;
        hasB |= leader == b;
      }
      return hasA && hasB;
    });
  };
  DenseMap<Value, SmallVector<std::pair<Node *, AffineMap>>> readers;
  for (Node &node : kernel.nodes)
    for (OpOperand &operand : node.op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()) ||
          !getArgument(operand.get()))
        continue;
      AffineMap map = node.op.getMatchingIndexingMap(&operand);
      auto &others = readers[operand.get()];
      for (auto &[other, theirs] : others)
        for (auto [a, b] : llvm::zip(theirs.getResults(), map.getResults())) {
          auto dimA = dyn_cast<AffineDimExpr>(a),
               dimB = dyn_cast<AffineDimExpr>(b);
          if (!dimA || !dimB)
            continue;
          unsigned loopA = firstLoop(*other) + dimA.getPosition(),
                   loopB = firstLoop(node) + dimB.getPosition();
          if (other != &node && !apart(loopA, loopB))
            classes.join(loopA, loopB);
        }
      others.push_back({&node, map});
    }
}

bool Analysis::nameDims() {
  // Sizes of loops, by what they index.
  auto forAxes = [&](auto visit) {
    for (Node &node : kernel.nodes)
      for (OpOperand &operand : node.op->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type)
          continue;
        std::optional<SmallVector<Size>> view;
        if (getArgument(operand.get())) {
          view = getViewSizes(operand.get());
          if (!view)
            return refuse(node.op,
                          "a dimension cannot be told from arguments'");
        }
        AffineMap map = node.op.getMatchingIndexingMap(&operand);
        for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
          auto dim = dyn_cast<AffineDimExpr>(expr);
          if (!dim)
            continue;
          std::optional<Size> size;
          if (!type.isDynamicDim(axis))
            size = Size(type.getDimSize(axis));
          else if (view)
            size = (*view)[axis];
          else if (auto empty = operand.get().getDefiningOp<tensor::EmptyOp>())
            size = getSize(empty.getDynamicSize(axis));
          if (size)
            visit(classes.findLeader(firstLoop(node) + dim.getPosition()),
                  *size);
        }
      }
    return true;
  };
  unsigned count = offsets.back() + kernel.nodes.back().op.getNumLoops();
  sizes.assign(count, std::nullopt);
  if (!forAxes([&](unsigned leader, Size size) {
        std::optional<Size> &known = sizes[leader];
        if (known && size.getAxes().size() == 1 &&
            known->getAxes().size() == 1 && size.getFactor() == 1 &&
            known->getFactor() == 1) {
          Axis a = size.getAxes()[0], b = known->getAxes()[0];
          equalAxes.unionSets({a.argument, a.axis}, {b.argument, b.axis});
        }
        if (!known || (size.isStatic() && !known->isStatic()))
          known = size;
      }))
    return false;
  for (Node &node : kernel.nodes)
    for (unsigned loop = 0; loop < node.op.getNumLoops(); ++loop)
      if (!sizes[classes.findLeader(firstLoop(node) + loop)])
        return refuse(node.op, "a dimension cannot be told from arguments'");
  return true;
}

/// Independent parts of a kernel share dimensions by the order in their
/// results.
bool Analysis::alignComponents() {
  llvm::IntEqClasses components(kernel.nodes.size());
  for (auto [index, node] : llvm::enumerate(kernel.nodes))
    for (Source &source : node.sources)
      if (source.kind == Source::Node)
        components.join(index, kernel.nodeOf.lookup(source.result.getOwner()));
  auto canonical = [&](Size size) {
    Size result = Size(size.getFactor()) / size.getDivisor();
    for (Axis axis : size.getAxes()) {
      auto it = equalAxes.findLeader({axis.argument, axis.axis});
      result = result * Size(it == equalAxes.member_end()
                                 ? axis
                                 : Axis{it->first, it->second});
    }
    return result;
  };
  auto getLoops = [&](OpResult value) {
    Node &node = kernel.getNode(value);
    SmallVector<unsigned> loops;
    for (AffineExpr expr :
         node.op.getIndexingMapMatchingResult(value).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        unsigned loop = classes.findLeader(firstLoop(node) + dim.getPosition());
        if (!sizes[loop]->isOne())
          loops.push_back(loop);
      }
    return loops;
  };
  unsigned first = components.findLeader(
      kernel.nodeOf.lookup(kernel.stores[0].value.getOwner()));
  SmallVector<unsigned> loops = getLoops(kernel.stores[0].value);
  DenseSet<unsigned> seen{first};
  for (Store &store : kernel.stores) {
    unsigned component =
        components.findLeader(kernel.nodeOf.lookup(store.value.getOwner()));
    if (!seen.insert(component).second)
      continue;
    for (auto [ours, theirs] : llvm::zip(loops, getLoops(store.value))) {
      if (canonical(*sizes[ours]) != canonical(*sizes[theirs]))
        break;
      unsigned leader = classes.join(ours, theirs);
      sizes[leader] = sizes[ours]->isStatic() ? sizes[ours] : sizes[theirs];
    }
  }
  return true;
}

void Analysis::chooseOuter() {
  DenseMap<unsigned, unsigned> number;
  for (Node &node : kernel.nodes)
    for (unsigned loop = 0; loop < node.op.getNumLoops(); ++loop) {
      unsigned leader = classes.findLeader(firstLoop(node) + loop);
      if (sizes[leader]->isOne()) {
        node.dims.push_back(-1);
        continue;
      }
      auto [it, isNew] = number.try_emplace(leader, kernel.dims.size());
      if (isNew)
        kernel.dims.push_back({*sizes[leader], true});
      node.dims.push_back(it->second);
    }
  auto exclude = [&](auto in) {
    for (auto [index, dim] : llvm::enumerate(kernel.dims))
      dim.outer &= in(index);
  };
  for (Node &node : kernel.nodes) {
    auto types = node.op.getIteratorTypesArray();
    for (auto [dim, type] : llvm::zip(node.dims, types))
      if (dim >= 0 && type != utils::IteratorType::parallel)
        kernel.dims[dim].outer = false;
    // Nothing is reduced again for each iteration of a dimension.
    if (node.isReduction())
      exclude([&](unsigned dim) {
        return llvm::is_contained(node.dims, int(dim));
      });
  }
  for (Store &store : kernel.stores) {
    Node &node = kernel.getNode(store.value);
    AffineMap map = node.op.getIndexingMapMatchingResult(store.value);
    exclude([&](unsigned dim) {
      return llvm::any_of(llvm::enumerate(node.dims), [&](auto loop) {
        return loop.value() == int(dim) && map.isFunctionOfDim(loop.index());
      });
    });
  }
}

std::optional<Access> Analysis::makeAccess(AffineMap map, ArrayRef<Size> sizes,
                                           ArrayRef<int> dims) {
  Access access;
  Size stride;
  for (unsigned axis = map.getNumResults(); axis-- > 0;) {
    auto expr = dyn_cast<AffineDimExpr>(map.getResult(axis));
    int dim = expr ? dims[expr.getPosition()] : -1;
    if (dim >= 0) {
      if (access.getStride(dim))
        return std::nullopt;
      access.terms.push_back({unsigned(dim), stride});
    }
    stride = stride * sizes[axis];
  }
  std::reverse(access.terms.begin(), access.terms.end());
  return access;
}

SmallVector<Size> Analysis::getResultSizes(Node &node, unsigned result) {
  SmallVector<Size> all;
  AffineMap map =
      node.op.getMatchingIndexingMap(node.op.getDpsInitOperand(result));
  auto type = cast<RankedTensorType>(node.op.getResult(result).getType());
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    all.push_back(
        dim && node.dims[dim.getPosition()] >= 0
            ? kernel.dims[node.dims[dim.getPosition()]].size
            : Size(type.isDynamicDim(axis) ? 1 : type.getDimSize(axis)));
  }
  return all;
}

bool Analysis::makeAccesses() {
  for (Node &node : kernel.nodes) {
    for (auto [operand, source] :
         llvm::zip(node.op->getOpOperands(), node.sources)) {
      if (source.kind != Source::Argument)
        continue;
      auto access = makeAccess(node.op.getMatchingIndexingMap(&operand),
                               *getViewSizes(operand.get()), node.dims);
      if (!access)
        return refuse(node.op, "one loop indexes two axes of an operand");
      source.access = *access;
    }
  }
  for (Store &store : kernel.stores) {
    Node &node = kernel.getNode(store.value);
    auto access = makeAccess(
        node.op.getIndexingMapMatchingResult(store.value),
        getResultSizes(node, store.value.getResultNumber()), node.dims);
    if (!access)
      return refuse(node.op, "one loop indexes two axes of a result");
    store.access = *access;
  }
  return true;
}

/// Two dimensions that lie one in the other everywhere become one.
void Analysis::mergeDims() {
  SmallVector<Access *> accesses;
  for (Node &node : kernel.nodes)
    for (Source &source : node.sources)
      if (source.kind == Source::Argument)
        accesses.push_back(&source.access);
  for (Store &store : kernel.stores)
    accesses.push_back(&store.access);
  // linalg.index tells loops apart.
  DenseSet<int> pinned;
  for (Node &node : kernel.nodes)
    node.op.getBody()->walk([&](linalg::IndexOp index) {
      pinned.insert(node.dims[index.getDim()]);
    });

  auto alike = [&](unsigned a, unsigned b) {
    if (a == b || kernel.dims[a].size.isOne() || pinned.count(a) ||
        pinned.count(b) || kernel.dims[a].outer != kernel.dims[b].outer)
      return false;
    for (Access *access : accesses) {
      const Size *outer = access->getStride(a), *inner = access->getStride(b);
      if (!outer != !inner || (outer && *outer != *inner * kernel.dims[b].size))
        return false;
    }
    for (Node &node : kernel.nodes) {
      auto ofA = llvm::find(node.dims, int(a)),
           ofB = llvm::find(node.dims, int(b));
      bool hasA = ofA != node.dims.end(), hasB = ofB != node.dims.end();
      if (hasA != hasB)
        return false;
      auto types = node.op.getIteratorTypesArray();
      if (hasA &&
          types[ofA - node.dims.begin()] != types[ofB - node.dims.begin()])
        return false;
    }
    return true;
  };
  for (unsigned b = 0; b < kernel.dims.size(); ++b)
    for (unsigned a = 0; a < kernel.dims.size(); ++a) {
      if (!alike(a, b))
        continue;
      kernel.dims[b].size = kernel.dims[a].size * kernel.dims[b].size;
      kernel.dims[a].size = Size();
      for (Access *access : accesses)
        llvm::erase_if(access->terms,
                       [&](Access::Term &term) { return term.dim == a; });
      for (Node &node : kernel.nodes)
        llvm::replace(node.dims, int(a), -1);
      a = -1u; // Others may lie around the two now.
    }
}

/// Numbers the dimensions anew, in the order of loops.
void Analysis::orderDims() {
  SmallVector<const Access *> accesses;
  for (Store &store : kernel.stores)
    accesses.push_back(&store.access);
  for (Node &node : kernel.nodes)
    for (Source &source : node.sources)
      if (source.kind == Source::Argument)
        accesses.push_back(&source.access);
  // Those that have most dimensions say the order.
  llvm::SetVector<unsigned> order;
  for (bool outer : {true, false}) {
    for (size_t rank = kernel.dims.size(); rank > 0; --rank)
      for (const Access *access : accesses)
        for (const Access::Term &term : access->terms)
          if (access->terms.size() == rank &&
              kernel.dims[term.dim].outer == outer)
            order.insert(term.dim);
    for (Node &node : kernel.nodes)
      for (int dim : node.dims)
        if (dim >= 0 && kernel.dims[dim].outer == outer)
          order.insert(dim);
  }
  SmallVector<int> number(kernel.dims.size(), -1);
  SmallVector<Dim, 0> dims;
  for (unsigned dim : order) {
    number[dim] = dims.size();
    dims.push_back(kernel.dims[dim]);
  }
  kernel.dims = std::move(dims);
  for (const Access *access : accesses)
    for (const Access::Term &term : access->terms)
      const_cast<Access::Term &>(term).dim = number[term.dim];
  for (Node &node : kernel.nodes) {
    for (int &dim : node.dims)
      if (dim >= 0)
        dim = number[dim];
    for (int dim : node.dims)
      if (dim >= 0 && !kernel.dims[dim].outer)
        node.space.push_back(dim);
    llvm::sort(node.space);
  }
}

std::optional<Refusal> Analysis::run() {
  auto all = [&](bool (Analysis::*step)(Node &)) {
    return llvm::all_of(kernel.nodes,
                        [&](Node &node) { return (this->*step)(node); });
  };
  if (!collect() || !all(&Analysis::classifyResults) ||
      !all(&Analysis::findSources) || !joinLoops() || !nameDims() ||
      !alignComponents())
    return refusal;
  chooseOuter();
  if (!makeAccesses())
    return refusal;
  mergeDims();
  orderDims();
  if (!all(&Analysis::checkReductions))
    return refusal;
  return std::nullopt;
}

std::optional<Refusal> amp::codegen::analyzeKernel(func::FuncOp func,
                                                   Kernel &kernel) {
  return Analysis(func, kernel).run();
}
