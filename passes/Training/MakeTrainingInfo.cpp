//===- MakeTrainingInfo.cpp - amp-make-training-info ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedGraphs.h"
#include "NamedValues.h"
#include "TrainingBindings.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Training.h"
#include "amp/Passes/TrainingInfo.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_MAKETRAININGINFO
#include "amp/Passes/Training.h.inc"

using onnx::ONNXDialect;

//===----------------------------------------------------------------------===//
// Values that both models compute
//===----------------------------------------------------------------------===//

namespace {
/// Finds operations that give what others give, whatever their names.
class EqualNodes {
public:
  void add(Operation *op) {
    if (isComparable(op))
      known[hash(op, op->getOperands())].push_back(op);
  }
  /// One that does what `op` does, of these operands; null if there is none. It
  /// may have other outputs.
  Operation *lookup(Operation *op, ValueRange operands) const {
    if (!isComparable(op))
      return nullptr;
    auto found = known.find(hash(op, operands));
    if (found != known.end())
      for (Operation *other : found->second)
        if (other->getName() == op->getName() &&
            getProperties(other) == getProperties(op) &&
            llvm::equal(other->getOperands(), operands))
          return other;
    return nullptr;
  }

private:
  /// Random numbers are not pure; a function of this name may be another one.
  static bool isComparable(Operation *op) {
    return op->getNumRegions() == 0 && !isa<CallOpInterface>(op) &&
           isMemoryEffectFree(op);
  }
  /// All but which outputs there are.
  static Attribute getProperties(Operation *op) {
    auto properties =
        dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute());
    if (!properties)
      return {};
    NamedAttrList list(properties);
    list.erase("resultSegmentSizes");
    return list.getDictionary(op->getContext());
  }
  static size_t hash(Operation *op, ValueRange operands) {
    SmallVector<void *> values;
    for (Value operand : operands)
      values.push_back(operand.getAsOpaquePointer());
    return llvm::hash_combine(op->getName(), getProperties(op),
                              llvm::hash_combine_range(values));
  }

  llvm::DenseMap<size_t, SmallVector<Operation *, 1>> known;
};
} // namespace

//===----------------------------------------------------------------------===//
// Join
//===----------------------------------------------------------------------===//

/// Joins a step and the model that it trains, as if the step had been an
/// algorithm.
class JoinedTraining::StepJoiner {
public:
  StepJoiner(ModuleOp step, ModuleOp forward)
      : step(step), forward(forward), joined(step) {}

  FailureOr<JoinedTraining> run();

private:
  LogicalResult check();
  void takeFunctions();
  void takeForward();
  LogicalResult addInputs();
  void nameOutputs();
  void addNodes();
  void addOutputs();
  void addInitialization();
  func::FuncOp createGraph(StringRef role);

  void renameResults(Operation *copy);
  onnx::DefaultInputOp getDefault(BlockArgument argument) {
    for (Operation *user : argument.getUsers())
      if (auto initial = dyn_cast<onnx::DefaultInputOp>(user))
        return initial;
    return {};
  }

  ModuleOp step, forward;
  JoinedTraining joined;
  func::FuncOp stepMain, forwardMain;
  SmallVector<StatePair> pairs;
  llvm::StringSet<> names;
  EqualNodes nodes;
  /// What the outputs of the step are called if the algorithm has them.
  SmallVector<std::string> outputNames;
  IRMapping map; ///< from the step
  TrainingInfo info;
};

LogicalResult JoinedTraining::StepJoiner::check() {
  auto findMain = [](ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    return main && !main.getBody().empty() ? main : func::FuncOp();
  };
  stepMain = findMain(step);
  forwardMain = findMain(forward);
  if (!stepMain || !forwardMain)
    return step.emitError("has no main graph to train");
  for (ModuleOp module : {step, forward})
    if (hasTrainingInfo(module))
      return step.emitError("has a training_info already");
  pairs = getStatePairs(step);
  if (pairs.empty())
    return step.emitError("is no training step: its metadata has no amp.state");
  std::optional<int64_t> version = onnx::getOpsetVersion(step, ""),
                         expected = onnx::getOpsetVersion(forward, "");
  if (version != expected)
    return step.emitError() << "is a step of opset " << version.value_or(0)
                            << " for a model of opset " << expected.value_or(0)
                            << ", but both are one model";
  return success();
}

