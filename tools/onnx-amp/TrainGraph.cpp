//===- TrainGraph.cpp - onnx-amp train-graph ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over the pipeline amp-train: what runs when, and what options
// mean, is in passes/Training/TrainingPipeline.cpp.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModelFile.h"
#include "PolicyArgument.h"
#include "TrainingCommand.h"

#include "amp/Passes/Pipelines.h"
#include "amp/Passes/TrainingInfo.h"
#include "amp/Support/Quoted.h"

#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

using namespace amp;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
struct TrainGraphArguments {
  ModelArguments files;
  std::string applyOutput; ///< where the second graph goes, if there are two
  bool asTrainingInfo = false;
  TrainingPipelineOptions pipeline;
};
} // namespace

/// Sets an option of the pipeline if there is one on the command line; returns
/// the exit code.
template <typename Option>
static int readNumberInto(const llvm::opt::InputArgList &arguments, OptionID id,
                          double least, Option &option) {
  std::optional<double> number =
      readNumber(arguments, id, least, option.getValue());
  if (!number)
    return ExitUsage;
  option = *number;
  return ExitSuccess;
}

/// Reads the policy, to fail before any work is done, and the low format, which
/// it may say; returns the exit code.
static int readPrecision(const llvm::opt::InputArgList &arguments,
                         TrainingPipelineOptions &pipeline) {
  static constexpr StringRef dtypes[] = {"fp16", "bf16", "tf32", "none"};
  static constexpr StringRef placements[] = {"eager", "optimal"};
  std::optional<unsigned> dtype = chooseValue(arguments, OPT_dtype, dtypes, 0);
  std::optional<unsigned> placement =
      dtype ? chooseValue(arguments, OPT_placement, placements, 0)
            : std::nullopt;
  if (!placement)
    return ExitUsage;
  pipeline.placement = *placement ? Placement::Optimal : Placement::Eager;
  pipeline.low = dtypes[*dtype].str();
  pipeline.policy =
      arguments
          .getLastArgValue(OPT_policy,
                           pipeline.low == "tf32" ? "tf32" : "training")
          .str();
  int code = ExitSuccess;
  std::optional<Policy> policy = loadPolicy(pipeline.policy, code);
  if (!policy)
    return code;
  if (!arguments.hasArg(OPT_dtype))
    pipeline.low = policy->low().value_or(FloatFormat::fp16()).name();
  return ExitSuccess;
}

/// The loss scale, for which the format must be known; returns the exit code.
static int readLossScale(const llvm::opt::InputArgList &arguments,
                         TrainingPipelineOptions &pipeline) {
  StringRef text = arguments.getLastArgValue(
      OPT_loss_scale, pipeline.low == "fp16" ? "dynamic" : "none");
  auto [kind, number] = text.split('=');
  double scale = 0;
  if (text == "dynamic")
    pipeline.lossScale = LossScaling::Dynamic;
  else if (text == "none")
    pipeline.lossScale = LossScaling::None;
  else if (kind == "static" && !number.getAsDouble(scale))
    pipeline.lossScale = LossScaling::Static;
  else
    return wrongUsage("--loss-scale expects dynamic, static=NUMBER or none, "
                      "but got " +
                      quoted(text));
  for (OptionID id : {OPT_init_scale, OPT_growth_factor, OPT_backoff_factor,
                      OPT_growth_interval})
    if (const llvm::opt::Arg *argument = arguments.getLastArg(id);
        argument && pipeline.lossScale != LossScaling::Dynamic)
      return wrongUsage(argument->getOption().getPrefixedName() +
                        " goes with --loss-scale dynamic, but that is " +
                        quoted(text));
  if (pipeline.lossScale == LossScaling::Static) {
    pipeline.initScale = scale;
    return ExitSuccess;
  }
  if (int code =
          readNumberInto(arguments, OPT_init_scale, 0, pipeline.initScale))
    return code;
  if (int code = readNumberInto(arguments, OPT_growth_factor, 0,
                                pipeline.growthFactor))
    return code;
  if (int code = readNumberInto(arguments, OPT_backoff_factor, 0,
                                pipeline.backoffFactor))
    return code;
  std::optional<unsigned> interval = readCount(
      arguments, OPT_growth_interval, 1, pipeline.growthInterval.getValue());
  if (!interval)
    return ExitUsage;
  pipeline.growthInterval = *interval;
  return ExitSuccess;
}

