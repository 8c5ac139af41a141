//===- RunningStatistics.cpp - BatchNormalization that learns -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunningStatistics.h"

#include "TrainingState.h"

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;
using onnx::ONNXDialect;

namespace {

/// Positions of the running mean and variance among the inputs.
constexpr unsigned kStatistics[] = {3, 4};
constexpr unsigned kOutputs = 3;
constexpr double kDefaultMomentum = 0.9f;

StringRef nameOfResult(OpResult result) {
  auto names =
      result.getOwner()->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  if (!names || names.size() != result.getOwner()->getNumResults())
    return {};
  auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]);
  return name ? name.getValue() : StringRef();
}

Expr isFinite(Expr value) {
  return abs(value) < std::numeric_limits<double>::infinity();
}

class Statistics {
public:
  Statistics(func::FuncOp main, const StatisticsOptions &options)
      : main(main), options(options) {
    for (const StatePair &pair :
         getStatePairs(main->getParentOfType<ModuleOp>()))
      known.insert(pair.first);
  }

  LogicalResult train(onnx::BatchNormalizationOp op);
  /// Adds what was found to the state of the graph.
  void finish();

private:
  FailureOr<BlockArgument> findState(onnx::BatchNormalizationOp op,
                                     Value value);
  BlockArgument makeState(Operation *constant);
  std::array<Value, 2> refine(NodeBuilder &b, Operation *op,
                              ArrayRef<Value> old) const;

  func::FuncOp main;
  StatisticsOptions options;
  llvm::StringSet<> known; ///< state before this pass
  /// The state that a value is, as it was or as nodes made it.
  llvm::DenseMap<Value, BlockArgument> stateOf;
  /// The last of these values.
  llvm::MapVector<BlockArgument, Value> latest;
};

/// An input in the place of a constant; null where that has no name, or no
/// values that are known.
BlockArgument Statistics::makeState(Operation *constant) {
  Value value = constant->getResult(0);
  StringRef name = nameOfResult(constant->getResult(0));
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (name.empty() || !type)
    return {};
  Type f32 = Float32Type::get(constant->getContext());
  TypedAttr initial;
  if (auto initializer = dyn_cast<onnx::InitializerOp>(constant);
      initializer && initializer.getValue().getValue().getType() ==
                         RankedTensorType::get(type.getShape(), f32)) {
    initial = initializer.getValue().getValue();
  } else {
    std::optional<SmallVector<double>> numbers = readConstant(value);
    if (!numbers)
      return {};
    SmallVector<float> narrow(numbers->begin(), numbers->end());
    initial = DenseElementsAttr::get(
        RankedTensorType::get(type.getShape(), f32), ArrayRef<float>(narrow));
  }
  BlockArgument argument = addInput(main, name, initial);
  Value replacement = argument;
  if (type.getElementType() != f32) {
    OpBuilder builder(constant);
    NodeBuilder b(builder, main);
    replacement = b.cast(b.expr(argument), type.getElementType());
    stateOf[replacement] = argument;
  }
  value.replaceAllUsesWith(replacement);
  constant->erase();
  return argument;
}

FailureOr<BlockArgument> Statistics::findState(onnx::BatchNormalizationOp op,
                                               Value value) {
  // A copy, from an earlier run.
  if (auto sum = value.getDefiningOp<onnx::SumOp>();
      sum && sum->getNumOperands() == 1)
    value = sum->getOperand(0);
  if (BlockArgument state = stateOf.lookup(value))
    return state;
  BlockArgument state;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool hasDefault = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return isa<onnx::DefaultInputOp>(user);
    });
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (hasDefault && type && type.getElementType().isF32())
      state = argument;
  } else if (isa<onnx::InitializerOp, onnx::ConstantOp>(
                 value.getDefiningOp())) {
    state = makeState(value.getDefiningOp());
  }
  if (!state)
    return op->emitError()
           << onnx::describeNode(op)
           << " expects running statistics that are initializers, or float32 "
              "inputs with defaults, to make state of them";
  stateOf[state] = state;
  return state;
}