/// Gives a local function another name, in its domain, too.
static void renameFunction(func::FuncOp function, SymbolTable &symbols) {
  auto fields = function->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction);
  auto text = [&](StringRef field) {
    auto value = fields ? fields.getAs<StringAttr>(field) : StringAttr();
    return value ? value.str() : std::string();
  };
  std::string base = text("name") + "_step", name, symbol;
  for (unsigned number = 0;; ++number) {
    name = number ? base + std::to_string(number) : base;
    symbol = text("domain") + "::" + name;
    if (!text("overload").empty())
      symbol += "::" + text("overload");
    if (!symbols.lookup(symbol))
      break;
  }
  // It fails for uses that are not to be seen; functions have none.
  (void)symbols.rename(function, symbol);
  NamedAttrList list(fields);
  list.set("name", StringAttr::get(function.getContext(), name));
  function->setAttr(ONNXDialect::kFunction,
                    list.getDictionary(function.getContext()));
}

/// The model's local functions; those of the step get other names unless they
/// are the same.
void JoinedTraining::StepJoiner::takeFunctions() {
  SymbolTable symbols(step);
  // A function that calls one with another name is another one itself.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto function : forward.getOps<func::FuncOp>()) {
      auto own = symbols.lookup<func::FuncOp>(function.getSymName());
      if (!own || own == stepMain ||
          OperationEquivalence::isEquivalentTo(
              own, function, OperationEquivalence::IgnoreLocations))
        continue;
      renameFunction(own, symbols);
      changed = true;
    }
  }
  for (auto function : forward.getOps<func::FuncOp>())
    if (function != forwardMain && !symbols.lookup(function.getSymName()))
      symbols.insert(function.clone());
}

/// The model becomes the main graph.
void JoinedTraining::StepJoiner::takeForward() {
  joined.main = forwardMain.clone();
  stepMain->remove();
  step.getBody()->push_front(joined.main);
  Block &block = joined.getBlock();
  joined.numInputs = block.getNumArguments();
  joined.numOutputs = block.getTerminator()->getNumOperands();
  names = collectNames(joined.main);
  collectNodeNames(joined.main, joined.nodeNames);
  for (Operation &op : block.without_terminator())
    setOrigin(&op, 0);
}

/// Inputs of the step are the model's, state, or the algorithm's.
LogicalResult JoinedTraining::StepJoiner::addInputs() {
  Block &block = joined.getBlock();
  Algorithm &algorithm = joined.algorithms.front();
  auto fields = stepMain->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto entries = fields ? fields.getAs<ArrayAttr>("input") : ArrayAttr();
  llvm::StringSet<> stateNames, seen;
  for (const auto &[input, output] : pairs)
    stateNames.insert(input);
  NamedValues model(joined.main);
  for (const auto &[name, argument] :
       llvm::zip(getEntryNames(stepMain, "input"),
                 stepMain.getBody().front().getArguments())) {
    // An initializer that is state is no value of the model any more.
    Value same = seen.insert(name).second ? model.lookup(name) : Value();
    bool hasType =
        same && getElementTypeOrSelf(same) == getElementTypeOrSelf(argument);
    if (stateNames.erase(name)) {
      onnx::DefaultInputOp initial = getDefault(argument);
      if (!initial)
        return stepMain.emitError()
               << "the state " << quoted(name) << " has no first value";
      if (hasType && asInitializer(same)) {
        joined.addState(same, name, 0);
      } else if (same) {
        return stepMain.emitError()
               << "the state " << quoted(name)
               << " has the name of a value of the model that is no "
                  "initializer of its type";
      } else {
        BlockArgument added =
            block.addArgument(argument.getType(), argument.getLoc());
        OpBuilder builder = OpBuilder::atBlockBegin(&block);
        onnx::DefaultInputOp::create(builder, initial.getLoc(), added,
                                     initial.getValue());
        addEntry(joined.main, "input", makeUnique(name, names), {});
        joined.states.push_back({name, 1, added.getArgNumber(), false});
      }
      map.map(argument, block.getArgument(joined.states.back().argument));
      continue;
    }
    if (auto known = dyn_cast_if_present<BlockArgument>(same);
        known && hasType) {
      map.map(argument, known);
      continue;
    }
    std::string unique = makeUnique(name, names);
    BlockArgument added =
        block.addArgument(argument.getType(), argument.getLoc());
    algorithm.inputs.push_back(added.getArgNumber());
    addEntry(joined.main, "input", unique, entries[argument.getArgNumber()]);
    addEntry(algorithm.function.get(), "input", unique,
             entries[argument.getArgNumber()]);
    if (onnx::DefaultInputOp initial = getDefault(argument)) {
      OpBuilder builder = OpBuilder::atBlockBegin(&block);
      setOrigin(onnx::DefaultInputOp::create(builder, initial.getLoc(), added,
                                             initial.getValue()),
                1);
    }
    map.map(argument, added);
  }
  for (StringRef missing : stateNames.keys())
    return stepMain.emitError()
           << "amp.state names " << quoted(missing) << ", which is no input";
  return success();
}

