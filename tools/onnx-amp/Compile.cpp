//===- Compile.cpp - onnx-amp compile -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"

#include "Commands.h"
#include "ExplainKernels.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Passes/Codegen.h"
#include "amp/Passes/Executable.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"
#include "amp/Target/Executable.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace amp;
using namespace mlir;

int amp::readCompileArguments(const llvm::opt::InputArgList &arguments,
                              CompileArguments &options) {
  if (arguments.hasArg(OPT_cpu)) {
    SmallVector<StringRef> names;
    arguments.getLastArgValue(OPT_cpu).split(names, ',');
    options.cpus.assign(names.begin(), names.end());
  }
  options.dims = arguments.getAllArgValues(OPT_dim);
  for (const std::string &dim : options.dims)
    if (llvm::Error error = CostOptions().addDimension(dim))
      return wrongUsage("--dim: " + llvm::toString(std::move(error)));
  options.explain = arguments.hasArg(OPT_explain_kernels);
  options.allowLinks = arguments.hasArg(OPT_allow_links);
  options.roundEachNode = arguments.hasArg(OPT_round_each_node);
  return ExitSuccess;
}

/// As many as shapes have dimensions.
static constexpr int64_t kFewIntegers = 16;

static LogicalResult runPasses(ModuleOp module,
                               const CompileArguments &options) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  if (!options.dims.empty()) {
    SpecializeDimsOptions specialize;
    llvm::append_range(specialize.dims, options.dims);
    manager.addPass(createSpecializeDims(std::move(specialize)));
  }
  // Memory has the shapes that types say: none of those that a model merely
  // declares is good enough.
  InferTypesOptions infer;
  infer.corrects = true;
  manager.addPass(createInferTypes(infer));
  RaiseOpsetOptions raise;
  // Nothing needs another opset for a format's sake.
  raise.low = raise.policy = "tf32";
  // Kernels compute what operators mean there.
  raise.minOpset = onnx::latestOpset("");
  manager.addPass(createRaiseOpset(std::move(raise)));
  // Newer versions say more of what they give.
  manager.addPass(createInferTypes());
  manager.addPass(createInlineFunctions());
  manager.addPass(createExpandOptimizers());
  manager.addPass(createPrepareExecutable());
  FuseProductsOptions fuse;
  fuse.roundEachNode = options.roundEachNode;
  manager.addPass(createFuseProducts(fuse));
  ONNXToLinalgOptions toLinalg;
  toLinalg.fewIntegers = kFewIntegers;
  manager.addPass(createONNXToLinalg(toLinalg));
  manager.addPass(createSelectKernels());
  manager.addPass(createFuseKernels());
  manager.addPass(createMarkEntry());
  CompileKernelsOptions compile;
  llvm::append_range(compile.cpus, options.cpus);
  manager.addPass(createCompileKernels(std::move(compile)));
  manager.addPass(createPlanMemory());
  if (failed(manager.run(module)))
    return failure();
  return verify(module);
}

/// As a table of Markdown.
static int listOperators() {
  MLIRContext &context = makeContext();
  context.loadDialect<onnx::ONNXDialect>();
  std::string text = "| operator | runs as |\n|---|---|\n";
  for (const CompiledOperator &op : listCompiledOperators(context))
    text += ("| " + op.domain + (op.domain.empty() ? "" : ".") + op.name +
             " | " + op.how + " |\n")
                .str();
  return printOutput(text) ? ExitSuccess : ExitFailure;
}

int amp::compile(const CompileArguments &options) {
  setFatalErrorSubject(quoted(options.input));

  MLIRContext &context = makeContext();
  context.getOrLoadDialect<rt::AMPRTDialect>();
  FirstErrorPrinter errors(&context);
  ImportOptions importOptions;
  importOptions.allowLinks = options.allowLinks;
  uint64_t inputBytes;
  ModuleOp module =
      readModel(options.input, &context, importOptions, inputBytes).release();
  if (!module)
    return ExitFailure;

  errors.setSubject(quoted(options.input));
  if (failed(runPasses(module, options)))
    return ExitFailure;
  if (options.explain && !printOutput(explainKernels(module)))
    return ExitFailure;
  errors.setSubject("");
  if (failed(writeExecutable(module, options.output)))
    return ExitFailure;
  return ExitSuccess;
}

int amp::runCompile(const llvm::opt::InputArgList &arguments) {
  if (arguments.hasArg(OPT_list_operators))
    return listOperators();
  CompileArguments options;
  std::vector<std::string> inputs = arguments.getAllArgValues(OPT_INPUT);
  if (inputs.empty())
    return wrongUsage("expected an input, the model to compile");
  if (inputs.size() > 1)
    return wrongUsage("expected one input, but got " + quoted(inputs[0]) +
                      " and " + quoted(inputs[1]));
  options.input = inputs[0];
  if (int code = readCompileArguments(arguments, options))
    return code;
  if (!arguments.hasArg(OPT_output))
    return wrongUsage("expected '-o OUT.ampx', where the executable goes");
  options.output = arguments.getLastArgValue(OPT_output);
  if (int code = compile(options))
    return code;
  setOutputsCommitted();
  if (!arguments.hasArg(OPT_quiet))
    printSummary(quoted(options.output) + ": compiled\n");
  return ExitSuccess;
}
