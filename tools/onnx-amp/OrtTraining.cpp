//===- OrtTraining.cpp - ONNX Runtime's training artifacts ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrtTraining.h"

#include "CommandLine.h"

#include "amp/Passes/Lowering.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

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