/// The main graph may have a value of the name.
void JoinedTraining::StepJoiner::renameResults(Operation *copy) {
  for (OpResult result : copy->getResults()) {
    std::string name = getResultNames(copy)[result.getResultNumber()].str();
    if (name.empty() || names.insert(name).second)
      continue;
    setResultName(result, makeUnique(name + "_step", names));
  }
}

void JoinedTraining::StepJoiner::nameOutputs() {
  for (StringRef name : getEntryNames(stepMain, "output"))
    outputNames.push_back(makeUnique(
        names.contains(name) ? (name + "_step").str() : name.str(), names));
}

void JoinedTraining::StepJoiner::addNodes() {
  Block &block = joined.getBlock();
  Operation *terminator = block.getTerminator();
  for (Operation &op : block.without_terminator())
    nodes.add(&op);
  OpBuilder builder(terminator);
  for (Operation &op : stepMain.getBody().front().without_terminator()) {
    if (isa<onnx::DefaultInputOp>(op))
      continue;
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(map.lookupOrDefault(operand));
    Operation *same = nodes.lookup(&op, operands);
    llvm::SmallDenseMap<unsigned, Value> known;
    if (same)
      for (auto [position, result] :
           llvm::zip_equal(onnx::outputPositions(same), same->getResults()))
        known[position] = result;
    // The gradient may need outputs that the model does not.
    SmallVector<unsigned, 8> positions = onnx::outputPositions(&op);
    if (!same || llvm::any_of(positions, [&](unsigned position) {
          return !known.contains(position);
        })) {
      Operation *copy = builder.clone(op, map);
      setOrigin(copy, 1);
      renameResults(copy);
      renameNodes(copy, joined.nodeNames);
    }
    for (auto [position, result] :
         llvm::zip_equal(positions, op.getResults())) {
      if (auto found = known.find(position); found != known.end())
        map.map(result, found->second);
    }
  }
}

/// Outputs that the model has, too, stay there.
void JoinedTraining::StepJoiner::addOutputs() {
  Block &block = joined.getBlock();
  Operation *terminator = block.getTerminator();
  Algorithm &algorithm = joined.algorithms.front();
  auto fields = stepMain->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto entries = fields ? fields.getAs<ArrayAttr>("output") : ArrayAttr();
  SmallVector<std::string> mainNames = getEntryNames(joined.main, "output"),
                           stepNames = getEntryNames(stepMain, "output");
  llvm::StringMap<std::string> outputs;
  algorithm.firstOutput = joined.numOutputs;
  for (auto [i, value] : llvm::enumerate(
           stepMain.getBody().front().getTerminator()->getOperands())) {
    std::string name = stepNames[i];
    Value mapped = map.lookup(value);
    unsigned known = llvm::find(mainNames, name) - mainNames.begin();
    if (known < joined.numOutputs && terminator->getOperand(known) == mapped) {
      outputs[name] = name;
      continue;
    }
    const std::string &unique = outputNames[i];
    outputs[name] = unique;
    terminator->insertOperands(terminator->getNumOperands(), mapped);
    addEntry(joined.main, "output", unique, entries[i]);
    addEntry(algorithm.function.get(), "output", unique, entries[i]);
    ++algorithm.numOutputs;
  }
  for (const auto &[input, output] : pairs)
    info.updateBindings.push_back({input, outputs.lookup(output)});
}

