//===- JoinedTraining.cpp - TrainingInfoProto as one graph, and back ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/TrainingInfo.h"

#include "ExpandGradients.h"
#include "InlineCall.h"
#include "JoinedGraphs.h"
#include "NamedValues.h"
#include "ReferenceNames.h"
#include "TrainingBindings.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

bool hasTrainingInfo(ModuleOp module) {
  return !readTrainingInfos(module).empty();
}

//===----------------------------------------------------------------------===//
// Entries of inputs and outputs
//===----------------------------------------------------------------------===//

static ArrayAttr getEntries(Operation *graph, StringRef key) {
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  return fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr();
}

static void setEntries(Operation *graph, StringRef key,
                       ArrayRef<Attribute> entries) {
  NamedAttrList fields(
      graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph));
  if (entries.empty())
    fields.erase(key);
  else
    fields.set(key, ArrayAttr::get(graph->getContext(), entries));
  graph->setAttr(ONNXDialect::kGraph,
                 fields.getDictionary(graph->getContext()));
}

/// Keeps the first entries.
static void truncateEntries(Operation *graph, StringRef key, unsigned count) {
  if (ArrayAttr entries = getEntries(graph, key))
    setEntries(graph, key, entries.getValue().take_front(count));
}

static Attribute withName(Attribute entry, StringRef name) {
  NamedAttrList fields(cast<DictionaryAttr>(entry));
  fields.set("name", StringAttr::get(entry.getContext(), name));
  return fields.getDictionary(entry.getContext());
}

void addEntry(Operation *graph, StringRef key, StringRef name,
              Attribute entry) {
  SmallVector<Attribute> list;
  if (ArrayAttr known = getEntries(graph, key))
    llvm::append_range(list, known);
  if (!isa_and_present<DictionaryAttr>(entry))
    entry = DictionaryAttr::get(graph->getContext());
  list.push_back(withName(entry, name));
  setEntries(graph, key, list);
}

std::string makeUnique(StringRef name, llvm::StringSet<> &names) {
  std::string candidate = name.str();
  for (unsigned number = 1; !names.insert(candidate).second; ++number)
    candidate = name.str() + "_" + std::to_string(number);
  return candidate;
}

void collectNodeNames(func::FuncOp graph, llvm::StringSet<> &names) {
  graph.walk([&](Operation *op) {
    if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName))
      names.insert(name.getValue());
  });
}

void renameNodes(Operation *root, llvm::StringSet<> &names) {
  root->walk([&](Operation *op) {
    auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
    if (!name || name.empty())
      return;
    std::string unique = makeUnique(name, names);
    if (unique != name.getValue())
      op->setAttr(ONNXDialect::kName,
                  StringAttr::get(op->getContext(), unique));
  });
}

llvm::StringSet<> collectNames(func::FuncOp graph) {
  llvm::StringSet<> names;
  for (StringRef key : {"input", "output"})
    for (StringRef name : getEntryNames(graph, key))
      names.insert(name);
  for (Operation &op : graph.getBody().front())
    for (StringRef name : getResultNames(&op))
      names.insert(name);
  return names;
}

void setOrigin(Operation *op, unsigned graph) {
  op->setAttr(kOrigin, Builder(op->getContext()).getI64IntegerAttr(graph));
}

/// The graph that an operation was in, 0 for the main graph; none for those
/// that came later.
static std::optional<unsigned> getOrigin(Operation *op) {
  auto origin = op->getAttrOfType<IntegerAttr>(kOrigin);
  return origin ? std::optional<unsigned>(origin.getInt()) : std::nullopt;
}

/// The operations of a block but the last, from the end, to be erased.
static SmallVector<Operation *> getNodesReversed(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  std::reverse(ops.begin(), ops.end());
  return ops;
}

//===----------------------------------------------------------------------===//
// Join
//===----------------------------------------------------------------------===//

void JoinedTraining::addState(Value value, StringRef name, unsigned graph) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    states.push_back({name.str(), graph, argument.getArgNumber(), true});
    return;
  }
  auto initializer = value.getDefiningOp<onnx::InitializerOp>();
  Block &block = getBlock();
  BlockArgument argument =
      block.addArgument(value.getType(), initializer.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  onnx::DefaultInputOp::create(builder, initializer.getLoc(), argument,
                               initializer.getValue());
  amp::addEntry(main, "input", getResultNames(initializer).front(), {});
  value.replaceAllUsesWith(argument);
  initializer.erase();
  states.push_back({name.str(), graph, argument.getArgNumber(), false});
}

