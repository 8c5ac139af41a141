//===- Outline.cpp - groups of operations become functions ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace amp::codegen {

namespace {

class Outliner {
public:
  Outliner(ArrayRef<linalg::GenericOp> members, const Sizes &sizes,
           SymbolTable &table)
      : members(members.begin(), members.end()), sizes(sizes), table(table) {}

  FailureOr<rt::LaunchOp> run();

private:
  bool isMember(Operation *op) const {
    return op && llvm::is_contained(members, op);
  }
  LogicalResult collect(Value value);
  LogicalResult collectHelper(Operation *op);
  LogicalResult collectSize(tensor::DimOp dim);
  Value cloneHelper(OpBuilder &builder, Value value);
  Value cloneSize(OpBuilder &builder, tensor::DimOp dim);

  SmallVector<linalg::GenericOp> members;
  const Sizes &sizes;
  SymbolTable &table;
  llvm::SetVector<Value> inputs;
  SmallVector<tensor::DimOp> dims;
  IRMapping mapping;
};

/// What a kernel makes by itself, of dimensions and constants.
bool isHelper(Operation *op) {
  if (!op || isa<linalg::GenericOp>(op))
    return false;
  if (isa<tensor::EmptyOp, tensor::DimOp, linalg::FillOp>(op))
    return true;
  if (isa<arith::ConstantOp>(op))
    return op->getResult(0).getType().isIntOrIndexOrFloat();
  return isa<arith::ArithDialect>(op->getDialect()) &&
         op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrIndexOrFloat();
}

} // namespace

LogicalResult Outliner::collect(Value value) {
  Operation *op = value.getDefiningOp();
  if (isMember(op))
    return success();
  if (isHelper(op))
    return collectHelper(op);
  if (!isa<RankedTensorType>(value.getType()))
    return emitError(value.getLoc(),
                     "expected loops to read tensors and what "
                     "is computed of their dimensions, but got ")
           << value.getType();
  inputs.insert(value);
  return success();
}

LogicalResult Outliner::collectHelper(Operation *op) {
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    if (!dim.getConstantIndex())
      return op->emitOpError("expects a constant axis");
    dims.push_back(dim);
    return success();
  }
  for (Value operand : op->getOperands())
    if (failed(collect(operand)))
      return failure();
  return success();
}

/// Sizes are those of arguments: of one that is there, or of one more.
Value Outliner::cloneSize(OpBuilder &builder, tensor::DimOp dim) {
  LoopSize size = sizes.get(dim.getSource(), *dim.getConstantIndex());
  if (size.isStatic())
    return arith::ConstantIndexOp::create(builder, dim.getLoc(), size.number);
  for (auto [value, axis] : sizes.getAxes(size))
    if (inputs.contains(value))
      return tensor::DimOp::create(builder, dim.getLoc(), mapping.lookup(value),
                                   axis);
  return tensor::DimOp::create(builder, dim.getLoc(),
                               mapping.lookup(dim.getSource()),
                               *dim.getConstantIndex());
}

LogicalResult Outliner::collectSize(tensor::DimOp dim) {
  LoopSize size = sizes.get(dim.getSource(), *dim.getConstantIndex());
  if (size.isStatic() || llvm::any_of(sizes.getAxes(size), [&](auto axis) {
        return inputs.contains(axis.first);
      }))
    return success();
  return collect(dim.getSource());
}

Value Outliner::cloneHelper(OpBuilder &builder, Value value) {
  if (Value done = mapping.lookupOrNull(value))
    return done;
  Operation *op = value.getDefiningOp();
  Value result;
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    result = cloneSize(builder, dim);
  } else {
    for (Value operand : op->getOperands())
      cloneHelper(builder, operand);
    result = builder.clone(*op, mapping)->getResult(0);
  }
  mapping.map(value, result);
  return result;
}

FailureOr<rt::LaunchOp> Outliner::run() {
  SmallVector<SmallVector<Value>> captured;
  for (linalg::GenericOp op : members) {
    llvm::SetVector<Value> above;
    getUsedValuesDefinedAbove(op->getRegions(), above);
    captured.push_back(above.takeVector());
    for (Value operand : op->getOperands())
      if (failed(collect(operand)))
        return failure();
    for (Value value : captured.back())
      if (failed(collect(value)))
        return failure();
  }
  for (tensor::DimOp dim : dims)
    if (failed(collectSize(dim)))
      return failure();

  SmallVector<Value> outputs;
  for (linalg::GenericOp op : members)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !isMember(user); }))
        outputs.push_back(result);

  Operation *last = members.back();
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  auto type =
      builder.getFunctionType(TypeRange(ValueRange(inputs.getArrayRef())),
                              TypeRange(ValueRange(outputs)));
  auto kernel = func::FuncOp::create(members.front().getLoc(), "kernel", type);
  kernel.setPrivate();
  kernel->setAttr(rt::AMPRTDialect::kKernel, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  for (auto [input, argument] : llvm::zip_equal(inputs, body->getArguments()))
    mapping.map(input, argument);
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  for (auto [op, above] : llvm::zip_equal(members, captured)) {
    for (Value operand : op->getOperands())
      cloneHelper(inside, operand);
    for (Value value : above)
      cloneHelper(inside, value);
    Operation *copy = inside.clone(*op, mapping);
    copy->removeAttr(rt::AMPRTDialect::kNode);
    copy->removeAttr(rt::AMPRTDialect::kNames);
  }
  SmallVector<Value> results;
  for (Value output : outputs)
    results.push_back(mapping.lookup(output));
  func::ReturnOp::create(inside, last->getLoc(), results);

  table.insert(kernel);
  auto launch = rt::LaunchOp::create(
      builder, last->getLoc(), TypeRange(ValueRange(outputs)),
      FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs.getArrayRef());
  llvm::SmallSetVector<Attribute, 8> nodes;
  for (linalg::GenericOp op : members)
    if (Attribute node = op->getAttr(rt::AMPRTDialect::kNode))
      nodes.insert(node);
  if (!nodes.empty())
    launch->setAttr(rt::AMPRTDialect::kNode, nodes.front());
  if (nodes.size() > 1)
    launch->setAttr(rt::AMPRTDialect::kNodes,
                    builder.getArrayAttr(nodes.getArrayRef()));
  for (auto [output, result] : llvm::zip_equal(outputs, launch.getResults()))
    output.replaceAllUsesWith(result);
  for (linalg::GenericOp op : llvm::reverse(members))
    op->erase();
  return launch;
}

