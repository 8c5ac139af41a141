//===- OrtTraining.cpp - ONNX Runtime's training artifacts ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrtTraining.h"

#include "CommandLine.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/OrtModels.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace amp;
using namespace mlir;

/// The options that say how a dynamic scale changes.
static constexpr OptionID scalerOptions[] = {OPT_scaler_mode, OPT_growth_factor,
                                             OPT_backoff_factor,
                                             OPT_growth_interval};

std::optional<OrtTrainingOptions>
amp::readOrtTraining(const llvm::opt::InputArgList &arguments) {
  OrtTrainingOptions options;
  options.lowersOrt = arguments.hasArg(OPT_lower_ort);
  auto fail = [](const llvm::Twine &text) {
    wrongUsage(text);
    return std::nullopt;
  };

  options.optimizerModel = arguments.getLastArgValue(OPT_optimizer_model).str();
  if (arguments.hasArg(OPT_optimizer_model)) {
    if (options.optimizerModel.empty())
      return fail("--optimizer-model expects a file");
    if (!options.lowersOrt)
      return fail("--optimizer-model goes with --lower-ort");
  }

  StringRef scale = arguments.getLastArgValue(OPT_loss_scale, "none");
  StringRef number = scale;
  options.scalesLoss = scale != "none";
  if (number.consume_front("static=")) {
    if (number.getAsDouble(options.staticScale) || !(options.staticScale > 0) ||
        !std::isfinite(options.staticScale))
      return fail("--loss-scale: expected a positive number after 'static=', "
                  "but got " +
                  quoted(number));
  } else if (scale != "dynamic" && scale != "none") {
    return fail("--loss-scale: expected dynamic, static=NUMBER or none, but "
                "got " +
                quoted(scale));
  }
  if (scale != "dynamic")
    for (OptionID option : scalerOptions)
      if (const llvm::opt::Arg *argument = arguments.getLastArg(option))
        return fail(argument->getOption().getPrefixedName() +
                    " goes with --loss-scale dynamic");

  static constexpr StringRef modes[] = {"safe", "torch"};
  std::optional<unsigned> mode =
      chooseValue(arguments, OPT_scaler_mode, modes, /*missing=*/0);
  std::optional<double> growth =
      readNumber(arguments, OPT_growth_factor, /*least=*/1, /*missing=*/2);
  std::optional<double> backoff =
      readNumber(arguments, OPT_backoff_factor, /*least=*/0, /*missing=*/0.5);
  std::optional<unsigned> interval =
      readCount(arguments, OPT_growth_interval, /*least=*/1, /*missing=*/2000);
  if (!mode || !growth || !backoff || !interval)
    return std::nullopt;
  options.scalerMode = modes[*mode];
  options.growthFactor = *growth;
  options.backoffFactor = *backoff;
  options.growthInterval = *interval;
  return options;
}

LogicalResult amp::joinOptimizer(ModuleOp training, ModuleOp optimizer,
                                 int64_t maxOpset) {
  int64_t opset = onnx::NodeBuilder::kMinOpset;
  for (ModuleOp module : {training, optimizer})
    opset = std::max(opset, onnx::getOpsetVersion(module, "").value_or(0));
  for (ModuleOp module : {training, optimizer}) {
    PassManager manager(module.getContext());
    manager.enableVerifier(false);
    manager.addPass(createInferTypes());
    RaiseOpsetOptions raise;
    raise.low = raise.policy = "tf32"; // float32 needs no other opset
    raise.minOpset = opset;
    raise.maxOpset = maxOpset;
    manager.addPass(createRaiseOpset(std::move(raise)));
    if (failed(manager.run(module)))
      return failure();
  }
  return joinOrtModels(training, optimizer);
}

void amp::addLossScaling(OpPassManager &manager,
                         const OrtTrainingOptions &options) {
  if (!options.scalesLoss)
    return;
  ScaleOrtLossOptions pass;
  pass.staticScale = options.staticScale;
  pass.scalerMode = options.scalerMode;
  pass.growthFactor = options.growthFactor;
  pass.backoffFactor = options.backoffFactor;
  pass.growthInterval = options.growthInterval;
  manager.addPass(createScaleOrtLoss(std::move(pass)));
}

void amp::addOrtLowering(OpPassManager &manager,
                         const OrtTrainingOptions &options) {
  if (!options.lowersOrt)
    return;
  manager.addPass(createLowerOrt());
  manager.addPass(createInferTypes());
}