/// The names of lists `A,B`, in all that are given.
static std::vector<std::string>
readNames(const llvm::opt::InputArgList &arguments, OptionID id) {
  std::vector<std::string> names;
  for (const std::string &list : arguments.getAllArgValues(id))
    for (StringRef name : llvm::split(list, ','))
      names.push_back(name.str());
  return names;
}

/// What nodes do in training, and what is random; returns the exit code.
static int readTrainingForm(const llvm::opt::InputArgList &arguments,
                            TrainingPipelineOptions &pipeline) {
  static constexpr StringRef forms[] = {"train", "keep"};
  std::optional<unsigned> batchNorm =
      chooseValue(arguments, OPT_batch_norm, forms, 0);
  std::optional<unsigned> dropout =
      batchNorm ? chooseValue(arguments, OPT_dropout, forms, 0) : std::nullopt;
  if (!dropout)
    return ExitUsage;
  pipeline.trainBatchNorm = *batchNorm == 0;
  pipeline.trainDropout = *dropout == 0;
  pipeline.unbiasedVariance = arguments.hasArg(OPT_unbiased_variance);
  pipeline.stochasticRounding = arguments.hasArg(OPT_stochastic_rounding);
  StringRef seed = arguments.getLastArgValue(OPT_seed, "0");
  uint64_t number;
  if (seed.getAsInteger(10, number))
    return wrongUsage("--seed expects a number from 0 to 2^64 - 1, but got " +
                      quoted(seed));
  pipeline.randomSeed = number;
  return ExitSuccess;
}

/// What is computed twice, to save memory; returns the exit code.
static int readRecompute(const llvm::opt::InputArgList &arguments,
                         TrainingPipelineOptions &pipeline) {
  pipeline.recompute = arguments.getLastArgValue(OPT_recompute).str();
  if (arguments.hasArg(OPT_recompute) && pipeline.recompute.empty())
    return wrongUsage("--recompute expects auto, budget=BYTES or nodes=REGEX");
  std::vector<std::string> sizes;
  if (int code = readDimensions(arguments, sizes))
    return code;
  pipeline.dimensions = ArrayRef(sizes);
  return ExitSuccess;
}

/// How many batches make a step, in one graph or two; returns the exit code.
static int readAccumulation(const llvm::opt::InputArgList &arguments,
                            TrainGraphArguments &options) {
  std::optional<unsigned> count = readCount(arguments, OPT_accumulate, 1, 1);
  if (!count)
    return ExitUsage;
  options.pipeline.microBatches = *count;
  options.applyOutput = arguments.getLastArgValue(OPT_apply_output);
  if (options.applyOutput.empty())
    return arguments.hasArg(OPT_apply_output)
               ? wrongUsage("--apply-output expects a file")
               : int(ExitSuccess);
  if (*count == 1)
    return wrongUsage("--apply-output goes with --accumulate N, 2 or more");
  if (isStandardOutput(options.applyOutput))
    return wrongUsage("--apply-output expects a file, but got " +
                      quoted(options.applyOutput));
  if (options.applyOutput == options.files.output)
    return wrongUsage("--apply-output expects another file than -o, but both "
                      "are " +
                      quoted(options.files.output));
  return ExitSuccess;
}

