//===- AttachOptimizer.cpp - amp-attach-optimizer -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LearningRate.h"
#include "MergeScalars.h"
#include "NamedValues.h"
#include "Optimizers.h"
#include "ParameterGroups.h"
#include "Settings.h"
#include "StepCounters.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "llvm/Support/Regex.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_ATTACHOPTIMIZER
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::Expr;
using onnx::NodeBuilder;
using onnx::ONNXDialect;

/// A parameter, and what an update changes besides.
struct Parameter {
  std::string name;
  BlockArgument value;
  Value gradient;
  ParameterGroup group;
  SmallVector<OptimizerSlot> slots; ///< the average of weights is the last
  SmallVector<BlockArgument> slotValues;
};

class AttachOptimizerPass
    : public impl::AttachOptimizerBase<AttachOptimizerPass> {
public:
  using AttachOptimizerBase::AttachOptimizerBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(attach(main)))
      signalPassFailure();
  }

private:
  LogicalResult attach(func::FuncOp main);
  LogicalResult findParameters(func::FuncOp main);
  std::string makeSuffix(func::FuncOp main);
  llvm::Error readOptions();
  llvm::Error groupParameters();
  void addSlots(func::FuncOp main);
  LogicalResult addAverages(func::FuncOp main);
  void clipValues(OpBuilder &builder, func::FuncOp main,
                  MutableArrayRef<Value> gradients);
  SmallVector<Value> update(OpBuilder &builder, func::FuncOp main,
                            ArrayRef<Value> gradients, Value count);
  void addCounters(func::FuncOp main, StringRef suffix, Value found,
                   ArrayRef<Value> unscaled);

  std::shared_ptr<const Optimizer> rule; // passes are copied
  LearningRate rate;
  SmallVector<Parameter> parameters;
};

llvm::Error AttachOptimizerPass::readOptions() {
  llvm::Expected<std::unique_ptr<Optimizer>> created =
      Optimizer::create(optimizer, settings);
  if (!created)
    return created.takeError();
  rule = std::move(*created);
  if (learningRate < 0)
    learningRate = rule->getDefaultRate();
  if (weightDecay < 0)
    weightDecay = rule->getDefaultWeightDecay();
  for (auto [setting, value] :
       {std::pair<Setting, double>{{"lr", nullptr}, learningRate},
        {{"weight-decay", nullptr}, weightDecay},
        {{"clip-norm", nullptr}, clipNorm},
        {{"clip-value", nullptr}, clipValue},
        {{"ema", nullptr, 0, 1}, averageDecay}})
    if (llvm::Error error = checkSetting(setting, value))
      return error;
  llvm::Expected<LearningRate> parsed =
      LearningRate::parse(schedule, learningRate);
  if (!parsed)
    return parsed.takeError();
  rate = *parsed;
  return llvm::Error::success();
}

llvm::Error AttachOptimizerPass::groupParameters() {
  auto names = llvm::map_to_vector(parameters, [](const Parameter &parameter) {
    return StringRef(parameter.name);
  });
  llvm::Expected<SmallVector<ParameterGroup>> found =
      amp::groupParameters(names, groups, {1, weightDecay});
  if (!found)
    return found.takeError();
  for (auto [parameter, group] : llvm::zip_equal(parameters, *found))
    parameter.group = group;
  return llvm::Error::success();
}

/// The parameters that this optimizer is for. Their gradients end here.
LogicalResult AttachOptimizerPass::findParameters(func::FuncOp main) {
  llvm::Expected<llvm::Regex> regex = getWholeNameRegex(parameterNames);
  if (!regex)
    return main.emitError()
           << "parameters: " << llvm::toString(regex.takeError());
  SmallVector<llvm::Regex, 0> taboo;
  for (StringRef other : others) {
    llvm::Expected<llvm::Regex> expression = getWholeNameRegex(other);
    if (!expression)
      return main.emitError()
             << "others: " << llvm::toString(expression.takeError());
    taboo.push_back(std::move(*expression));
  }
  Operation *terminator = main.getBody().front().getTerminator();
  // Optimizers before this one may have taken all.
  FailureOr<SmallVector<TrainedInput>> trained = SmallVector<TrainedInput>();
  auto isGradient = [&](unsigned output) {
    return getOutputName(main, output).ends_with(kGradientSuffix);
  };
  if (makeSuffix(main).empty() ||
      llvm::any_of(llvm::seq(terminator->getNumOperands()), isGradient))
    trained = findTrainedInputs(main);
  if (failed(trained))
    return failure();
  llvm::BitVector taken(terminator->getNumOperands());
  for (const TrainedInput &input : *trained)
    if (regex->match(input.name) &&
        llvm::none_of(taboo, [&](const llvm::Regex &other) {
          return other.match(input.name);
        })) {
      parameters.push_back({input.name,
                            input.value,
                            terminator->getOperand(input.gradient),
                            {},
                            {},
                            {}});
      taken.set(input.gradient);
    }
  if (parameters.empty() && (taboo.empty() || !groups.empty()))
    return main.emitError() << "parameters: none that has no optimizer yet has "
                               "a name like "
                            << quoted(parameterNames);
  eraseOutputs(main, taken);
  return success();
}