/// Gives results of an algorithm names that no graph before has; says which.
static llvm::StringMap<std::string> renameResults(Block &block,
                                                  llvm::StringSet<> &names) {
  llvm::StringMap<std::string> renamed;
  for (Operation &op : block)
    for (auto [name, result] :
         llvm::zip_equal(getResultNames(&op), op.getResults())) {
      if (name.empty() || isa<onnx::ReferenceOp>(op))
        continue;
      std::string unique = makeUnique(name, names);
      if (unique == name)
        continue;
      renamed[name] = unique;
      setResultName(result, unique);
    }
  return renamed;
}

/// Gradient nodes name values.
static void renameInGradient(Operation *op,
                             const llvm::StringMap<std::string> &renamed) {
  Builder builder(op->getContext());
  auto rename = [&](Attribute name) -> Attribute {
    auto text = dyn_cast<StringAttr>(name);
    auto found = text ? renamed.find(text.getValue()) : renamed.end();
    return found == renamed.end() ? name : builder.getStringAttr(found->second);
  };
  for (StringRef key : {"xs", "zs"})
    if (auto list = op->getAttrOfType<ArrayAttr>(key))
      op->setAttr(key, builder.getArrayAttr(llvm::map_to_vector(list, rename)));
  if (Attribute name = op->getAttr("y"))
    op->setAttr("y", rename(name));
}

/// ONNX does not infer them: gradients have the types of what they are of.
static void inferGradientTypes(Operation *op) {
  for (auto [result, position] :
       llvm::zip_equal(op->getResults(), onnx::outputPositions(op)))
    if (isa<onnx::UnknownType>(result.getType()) &&
        position < op->getNumOperands())
      result.setType(op->getOperand(position).getType());
}

void JoinedTraining::addAlgorithm(func::FuncOp function, Algorithm &algorithm,
                                  llvm::StringSet<> &names,
                                  llvm::StringMap<unsigned> &inputs) {
  unsigned graph = algorithms.size() + 1;
  Block &block = getBlock(), &body = function.getBody().front();
  Operation *terminator = block.getTerminator();
  NamedValues named(main);
  for (auto reference :
       llvm::make_early_inc_range(body.getOps<onnx::ReferenceOp>())) {
    reference.replaceAllUsesWith(named.lookup(reference.getName()));
    reference.erase();
  }
  Operation *end = body.getTerminator();
  SmallVector<bool> isOfMain;
  for (Value value : end->getOperands())
    isOfMain.push_back(value.getParentBlock() == &block);
  llvm::StringMap<std::string> renamed = renameResults(body, names);
  ArrayAttr entries = getEntries(function, "input");
  for (auto [argument, name] :
       llvm::zip(body.getArguments(), getEntryNames(function, "input"))) {
    bool hasDefault = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return isa<onnx::DefaultInputOp>(user);
    });
    // Algorithms whose inputs have one name are fed with one value.
    auto known = inputs.find(name);
    bool isShared =
        !hasDefault && known != inputs.end() &&
        block.getArgument(known->second).getType() == argument.getType();
    std::string unique = name;
    unsigned index = isShared ? known->second : block.getNumArguments();
    if (!isShared) {
      unique = makeUnique(name, names);
      block.addArgument(argument.getType(), argument.getLoc());
      amp::addEntry(main, "input", unique, entries[argument.getArgNumber()]);
      if (!hasDefault)
        inputs.try_emplace(name, index);
    } else {
      unique = getEntryNames(main, "input")[index];
    }
    if (unique != name)
      renamed[name] = unique;
    algorithm.inputs.push_back(index);
    argument.replaceAllUsesWith(block.getArgument(index));
  }
  for (Operation &op : body.without_terminator()) {
    setOrigin(&op, graph);
    renameNodes(&op, nodeNames);
    if (op.getName().getStringRef() == kGradient) {
      renameInGradient(&op, renamed);
      inferGradientTypes(&op);
    }
  }
  algorithm.firstOutput = terminator->getNumOperands();
  algorithm.numOutputs = end->getNumOperands();
  terminator->insertOperands(algorithm.firstOutput, end->getOperands());
  ArrayAttr outputs = getEntries(function, "output");
  for (auto [i, name] : llvm::enumerate(getEntryNames(function, "output"))) {
    // Names of what it computes itself are its own already.
    auto found = renamed.find(name);
    std::string unique = found != renamed.end() ? found->second : name;
    if (isOfMain[i])
      unique = makeUnique(name, names);
    else
      names.insert(unique);
    amp::addEntry(main, "output", unique, outputs[i]);
  }
  end->erase();
  block.getOperations().splice(terminator->getIterator(), body.getOperations());
  body.erase();
  function->remove();
  algorithm.function = function;
}

