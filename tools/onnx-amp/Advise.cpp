//===- Advise.cpp - onnx-amp advise ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice.h"
#include "Commands.h"
#include "EngineArguments.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"
#include "PolicyArgument.h"
#include "ProgressLine.h"

#include "amp/Support/Quoted.h"

using namespace amp;
using namespace mlir;

int amp::runAdvise(const llvm::opt::InputArgList &arguments) {
  std::vector<std::string> paths = arguments.getAllArgValues(OPT_INPUT);
  if (paths.size() != 1)
    return wrongUsage("expected one input, the model to look at, but got " +
                      llvm::Twine(paths.size()));
  if (!arguments.hasArg(OPT_data))
    return wrongUsage("expected '--data DATA', what the model runs on");
  std::optional<EngineOptions> engineOptions = readEngineOptions(arguments);
  if (!engineOptions)
    return ExitUsage;
  std::optional<double> tolerance =
      readNumber(arguments, OPT_tolerance, /*least=*/0, /*missing=*/0.01);
  if (!tolerance)
    return ExitUsage;
  Advice advice;
  advice.model = paths[0];
  advice.data = arguments.getLastArgValue(OPT_data);
  advice.tolerance = *tolerance;
  advice.policy = arguments.getLastArgValue(OPT_policy, kDefaultPolicy);
  // To fail before anything is run.
  int code = ExitSuccess;
  if (!loadPolicy(advice.policy, code))
    return code;
  setFatalErrorSubject(quoted(paths[0]));

  MLIRContext &context = makeContext();
  ProgressLine progress(/*isWanted=*/true);
  FirstErrorPrinter errors(&context, [&] { progress.stop(); });
  ImportOptions options;
  options.allowLinks = arguments.hasArg(OPT_allow_links);
  uint64_t bytes = 0;
  ModuleOp module = readModel(paths[0], &context, options, bytes).release();
  if (!module)
    return ExitFailure;
  warnOfUnmatched(module, advice.policy);
  errors.setSubject(quoted(paths[0]));
  llvm::Expected<Engine> engine = Engine::create(*engineOptions);
  if (!engine)
    return (void)report(&context, engine.takeError()), ExitFailure;
  progress.begin("running the model in every format");
  if (failed(advice.collect(module, *engine)))
    return ExitFailure;
  progress.stop();
  std::string text =
      arguments.hasArg(OPT_json) ? advice.toJSON() : advice.toText();
  return printOutput(text) ? ExitSuccess : ExitFailure;
}