FailureOr<rt::LaunchOp> outlineKernel(ArrayRef<linalg::GenericOp> members,
                                      const Sizes &sizes, SymbolTable &table) {
  return Outliner(members, sizes, table).run();
}

//===----------------------------------------------------------------------===//
// Reductions side by side
//===----------------------------------------------------------------------===//

/// True if two reductions go through the same loops, as what both read says.
static bool haveSameLoops(linalg::GenericOp a, linalg::GenericOp b) {
  if (a.getIteratorTypesArray() != b.getIteratorTypesArray())
    return false;
  for (OpOperand *ofA : a.getDpsInputOperands())
    for (OpOperand *ofB : b.getDpsInputOperands())
      if (ofA->get() == ofB->get() &&
          a.getMatchingIndexingMap(ofA) == b.getMatchingIndexingMap(ofB) &&
          a.getMatchingIndexingMap(ofA).isPermutation())
        return true;
  return false;
}

/// True if `b` waits for `a`.
static bool dependsOn(Operation *b, Operation *a) {
  SmallVector<Operation *> stack{b};
  llvm::SmallDenseSet<Operation *> seen;
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    if (op == a)
      return true;
    for (Value operand : op->getOperands())
      if (Operation *next = operand.getDefiningOp();
          next && seen.insert(next).second)
        stack.push_back(next);
  }
  return false;
}

static linalg::GenericOp join(linalg::GenericOp a, linalg::GenericOp b) {
  OpBuilder builder(a);
  SmallVector<Value> inputs(a.getInputs()), inits(a.getOutputs());
  llvm::append_range(inputs, b.getInputs());
  llvm::append_range(inits, b.getOutputs());
  SmallVector<AffineMap> maps, ofInits;
  for (linalg::GenericOp op : {a, b}) {
    for (OpOperand *operand : op.getDpsInputOperands())
      maps.push_back(op.getMatchingIndexingMap(operand));
    for (OpOperand &operand : op.getDpsInitsMutable())
      ofInits.push_back(op.getMatchingIndexingMap(&operand));
  }
  llvm::append_range(maps, ofInits);
  return linalg::GenericOp::create(
      builder, a.getLoc(), TypeRange(ValueRange(inits)), inputs, inits, maps,
      a.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        SmallVector<Value> yielded;
        unsigned input = 0, init = inputs.size();
        for (linalg::GenericOp op : {a, b}) {
          IRMapping mapping;
          for (BlockArgument argument : op.getRegionInputArgs())
            mapping.map(argument, arguments[input++]);
          for (BlockArgument argument : op.getRegionOutputArgs())
            mapping.map(argument, arguments[init++]);
          for (Operation &inner : op.getBody()->without_terminator())
            nested.clone(inner, mapping);
          for (Value value : op.getBody()->getTerminator()->getOperands())
            yielded.push_back(mapping.lookupOrDefault(value));
        }
        linalg::YieldOp::create(nested, loc, yielded);
      });
}

static void joinReductions(func::FuncOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  SmallVector<linalg::GenericOp> reductions;
  kernel.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() != 0)
      reductions.push_back(op);
  });
  for (unsigned i = 0; i < reductions.size(); ++i)
    for (unsigned j = i + 1; j < reductions.size(); ++j) {
      linalg::GenericOp a = reductions[i], b = reductions[j];
      if (!a || !b || !haveSameLoops(a, b) || dependsOn(b, a) ||
          failed(moveOperationDependencies(rewriter, b, a)))
        continue;
      linalg::GenericOp both = join(a, b);
      unsigned next = 0;
      for (linalg::GenericOp op : {a, b}) {
        for (Value result : op->getResults())
          result.replaceAllUsesWith(both.getResult(next++));
        op.erase();
      }
      reductions[i] = both;
      reductions[j] = nullptr;
    }
}

void simplifyKernel(func::FuncOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  // What one operation reads needs no name.
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [](OpOperand *operand) { return operand->get().hasOneUse(); });
  (void)applyPatternsGreedily(kernel, std::move(patterns));
  joinReductions(kernel);
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

} // namespace amp::codegen