FailureOr<JoinedTraining> JoinedTraining::join(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.getBody().empty())
    return module.emitError("has no main graph to train");
  std::vector<TrainingInfo> infos = readTrainingInfos(module);
  if (failed(verifyTrainingInfos(main, infos)))
    return failure();
  JoinedTraining joined(module);
  joined.main = main;
  Block &block = main.getBody().front();
  joined.numInputs = block.getNumArguments();
  joined.numOutputs = block.getTerminator()->getNumOperands();
  for (Operation &op : block.without_terminator())
    setOrigin(&op, 0);

  collectNodeNames(main, joined.nodeNames);
  llvm::StringSet<> names = collectNames(main);
  llvm::StringSet<> assigned;
  llvm::StringMap<unsigned> inputs;
  auto forEachKey = [&](const TrainingInfo &info, auto visit) {
    for (const auto *bindings :
         {&info.updateBindings, &info.initializationBindings})
      for (const Binding &binding : *bindings)
        visit(binding.key);
  };
  NamedValues named(main);
  for (const TrainingInfo &info : infos)
    forEachKey(info, [&](StringRef key) {
      // An initializer is another value once it is state.
      if (assigned.contains(key))
        return;
      Value value = asInitializer(named.lookup(key));
      if (value && assigned.insert(key).second)
        joined.addState(value, key, 0);
    });
  for (TrainingInfo &info : infos) {
    unsigned graph = joined.algorithms.size() + 1;
    Algorithm algorithm;
    algorithm.firstOutput = block.getTerminator()->getNumOperands();
    for (const auto &[key, value] : info.updateBindings)
      algorithm.updates.push_back({key, value});
    if (info.initialization) {
      info.initialization->remove();
      algorithm.initialization = info.initialization;
    }
    SmallVector<std::pair<Value, std::string>> own;
    if (info.algorithm) {
      llvm::StringSet<> seen;
      NamedValues values(info.algorithm);
      forEachKey(info, [&](StringRef key) {
        Value value = asInitializer(values.lookup(key));
        if (value && seen.insert(key).second)
          own.push_back({value, key.str()});
      });
      SmallVector<std::optional<unsigned>> arguments;
      for (auto &[value, key] : own) {
        auto argument = dyn_cast<BlockArgument>(value);
        arguments.push_back(
            argument ? std::optional<unsigned>(argument.getArgNumber())
                     : std::nullopt);
      }
      joined.addAlgorithm(info.algorithm, algorithm, names, inputs);
      for (auto [state, argument] : llvm::zip_equal(own, arguments))
        if (argument)
          state.first = block.getArgument(algorithm.inputs[*argument]);
    }
    for (auto &[value, key] : own)
      joined.addState(value, key, graph);
    joined.algorithms.push_back(std::move(algorithm));
  }
  updateType(main);
  return joined;
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// What outputs of the main graph depend on, and the nodes that it had, unless
/// they depend on an algorithm now.
GraphSlice JoinedTraining::findMainGraph() {
  Block &block = getBlock();
  llvm::DenseSet<Value> ofAlgorithms;
  for (const Algorithm &algorithm : algorithms)
    for (unsigned input : algorithm.inputs)
      ofAlgorithms.insert(block.getArgument(input));
  for (const State &state : states)
    if (state.graph != 0)
      ofAlgorithms.insert(block.getArgument(state.argument));
  SmallVector<Operation *> roots;
  for (Operation &op : block.without_terminator()) {
    std::optional<unsigned> origin = getOrigin(&op);
    bool isOfAlgorithm = origin && *origin != 0;
    visitReadValues(&op, [&](Value value) {
      isOfAlgorithm |= ofAlgorithms.contains(value);
    });
    if (isOfAlgorithm)
      ofAlgorithms.insert(op.result_begin(), op.result_end());
    else if (origin)
      roots.push_back(&op);
  }
  return sliceGraph(block,
                    block.getTerminator()->getOperands().take_front(numOutputs),
                    roots);
}

