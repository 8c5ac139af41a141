//===- TrainingPipeline.cpp - a training step in reading order ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LearningRate.h"
#include "LossTerms.h"
#include "OptimizerGroups.h"
#include "Optimizers.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Pipelines.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Pass/PassRegistry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace mlir;
using namespace amp;

/// An error if a number is not in its range; `range` says which.
static llvm::Error expectThat(bool isInRange, StringRef option, StringRef range,
                              double got) {
  if (isInRange)
    return llvm::Error::success();
  return llvm::createStringError("%s expects %s, but got %g",
                                 option.str().c_str(), range.str().c_str(),
                                 got);
}

/// The losses that options name: the loss of the model, if they name none.
static SmallVector<std::string>
getLosses(const TrainingPipelineOptions &options) {
  SmallVector<std::string> losses(options.losses.begin(), options.losses.end());
  if (losses.empty())
    losses.push_back(kLossName.str());
  return losses;
}

/// An error if a loss can't be what options say.
static llvm::Error checkLosses(const TrainingPipelineOptions &options) {
  llvm::Expected<SmallVector<LossTerm>> terms =
      parseLossTerms(getLosses(options));
  if (!terms)
    return terms.takeError();
  if (auto axis = parseClassAxis(options.classAxis); !axis)
    return axis.takeError();
  return llvm::Error::success();
}

llvm::Error amp::checkTrainingOptions(const TrainingPipelineOptions &options) {
  if (llvm::Error error = checkLosses(options))
    return error;
  std::string problem;
  if (!llvm::Regex("^(" + options.trainable + ")$").isValid(problem))
    return llvm::createStringError("trainable: " + quoted(options.trainable) +
                                   " is no regular expression: " + problem);
  if (auto rule = Optimizer::create(options.optimizer, options.settings); !rule)
    return rule.takeError();
  if (auto groups = splitGroups(options.groups); !groups)
    return groups.takeError();
  if (options.scalerMode != "torch" && options.scalerMode != "safe")
    return llvm::createStringError("scaler-mode expects torch or safe, but "
                                   "got " +
                                   quoted(options.scalerMode));

  auto isPositive = [](double number) {
    return std::isfinite(number) && number > 0;
  };
  if (llvm::Error error = expectThat(std::isfinite(options.learningRate), "lr",
                                     "a finite number", options.learningRate))
    return error;
  if (llvm::Error error =
          expectThat(std::isfinite(options.weightDecay), "weight-decay",
                     "a finite number", options.weightDecay))
    return error;
  for (auto [option, number] :
       {std::pair<StringRef, double>{"clip-norm", options.clipNorm},
        {"clip-value", options.clipValue}})
    if (llvm::Error error =
            expectThat(number == 0 || isPositive(number), option,
                       "a positive number, or 0 for none", number))
      return error;
  if (llvm::Error error =
          expectThat(options.averageDecay >= 0 && options.averageDecay < 1,
                     "ema", "a number from 0 to below 1", options.averageDecay))
    return error;
  if (!options.recompute.empty())
    if (auto recompute = parseRecompute(options.recompute); !recompute)
      return llvm::createStringError("recompute " +
                                     llvm::toString(recompute.takeError()));
  if (auto rate = LearningRate::parse(options.schedule, 0); !rate)
    return rate.takeError();
  if (options.stochasticRounding && options.low != "bf16")
    return llvm::createStringError(
        "stochastic-rounding goes with bf16, but the low format is " +
        options.low);
  if (options.lossScale == LossScaling::None)
    return llvm::Error::success();
  if (llvm::Error error =
          expectThat(isPositive(static_cast<float>(options.initScale)),
                     options.lossScale == LossScaling::Static ? "loss-scale"
                                                              : "init-scale",
                     "a positive number of float32", options.initScale))
    return error;
  if (options.lossScale == LossScaling::Static)
    return llvm::Error::success();
  if (llvm::Error error = expectThat(
          isPositive(options.growthFactor) && options.growthFactor > 1,
          "growth-factor", "a number above 1", options.growthFactor))
    return error;
  if (llvm::Error error = expectThat(
          isPositive(options.backoffFactor) && options.backoffFactor < 1,
          "backoff-factor", "a number between 0 and 1", options.backoffFactor))
    return error;
  return expectThat(options.growthInterval >= 1 &&
                        options.growthInterval <=
                            std::numeric_limits<int32_t>::max(),
                    "growth-interval", "a number from 1 to 2^31 - 1",
                    double(options.growthInterval));
}

