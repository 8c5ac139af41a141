//===- Differentiate.cpp - onnx-amp differentiate -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "TrainingCommand.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Pass/PassManager.h"

using namespace amp;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
struct DifferentiateArguments {
  ModelArguments files;
  std::vector<std::string> losses, wrt;
  std::optional<RecomputeOptions> recompute;
};
} // namespace

/// Reads `--loss A,B --loss C`; returns the exit code.
static int readNames(const llvm::opt::InputArgList &arguments, OptionID option,
                     StringRef spelling, std::vector<std::string> &names) {
  for (const std::string &list : arguments.getAllArgValues(option)) {
    SmallVector<StringRef> parts;
    StringRef(list).split(parts, ',');
    for (StringRef name : parts) {
      if (name.empty())
        return wrongUsage(spelling + " expects names, but got " + quoted(list));
      if (llvm::is_contained(names, name))
        return wrongUsage(spelling + " names " + quoted(name) + " twice");
      names.push_back(name.str());
    }
  }
  if (names.empty())
    return wrongUsage("expected '" + spelling + " NAME'");
  return ExitSuccess;
}

/// Reads `--recompute` and the sizes that it goes by; returns the exit code.
static int readRecompute(const llvm::opt::InputArgList &arguments,
                         DifferentiateArguments &options) {
  std::vector<std::string> sizes;
  if (int code = readDimensions(arguments, sizes))
    return code;
  if (!arguments.hasArg(OPT_recompute))
    return ExitSuccess;
  llvm::Expected<RecomputeOptions> recompute =
      parseRecompute(arguments.getLastArgValue(OPT_recompute));
  if (!recompute)
    return wrongUsage("--recompute " + llvm::toString(recompute.takeError()));
  recompute->losses.assign(options.losses.begin(), options.losses.end());
  recompute->dimensions.assign(sizes.begin(), sizes.end());
  options.recompute = std::move(*recompute);
  return ExitSuccess;
}

/// Fills `options`; returns the exit code, after an error if it is not 0.
static int readOptions(const llvm::opt::InputArgList &arguments,
                       DifferentiateArguments &options) {
  if (int code = readModelArguments(arguments, "to differentiate",
                                    "the model with gradients", options.files))
    return code;
  if (int code = readNames(arguments, OPT_loss, "--loss", options.losses))
    return code;
  if (int code = readNames(arguments, OPT_wrt, "--wrt", options.wrt))
    return code;
  return readRecompute(arguments, options);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

static LogicalResult differentiate(ModuleOp module,
                                   const DifferentiateArguments &options) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  // 1. Types, and the first opset that gradients are built in.
  manager.addPass(createInferTypes());
  RaiseOpsetOptions raise;
  // Nothing needs another opset for float32's own sake.
  raise.low = raise.policy = "tf32";
  raise.minOpset = onnx::NodeBuilder::kMinOpset;
  manager.addPass(createRaiseOpset(std::move(raise)));
  // 2. Gradients.
  DifferentiateOptions differentiate;
  differentiate.losses.assign(options.losses.begin(), options.losses.end());
  differentiate.wrt.assign(options.wrt.begin(), options.wrt.end());
  manager.addPass(createDifferentiate(std::move(differentiate)));
  if (options.recompute)
    manager.addPass(createRecompute(*options.recompute));
  return manager.run(module);
}

int amp::runDifferentiate(const llvm::opt::InputArgList &arguments) {
  DifferentiateArguments options;
  if (int code = readOptions(arguments, options))
    return code;
  return changeModel(
      options.files,
      [&](ModuleOp module, SecondModel &) {
        return differentiate(module, options);
      },
      [&](const ModelChange &change) {
        size_t count = options.wrt.size();
        std::string text = quoted(options.files.output) + ": " +
                           std::to_string(count) +
                           (count == 1 ? " gradient, " : " gradients, ") +
                           describeChange(change.before, change.after);
        for (const std::string &remark : change.remarks)
          text += "; " + remark;
        return text + '\n';
      });
}
