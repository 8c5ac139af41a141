//===- Differentiate.cpp - onnx-amp differentiate -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ExternalDataArgument.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace amp;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
struct DifferentiateArguments {
  std::string input, output;
  std::vector<std::string> losses, wrt;
  std::optional<RecomputeOptions> recompute;
  ExternalData externalData = ExternalData::Auto;
  bool allowLinks = false, durable = false, quiet = false;
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
  std::vector<std::string> sizes = arguments.getAllArgValues(OPT_dim);
  for (const std::string &size : sizes)
    if (llvm::Error error = CostOptions().addDimension(size))
      return wrongUsage("--dim: " + llvm::toString(std::move(error)));
  if (!arguments.hasArg(OPT_recompute)) {
    if (!sizes.empty())
      return wrongUsage("--dim is for --recompute");
    return ExitSuccess;
  }
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
  std::vector<std::string> inputs = arguments.getAllArgValues(OPT_INPUT);
  if (inputs.empty())
    return wrongUsage("expected an input, the model to differentiate");
  if (inputs.size() > 1)
    return wrongUsage("expected one input, but got " + quoted(inputs[0]) +
                      " and " + quoted(inputs[1]));
  options.input = inputs[0];
  if (!arguments.hasArg(OPT_output))
    return wrongUsage("expected '-o OUT', where the model with gradients goes");
  options.output = arguments.getLastArgValue(OPT_output);
  if (int code = readNames(arguments, OPT_loss, "--loss", options.losses))
    return code;
  if (int code = readNames(arguments, OPT_wrt, "--wrt", options.wrt))
    return code;
  if (int code = readRecompute(arguments, options))
    return code;
  std::optional<ExternalData> place = chooseExternalData(arguments);
  if (!place)
    return ExitUsage;
  options.externalData = *place;
  options.allowLinks = arguments.hasArg(OPT_allow_links);
  options.durable = arguments.hasArg(OPT_durable);
  options.quiet = arguments.hasArg(OPT_quiet);
  return ExitSuccess;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Infers types, and raises the opset to the first that gradients are built in.
static LogicalResult prepare(ModuleOp module) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.addPass(createInferTypes());
  RaiseOpsetOptions raise;
  // Nothing needs another opset for float32's own sake.
  raise.low = raise.policy = "tf32";
  raise.minOpset = onnx::NodeBuilder::kMinOpset;
  manager.addPass(createRaiseOpset(std::move(raise)));
  return manager.run(module);
}

/// `remark` becomes what is said of recomputation.
static LogicalResult runPasses(ModuleOp module,
                               const DifferentiateArguments &options,
                               std::string &remark) {
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
          return failure();
        remark = diagnostic.str();
        return success();
      });
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  DifferentiateOptions differentiate;
  differentiate.losses.assign(options.losses.begin(), options.losses.end());
  differentiate.wrt.assign(options.wrt.begin(), options.wrt.end());
  manager.addPass(createDifferentiate(std::move(differentiate)));
  if (options.recompute)
    manager.addPass(createRecompute(*options.recompute));
  if (failed(manager.run(module)))
    return failure();
  return verify(module);
}

static uint64_t countNodes(ModuleOp module) {
  uint64_t count = 0;
  module.walk([&](Operation *op) {
    count += onnx::lookupOperator(op->getName()) != nullptr;
  });
  return count;
}

int amp::runDifferentiate(const llvm::opt::InputArgList &arguments) {
  DifferentiateArguments options;
  if (int code = readOptions(arguments, options))
    return code;
  setFatalErrorSubject(quoted(options.input));

  MLIRContext &context = makeContext();
  FirstErrorPrinter errors(&context);
  std::vector<FileIdentity> dataFiles;
  ImportOptions importOptions;
  importOptions.allowLinks = options.allowLinks;
  importOptions.dataFiles = &dataFiles;
  uint64_t inputBytes;
  ModuleOp module =
      readModel(options.input, &context, importOptions, inputBytes).release();
  if (!module)
    return ExitFailure;
  uint64_t nodesBefore = countNodes(module);
  std::optional<int64_t> opsetBefore = onnx::getOpsetVersion(module, "");

  errors.setSubject(quoted(options.input));
  std::string remark;
  if (failed(prepare(module)) || failed(runPasses(module, options, remark)))
    return ExitFailure;
  errors.setSubject("");

  ExportOptions exportOptions;
  exportOptions.externalData = options.externalData;
  exportOptions.durable = options.durable;
  exportOptions.inputs = std::move(dataFiles);
  FailureOr<ExportedSizes> sizes =
      writeModel(module, options.output, exportOptions);
  if (failed(sizes))
    return ExitFailure;
  setOutputsCommitted();

  if (options.quiet)
    return ExitSuccess;
  size_t count = options.wrt.size();
  std::string text = quoted(options.output) + ": " + std::to_string(count) +
                     (count == 1 ? " gradient, " : " gradients, ") +
                     std::to_string(nodesBefore) + " nodes are " +
                     std::to_string(countNodes(module)) + " now";
  std::optional<int64_t> opset = onnx::getOpsetVersion(module, "");
  if (opset && opsetBefore && *opset != *opsetBefore)
    text += ", opset " + std::to_string(*opsetBefore) + " is " +
            std::to_string(*opset) + " now";
  if (!remark.empty())
    text += "; " + remark;
  text += '\n';
  if (isStandardOutput(options.output))
    printAside(text);
  else
    printSummary(text);
  return ExitSuccess;
}
