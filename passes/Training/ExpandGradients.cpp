//===- ExpandGradients.cpp - onnx-expand-gradients ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandGradients.h"

#include "DeadNodes.h"
#include "ExpandFunctions.h"
#include "InlineCall.h"
#include "JoinedGraphs.h"
#include "LoopShapes.h"
#include "NamedValues.h"
#include "ReverseMode.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Training.h"
#include "amp/Passes/TrainingInfo.h"
#include "amp/Support/Quoted.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_EXPANDGRADIENTS
#include "amp/Passes/Training.h.inc"

using onnx::ONNXDialect;

namespace {

bool isGradient(Operation *op) {
  return op->getName().getStringRef() == kGradient;
}

/// What a Gradient node names.
struct Function {
  SmallVector<Value> variables; // xs, then zs
  SmallVector<Value> wanted;
  Value y;
};

FailureOr<Function> readFunction(Operation *op, func::FuncOp main) {
  NamedValues named(main);
  Function function;
  auto find = [&](StringRef attribute, StringRef name) -> FailureOr<Value> {
    Value value = named.lookup(name);
    if (value && getFloatElementType(value.getType()))
      return value;
    InFlightDiagnostic error = op->emitError()
                               << onnx::describeNode(op) << " expects "
                               << attribute << " to name ";
    if (value)
      return error << "a tensor of floats, but " << quoted(name) << " is "
                   << value.getType();
    return error << "values of the main graph, but none is " << quoted(name);
  };
  for (StringRef attribute : {"xs", "zs"})
    if (auto names = op->getAttrOfType<ArrayAttr>(attribute))
      for (Attribute name : names) {
        auto text = dyn_cast<StringAttr>(name);
        // What is not differentiated need not be float.
        Value value = text ? named.lookup(text.getValue()) : Value();
        if (attribute == "xs" || !value) {
          FailureOr<Value> found =
              find(attribute, text ? text.getValue() : StringRef());
          if (failed(found))
            return failure();
          value = *found;
        }
        function.variables.push_back(value);
        if (attribute == "xs")
          function.wanted.push_back(value);
      }
  if (function.variables.size() != op->getNumOperands())
    return op->emitError() << onnx::describeNode(op) << " expects "
                           << function.variables.size()
                           << " inputs, one for each of xs and zs, but got "
                           << op->getNumOperands();
  for (auto [variable, operand] :
       llvm::zip_equal(function.variables, op->getOperands()))
    if (failed(verifyCompatibleShape(variable.getType(), operand.getType())))
      return op->emitError()
             << onnx::describeNode(op) << " expects a value of "
             << variable.getType() << ", but got one of " << operand.getType();
  auto y = op->getAttrOfType<StringAttr>("y");
  FailureOr<Value> found = find("y", y ? y.getValue() : StringRef());
  if (failed(found))
    return failure();
  function.y = *found;
  return function;
}

/// The operation of the block that has this one in its regions, or is it.
Operation *inBlock(Operation *op, Block &block) {
  while (op && op->getBlock() != &block)
    op = op->getParentOp();
  return op;
}

/// True for a variable, or for what autocast widens it to for the node.
bool isValueOf(Value value, Value variable) {
  auto cast = value.getDefiningOp<onnx::CastOp>();
  if (value == variable || !cast || cast.getInput() != variable)
    return value == variable;
  FloatType from = getFloatElementType(variable.getType()),
            to = getFloatElementType(value.getType());
  return from && to && from.getWidth() < to.getWidth();
}

/// Computes y of other values of its variables.
void copyFunction(Function &function, ValueRange values,
                  onnx::NodeBuilder &nodes, Block &block) {
  llvm::DenseSet<Operation *> between;
  SmallVector<Value> list(function.variables);
  while (!list.empty())
    for (Operation *user : list.pop_back_val().getUsers())
      if (Operation *op = inBlock(user, block); op && !isGradient(op) &&
                                                op != block.getTerminator() &&
                                                between.insert(op).second)
        list.append(op->result_begin(), op->result_end());
  IRMapping map;
  for (auto [variable, value] : llvm::zip_equal(function.variables, values))
    map.map(variable,
            Value(nodes.castLike(nodes.apply("Identity", {value}), variable)));
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // What makes a variable is not computed: it has a value.
    if (!between.contains(&op) ||
        llvm::all_of(op.getResults(), [&](Value result) {
          return llvm::is_contained(function.variables, result);
        }))
      continue;
    nodes.getBuilder().clone(op, map)->walk(
        [](Operation *copy) { forgetNames(copy); });
  }
  for (Value &value : function.wanted)
    value = map.lookup(value);
  function.y = map.lookupOrDefault(function.y);
}