/// Behind the names of what each optimizer has: nothing for the first.
std::string AttachOptimizerPass::makeSuffix(func::FuncOp main) {
  NamedValues named(main);
  std::string suffix;
  for (unsigned number = 2; named.lookup("amp.step" + suffix); ++number)
    suffix = "." + std::to_string(number);
  return suffix;
}

void AttachOptimizerPass::addSlots(func::FuncOp main) {
  Type f32 = Float32Type::get(main.getContext());
  InterfaceUpdate interface(main);
  for (Parameter &parameter : parameters) {
    auto type = cast<RankedTensorType>(parameter.value.getType());
    parameter.slots = rule->getSlots(type.getShape());
    for (const OptimizerSlot &slot : parameter.slots)
      parameter.slotValues.push_back(interface.addInput(
          parameter.name + "." + slot.name,
          DenseElementsAttr::get(RankedTensorType::get(slot.shape, f32),
                                 static_cast<float>(slot.initial))));
  }
}

/// Averages of the weights begin with the initial weights.
LogicalResult AttachOptimizerPass::addAverages(func::FuncOp main) {
  if (averageDecay == 0)
    return success();
  llvm::DenseMap<Value, TypedAttr> initial;
  for (auto known : main.getBody().front().getOps<onnx::DefaultInputOp>())
    initial[known.getInput()] = known.getValue();
  InterfaceUpdate interface(main);
  for (Parameter &parameter : parameters) {
    TypedAttr value = initial.lookup(parameter.value);
    if (!value)
      return main.emitError() << "ema: parameter " << quoted(parameter.name)
                              << " has no initial value";
    auto type = cast<RankedTensorType>(parameter.value.getType());
    parameter.slots.push_back({"ema", llvm::to_vector(type.getShape())});
    parameter.slotValues.push_back(
        interface.addInput(parameter.name + ".ema", value));
  }
  return success();
}

/// torch.nn.utils.clip_grad_value_; NaN stays.
void AttachOptimizerPass::clipValues(OpBuilder &builder, func::FuncOp main,
                                     MutableArrayRef<Value> gradients) {
  NodeBuilder b(builder, main);
  Type f32 = builder.getF32Type();
  Expr least = b.number(-clipValue, f32), most = b.number(clipValue, f32);
  for (Value &gradient : gradients)
    gradient = b.apply("Clip", {gradient, least, most});
}

/// The new parameters, then the new slots, in their order, then the new count.
SmallVector<Value> AttachOptimizerPass::update(OpBuilder &builder,
                                               func::FuncOp main,
                                               ArrayRef<Value> gradients,
                                               Value count) {
  NodeBuilder b(builder, main);
  Block *block = builder.getInsertionBlock();
  Block::iterator end = builder.getInsertionPoint();
  Operation *before = end == block->begin() ? nullptr : &*std::prev(end);
  Type f64 = builder.getF64Type();
  Expr next = b.apply("Add", {count, b.integer(1)});
  Expr number = b.cast(next, f64);
  Expr scheduled = rate.buildFactor(number);
  SmallVector<Value> changed, slots;
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients)) {
    ParameterUpdate step{b,
                         b.expr(parameter.value),
                         b.expr(gradient),
                         rate.build(b, scheduled, parameter.group.rateFactor),
                         number,
                         parameter.group.weightDecay,
                         {}};
    ArrayRef<BlockArgument> old(parameter.slotValues);
    bool hasAverage = averageDecay != 0;
    for (Value slot : old.drop_back(hasAverage))
      step.slots.push_back(b.expr(slot));
    rule->update(step);
    changed.push_back(step.parameter);
    llvm::append_range(slots, step.slots);
    if (hasAverage)
      slots.push_back(
          updateAverage(b.expr(old.back()), step.parameter, averageDecay));
  }
  llvm::append_range(changed, slots);
  changed.push_back(next);
  mergeScalars(*block, before, end, changed);
  return changed;
}

/// `found` is null where nothing is scaled.
void AttachOptimizerPass::addCounters(func::FuncOp main, StringRef suffix,
                                      Value found, ArrayRef<Value> unscaled) {
  OpBuilder builder(main.getBody().front().getTerminator());
  NodeBuilder b(builder, main);
  addOutput(main, ("amp.zero_gradients" + suffix).str(),
            buildZeroShare(b, unscaled));
  if (!found)
    return;
  SmallVector<StatePair> pairs;
  auto addCounter = [&](StringRef name, int64_t initial,
                        llvm::function_ref<Value(Value)> next) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    std::string full = (name + suffix).str();
    Value old = addInput(main, full, DenseElementsAttr::get(type, initial));
    addOutput(main, nextName(full), next(old));
    pairs.push_back({full, nextName(full)});
  };
  addCounter("amp.skipped_steps", 0, [&](Value old) -> Value {
    return b.expr(old) + b.cast(b.expr(found), builder.getI64Type());
  });
  // In the order in which they are computed: an overflow spreads from the loss
  // back.
  auto unscale = found.getDefiningOp<UnscaleOp>();
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, parameters.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    Operation *one = parameters[a].gradient.getDefiningOp();
    Operation *other = parameters[b].gradient.getDefiningOp();
    if (one == other)
      return a < b;
    return other && (!one || one->isBeforeInBlock(other));
  });
  SmallVector<Value> ordered;
  llvm::json::Array names;
  for (unsigned i : order) {
    // Where found_inf looks.
    ordered.push_back(unscale.getMode() == ScalerMode::Torch
                          ? parameters[i].gradient
                          : unscaled[i]);
    names.push_back(llvm::json::fixUTF8(parameters[i].name));
  }
  addCounter("amp.first_overflow", -1, [&](Value old) {
    return buildFirstOverflow(b, found, old, ordered);
  });
  addStatePairs(getOperation(), pairs);
  setMetadata(getOperation(), ("amp.parameters" + suffix).str(),
              std::move(names));
}

