//===- Convert.cpp - onnx-amp convert -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ConversionReport.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"
#include "PolicyArgument.h"
#include "ProgressLine.h"
#include "ThreadPool.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Pipelines.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <sys/resource.h>
#include <unistd.h>

using namespace amp;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
struct ConvertOptions {
  std::string input, output;
  /// "fp16", "bf16", "tf32" or "none".
  std::string dtype;
  std::string policy;
  IOTypes ioTypes = IOTypes::Policy;
  Placement placement = Placement::Optimal;
  std::vector<std::string> dimensions;
  std::vector<std::string> keepOps, keepNodes;
  /// Something may run in bfloat16, which operators have gained over time.
  bool mayRaise = false;
  /// 0 for no limit.
  int64_t maxOpset = 0;
  ExternalData externalData = ExternalData::Auto;
  bool allowLinks = false, durable = false;
  bool quiet = false, json = false, explain = false;

  bool needsReport() const { return !quiet || json || explain; }
};
} // namespace

/// Reads the policy, to fail before any work is done; returns the exit code.
static int checkPolicy(ConvertOptions &options, bool hasDtype) {
  int code = ExitSuccess;
  std::optional<Policy> policy = loadPolicy(options.policy, code);
  if (!policy)
    return code;
  for (const std::string &op : options.keepOps)
    if (llvm::Error error = policy->keepOperator(op))
      return wrongUsage("--keep-op: " + llvm::toString(std::move(error)));
  for (const std::string &regex : options.keepNodes)
    if (llvm::Error error = policy->keepNode(regex))
      return wrongUsage("--keep-node: " + llvm::toString(std::move(error)));
  if (!hasDtype)
    options.dtype = policy->low().value_or(FloatFormat::fp16()).name();
  options.mayRaise =
      options.dtype == "bf16" || policy->asksFor(FloatFormat::bf16());
  return ExitSuccess;
}