void JoinedTraining::splitAlgorithm(unsigned index, ReferenceNames &names) {
  Algorithm &algorithm = algorithms[index];
  func::FuncOp function = algorithm.function.get();
  if (!function)
    return;
  Block &block = getBlock(), &body = function.getBody().emplaceBlock();
  IRMapping map;
  for (unsigned input : algorithm.inputs) {
    BlockArgument argument = block.getArgument(input);
    map.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
  }
  for (const State &state : states) {
    if (state.graph != index + 1 || state.wasInput)
      continue;
    BlockArgument argument = block.getArgument(state.argument);
    OpBuilder initializers = OpBuilder::atBlockEnd(&body);
    for (Operation *user : argument.getUsers())
      if (auto initial = dyn_cast<onnx::DefaultInputOp>(user)) {
        auto op =
            onnx::InitializerOp::create(initializers, initial.getLoc(),
                                        argument.getType(), initial.getValue());
        setResultName(op->getResult(0), state.name);
        map.map(argument, op.getResult());
      }
  }
  auto addReference = [&](Value value) {
    if (map.contains(value))
      return;
    std::string name = names.get(value);
    OpBuilder references = OpBuilder::atBlockBegin(&body);
    auto op = onnx::ReferenceOp::create(references, value.getLoc(),
                                        value.getType(), name);
    setResultName(op->getResult(0), name);
    map.map(value, op.getResult());
  };

  SmallVector<Operation *> roots;
  for (Operation &op : block.without_terminator())
    if (getOrigin(&op) == index + 1)
      roots.push_back(&op);
  auto outputs = block.getTerminator()->getOperands().slice(
      algorithm.firstOutput, algorithm.numOutputs);
  GraphSlice slice = sliceGraph(block, outputs, roots);
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  for (Operation &op : block.without_terminator()) {
    if (!slice.contains(&op) || names.getPart().contains(&op))
      continue;
    visitReadValues(&op, [&](Value value) {
      Operation *maker = value.getDefiningOp();
      if (!maker || names.getPart().contains(maker))
        addReference(value);
    });
    Operation *copy = builder.clone(op, map);
    copy->removeAttr(kOrigin);
    for (OpResult result : copy->getResults())
      if (names.isTaken(getResultNames(copy)[result.getResultNumber()]))
        setResultName(result, "");
  }
  SmallVector<Value> results;
  for (auto [value, name] :
       llvm::zip(outputs, getEntryNames(function, "output"))) {
    Operation *maker = value.getDefiningOp();
    if (!maker || names.getPart().contains(maker))
      addReference(value);
    Value result = map.lookup(value);
    // An output can't rename what the main graph makes.
    if (auto reference = result.getDefiningOp<onnx::ReferenceOp>();
        reference && reference.getName() != name)
      result = onnx::IdentityOp::create(builder, value.getLoc(),
                                        value.getType(), result);
    results.push_back(result);
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  updateType(function);
}

/// What was an initializer of the main graph is one again.
void JoinedTraining::endStates() {
  Block &block = getBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  llvm::BitVector ended(block.getNumArguments());
  SmallVector<std::string> names = getEntryNames(main, "input");
  for (const State &state : states) {
    if (state.wasInput)
      continue;
    BlockArgument argument = block.getArgument(state.argument);
    ended.set(state.argument);
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      auto initial = dyn_cast<onnx::DefaultInputOp>(user);
      if (!initial)
        continue;
      if (state.graph == 0) {
        auto op = onnx::InitializerOp::create(
            builder, initial.getLoc(), argument.getType(), initial.getValue());
        setResultName(op->getResult(0), state.name);
        argument.replaceUsesWithIf(op.getResult(), [](OpOperand &use) {
          return !isa<onnx::DefaultInputOp>(use.getOwner());
        });
      }
      initial.erase();
      break;
    }
  }
  for (const Algorithm &algorithm : algorithms)
    for (unsigned input : algorithm.inputs)
      ended.set(input);
  block.eraseArguments(ended);
}

void JoinedTraining::split() {
  Block &block = getBlock();
  Operation *terminator = block.getTerminator();
  GraphSlice part = findMainGraph();
  ReferenceNames names(main, part, numOutputs);
  for (unsigned i = 0; i < algorithms.size(); ++i)
    splitAlgorithm(i, names);
  terminator->eraseOperands(numOutputs,
                            terminator->getNumOperands() - numOutputs);
  for (Operation *op : getNodesReversed(block)) {
    op->removeAttr(kOrigin);
    auto initial = dyn_cast<onnx::DefaultInputOp>(op);
    bool isOfState =
        initial && llvm::any_of(states, [&](const State &state) {
          return !state.wasInput &&
                 initial.getInput() == block.getArgument(state.argument);
        });
    if (!part.contains(op) && !isOfState)
      op->erase();
  }
  endStates();
  truncateEntries(main, "input", numInputs);
  truncateEntries(main, "output", numOutputs);
  updateType(main);
  for (Algorithm &algorithm : algorithms)
    for (auto *function : {&algorithm.initialization, &algorithm.function})
      if (*function)
        module.push_back(function->release());
}

