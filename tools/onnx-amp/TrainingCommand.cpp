//===- TrainingCommand.cpp - commands that make training graphs -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingCommand.h"

#include "ExternalDataArgument.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Verifier.h"

using namespace amp;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

int amp::readModelArguments(const llvm::opt::InputArgList &arguments,
                            StringRef purpose, StringRef result,
                            ModelArguments &files) {
  std::vector<std::string> inputs = arguments.getAllArgValues(OPT_INPUT);
  if (inputs.empty())
    return wrongUsage("expected an input, the model " + purpose);
  if (inputs.size() > 1)
    return wrongUsage("expected one input, but got " + quoted(inputs[0]) +
                      " and " + quoted(inputs[1]));
  files.input = inputs[0];
  if (!arguments.hasArg(OPT_output))
    return wrongUsage("expected '-o OUT', where " + result + " goes");
  files.output = arguments.getLastArgValue(OPT_output);
  std::optional<ExternalData> place = chooseExternalData(arguments);
  if (!place)
    return ExitUsage;
  files.externalData = *place;
  files.allowLinks = arguments.hasArg(OPT_allow_links);
  files.durable = arguments.hasArg(OPT_durable);
  files.quiet = arguments.hasArg(OPT_quiet);
  return ExitSuccess;
}

int amp::readDimensions(const llvm::opt::InputArgList &arguments,
                        std::vector<std::string> &sizes) {
  sizes = arguments.getAllArgValues(OPT_dim);
  for (const std::string &size : sizes)
    if (llvm::Error error = CostOptions().addDimension(size))
      return wrongUsage("--dim: " + llvm::toString(std::move(error)));
  if (!sizes.empty() && !arguments.hasArg(OPT_recompute))
    return wrongUsage("--dim is for --recompute");
  return ExitSuccess;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

ModelFigures::ModelFigures(ModuleOp module)
    : opset(onnx::getOpsetVersion(module, "")) {
  module.walk([&](Operation *op) {
    nodes += onnx::lookupOperator(op->getName()) != nullptr;
    defaults += op->getName().getStringRef() == "onnx.DefaultInput";
  });
}

std::string amp::describeChange(const ModelFigures &before,
                                const ModelFigures &after) {
  std::string text = std::to_string(before.nodes) + " nodes are " +
                     std::to_string(after.nodes) + " now";
  if (before.opset && after.opset && *before.opset != *after.opset)
    text += ", opset " + std::to_string(*before.opset) + " is " +
            std::to_string(*after.opset) + " now";
  return text;
}

/// Runs `change`; `remarks` becomes what passes say.
static LogicalResult
runChange(ModuleOp module, SecondModel &second,
          llvm::function_ref<LogicalResult(ModuleOp, SecondModel &)> change,
          std::vector<std::string> &remarks) {
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
          return failure();
        remarks.push_back(diagnostic.str());
        return success();
      });
  // Passes do not verify one after the other: their result is, once.
  if (failed(change(module, second)) || failed(verify(module)))
    return failure();
  return success(!second.module || succeeded(verify(second.module)));
}

int amp::changeModel(
    const ModelArguments &files,
    llvm::function_ref<LogicalResult(ModuleOp, SecondModel &)> change,
    llvm::function_ref<std::string(const ModelChange &)> summarize) {
  setFatalErrorSubject(quoted(files.input));

  MLIRContext &context = makeContext();
  FirstErrorPrinter errors(&context);
  std::vector<FileIdentity> dataFiles;
  ImportOptions importOptions;
  importOptions.allowLinks = files.allowLinks;
  importOptions.dataFiles = &dataFiles;
  uint64_t inputBytes;
  ModuleOp module =
      readModel(files.input, &context, importOptions, inputBytes).release();
  if (!module)
    return ExitFailure;
  ModelFigures before(module);

  errors.setSubject(quoted(files.input));
  SecondModel second;
  std::vector<std::string> remarks;
  if (failed(runChange(module, second, change, remarks)))
    return ExitFailure;
  errors.setSubject("");

  ExportOptions options;
  options.externalData = files.externalData;
  options.durable = files.durable;
  options.inputs = std::move(dataFiles);
  LogicalResult written =
      second.module ? writeModels(second.module, second.output, module,
                                  files.output, options)
                    : LogicalResult(writeModel(module, files.output, options));
  if (failed(written))
    return ExitFailure;
  setOutputsCommitted();

  if (files.quiet)
    return ExitSuccess;
  std::string text =
      summarize({before, ModelFigures(module), std::move(remarks)});
  if (isStandardOutput(files.output))
    printAside(text);
  else
    printSummary(text);
  return ExitSuccess;
}