/// Fills `options`; returns the exit code, after an error if it is not 0.
static int readOptions(const llvm::opt::InputArgList &arguments,
                       ConvertOptions &options) {
  static constexpr StringRef dtypes[] = {"fp16", "bf16", "tf32", "none"};
  static constexpr StringRef placements[] = {"eager", "optimal"};
  static constexpr StringRef places[] = {"auto", "keep", "inline", "file"};

  std::vector<std::string> inputs = arguments.getAllArgValues(OPT_INPUT);
  if (inputs.empty())
    return wrongUsage("expected an input, the model to convert");
  if (inputs.size() > 1)
    return wrongUsage("expected one input, but got " + quoted(inputs[0]) +
                      " and " + quoted(inputs[1]));
  options.input = inputs[0];
  if (!arguments.hasArg(OPT_output))
    return wrongUsage("expected '-o OUT', where the converted model goes");
  options.output = arguments.getLastArgValue(OPT_output);

  std::optional<unsigned> dtype = chooseValue(arguments, OPT_dtype, dtypes, 0);
  if (!dtype)
    return ExitUsage;
  options.dtype = dtypes[*dtype];
  std::optional<unsigned> placement =
      chooseValue(arguments, OPT_placement, placements, /*missing=*/1);
  if (!placement)
    return ExitUsage;
  options.placement = *placement ? Placement::Optimal : Placement::Eager;
  options.dimensions = arguments.getAllArgValues(OPT_dim);
  for (const std::string &dimension : options.dimensions)
    if (llvm::Error error = CostOptions().addDimension(dimension))
      return wrongUsage("--dim: " + llvm::toString(std::move(error)));
  std::optional<unsigned> place =
      chooseValue(arguments, OPT_external_data, places, 0);
  if (!place)
    return ExitUsage;
  static constexpr ExternalData placeValues[] = {
      ExternalData::Auto, ExternalData::Keep, ExternalData::Inline,
      ExternalData::File};
  options.externalData = placeValues[*place];

  // The default policy is for formats that weights are stored in.
  options.policy = arguments.getLastArgValue(
      OPT_policy, options.dtype == "tf32" ? "tf32" : kDefaultPolicy);
  if (const llvm::opt::Arg *last =
          arguments.getLastArg(OPT_keep_io_types, OPT_no_keep_io_types))
    options.ioTypes = last->getOption().matches(OPT_keep_io_types)
                          ? IOTypes::Keep
                          : IOTypes::Lower;
  if (arguments.hasArg(OPT_max_opset)) {
    StringRef text = arguments.getLastArgValue(OPT_max_opset);
    if (text.getAsInteger(10, options.maxOpset) || options.maxOpset < 1)
      return wrongUsage("--max-opset: expected a version of the operator set, "
                        "as 22, but got " +
                        quoted(text));
  }
  options.keepOps = arguments.getAllArgValues(OPT_keep_op);
  options.keepNodes = arguments.getAllArgValues(OPT_keep_node);
  options.allowLinks = arguments.hasArg(OPT_allow_links);
  options.durable = arguments.hasArg(OPT_durable);
  options.quiet = arguments.hasArg(OPT_quiet);
  options.json = arguments.hasArg(OPT_json);
  options.explain = arguments.hasArg(OPT_explain);
  return checkPolicy(options, arguments.hasArg(OPT_dtype));
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

namespace {
/// Seconds since it was asked last.
class Stopwatch {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    std::chrono::duration<double> elapsed = now - last;
    last = now;
    return elapsed.count();
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};
} // namespace

/// Processor time that the process has used: before main() does anything it is
/// what loading took.
static double getProcessorSeconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval time) {
    return double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Bytes of tensors: nearly all that is read and written.
static uint64_t sumTensorBytes(ModuleOp module) {
  uint64_t bytes = 0;
  module.walk([&](Operation *op) {
    if (onnx::TensorAttr tensor = getStoredTensor(op))
      bytes += getTensorBytes(tensor);
  });
  return bytes;
}

static LogicalResult runPasses(ModuleOp module, const ConvertOptions &options,
                               ConversionReport &report) {
  AutocastPipelineOptions autocast;
  autocast.low = options.dtype;
  autocast.policy = options.policy;
  autocast.ioTypes = options.ioTypes;
  autocast.placement = options.placement;
  autocast.dimensions = llvm::ArrayRef(options.dimensions);
  autocast.keepOps = llvm::ArrayRef(options.keepOps);
  autocast.keepNodes = llvm::ArrayRef(options.keepNodes);
  autocast.keepReasons = options.needsReport();

  // The result is verified once, in the end.
  PassManager decide(module.getContext());
  decide.enableVerifier(false);
  // What moves how many bytes is a matter of shapes, which models rarely say;
  // so is what some rules ask, and what some nodes mean in a later opset.
  decide.addPass(createInferTypes());
  if (options.mayRaise) {
    RaiseOpsetOptions raise;
    raise.low = options.dtype;
    raise.policy = options.policy;
    raise.maxOpset = options.maxOpset;
    raise.keepOps.assign(options.keepOps.begin(), options.keepOps.end());
    raise.keepNodes.assign(options.keepNodes.begin(), options.keepNodes.end());
    decide.addPass(createRaiseOpset(std::move(raise)));
  }
  buildAutocastPipeline(decide, autocast);
  if (failed(decide.run(module)))
    return failure();
  if (options.needsReport()) {
    report.collectAfter(module);
    removeAnnotations(module);
  }

  PassManager lower(module.getContext());
  lower.enableVerifier(false);
  lower.addPass(createConvertAMPToONNX());
  if (failed(lower.run(module)))
    return failure();
  return verify(module);
}

/// Says what was done. The model is written by then: nothing that happens here
/// makes the conversion a failure.
static void printReport(const ConversionReport &report,
                        const ConvertOptions &options) {
  std::string text;
  if (options.json) {
    text = report.toJSON(options.explain);
  } else {
    if (options.explain)
      text += report.toExplanation();
    if (!options.quiet)
      text += report.toText();
  }
  if (isStandardOutput(options.output))
    printAside(text);
  else
    printSummary(text);
}

int amp::runConvert(const llvm::opt::InputArgList &arguments) {
  ConversionReport report;
  report.startSeconds = getProcessorSeconds();
  Stopwatch watch;
  ConvertOptions options;
  if (int code = readOptions(arguments, options))
    return code;
  setFatalErrorSubject(quoted(options.input));

  MLIRContext &context = makeContext();
  ProgressLine progress(!options.quiet);
  FirstErrorPrinter errors(&context, [&] { progress.stop(); });

  std::vector<FileIdentity> dataFiles;
  ImportOptions importOptions;
  importOptions.allowLinks = options.allowLinks;
  importOptions.dataFiles = &dataFiles;
  ModuleOp module =
      readModel(options.input, &context, importOptions, report.inputBytes)
          .release();
  if (!module)
    return ExitFailure;
  if (options.needsReport())
    report.collectBefore(module);
  report.importSeconds = watch.lap();

  // Threads read and round weights; without them types and attributes are made
  // without locks, which is what long graphs spend their time on.
  constexpr uint64_t kWeightsForThreads = 8 << 20;
  if (sumTensorBytes(module) >= kWeightsForThreads)
    context.setThreadPool(getThreadPool());

  if (options.dtype != "none") {
    warnOfUnmatched(module, options.keepOps, options.keepNodes);
    progress.begin("deciding");
    errors.setSubject(quoted(options.input));
    if (failed(runPasses(module, options, report)))
      return ExitFailure;
    errors.setSubject("");
  } else if (options.needsReport()) {
    report.collectAfter(module);
  }
  report.passSeconds = watch.lap();

  if (progress.isActive())
    progress.begin("writing", sumTensorBytes(module));
  ExportOptions exportOptions;
  exportOptions.externalData = options.externalData;
  exportOptions.durable = options.durable;
  exportOptions.inputs = std::move(dataFiles);
  exportOptions.progress = &progress.written();
  if (options.needsReport())
    exportOptions.rounding = &report.rounding;
  FailureOr<ExportedSizes> sizes =
      writeModel(module, options.output, exportOptions);
  if (succeeded(sizes))
    setOutputsCommitted();
  progress.stop();
  if (failed(sizes))
    return ExitFailure;
  report.exportSeconds = watch.lap();

  if (options.needsReport()) {
    report.input = options.input;
    report.output = options.output;
    report.dtype = options.dtype;
    report.policy = options.policy;
    report.outputSizes = *sizes;
    printReport(report, options);
  }
  return ExitSuccess;
}