LogicalResult AttachOptimizerPass::attach(func::FuncOp main) {
  std::optional<ScalerMode> mode = symbolizeScalerMode(scalerMode);
  if (!mode)
    return main.emitError() << "scaler-mode: expects torch or safe, but got "
                            << quoted(scalerMode);
  if (llvm::Error error = readOptions())
    return main.emitError() << llvm::toString(std::move(error));
  if (failed(findParameters(main)))
    return failure();
  if (parameters.empty())
    return success();
  if (llvm::Error error = groupParameters())
    return main.emitError() << llvm::toString(std::move(error));
  Builder types(main.getContext());
  auto scalar = [&](Type element) {
    return RankedTensorType::get({}, element);
  };
  addSlots(main);
  if (failed(addAverages(main)))
    return failure();
  std::string suffix = makeSuffix(main);
  Value count =
      addInput(main, "amp.step" + suffix,
               DenseElementsAttr::get(scalar(types.getI64Type()), int64_t(0)));
  rate.addInputTo(main, suffix);
  NamedValues named(main);
  Value scale = seed.empty() ? Value() : named.lookup(seed);
  if (!seed.empty() && !scale)
    return main.emitError() << "seed: no value is named " << quoted(seed);

  OpBuilder builder(main.getBody().front().getTerminator());
  Location loc = main.getLoc();
  SmallVector<Value> gradients;
  for (Parameter &parameter : parameters)
    gradients.push_back(parameter.gradient);
  // Gradients of float32 parameters are float32.
  Value found;
  SmallVector<StatePair> pairs;
  if (scale) {
    SmallVector<Type> results(ValueRange(gradients).getTypes());
    results.push_back(scalar(types.getI1Type()));
    auto unscale = UnscaleOp::create(
        builder, loc, results, ScalerModeAttr::get(main.getContext(), *mode),
        gradients, scale);
    gradients.assign(unscale.getUnscaled().begin(),
                     unscale.getUnscaled().end());
    found = unscale.getFoundInf();
  }
  SmallVector<Value> unscaled = gradients;
  if (clipValue > 0)
    clipValues(builder, main, gradients);
  if (clipNorm > 0) {
    SmallVector<Type> results(ValueRange(gradients).getTypes());
    results.push_back(scalar(types.getF32Type()));
    auto clip = ClipGradNormOp::create(builder, loc, results, gradients,
                                       types.getF64FloatAttr(clipNorm),
                                       types.getF64FloatAttr(1e-6));
    gradients.assign(clip.getClipped().begin(), clip.getClipped().end());
  }

  SmallVector<Value> state;
  SmallVector<std::string> names;
  for (Parameter &parameter : parameters) {
    state.push_back(parameter.value);
    names.push_back(parameter.name);
  }
  for (Parameter &parameter : parameters)
    for (auto [slot, value] :
         llvm::zip_equal(parameter.slots, parameter.slotValues)) {
      state.push_back(value);
      names.push_back(parameter.name + "." + slot.name);
    }
  state.push_back(count);
  names.push_back("amp.step" + suffix);

  SmallVector<Value> next;
  if (found) {
    auto guard = GuardOp::create(builder, loc, ValueRange(state).getTypes(),
                                 found, state);
    OpBuilder inside = OpBuilder::atBlockBegin(&guard.getBody().emplaceBlock());
    SmallVector<Value> changed = update(inside, main, gradients, count);
    for (auto [value, old] : llvm::zip_equal(changed, state))
      value.setType(old.getType());
    YieldOp::create(inside, loc, changed);
    llvm::append_range(next, guard.getNewState());
  } else {
    next = update(builder, main, gradients, count);
  }
  {
    InterfaceUpdate interface(main);
    for (auto [name, value] : llvm::zip_equal(names, next)) {
      interface.addOutput(nextName(name), value);
      pairs.push_back({name, nextName(name)});
    }
    if (found)
      interface.addOutput("amp.found_inf" + suffix, found);
  }
  addStatePairs(getOperation(), pairs);
  if (counters)
    addCounters(main, suffix, found, unscaled);
  return success();
}

} // namespace
} // namespace amp
