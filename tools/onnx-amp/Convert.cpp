//===- Convert.cpp - onnx-amp convert -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"
#include "Commands.h"
#include "ConversionReport.h"
#include "EngineArguments.h"
#include "ExternalDataArgument.h"
#include "FatalErrors.h"
#include "GraphDrawing.h"
#include "Graphviz.h"
#include "Messages.h"
#include "ModelFile.h"
#include "OrtTraining.h"
#include "PolicyArgument.h"
#include "Preparation.h"
#include "ProgressLine.h"
#include "SideFiles.h"
#include "ThreadPool.h"
#include "ToleranceSearch.h"
#include "TrainingForm.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Pipelines.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <deque>
#include <sys/resource.h>
#include <sys/stat.h>
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
  bool keepIslands = true;
  bool estimates = true;
  std::vector<std::string> dimensions;
  std::vector<std::string> keepOps, keepNodes;
  /// Something may run in bfloat16, which operators have gained over time.
  bool mayRaise = false;
  /// 0 for no limit.
  int64_t maxOpset = 0;
  ExternalData externalData = ExternalData::Auto;
  bool allowLinks = false, durable = false;
  /// training_info becomes a step.
  bool toStep = false;
  bool quiet = false, json = false, explain = false;
  /// Files that are written, too; empty for none.
  std::string report, dot, svg;

  bool explains() const { return explain || !report.empty(); }
  bool draws() const { return !dot.empty() || !svg.empty(); }
  bool needsReport() const { return !quiet || json || explains(); }
  bool needsReasons() const { return needsReport() || draws(); }
  /// Data that the model is measured on; empty if it is not.
  std::string calibrationData;
  double calibrationMargin = 2;
  /// With data, if nodes are searched for.
  std::optional<SearchOptions> search;
  EngineOptions engine;
  OrtTrainingOptions training;

  bool runsModel() const { return search || !calibrationData.empty(); }
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

/// No two outputs may have one name; returns the exit code.
static int checkOutputNames(const ConvertOptions &options) {
  std::vector<std::pair<StringRef, std::string>> outputs = {
      {"-o", options.output}, {"the external data", options.output + ".data"}};
  for (auto [option, path] :
       {std::pair(StringRef("--report"), StringRef(options.report)),
        std::pair(StringRef("--dot"), StringRef(options.dot)),
        std::pair(StringRef("--svg"), StringRef(options.svg))}) {
    if (path.empty())
      continue;
    if (isStandardOutput(path))
      return wrongUsage(option + " expects a file, but got " + quoted(path));
    for (const auto &[other, otherPath] : outputs)
      if (isSameOutput(path, otherPath))
        return wrongUsage(option + " and " + other + " go to one file, " +
                          quoted(path));
    outputs.push_back({option, path.str()});
  }
  return ExitSuccess;
}

/// The part of readOptions() for what runs models.
static int readDataOptions(const llvm::opt::InputArgList &arguments,
                           ConvertOptions &options) {
  std::optional<EngineOptions> engine = readEngineOptions(arguments);
  if (!engine)
    return ExitUsage;
  options.engine = *engine;
  options.calibrationData = arguments.getLastArgValue(OPT_calibrate);
  std::optional<double> margin = readNumber(arguments, OPT_calibrate_margin,
                                            /*least=*/1, /*missing=*/2);
  if (!margin)
    return ExitUsage;
  options.calibrationMargin = *margin;
  if (arguments.hasArg(OPT_tolerance) != arguments.hasArg(OPT_data))
    return wrongUsage("--tolerance and --data go together");
  if (arguments.hasArg(OPT_tolerance)) {
    SearchOptions search;
    std::optional<double> tolerance =
        readNumber(arguments, OPT_tolerance, /*least=*/0, /*missing=*/0);
    std::optional<unsigned> probes =
        readCount(arguments, OPT_max_probes, /*least=*/1, search.maxProbes);
    if (!tolerance || !probes)
      return ExitUsage;
    search.tolerance = *tolerance;
    search.maxProbes = *probes;
    search.data = arguments.getLastArgValue(OPT_data);
    search.statePath = arguments.getLastArgValue(OPT_search_state);
    search.keepsState = !search.statePath.empty();
    if (search.statePath.empty() && !isStandardOutput(options.output))
      search.statePath = options.output + ".search.json";
    options.search = std::move(search);
  }
  if (options.dtype == "none" &&
      (options.search || !options.calibrationData.empty()))
    return wrongUsage("--calibrate and --tolerance expect a low format, but "
                      "--dtype is none");
  return ExitSuccess;
}