void amp::buildTrainingPreparation(OpPassManager &manager,
                                   const TrainingPipelineOptions &options) {
  bool isMixed = options.low != "none";
  manager.addPass(createInferTypes());
  RaiseOpsetOptions raise;
  // Without a low format, nothing needs another opset for float32's own sake.
  raise.low = isMixed ? options.low.getValue() : "tf32";
  raise.policy = isMixed ? options.policy.getValue() : "tf32";
  raise.minOpset = onnx::NodeBuilder::kMinOpset;
  // What gradients are made of has bfloat16 from then on.
  if (options.low == "bf16")
    raise.preferredOpset = 22;
  manager.addPass(createRaiseOpset(std::move(raise)));
}

static GroupsByKind getGroups(const TrainingPipelineOptions &options) {
  llvm::Expected<GroupsByKind> split = splitGroups(options.groups);
  if (split)
    return std::move(*split);
  // checkTrainingOptions() says it.
  llvm::consumeError(split.takeError());
  return {};
}

std::string amp::listOptimizers(const TrainingPipelineOptions &options) {
  SmallVector<StringRef> names = {options.optimizer};
  GroupsByKind groups = getGroups(options);
  for (const OptimizerGroup &group : groups.own)
    if (!llvm::is_contained(names, group.optimizer))
      names.push_back(group.optimizer);
  std::string text = llvm::join(ArrayRef(names).drop_back(), ", ");
  return text + (text.empty() ? "" : " and ") + names.back().str();
}

/// The optimizer, and those that groups have for themselves behind it.
static void addOptimizers(OpPassManager &manager,
                          const TrainingPipelineOptions &options,
                          const std::string &seed) {
  GroupsByKind groups = getGroups(options);
  AttachOptimizerOptions common;
  common.schedule = options.schedule;
  common.averageDecay = options.averageDecay;
  common.clipValue = options.clipValue;
  common.clipNorm = options.clipNorm;
  common.counters = options.counters;
  common.seed = seed;
  common.scalerMode = options.scalerMode;

  AttachOptimizerOptions attach = common;
  attach.optimizer = options.optimizer;
  attach.learningRate = options.learningRate;
  attach.weightDecay = options.weightDecay;
  attach.settings.assign(options.settings.begin(), options.settings.end());
  attach.groups.assign(groups.shared.begin(), groups.shared.end());
  for (const OptimizerGroup &group : groups.own)
    attach.others.push_back(group.parameters);
  manager.addPass(createAttachOptimizer(std::move(attach)));
  for (const OptimizerGroup &group : groups.own) {
    AttachOptimizerOptions own = common;
    own.parameterNames = group.parameters;
    own.optimizer = group.optimizer;
    own.learningRate = group.rate;
    own.weightDecay = group.weightDecay;
    own.settings.assign(group.settings.begin(), group.settings.end());
    manager.addPass(createAttachOptimizer(std::move(own)));
  }
}