/// The initial values of what the model does not know.
void JoinedTraining::StepJoiner::addInitialization() {
  Block &block = joined.getBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(step.getBody());
  auto function = createGraph("initialization");
  OpBuilder inside = OpBuilder::atBlockEnd(&function.getBody().front());
  onnx::NodeBuilder b(inside, function);
  SmallVector<Value> results;
  for (const State &state : joined.states) {
    onnx::DefaultInputOp initial =
        getDefault(block.getArgument(state.argument));
    auto value = dyn_cast<DenseElementsAttr>(initial.getValue().getValue());
    // Others are what their initializers say.
    if (state.graph == 0 || !value || !value.isSplat())
      continue;
    std::string name = makeUnique(state.name + "_init", names);
    Value result =
        value.getType().getRank() == 0
            ? b.constant(value)
            : b.apply("ConstantOfShape", {b.ints(value.getType().getShape())},
                      builder.getNamedAttr(
                          "value", onnx::TensorAttr::get(
                                       step.getContext(),
                                       value.resizeSplat(RankedTensorType::get(
                                           {1}, value.getElementType())),
                                       DictionaryAttr())));
    // Constants may be shared.
    if (!getResultNames(result.getDefiningOp()).front().empty())
      result = b.apply("Identity", {result});
    setResultName(cast<OpResult>(result), name);
    addEntry(function, "output", name, {});
    results.push_back(result);
    info.initializationBindings.push_back({state.name, name});
  }
  func::ReturnOp::create(inside, function.getLoc(), results);
  updateType(function);
  function->remove();
  if (results.empty())
    function.erase();
  else
    joined.algorithms.front().initialization = function;
}

func::FuncOp JoinedTraining::StepJoiner::createGraph(StringRef role) {
  OpBuilder builder = OpBuilder::atBlockEnd(step.getBody());
  auto function =
      func::FuncOp::create(builder, step.getLoc(), ("training.0." + role).str(),
                           builder.getFunctionType({}, {}));
  function.setPrivate();
  function.getBody().emplaceBlock();
  function->setAttr(
      ONNXDialect::kTraining,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("index", builder.getI64IntegerAttr(0)),
           builder.getNamedAttr("role", builder.getStringAttr(role))}));
  function->setAttr(ONNXDialect::kGraph,
                    builder.getDictionaryAttr(builder.getNamedAttr(
                        "name", builder.getStringAttr(role))));
  return function;
}

FailureOr<JoinedTraining> JoinedTraining::StepJoiner::run() {
  if (failed(check()))
    return failure();
  takeFunctions();
  takeForward();
  func::FuncOp algorithm = createGraph("algorithm");
  algorithm.getBody().front().erase();
  algorithm->remove();
  joined.algorithms.emplace_back().function = algorithm;
  LogicalResult done = addInputs();
  if (succeeded(done)) {
    nameOutputs();
    addNodes();
    addOutputs();
    addInitialization();
    updateType(joined.main);
    writeBindings(step, info);
    clearStatePairs(step);
  }
  stepMain.erase();
  if (failed(done))
    return failure();
  return std::move(joined);
}

FailureOr<JoinedTraining> JoinedTraining::join(ModuleOp step,
                                               ModuleOp forward) {
  return StepJoiner(step, forward).run();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

LogicalResult makeTrainingInfo(ModuleOp step, ModuleOp forward) {
  FailureOr<JoinedTraining> joined = JoinedTraining::join(step, forward);
  if (failed(joined))
    return failure();
  joined->split();
  return success();
}

namespace {

class MakeTrainingInfoPass
    : public impl::MakeTrainingInfoBase<MakeTrainingInfoPass> {
public:
  using MakeTrainingInfoBase::MakeTrainingInfoBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    MakeTrainingInfoBase::getDependentDialects(registry);
    OpPassManager manager(ModuleOp::getOperationName());
    // What is wrong with the text is said once.
    if (succeeded(parsePassPipeline(pipeline, manager, llvm::nulls())))
      manager.getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager manager(ModuleOp::getOperationName());
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (failed(parsePassPipeline(pipeline, manager, stream))) {
      getOperation().emitError()
          << "pipeline: " << StringRef(problem).trim().split('\n').first;
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> forward = getOperation().clone();
    if (failed(runPipeline(manager, getOperation())) ||
        failed(makeTrainingInfo(getOperation(), *forward)))
      signalPassFailure();
  }
};

} // namespace
} // namespace amp