//===----------------------------------------------------------------------===//
// Flatten
//===----------------------------------------------------------------------===//

/// Computes values anew where they depend on what `state` maps, and maps them.
/// Operations of the main graph stay; others are stale then.
static void recompute(Block &block, ValueRange values, IRMapping &state,
                      GraphSlice &stale) {
  GraphSlice slice = sliceGraph(block, values);
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (slice.contains(&op))
      ops.push_back(&op);
  OpBuilder builder(block.getTerminator());
  for (Operation *op : ops) {
    bool isStale = false;
    visitReadValues(op, [&](Value value) { isStale |= state.contains(value); });
    if (!isStale)
      continue;
    Operation *copy = builder.clone(*op, state);
    if (getOrigin(op) == 0) {
      copy->walk([](Operation *inner) { forgetNames(inner); });
      continue;
    }
    stale.insert(op);
    for (OpResult result : op->getResults())
      setResultName(result, "");
  }
}

void JoinedTraining::update(unsigned index, IRMapping &state,
                            DenseSet<Operation *> &stale) {
  Algorithm &algorithm = algorithms[index];
  Block &block = getBlock();
  Operation *terminator = block.getTerminator();
  SmallVector<std::string> outputs =
      algorithm.function ? getEntryNames(*algorithm.function, "output")
                         : SmallVector<std::string>();
  SmallVector<std::string> mainOutputs = getEntryNames(main, "output"),
                           mainInputs = getEntryNames(main, "input");
  /// The output of @main that has a value of this algorithm.
  auto findOutput = [&](StringRef name) -> unsigned {
    if (auto found = llvm::find(outputs, name); found != outputs.end())
      return algorithm.firstOutput + (found - outputs.begin());
    return llvm::find(mainOutputs, name) - mainOutputs.begin();
  };
  SmallVector<unsigned> needed;
  for (unsigned i = 0; i < algorithm.numOutputs; ++i)
    needed.push_back(algorithm.firstOutput + i);
  for (auto &[key, value] : algorithm.updates)
    needed.push_back(findOutput(value));
  recompute(block,
            llvm::map_to_vector(
                needed, [&](unsigned i) { return terminator->getOperand(i); }),
            state, stale);
  for (unsigned i = 0; i < algorithm.numOutputs; ++i)
    terminator->setOperand(algorithm.firstOutput + i,
                           state.lookupOrDefault(terminator->getOperand(
                               algorithm.firstOutput + i)));

  SmallVector<StatePair> pairs;
  SmallVector<std::pair<Value, Value>> assigned;
  for (auto &[key, value] : algorithm.updates) {
    auto found = llvm::find_if(states, [&, &key = key](const State &known) {
      return known.name == key &&
             (known.graph == 0 || known.graph == index + 1);
    });
    unsigned output = findOutput(value);
    Value next = state.lookupOrDefault(terminator->getOperand(output));
    std::string name = mainOutputs[output];
    // What the main graph returns is of the state before all algorithms.
    if (next != terminator->getOperand(output)) {
      name = nextName(key);
      addOutput(main, name, next);
    }
    pairs.push_back({mainInputs[found->argument], name});
    assigned.push_back({block.getArgument(found->argument), next});
  }
  addStatePairs(module, pairs);
  // What was computed anew is no state.
  IRMapping values;
  for (const State &known : states)
    if (Value argument = block.getArgument(known.argument);
        state.contains(argument))
      values.map(argument, state.lookup(argument));
  for (auto [argument, next] : assigned)
    values.map(argument, next);
  state = values;
}

LogicalResult JoinedTraining::flatten() {
  // They name values of before.
  if (failed(expandGradients(main)))
    return failure();
  if (llvm::any_of(algorithms, [](const Algorithm &algorithm) {
        return bool(algorithm.initialization);
      }))
    module.emitWarning("the initialization graphs of training_info are left "
                       "out: the state begins as its initializers say");
  Block &block = getBlock();
  writeBindings(module, {});
  IRMapping state;
  GraphSlice stale;
  for (unsigned i = 0; i < algorithms.size(); ++i)
    update(i, state, stale);
  for (Operation *op : getNodesReversed(block)) {
    op->removeAttr(kOrigin);
    if (stale.contains(op) && op->use_empty())
      op->erase();
  }
  updateType(main);
  return success();
}

} // namespace amp