void amp::buildWholeStep(OpPassManager &manager,
                         const TrainingPipelineOptions &options) {
  bool isMixed = options.low != "none";

  // 1. Types, and an opset that gradients are built in, and that has the low
  //    format.
  buildTrainingPreparation(manager, options);

  // 2. What nodes do in training.
  TrainingFormOptions form;
  form.batchNorm = options.trainBatchNorm ? NodeForm::Train : NodeForm::Keep;
  form.dropout = options.trainDropout ? NodeForm::Train : NodeForm::Keep;
  form.unbiasedVariance = options.unbiasedVariance;
  form.scalerMode = options.scalerMode;
  form.seed = options.randomSeed;
  manager.addPass(createTrainingForm(std::move(form)));

  // 3. A loss, and what it is to be trained: initializers become state.
  BuildLossOptions buildLoss;
  SmallVector<std::string> losses = getLosses(options);
  buildLoss.losses.assign(losses.begin(), losses.end());
  buildLoss.outputs.assign(options.outputs.begin(), options.outputs.end());
  buildLoss.classAxis = options.classAxis;
  manager.addPass(createBuildLoss(std::move(buildLoss)));
  std::string loss;
  if (llvm::Expected<SmallVector<LossTerm>> terms = parseLossTerms(losses))
    loss = getTrainedLossName(*terms);
  else // amp-build-loss says it
    llvm::consumeError(terms.takeError());
  MakeParametersOptions parameters;
  parameters.loss = loss;
  parameters.trainable = options.trainable;
  manager.addPass(createMakeParameters(std::move(parameters)));

  // 4. Mixed precision of the forward pass. Gradients have the types of their
  //    values.
  auto addAutocast = [&] {
    AutocastPipelineOptions autocast;
    autocast.low = options.low;
    autocast.policy = options.policy;
    autocast.placement = options.placement;
    // State is float32, whatever a policy says of a model's interface.
    autocast.ioTypes = IOTypes::Keep;
    autocast.keepNodes = ArrayRef(std::string(kLossNodes));
    buildAutocastPipeline(manager, autocast);
    manager.addPass(createMergeCasts());
  };
  // tf32 changes no types, and marks nodes: those of the backward pass, too.
  bool isMarked = options.low == "tf32";
  if (isMixed && !isMarked) {
    addAutocast();
    manager.addPass(createConvertAMPToONNX());
  }

  // 5. The backward pass, of the loss times the loss scale.
  std::string seed;
  if (options.lossScale != LossScaling::None) {
    seed = kLossScaleName;
    MakeLossScaleOptions scale;
    scale.initial = options.initScale;
    scale.isDynamic = options.lossScale == LossScaling::Dynamic;
    manager.addPass(createMakeLossScale(std::move(scale)));
  }
  DifferentiateOptions differentiate;
  differentiate.losses = {loss};
  differentiate.seed = seed;
  differentiate.microBatches = options.microBatches;
  manager.addPass(createDifferentiate(std::move(differentiate)));

  if (isMarked)
    addAutocast();
  if (!options.recompute.empty()) {
    llvm::Expected<RecomputeOptions> recompute =
        parseRecompute(options.recompute);
    if (recompute) {
      recompute->losses = {loss};
      recompute->dimensions.assign(options.dimensions.begin(),
                                   options.dimensions.end());
      manager.addPass(createRecompute(std::move(*recompute)));
    } else {
      // checkTrainingOptions() says it.
      llvm::consumeError(recompute.takeError());
    }
  }

  // 6. The update of the parameters and of the loss scale, at every step.
  if (options.microBatches > 1)
    manager.addPass(createAccumulateGradients());
  addOptimizers(manager, options, seed);
  if (options.lossScale == LossScaling::Dynamic) {
    AttachScalerOptions scaler;
    scaler.seed = seed;
    scaler.scalerMode = options.scalerMode;
    scaler.growthFactor = options.growthFactor;
    scaler.backoffFactor = options.backoffFactor;
    scaler.growthInterval = options.growthInterval;
    manager.addPass(createAttachScaler(std::move(scaler)));
  }
}

void amp::buildStepPart(OpPassManager &manager,
                        const TrainingPipelineOptions &options) {
  if (options.microBatches > 1) {
    SplitStepOptions split;
    split.part = options.part;
    manager.addPass(createSplitStep(std::move(split)));
  }
  if (options.stochasticRounding) {
    StochasticRoundingOptions rounding;
    rounding.seed = options.randomSeed;
    manager.addPass(createStochasticRounding(std::move(rounding)));
  }

  // 7. Standard ONNX.
  manager.addPass(createConvertAMPToONNX());
  manager.addPass(createInferTypes());
  manager.addPass(createFinishStep());
}

void amp::buildTrainingPipeline(OpPassManager &manager,
                                const TrainingPipelineOptions &options) {
  buildWholeStep(manager, options);
  buildStepPart(manager, options);
}

void amp::registerTrainingPipelines() {
  PassPipelineRegistration<TrainingPipelineOptions>(
      "amp-train", "A training step of a forward ONNX model, as ONNX",
      buildTrainingPipeline);
}