LogicalResult expand(Operation *op, func::FuncOp main) {
  Block &block = main.getBody().front();
  Function function;
  FailureOr<Endpoints> ends =
      expandFunctions(main, [&]() -> FailureOr<Endpoints> {
        FailureOr<Function> found = readFunction(op, main);
        if (failed(found))
          return failure();
        function = *found;
        return Endpoints{{found->y}, found->wanted};
      });
  if (failed(ends))
    return failure();
  inferLoopShapes(block);
  OpBuilder builder(block.getTerminator());
  onnx::NodeBuilder nodes(builder, main);
  nodes.setLocation(op->getLoc());
  if (nodes.getOpset() < onnx::NodeBuilder::kMinOpset)
    return op->emitError() << onnx::describeNode(op) << " expects opset "
                           << onnx::NodeBuilder::kMinOpset
                           << " or later of ai.onnx, but the model imports "
                           << nodes.getOpset();
  SmallVector<Value> values;
  for (auto [variable, operand] :
       llvm::zip_equal(function.variables, op->getOperands()))
    values.push_back(isValueOf(operand, variable) ? variable : operand);
  if (!llvm::equal(function.variables, values))
    copyFunction(function, values, nodes, block);
  FailureOr<SmallVector<Value>> gradients =
      buildGradients(block, nodes, {function.y}, function.wanted,
                     findActive(main, {{function.y}, function.wanted}));
  if (failed(gradients))
    return failure();
  SmallVector<Value> results;
  for (auto [result, position] :
       llvm::zip_equal(op->getResults(), onnx::outputPositions(op))) {
    if (position >= gradients->size())
      return op->emitError() << onnx::describeNode(op) << " expects at most "
                             << gradients->size() << " outputs";
    Type type = getFloatElementType(result.getType());
    onnx::Expr gradient = nodes.expr((*gradients)[position]);
    results.push_back(type ? nodes.cast(gradient, type) : gradient);
  }
  replaceBy(op, results, nodes);
  // Its readers may stand before what was built.
  sortTopologically(&block);
  return success();
}

class ExpandGradientsPass
    : public impl::ExpandGradientsBase<ExpandGradientsPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.getBody().empty())
      return;
    bool isInAlgorithm =
        llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
          return function->hasAttr(ONNXDialect::kTraining) &&
                 hasGradients(function);
        });
    if (!isInAlgorithm) {
      if (failed(expandGradients(main)))
        signalPassFailure();
      return;
    }
    FailureOr<JoinedTraining> joined = JoinedTraining::join(module);
    if (failed(joined) || failed(expandGradients(main)))
      return signalPassFailure();
    joined->split();
  }
};

} // namespace

bool hasGradients(func::FuncOp graph) {
  return graph
      .walk([](Operation *op) {
        return isGradient(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult expandGradients(func::FuncOp main) {
  Block &block = main.getBody().front();
  SmallVector<Operation *> list;
  main.walk([&](Operation *op) {
    if (isGradient(op))
      list.push_back(op);
  });
  if (list.empty())
    return success();
  for (Operation *op : list)
    if (op->getBlock() != &block)
      return op->emitError() << onnx::describeNode(op)
                             << " is in a subgraph; it is expanded in the main "
                                "graph only";
  for (Operation *op : list)
    if (failed(expand(op, main)))
      return failure();
  eraseDeadNodes(block);
  return success();
}

} // namespace amp