/// The part of readOptions() for the pipeline.
static int readPipelineOptions(const llvm::opt::InputArgList &arguments,
                               TrainingPipelineOptions &pipeline) {
  static constexpr StringRef modes[] = {"torch", "safe"};
  if (!arguments.hasArg(OPT_loss))
    return wrongUsage("expected '--loss cross-entropy', '--loss mse' or "
                      "'--loss NAME'");
  pipeline.losses = ArrayRef(readNames(arguments, OPT_loss));
  pipeline.outputs = ArrayRef(readNames(arguments, OPT_loss_output));
  pipeline.classAxis = arguments.getLastArgValue(OPT_class_axis).str();
  pipeline.trainable = arguments.getLastArgValue(OPT_trainable, ".*").str();
  pipeline.optimizer = arguments.getLastArgValue(OPT_optimizer, "adamw").str();
  pipeline.settings = ArrayRef(arguments.getAllArgValues(OPT_setting));
  if (int code = readNumberInto(arguments, OPT_lr, 0, pipeline.learningRate))
    return code;
  if (int code =
          readNumberInto(arguments, OPT_weight_decay, 0, pipeline.weightDecay))
    return code;
  if (int code = readNumberInto(arguments, OPT_clip_norm, 0, pipeline.clipNorm))
    return code;
  if (int code =
          readNumberInto(arguments, OPT_clip_value, 0, pipeline.clipValue))
    return code;
  if (int code = readNumberInto(arguments, OPT_ema, 0, pipeline.averageDecay))
    return code;
  pipeline.groups = ArrayRef(arguments.getAllArgValues(OPT_group));
  pipeline.schedule = arguments.getLastArgValue(OPT_schedule, "constant").str();
  pipeline.counters = arguments.hasArg(OPT_counters);
  if (int code = readTrainingForm(arguments, pipeline))
    return code;
  if (int code = readRecompute(arguments, pipeline))
    return code;
  std::optional<unsigned> mode =
      chooseValue(arguments, OPT_scaler_mode, modes, 1);
  if (!mode)
    return ExitUsage;
  pipeline.scalerMode = modes[*mode].str();
  if (int code = readPrecision(arguments, pipeline))
    return code;
  if (int code = readLossScale(arguments, pipeline))
    return code;
  if (llvm::Error error = checkTrainingOptions(pipeline))
    return wrongUsage(llvm::toString(std::move(error)));
  return ExitSuccess;
}

/// Fills `options`; returns the exit code, after an error if it is not 0.
static int readOptions(const llvm::opt::InputArgList &arguments,
                       TrainGraphArguments &options) {
  if (int code = readModelArguments(arguments, "to train", "the training step",
                                    options.files))
    return code;
  static constexpr StringRef forms[] = {"flat", "training-info"};
  std::optional<unsigned> form = chooseValue(arguments, OPT_form, forms, 0);
  if (!form)
    return ExitUsage;
  options.asTrainingInfo = *form == 1;
  if (int code = readAccumulation(arguments, options))
    return code;
  if (options.asTrainingInfo && !options.applyOutput.empty())
    return wrongUsage("--apply-output goes with --form flat");
  return readPipelineOptions(arguments, options.pipeline);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Runs what `build` appends.
static LogicalResult runPasses(ModuleOp module,
                               void (*build)(OpPassManager &,
                                             const TrainingPipelineOptions &),
                               const TrainingPipelineOptions &options) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  build(manager, options);
  return manager.run(module);
}

/// Makes the module a step, or the part of one that adds up gradients, with the
/// part that applies them as the second model.
static LogicalResult makeStep(ModuleOp module, TrainGraphArguments &options,
                              SecondModel &second) {
  TrainingPipelineOptions &pipeline = options.pipeline;
  OwningOpRef<ModuleOp> forward;
  if (options.asTrainingInfo) {
    if (failed(runPasses(module, buildTrainingPreparation, pipeline)))
      return failure();
    forward = module.clone();
  }
  if (failed(runPasses(module, buildWholeStep, pipeline)))
    return failure();
  if (!options.applyOutput.empty()) {
    second = {module.clone(), options.applyOutput};
    pipeline.part = "apply";
    if (failed(runPasses(second.module, buildStepPart, pipeline)))
      return failure();
    pipeline.part = "accumulate";
  }
  if (failed(runPasses(module, buildStepPart, pipeline)))
    return failure();
  return success(!forward || succeeded(makeTrainingInfo(module, *forward)));
}

static std::string summarize(const TrainGraphArguments &options,
                             const ModelChange &change) {
  const TrainingPipelineOptions &pipeline = options.pipeline;
  std::string text =
      quoted(options.files.output) + ": a step of " + listOptimizers(pipeline) +
      " in " + (pipeline.low == "none" ? "fp32" : pipeline.low.getValue()) +
      ", " + std::to_string(change.after.defaults) +
      " inputs are state or have defaults, " +
      describeChange(change.before, change.after) + '\n';
  for (const std::string &remark : change.remarks)
    text += remark + '\n';
  return text;
}

int amp::runTrainGraph(const llvm::opt::InputArgList &arguments) {
  TrainGraphArguments options;
  if (int code = readOptions(arguments, options))
    return code;
  return changeModel(
      options.files,
      [&](ModuleOp module, SecondModel &second) {
        if (options.pipeline.low != "none")
          warnOfUnmatched(module, options.pipeline.policy);
        return makeStep(module, options, second);
      },
      [&](const ModelChange &change) { return summarize(options, change); });
}