/// What a node in training form gives for its statistics, as options want it.
std::array<Value, 2> Statistics::refine(NodeBuilder &b, Operation *op,
                                        ArrayRef<Value> old) const {
  Expr mean = b.expr(op->getResult(1)), variance = b.expr(op->getResult(2));
  if (options.isUnbiased) {
    auto attribute = op->getAttrOfType<FloatAttr>("momentum");
    double momentum =
        attribute ? attribute.getValueAsDouble() : kDefaultMomentum;
    Type f32 = b.getBuilder().getF32Type();
    Expr count = b.cast(b.apply("Size", {op->getOperand(0)}), f32) /
                 b.cast(b.apply("Size", {mean}), f32);
    // Of one element it is zero, whatever it is multiplied by.
    Expr ratio = count / max(count - 1.0, b.number(1, f32));
    Expr kept = b.expr(old[1]) * momentum;
    variance = kept + (variance - kept) * ratio;
  }
  if (options.keepsFinite) {
    Expr isUsable = logicalAnd(isFinite(mean), isFinite(variance));
    mean = b.where(isUsable, mean, b.expr(old[0]));
    variance = b.where(isUsable, variance, b.expr(old[1]));
  }
  return {mean, variance};
}

LogicalResult Statistics::train(onnx::BatchNormalizationOp op) {
  if (op->getParentOp() != main)
    return op->emitError() << onnx::describeNode(op)
                           << " stands in a subgraph, where its running "
                              "statistics cannot be state";
  SmallVector<BlockArgument> states;
  for (unsigned position : kStatistics) {
    FailureOr<BlockArgument> state = findState(op, op->getOperand(position));
    if (failed(state))
      return failure();
    if (known.contains(getInputName(main, state->getArgNumber())))
      return success(); // from an earlier run
    states.push_back(*state);
  }
  OpBuilder builder(op);
  NodeBuilder b(builder, main);
  b.setLocation(op->getLoc());
  SmallVector<Value> old;
  for (auto [state, position] : llvm::zip_equal(states, kStatistics)) {
    Value &last = latest[state];
    last = last ? last : state;
    old.push_back(last);
    // ONNX Runtime 1.32 writes running statistics over these inputs, be they a
    // caller's arrays or the defaults, unless they are outputs of the graph. It
    // gets a copy; an Identity it would remove.
    op->setOperand(position, b.apply("Sum", {last}));
  }
  op->setAttr("training_mode", builder.getI64IntegerAttr(1));
  Operation *whole = onnx::withOutputs(op, kOutputs, b);
  SmallVector<Value> values = {whole->getResult(0)};
  llvm::append_range(values, refine(b, whole, old));
  auto names = whole->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  SmallVector<Attribute> kept;
  if (names)
    kept.assign(names.begin(), names.end());
  for (unsigned i : {1, 2}) {
    Value next = values[i];
    latest[states[i - 1]] = next;
    stateOf[next] = states[i - 1];
    if (!names || next == whole->getResult(i) ||
        cast<StringAttr>(kept[i]).empty())
      continue;
    // Readers of the node's own output, by value or by name, read this.
    next.getDefiningOp()->setAttr(ONNXDialect::kOutputs,
                                  builder.getArrayAttr(kept[i]));
    kept[i] = builder.getStringAttr("");
  }
  if (names)
    whole->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr(kept));
  for (auto [result, position] :
       llvm::zip_equal(op->getResults(), onnx::outputPositions(op)))
    result.replaceAllUsesWith(values[position]);
  op->erase();
  return success();
}

void Statistics::finish() {
  SmallVector<StatePair> pairs;
  for (auto [state, value] : latest) {
    std::string name = getInputName(main, state.getArgNumber()).str();
    std::string next;
    OperandRange returned =
        main.getBody().front().getTerminator()->getOperands();
    for (auto [i, output] : llvm::enumerate(returned))
      if (output == value)
        next = getOutputName(main, i).str();
    if (next.empty()) {
      next = nextName(name);
      addOutput(main, next, value);
    }
    pairs.push_back({name, next});
  }
  if (!pairs.empty())
    addStatePairs(main->getParentOfType<ModuleOp>(), pairs);
  updateType(main);
}

} // namespace

LogicalResult
trainStatistics(func::FuncOp main,
                ArrayRef<onnx::BatchNormalizationOp> normalizations,
                const StatisticsOptions &options) {
  Statistics statistics(main, options);
  for (onnx::BatchNormalizationOp op : normalizations)
    if (failed(statistics.train(op)))
      return failure();
  statistics.finish();
  return success();
}

} // namespace amp
