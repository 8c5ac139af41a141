//===- Pipelines.h - what runs when -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_PIPELINES_H
#define AMP_PASSES_PIPELINES_H

#include "amp/Analysis/Placement.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include "llvm/Support/Error.h"

#include <string>

namespace amp {

/// Options of `amp-autocast`; they mean what they mean in
/// amp-annotate-precision.
struct AutocastPipelineOptions
    : public mlir::PassPipelineOptions<AutocastPipelineOptions> {
  Option<std::string> low{
      *this, "low",
      llvm::cl::desc(
          "Low format, fp16, bf16 or tf32 (default: the policy's, else fp16)")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("Name of a preset, or path of a policy file"),
      llvm::cl::init("inference")};
  Option<IOTypes> ioTypes{
      *this, "keep-io-types",
      llvm::cl::desc(
          "Public functions keep the types of arguments and results"),
      llvm::cl::init(IOTypes::Policy),
      llvm::cl::values(
          clEnumValN(IOTypes::Keep, "true", "they do"),
          clEnumValN(IOTypes::Lower, "false", "those of float32 become low"),
          clEnumValN(IOTypes::Policy, "policy",
                     "as the policy says, which may name some of them"))};
  Option<Placement> placement{
      *this, "placement",
      llvm::cl::desc("How formats are chosen where the policy leaves it open"),
      llvm::cl::init(Placement::Eager),
      llvm::cl::values(
          clEnumValN(Placement::Eager, "eager",
                     "by an operation's inputs, as PyTorch does"),
          clEnumValN(Placement::Optimal, "optimal",
                     "so that the program moves as few bytes as it can"))};
  ListOption<std::string> dimensions{
      *this, "dim",
      llvm::cl::desc("NAME=SIZE: what optimal placement takes a dynamic "
                     "dimension of this name for")};
  Option<bool> keepIslands{
      *this, "keep-islands",
      llvm::cl::desc("Optimal placement leaves operations float32 that the "
                     "policy leaves free where none near them is low by "
                     "policy"),
      llvm::cl::init(true)};
  ListOption<std::string> keepOps{
      *this, "keep-op",
      llvm::cl::desc("Operators that keep their types, \"Op\" or "
                     "\"domain:Op\"")};
  ListOption<std::string> keepNodes{
      *this, "keep-node",
      llvm::cl::desc("Regular expressions on the names of nodes that keep "
                     "their types")};
  Option<double> rangeMargin{
      *this, "range-margin",
      llvm::cl::desc("A value stays float32 if its measured range, times this, "
                     "is beyond the low format's"),
      llvm::cl::init(2)};
  Option<bool> estimates{
      *this, "estimates",
      llvm::cl::desc("What statistics that are constants of the program say of "
                     "ranges and errors is a reason for float32"),
      llvm::cl::init(true)};
  Option<bool> keepReasons{
      *this, "keep-reasons",
      llvm::cl::desc("Leave amp.category, amp.reason and amp.rule on "
                     "operations"),
      llvm::cl::init(false)};
};

/// Appends the passes of `amp-autocast`: mixed precision for a module of any
/// dialect. Casts are left as `amp.cast`, which the dialect's own lowering
/// replaces afterwards.
void buildAutocastPipeline(mlir::OpPassManager &manager,
                           const AutocastPipelineOptions &options);

/// Where the factor comes from that the loss is multiplied by, so that
/// gradients do not become zero in a narrow format.
enum class LossScaling {
  None,
  Static,  ///< a number, always
  Dynamic, ///< state of the step, as in torch.amp.GradScaler
};

/// Options of `amp-train`; they mean what they mean in the passes.
struct TrainingPipelineOptions
    : public mlir::PassPipelineOptions<TrainingPipelineOptions> {
  // amp-training-form
  Option<bool> trainBatchNorm{
      *this, "train-batch-norm",
      llvm::cl::desc("BatchNormalization normalizes by the batch"),
      llvm::cl::init(true)};
  Option<bool> trainDropout{*this, "train-dropout",
                            llvm::cl::desc("Dropout drops"),
                            llvm::cl::init(true)};
  Option<bool> unbiasedVariance{
      *this, "unbiased-variance",
      llvm::cl::desc("Running variances as PyTorch's, n / (n - 1) of ONNX's"),
      llvm::cl::init(false)};
  Option<uint64_t> randomSeed{
      *this, "random-seed",
      llvm::cl::desc("Initial value of amp.seed, which dropout and stochastic "
                     "rounding begin with"),
      llvm::cl::init(0)};

  // amp-build-loss, amp-make-parameters
  ListOption<std::string> losses{
      *this, "loss",
      llvm::cl::desc(
          "NAME or NAME=WEIGHT: cross-entropy, mse, or the name of a "
          "scalar (default: loss)")};
  ListOption<std::string> outputs{
      *this, "output",
      llvm::cl::desc("Outputs that losses are built on, in their order "
                     "(default: the only one of floats)")};
  Option<std::string> classAxis{
      *this, "class-axis",
      llvm::cl::desc(
          "Dimension of classes (default: 1, or the last if its size "
          "alone is known)")};
  Option<std::string> trainable{
      *this, "trainable",
      llvm::cl::desc("Regular expression on names of initializers"),
      llvm::cl::init(".*")};

  // amp-autocast
  Option<std::string> low{
      *this, "low",
      llvm::cl::desc("Low format: fp16, bf16, tf32, or none for float32"),
      llvm::cl::init("fp16")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("Name of a preset, or path of a policy file"),
      llvm::cl::init("training")};
  Option<Placement> placement{
      *this, "placement",
      llvm::cl::desc("How formats are chosen where the policy leaves it open"),
      llvm::cl::init(Placement::Eager),
      llvm::cl::values(clEnumValN(Placement::Eager, "eager",
                                  "by an operation's inputs, as PyTorch does"),
                       clEnumValN(Placement::Optimal, "optimal",
                                  "so that the program moves as few bytes as "
                                  "it can"))};

  // amp-recompute
  Option<std::string> recompute{
      *this, "recompute",
      llvm::cl::desc("auto, budget=BYTES or nodes=REGEX (default: nothing)")};
  ListOption<std::string> dimensions{
      *this, "dim",
      llvm::cl::desc("NAME=SIZE: what recomputation takes a dynamic dimension "
                     "of this name for")};

  // amp-make-loss-scale
  Option<LossScaling> lossScale{
      *this, "loss-scale", llvm::cl::desc("What the loss is multiplied by"),
      llvm::cl::init(LossScaling::Dynamic),
      llvm::cl::values(
          clEnumValN(LossScaling::Dynamic, "dynamic",
                     "init-scale at first, then what gradients allow"),
          clEnumValN(LossScaling::Static, "static", "init-scale"),
          clEnumValN(LossScaling::None, "none", "nothing"))};
  Option<double> initScale{*this, "init-scale",
                           llvm::cl::desc("The loss scale of the first step"),
                           llvm::cl::init(65536)};

  // amp-attach-optimizer
  Option<std::string> optimizer{
      *this, "optimizer",
      llvm::cl::desc("sgd, adam, adamw, adagrad, adafactor or lion"),
      llvm::cl::init("adamw")};
  Option<double> learningRate{
      *this, "lr", llvm::cl::desc("Learning rate (negative: as torch.optim's)"),
      llvm::cl::init(-1)};
  Option<double> weightDecay{
      *this, "weight-decay",
      llvm::cl::desc("Weight decay (negative: as torch.optim's)"),
      llvm::cl::init(-1)};
  ListOption<std::string> settings{
      *this, "settings",
      llvm::cl::desc("Other settings of the optimizer, NAME=NUMBER")};
  ListOption<std::string> groups{
      *this, "group",
      llvm::cl::desc(
          "Groups of parameters, {{REGEX:lr=FACTOR,decay=NUMBER}}, or "
          "with an optimizer of their own, "
          "{{REGEX:optimizer=NAME,lr=RATE}}")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("constant, linear or cosine with "
                     ":warmup=W,total=T,end=E, or input"),
      llvm::cl::init("constant")};
  Option<double> averageDecay{
      *this, "ema",
      llvm::cl::desc("Decay of averages of the parameters; 0 for none"),
      llvm::cl::init(0)};
  Option<double> clipValue{
      *this, "clip-value",
      llvm::cl::desc("Magnitude that gradients are clipped to; 0 for none"),
      llvm::cl::init(0)};
  Option<bool> counters{
      *this, "counters",
      llvm::cl::desc("Outputs that tell of overflow and underflow"),
      llvm::cl::init(false)};
  Option<double> clipNorm{
      *this, "clip-norm",
      llvm::cl::desc("Norm that gradients are clipped to; 0 for none"),
      llvm::cl::init(0)};
  Option<std::string> scalerMode{*this, "scaler-mode",
                                 llvm::cl::desc("torch or safe"),
                                 llvm::cl::init("safe")};
  Option<double> growthFactor{*this, "growth-factor",
                              llvm::cl::desc("As in amp.update_scale"),
                              llvm::cl::init(2)};
  Option<double> backoffFactor{*this, "backoff-factor",
                               llvm::cl::desc("As in amp.update_scale"),
                               llvm::cl::init(0.5)};
  Option<int64_t> growthInterval{*this, "growth-interval",
                                 llvm::cl::desc("As in amp.update_scale"),
                                 llvm::cl::init(2000)};

  // amp-accumulate-gradients, amp-split-step
  Option<int64_t> microBatches{
      *this, "micro-batches",
      llvm::cl::desc("How many batches a step adds up gradients of"),
      llvm::cl::init(1)};
  Option<std::string> part{
      *this, "part", llvm::cl::desc("With several: both, accumulate or apply"),
      llvm::cl::init("both")};

  // amp-stochastic-rounding
  Option<bool> stochasticRounding{
      *this, "stochastic-rounding",
      llvm::cl::desc("Parameters are bfloat16, without a float32 copy"),
      llvm::cl::init(false)};
};

/// Fails for options that no model can be trained with: an unknown optimizer, a
/// number out of its range. The passes would fail too, but later.
llvm::Error checkTrainingOptions(const TrainingPipelineOptions &options);

/// "adamw and sgd": the optimizer, and those of groups.
std::string listOptimizers(const TrainingPipelineOptions &options);

/// Appends the first passes of `amp-train`: types, and an opset in which the
/// step can be said. What comes out is the forward model still.
void buildTrainingPreparation(mlir::OpPassManager &manager,
                              const TrainingPipelineOptions &options);

/// Appends what comes first in `amp-train`, whatever the part of the step: a
/// forward ONNX model becomes a step with all of its micro-batches.
void buildWholeStep(mlir::OpPassManager &manager,
                    const TrainingPipelineOptions &options);

/// Appends what follows: of that, the part that `options` ask for, as standard
/// ONNX.
void buildStepPart(mlir::OpPassManager &manager,
                   const TrainingPipelineOptions &options);

/// Appends the passes of `amp-train`: a forward ONNX model becomes a training
/// step of standard ONNX.
void buildTrainingPipeline(mlir::OpPassManager &manager,
                           const TrainingPipelineOptions &options);

/// Adds the pipelines to the global registry, for command lines.
void registerPipelines();
void registerTrainingPipelines();

} // namespace amp

#endif // AMP_PASSES_PIPELINES_H