/// Fills `options`; returns the exit code, after an error if it is not 0.
static int readOptions(const llvm::opt::InputArgList &arguments,
                       ConvertOptions &options) {
  static constexpr StringRef dtypes[] = {"fp16", "bf16", "tf32", "none"};
  static constexpr StringRef placements[] = {"eager", "optimal"};

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
  static constexpr StringRef islands[] = {"keep", "lower"};
  std::optional<unsigned> island =
      chooseValue(arguments, OPT_islands, islands, 0);
  if (!island)
    return ExitUsage;
  options.keepIslands = *island == 0;
  static constexpr StringRef estimates[] = {"use", "ignore"};
  std::optional<unsigned> estimate =
      chooseValue(arguments, OPT_estimates, estimates, /*missing=*/
                  arguments.hasArg(OPT_tolerance) ? 1 : 0);
  if (!estimate)
    return ExitUsage;
  options.estimates = *estimate == 0;
  static constexpr StringRef forms[] = {"training-info", "flat"};
  std::optional<unsigned> form = chooseValue(arguments, OPT_form, forms, 0);
  if (!form)
    return ExitUsage;
  options.toStep = *form == 1;
  options.dimensions = arguments.getAllArgValues(OPT_dim);
  for (const std::string &dimension : options.dimensions)
    if (llvm::Error error = CostOptions().addDimension(dimension))
      return wrongUsage("--dim: " + llvm::toString(std::move(error)));
  std::optional<ExternalData> place = chooseExternalData(arguments);
  if (!place)
    return ExitUsage;
  options.externalData = *place;

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
  for (auto [option, path] :
       {std::pair(OPT_report, &options.report),
        std::pair(OPT_dot, &options.dot), std::pair(OPT_svg, &options.svg)}) {
    *path = arguments.getLastArgValue(option);
    if (arguments.hasArg(option) && path->empty())
      return wrongUsage(
          arguments.getLastArg(option)->getOption().getPrefixedName() +
          " expects a file, but got ''");
  }
  std::optional<OrtTrainingOptions> training = readOrtTraining(arguments);
  if (!training)
    return ExitUsage;
  options.training = std::move(*training);
  if (options.training.scalesLoss) {
    if (options.ioTypes == IOTypes::Lower)
      return wrongUsage("--loss-scale expects inputs to keep their types, but "
                        "got --no-keep-io-types");
    options.ioTypes = IOTypes::Keep;
  }
  if (int code = checkOutputNames(options))
    return code;
  if (int code = readDataOptions(arguments, options))
    return code;
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

static void fillPipelineOptions(const ConvertOptions &options,
                                AutocastPipelineOptions &autocast) {
  autocast.low = options.dtype;
  autocast.policy = options.policy;
  autocast.ioTypes = options.ioTypes;
  autocast.placement = options.placement;
  autocast.keepIslands = options.keepIslands;
  autocast.dimensions = llvm::ArrayRef(options.dimensions);
  autocast.keepOps = llvm::ArrayRef(options.keepOps);
  autocast.keepNodes = llvm::ArrayRef(options.keepNodes);
  autocast.rangeMargin = options.calibrationMargin;
  autocast.estimates = options.estimates;
}

/// Runs the model on data, and notes what that tells, for runPasses() to see.
static LogicalResult runOnData(ModuleOp module, const ConvertOptions &options,
                               ConversionReport &report,
                               ProgressLine &progress) {
  llvm::Expected<Engine> engine = Engine::create(options.engine);
  if (!engine)
    return amp::report(module.getContext(), engine.takeError());
  FailureOr<EngineModel> model =
      EngineModel::write(module, *engine, "model.onnx");
  if (failed(model))
    return failure();
  if (!options.calibrationData.empty()) {
    progress.begin("measuring");
    FailureOr<Calibration> calibration =
        Calibration::measure(module, *engine, *model, options.calibrationData);
    if (failed(calibration))
      return failure();
    calibration->annotate(module);
    if (options.needsReport()) {
      report.calibration = calibration->toJSON(module);
      report.calibrationText = calibration->toText();
    }
  }
  if (!options.search)
    return success();
  SearchOptions search = *options.search;
  std::deque<std::string> phases; // the line refers to them
  search.onProbe = [&](unsigned number) {
    phases.push_back("searching: probe " + std::to_string(number) +
                     " of at most " + std::to_string(search.maxProbes));
    progress.begin(phases.back().c_str());
  };
  AutocastPipelineOptions autocast;
  fillPipelineOptions(options, autocast);
  FailureOr<SearchResult> result =
      searchKeptNodes(module, *engine, *model, search, autocast, options.input);
  progress.begin("deciding");
  if (failed(result))
    return failure();
  report.search = result->toJSON();
  report.searchText = result->toText();
  return success();
}

/// Rewrites what is left of the amp dialect, and what else was asked for.
static LogicalResult lowerToONNX(ModuleOp module,
                                 const ConvertOptions &options) {
  PassManager lower(module.getContext());
  lower.enableVerifier(false);
  lower.addPass(createConvertAMPToONNX());
  addOrtLowering(lower, options.training);
  if (failed(lower.run(module)))
    return failure();
  return verify(module);
}

/// What is done to a training model without casts.
static LogicalResult prepareAndLower(ModuleOp module,
                                     const PreparationOptions &preparation,
                                     const ConvertOptions &options) {
  if (failed(prepare(module, preparation)))
    return failure();
  removeAnnotations(module);
  PassManager scale(module.getContext());
  scale.enableVerifier(false);
  addLossScaling(scale, options.training);
  if (failed(scale.run(module)))
    return failure();
  return lowerToONNX(module, options);
}

static LogicalResult runPasses(ModuleOp module, const ConvertOptions &options,
                               ConversionReport &report, std::string &drawing) {
  AutocastPipelineOptions autocast;
  fillPipelineOptions(options, autocast);
  autocast.keepReasons = options.needsReasons();

  // The result is verified once, in the end.
  PassManager decide(module.getContext());
  decide.enableVerifier(false);
  addLossScaling(decide, options.training);
  buildAutocastPipeline(decide, autocast);
  decide.addPass(createMergeCasts());
  if (failed(decide.run(module)))
    return failure();
  if (options.draws())
    drawing = drawGraph(module, options.input);
  if (options.needsReasons() || options.runsModel() || options.training.any()) {
    // The reasons are strings of the context, which stay.
    if (options.needsReport())
      report.collectAfter(module);
    removeAnnotations(module);
  }

  return lowerToONNX(module, options);
}

/// Joins what training_info adds to the model with it, if anything is to be
/// converted.
static LogicalResult beginTraining(ModuleOp module, ConvertOptions &options,
                                   TrainingForm &training) {
  if (options.dtype == "none" && !options.toStep)
    return success();
  if (failed(training.begin(module)))
    return failure();
  if (!training.isActive()) {
    if (options.toStep)
      return module.emitError("has no training_info, which --form=flat makes a "
                              "step of");
    return success();
  }
  if (options.runsModel())
    return module.emitError("has training_info: --calibrate and --tolerance "
                            "expect a model to run as it is");
  // What is assigned to the state has its type.
  if (options.ioTypes == IOTypes::Lower)
    return module.emitError("has training_info: its inputs and outputs keep "
                            "their types, leave out --no-keep-io-types");
  options.ioTypes = IOTypes::Keep;
  return success();
}

/// Reads the optimizer's model and joins it with the training model.
static LogicalResult addOptimizer(ModuleOp module,
                                  const ConvertOptions &options,
                                  const ImportOptions &importOptions,
                                  FirstErrorPrinter &errors) {
  StringRef path = options.training.optimizerModel;
  uint64_t bytes;
  ModuleOp optimizer =
      readModel(path, module.getContext(), importOptions, bytes).release();
  if (!optimizer)
    return failure();
  errors.setSubject(quoted(options.input) + " and " + quoted(path));
  if (failed(joinOptimizer(module, optimizer, options.maxOpset)))
    return failure();
  errors.setSubject("");
  return success();
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

/// Looks whether the files beside the model can be written; returns the exit
/// code. Finds the program that lays out drawings, if it is needed.
static int checkSideFiles(const ConvertOptions &options, const SideFiles &files,
                          std::string &layout) {
  for (StringRef path : {StringRef(options.report), StringRef(options.dot),
                         StringRef(options.svg)}) {
    if (path.empty())
      continue;
    if (llvm::Error error = files.check(path)) {
      printError(llvm::toString(std::move(error)));
      return ExitFailure;
    }
  }
  if (options.svg.empty())
    return ExitSuccess;
  llvm::Expected<std::string> found = findDot();
  if (!found) {
    printError(llvm::toString(found.takeError()));
    return ExitFailure;
  }
  layout = std::move(*found);
  return ExitSuccess;
}

/// The input itself may be replaced by the converted model, but by nothing
/// else.
static OutputOptions getSideFileOptions(const ConvertOptions &options) {
  OutputOptions outputOptions;
  outputOptions.durable = options.durable;
  struct stat status;
  if (::stat(options.input.c_str(), &status) == 0)
    outputOptions.inputs.push_back({status.st_dev, status.st_ino});
  return outputOptions;
}

int amp::runConvert(const llvm::opt::InputArgList &arguments) {
  ConversionReport report;
  report.startSeconds = getProcessorSeconds();
  Stopwatch watch;
  ConvertOptions options;
  if (int code = readOptions(arguments, options))
    return code;
  setFatalErrorSubject(quoted(options.input));
  OutputOptions sideFileOptions = getSideFileOptions(options);
  std::string layout;
  if (int code = checkSideFiles(options, SideFiles(sideFileOptions), layout))
    return code;
  if (options.explains()) {
    report.explained.emplace();
    for (const std::string &dimension : options.dimensions)
      llvm::cantFail(report.explained->addDimension(dimension));
  }

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
  if (!options.training.optimizerModel.empty() &&
      failed(addOptimizer(module, options, importOptions, errors)))
    return ExitFailure;
  if (options.needsReport())
    report.collectBefore(module);
  report.importSeconds = watch.lap();

  // Threads read and round weights; without them types and attributes are made
  // without locks, which is what long graphs spend their time on.
  constexpr uint64_t kWeightsForThreads = 8 << 20;
  if (sumTensorBytes(module) >= kWeightsForThreads)
    context.setThreadPool(getThreadPool());

  TrainingForm training;
  errors.setSubject(quoted(options.input));
  if (failed(beginTraining(module, options, training)))
    return ExitFailure;
  int64_t minOpset = training.getMinOpset(module, options.toStep);
  if (options.maxOpset != 0 && minOpset > options.maxOpset) {
    printError(quoted(options.input) +
               ": nodes of ai.onnx.preview.training are expanded in opset " +
               std::to_string(minOpset) + " or later, but --max-opset is " +
               std::to_string(options.maxOpset));
    return ExitFailure;
  }
  errors.setSubject("");

  std::string drawing;
  PreparationOptions preparation = {options.dtype,    options.policy,
                                    options.keepOps,  options.keepNodes,
                                    options.mayRaise, options.maxOpset};
  preparation.minOpset =
      options.training.lowersOrt ? onnx::NodeBuilder::kMinOpset : minOpset;
  if (options.dtype != "none") {
    warnOfUnmatched(module, options.keepOps, options.keepNodes);
    warnOfUnmatched(module, options.policy);
    errors.setSubject(quoted(options.input));
    progress.begin("deciding");
    if (failed(prepare(module, preparation)))
      return ExitFailure;
    if (options.runsModel() &&
        failed(runOnData(module, options, report, progress)))
      return ExitFailure;
    progress.begin("deciding");
    if (failed(runPasses(module, options, report, drawing)) ||
        failed(training.end(module, options.toStep)))
      return ExitFailure;
  } else {
    errors.setSubject(quoted(options.input));
    PreparationOptions joint;
    joint.maxOpset = options.maxOpset;
    joint.minOpset = minOpset;
    if (training.isActive() && (failed(prepare(module, joint)) ||
                                failed(training.end(module, options.toStep))))
      return ExitFailure;
    if (options.training.any() &&
        failed(prepareAndLower(module, preparation, options)))
      return ExitFailure;
    if (options.needsReport())
      report.collectAfter(module);
    if (options.draws())
      drawing = drawGraph(module, options.input);
  }
  errors.setSubject("");
  std::string picture;
  if (!options.svg.empty()) {
    llvm::Expected<std::string> svg = layOutGraph(layout, drawing);
    if (!svg) {
      progress.stop();
      printError(llvm::toString(svg.takeError()));
      return ExitFailure;
    }
    picture = std::move(*svg);
  }
  report.passSeconds = watch.lap();

  if (progress.isActive())
    progress.begin("writing", sumTensorBytes(module));
  ExportOptions exportOptions;
  exportOptions.externalData = options.externalData;
  exportOptions.durable = options.durable;
  llvm::append_range(sideFileOptions.inputs, dataFiles);
  SideFiles sideFiles(sideFileOptions);
  exportOptions.inputs = std::move(dataFiles);
  exportOptions.progress = &progress.written();
  if (options.needsReport())
    exportOptions.rounding = &report.rounding;
  report.input = options.input;
  report.output = options.output;
  report.dtype = options.dtype;
  report.policy = options.policy;
  exportOptions.addFiles =
      [&](const ExportedSizes &sizes,
          llvm::SmallVectorImpl<OutputFile *> &files) -> llvm::Error {
    report.outputSizes = sizes;
    report.exportSeconds = watch.lap();
    auto write = [&](StringRef path, auto getContents) -> llvm::Error {
      return path.empty() ? llvm::Error::success()
                          : sideFiles.write(path, getContents());
    };
    if (llvm::Error error = write(options.report, [&] {
          return report.toJSON(/*withExplanation=*/true);
        }))
      return error;
    if (llvm::Error error = write(options.dot, [&] { return drawing; }))
      return error;
    if (llvm::Error error = write(options.svg, [&] { return picture; }))
      return error;
    sideFiles.addTo(files);
    return llvm::Error::success();
  };
  FailureOr<ExportedSizes> sizes =
      writeModel(module, options.output, exportOptions);
  if (succeeded(sizes))
    setOutputsCommitted();
  progress.stop();
  if (failed(sizes))
    return ExitFailure;
  report.exportSeconds += watch.lap();

  if (!options.quiet || options.json || options.explain)
    printReport(report, options);
  return ExitSuccess;
}
